//! The environment of one run: variables, home and state folder from the command line.

use crate::sandbox;
use std::fs;
use wharf_test_support::{DONE, Finished, HELLO, Script, files_containing};

#[test]
fn variables_and_the_home_are_for_one_run_and_their_values_are_not_recorded() {
    let sandbox = sandbox();
    let file = sandbox.path("environment");
    let script = Script::new()
        .line(HELLO)
        .step(&format!("write-env {}", file.display()))
        .step("stdout {\"type\":\"say\",\"id\":\"1\",\"text\":\"given-8c1f20 and passed-77ab01\"}\\n")
        .line(DONE);
    let home = sandbox.path("other-home");
    std::fs::create_dir(&home).unwrap();
    let more = ["--env", "GIVEN_TOKEN=given-8c1f20", "--env", "PASSED_TOKEN", "--home", home.to_str().unwrap()];
    let mut command = sandbox.run_command(&script, &more);
    command.env("PASSED_TOKEN", "passed-77ab01").env("OTHER_TOKEN", "not passed on");
    let run = Finished::of(&mut command);
    run.expect(0, "completed");
    let environment = fs::read_to_string(&file).unwrap();
    for line in ["GIVEN_TOKEN=given-8c1f20", "PASSED_TOKEN=passed-77ab01", &format!("HOME={}", home.display())] {
        assert!(environment.lines().any(|one| one == line), "{line}: {environment}");
    }
    assert!(!environment.contains("OTHER_TOKEN"), "{environment}");
    for secret in ["given-8c1f20", "passed-77ab01"] {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
        let found = files_containing(&sandbox.path("data"), secret.as_bytes());
        assert!(found.is_empty(), "{found:?}");
    }
    // The next run has neither.
    let run = Finished::of(&mut sandbox.run_command(&script, &[]));
    run.expect(0, "completed");
    let environment = fs::read_to_string(&file).unwrap();
    assert!(!environment.contains("_TOKEN") && !environment.contains("other-home"), "{environment}");
}

#[test]
fn a_state_folder_is_created_and_replaces_the_usual_one() {
    let sandbox = sandbox();
    let file = sandbox.path("environment");
    let script = Script::new().line(HELLO).step(&format!("write-env {}", file.display())).line(DONE);
    let state = sandbox.path("state/of/one/run");
    let run = Finished::of(&mut sandbox.run_command(&script, &["--state-dir", state.to_str().unwrap()]));
    run.expect(0, "completed");
    assert!(state.is_dir());
    // The echo agent has no variable for its state, so the folder is its home.
    assert!(fs::read_to_string(&file).unwrap().contains(&format!("HOME={}\n", state.display())));
}

#[cfg(unix)]
#[test]
fn a_secret_that_a_probe_prints_is_not_in_the_error() {
    let sandbox = sandbox();
    let program = sandbox.write("leaks", "#!/bin/sh\necho \"token $GH_TOKEN $GIVEN\" >&2\nexit 3\n");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let args =
        ["run", "--json", "-a", "copilot", "--program", program.to_str().unwrap(), "--env", "GIVEN=given-8c1f20"];
    let mut command = sandbox.wharf(args);
    command.arg("hello").env("GH_TOKEN", "passed-77ab01");
    let run = Finished::of(&mut command);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stdout.contains("[redacted:") && run.stderr.contains("[redacted:"), "{run:?}");
    for secret in ["given-8c1f20", "passed-77ab01"] {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
    }
}

#[test]
fn a_variable_with_a_word_of_the_format_does_not_damage_the_recording() {
    for word in ["workspace", "allow-all", "completed", "run-started", "unsupported"] {
        let sandbox = sandbox();
        let value = format!("X={word}");
        let script = Script::new().line(HELLO).line(DONE);
        let run = Finished::of(&mut sandbox.run_command(&script, &["--approve", "--env", &value]));
        run.expect(0, "completed");
        assert!(!run.stdout.contains("was omitted"), "{word}: {run:?}");
        assert!(sandbox.call(["replay", "last", "--diff"]).code == Some(0), "{word}");
    }
}

#[test]
fn a_login_in_a_proxys_address_is_not_recorded() {
    let sandbox = sandbox();
    let script = Script::new()
        .line(HELLO)
        .step("stdout {\"type\":\"say\",\"id\":\"1\",\"text\":\"by http://ada:passw0rd@proxy:1\"}\\n")
        .line(DONE);
    let more = ["--env", "HTTPS_PROXY=http://ada:passw0rd@proxy:1"];
    let run = Finished::of(&mut sandbox.run_command(&script, &more));
    run.expect(0, "completed");
    assert!(!run.stdout.contains("passw0rd"), "{run:?}");
    assert!(files_containing(&sandbox.path("data"), b"passw0rd").is_empty());
}

#[test]
fn another_home_leaves_no_way_to_the_usual_folders() {
    let sandbox = sandbox();
    let file = sandbox.path("environment");
    let script = Script::new().line(HELLO).step(&format!("write-env {}", file.display())).line(DONE);
    let state = sandbox.path("state");
    let mut command = sandbox.run_command(&script, &["--state-dir", state.to_str().unwrap()]);
    command.env("XDG_CONFIG_HOME", "/usual/config").env("XDG_STATE_HOME", "/usual/state");
    Finished::of(&mut command).expect(0, "completed");
    assert!(!fs::read_to_string(&file).unwrap().contains("/usual/"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700, "it will hold logins");
    }
    let both = ["--state-dir", state.to_str().unwrap(), "--home", "/elsewhere"];
    let run = Finished::of(&mut sandbox.run_command(&script, &both));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("not both"), "{run:?}");
    let unmade = sandbox.path("unmade");
    sandbox.call(["explain", "-a", "echo", "--state-dir", unmade.to_str().unwrap(), "hello"]);
    assert!(!unmade.exists(), "explain starts and creates nothing");
}

#[test]
fn a_value_that_is_marked_as_not_secret_stays_in_the_events() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "environment = [{ name = \"TASK_ID\", secret = false }, \"TOKEN\"]\n");
    let script = Script::new()
        .line(HELLO)
        .step("stdout {\"type\":\"say\",\"id\":\"1\",\"text\":\"task-8c1f20 token-77ab01 job-5512aa run-0099ff\"}\\n")
        .line(DONE);
    let more = ["--env-plain", "JOB=job-5512aa", "--env", "RUN_KEY=run-0099ff"];
    let mut command = sandbox.run_command(&script, &more);
    let run = Finished::of(command.env("TASK_ID", "task-8c1f20").env("TOKEN", "token-77ab01"));
    run.expect(0, "completed");
    assert_eq!(run.report()["answer"], "task-8c1f20 [redacted:TOKEN] job-5512aa [redacted:RUN_KEY]");
    assert!(!files_containing(&sandbox.path("data"), b"task-8c1f20").is_empty());
    assert_eq!(sandbox.call(["replay", "last", "--diff"]).code, Some(0));

    let both = ["--env-plain", "JOB=1", "--env", "JOB=2"];
    let run = Finished::of(&mut sandbox.run_command(&script, &both));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("JOB is set with --env and with --env-plain"), "{run:?}");
}

#[test]
fn no_secret_in_the_workspace_and_the_arguments_of_a_run_is_in_its_receipt() {
    let sandbox = sandbox();
    let secret = "s3cr3t-8c1f20";
    let workspace = sandbox.path(format!("workspace/{secret}"));
    std::fs::create_dir(&workspace).unwrap();
    let more = ["--env", &format!("KEY={secret}"), "--model", secret, "--workspace", workspace.to_str().unwrap()];
    let run = Finished::of(&mut sandbox.run_command(&Script::normal(), &more));
    run.expect(0, "completed");
    let receipt = std::fs::read_to_string(sandbox.path("data/runs").join(run.run_id()).join("receipt.json")).unwrap();
    assert!(receipt.matches("[redacted:KEY]").count() == 2 && !receipt.contains(secret), "{receipt}");
    let _ = sandbox.call(["receipt", run.run_id(), "--verify"]).success();
}

#[test]
fn json_inside_json_of_a_tool_contains_no_secret() {
    let sandbox = sandbox();
    let secret = "p\"w&0/rd-8c1f20";
    let inner = serde_json::json!({ "password": secret }).to_string();
    let go = inner.replace('&', "\\u0026");
    let output = format!("{inner} {go}");
    let tool = serde_json::json!({ "type": "tool", "id": "t", "name": "x", "status": "succeeded", "output": output });
    let script = Script::new().line(HELLO).line(&tool.to_string()).line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &["--env", &format!("KEY={secret}")]));
    run.expect(0, "completed");
    let tool = run.of_type("tool").next().expect("a tool")["output"].as_str().expect("text").to_owned();
    assert_eq!(tool.matches("[redacted:KEY]").count(), 2, "{tool}");
    assert!(!run.stdout.contains("8c1f20"));
    assert!(files_containing(&sandbox.path("data"), b"8c1f20").is_empty());
}

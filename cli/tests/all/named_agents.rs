//! `[agents.NAME]`: an agent of the user's own, which another adapter runs. The adapter of these tests is `echo`.

use crate::sandbox;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use wharf_test_support::{ANSWER, Finished, Sandbox, Script, fake_agent};

/// A sandbox with the agent `mine`: the fake agent, after two words that it ignores.
fn with_agent(more: &str) -> Sandbox {
    let sandbox = sandbox();
    let agent = fake_agent().to_str().expect("UTF-8");
    let command = json!([agent, "serve", "--protocol=2"]);
    sandbox.write("config.toml", format!("[agents.mine]\nadapter = \"echo\"\ncommand = {command}\n{more}"));
    sandbox
}

fn run(sandbox: &Sandbox, more: &[&str]) -> Finished {
    // It writes the script; the command itself names a program, and is not run.
    drop(sandbox.run_command(&Script::normal(), &[]));
    let option = format!("script={}", sandbox.path("script").display());
    let args = [&["run", "--json", "-a", "mine", "-o", &option][..], more, &["go"]].concat();
    sandbox.call(args)
}

#[test]
fn a_named_agent_runs_and_everything_is_recorded_under_its_name() {
    let sandbox = with_agent("");
    let finished = run(&sandbox, &["--label", "task=1"]);
    finished.expect(0, "completed");
    assert_eq!(finished.report()["answer"], ANSWER);
    let adapter = &finished.events()[0]["adapter"];
    let echo = sandbox.json(&["adapters", "show", "echo", "--json"]);
    assert_eq!((&adapter["id"], &adapter["sha256"]), (&json!("mine"), &echo["digest"]));
    sandbox.check_run(&finished, &Script::normal());

    let id = finished.run_id();
    assert_eq!(sandbox.json(&["receipt", id])["adapter"]["id"], "mine");
    assert_eq!(sandbox.json(&["runs", "--json"])[0]["adapter"], "mine");
    assert_eq!(sandbox.json(&["sessions", "--adapter", "mine", "--json"])[0]["adapter"], "mine");
    assert_eq!(sandbox.json(&["sessions", "--adapter", "echo", "--json"]), json!([]));
    let usage = sandbox.json(&["usage", "--by", "adapter", "--json"]);
    assert!(usage.to_string().contains("\"mine\"") && !usage.to_string().contains("\"echo\""), "{usage}");
    let resumed = run(&sandbox, &["--resume", "last"]);
    resumed.expect(0, "completed");
}

#[test]
fn the_first_arguments_come_before_those_of_the_adapter_and_not_into_its_questions() {
    let sandbox = sandbox();
    let calls = sandbox.path("calls");
    let program =
        sandbox.write("my-agent", format!("#!/bin/sh\necho \"$*\" >> '{}'\necho 'agent 1.0.0'\n", calls.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    sandbox.write("config.toml", "[agents.mine]\nadapter = \"echo\"\ncommand = [\"my-agent\", \"serve\"]\n");
    let call = |args: &[&str]| {
        let path = format!("{}:{}", sandbox.path("").display(), std::env::var("PATH").expect("a PATH"));
        Finished::of(sandbox.wharf(args).env("PATH", path))
    };
    let doctor = call(&["doctor", "mine", "--json"]).success().json();
    assert_eq!(fs::read_to_string(&calls).expect("it was asked"), "--version\n");
    assert_eq!((&doctor[0]["adapter"], &doctor[0]["usable"]), (&json!("mine"), &json!(true)), "{doctor}");
    assert_eq!(doctor[0]["agent"]["program"], json!(program));
    for _ in 0..2 {
        // The second time it is remembered.
        let explained = call(&["explain", "--json", "-a", "mine", "--resume", "s", "go"]).success().json();
        assert_eq!((&explained["adapter"], &explained["program"]), (&json!("mine"), &json!(program)));
        assert_eq!(explained["args"], json!(["serve", "--resume", "s"]));
    }
    // In PATH it is nowhere.
    let missing = sandbox.call(["doctor", "mine", "--json"]);
    let entry = &missing.json()[0];
    assert_eq!((missing.code, &entry["reason"]), (Some(3), &json!("not-found")), "{entry}");
    assert!(entry["error"].as_str().is_some_and(|error| error.contains("my-agent")), "{entry}");
}

#[test]
fn named_agents_are_listed_like_adapters() {
    let sandbox = with_agent("[options.mine]\ndelay = 3\n[options.echo]\ndelay = 5\nscript = \"s\"\n");
    let listed = sandbox.json(&["adapters", "--json"]);
    let find = |id: &str| -> Value {
        listed.as_array().expect("a list").iter().find(|row| row["id"] == id).expect(id).clone()
    };
    assert_eq!((&find("mine")["adapter"], &find("mine")["command"][1]), (&json!("echo"), &json!("serve")));
    assert_eq!(find("echo")["adapter"], Value::Null);
    let text = sandbox.text(&["adapters"]);
    assert!(text.lines().any(|line| line.starts_with("mine ") && line.contains("(by echo: ")), "{text}");
    let shown = sandbox.json(&["adapters", "show", "mine", "--json"]);
    assert_eq!((&shown["keys"], &shown["info"]["id"]), (&json!(["mine", "echo"]), &json!("mine")));
    assert!(sandbox.json(&["doctor", "--json"]).as_array().expect("a list").iter().any(|row| row["adapter"] == "mine"));
    // Its own options count before those of the adapter that runs it.
    let options = sandbox.json(&["explain", "--json", "-a", "mine", "go"])["options"].clone();
    assert_eq!((&options["delay"], &options["script"]), (&json!(3), &json!("s")));
}

#[test]
fn a_variable_of_one_agent_is_not_passed_to_another() {
    let sandbox = with_agent("environment = [\"MINE_KEY\"]\n[agents.echo]\nenvironment = [\"ECHO_KEY\"]\n");
    let names = |adapter: &str| {
        let mut command = sandbox.wharf(["explain", "--json", "-a", adapter, "go"]);
        let explained =
            Finished::of(command.env("MINE_KEY", "s3cret-s3cret").env("ECHO_KEY", "s3cret-s3cret")).success();
        let names = explained.json()["environment"].clone();
        (names.to_string().contains("MINE_KEY"), names.to_string().contains("ECHO_KEY"))
    };
    assert_eq!((names("mine"), names("echo")), ((true, false), (false, true)));
}

#[test]
fn a_named_agent_cannot_replace_an_adapter_or_come_from_a_project() {
    let sandbox = sandbox();
    for (config, words) in [
        ("[agents.echo]\ncommand = [\"/bin/sh\"]\n", "has the name of an adapter, and would replace it"),
        ("[agents.mine]\nadapter = \"nope\"\ncommand = [\"x\"]\n", "names the adapter `nope`, which does not exist"),
        ("[agents.cluade]\nversion = \"1.0.0\"\n", "is neither an adapter nor an agent that wharf knows"),
    ] {
        sandbox.write("config.toml", config);
        for args in [&["adapters"][..], &["run", "-a", "echo", "go"], &["doctor"]] {
            let refused = sandbox.call(args);
            assert!(refused.code == Some(2) && refused.stderr.contains(words), "{args:?}: {refused:?}");
        }
    }
    sandbox.write("config.toml", "");
    sandbox.write("workspace/.wharf.toml", "[agents.mine]\nadapter = \"echo\"\ncommand = [\"/bin/sh\"]\n");
    let refused = sandbox.call(["run", "-a", "mine", "go"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("`agents` may only be in your own file"), "{refused:?}");
}

#[test]
fn a_project_may_choose_a_named_agent() {
    let sandbox = with_agent("");
    sandbox.write("workspace/.wharf.toml", "adapter = \"mine\"\n");
    let explained = sandbox.json(&["explain", "--json", "go"]);
    assert_eq!((&explained["adapter"], &explained["args"][0]), (&json!("mine"), &json!("serve")));
}

#[test]
fn an_agent_whose_package_is_known_is_run_by_the_adapter_of_acp() {
    let sandbox = sandbox();
    let call = |args: &[&str]| Finished::of(sandbox.wharf(args).env("PATH", sandbox.path("bin")));
    let refused = call(&["run", "-a", "kimi", "go"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("`wharf agent install kimi`"), "{refused:?}");
    assert!(!sandbox.text(&["adapters"]).contains("kimi"), "it is neither configured nor installed");

    let folder = "data/agents/kimi/2.1.0";
    fs::create_dir_all(sandbox.path(folder)).expect("a folder");
    let program = sandbox.write(format!("{folder}/kimi"), "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let installed = r#"{"registry":"npm","package":"p","program":"kimi","installed":"2026-11-18T00:00:00Z"}"#;
    sandbox.write(format!("{folder}/wharf.json"), installed);
    let explained = call(&["explain", "--json", "-a", "kimi", "go"]).success().json();
    assert_eq!((&explained["program"], &explained["args"][0]), (&json!(program), &json!("acp")), "{explained}");
    assert!(sandbox.text(&["adapters"]).contains("by acp: kimi acp"));
}

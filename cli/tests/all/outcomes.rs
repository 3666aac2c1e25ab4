//! How turns end: each row of the outcome table, and each timeout.

use crate::sandbox;
use std::process::Stdio;
use wharf_test_support::{ANSWER, DONE, Finished, HELLO, LiveRun, SAY, Script};

const FAILED: &str = r#"{"type":"failed","class":"auth","text":"log in first"}"#;

/// The class of the error in the report, and a part of its message.
#[track_caller]
fn expect_error(run: &Finished, class: &str, part: &str) {
    let error = &run.report()["error"];
    assert_eq!(error["class"], class, "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{error}");
}

#[test]
fn a_declared_success_is_a_success() {
    let run = sandbox().run(&Script::normal(), &[]);
    run.expect(0, "completed");
    assert_eq!(run.report()["answer"], ANSWER);
    assert_eq!(run.report()["exit"]["code"], 0);
    assert!(run.report()["error"].is_null());
}

#[test]
fn success_then_a_bad_exit_is_a_success() {
    let run = sandbox().run(&Script::normal().step("stderr it broke\\n").step("exit 1"), &[]);
    run.expect(0, "completed");
    assert_eq!(run.report()["exit"]["code"], 1);
    let run = sandbox().run(&Script::normal().step("die SEGV"), &[]);
    run.expect(0, "completed");
    assert_eq!(run.report()["exit"]["signal"], 11);
}

#[test]
fn a_declared_failure_is_a_failure_whatever_the_exit() {
    for exit in ["exit 0", "exit 3", "die KILL"] {
        let run = sandbox().run(&Script::new().line(HELLO).line(SAY).line(FAILED).step(exit), &[]);
        run.expect(1, "failed");
        expect_error(&run, "auth", "log in first");
    }
}

#[test]
fn the_last_declaration_counts() {
    let run = sandbox().run(&Script::new().line(HELLO).line(FAILED).line(DONE), &[]);
    run.expect(0, "completed");
}

#[test]
fn exit_0_without_a_declaration_is_a_failure() {
    let run = sandbox().run(&Script::new().step("exit 0"), &[]);
    run.expect(1, "failed");
    expect_error(&run, "protocol", "without saying how the turn ended");
    let run = sandbox().run(&Script::new().line(HELLO).line(SAY).step("exit 0"), &[]);
    run.expect(1, "failed");
    expect_error(&run, "protocol", "without saying how the turn ended");
}

#[test]
fn the_adapter_classifies_exit_and_stderr() {
    let run =
        sandbox().run(&Script::new().step("stderr 429 Too Many Requests: rate limit exceeded\\n").step("exit 1"), &[]);
    run.expect(1, "failed");
    expect_error(&run, "rate-limit", "429");
}

#[test]
fn exit_127_is_a_missing_program() {
    let run = sandbox().run(&Script::new().step("exit 127"), &[]);
    run.expect(1, "failed");
    expect_error(&run, "not-found", "127");
}

#[test]
fn a_bad_exit_without_any_message_is_a_crash() {
    let run = sandbox().run(&Script::new().line(HELLO).step("exit 3"), &[]);
    run.expect(1, "failed");
    expect_error(&run, "crash", "3");
}

#[test]
fn an_agent_that_is_killed_in_the_middle_of_a_line_keeps_what_it_wrote() {
    let half = r#"{"type":"say","id":"1","text":"half a li"#;
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        let run = sandbox().run(&Script::new().line(HELLO).stdout(half).step(&format!("die {name}")), &[]);
        run.expect(1, "failed");
        expect_error(&run, "crash", &number.to_string());
        assert_eq!(run.report()["exit"]["signal"], number);
        assert_eq!(run.of_type("malformed").count(), 1, "{:?}", run.events());
    }
}

#[test]
fn a_missing_program_is_an_error_with_a_report() {
    let sandbox = sandbox();
    let args = ["run", "--json", "--adapter", "echo", "--program", "/no/such/agent", "go"];
    let run = sandbox.call(args);
    run.expect(3, "failed");
    expect_error(&run, "not-found", "/no/such/agent");
    assert!(run.report()["run"].is_null() && run.report()["exit"].is_null());
    sandbox.expect_nothing_left();
}

#[test]
fn a_program_that_cannot_be_started_is_not_a_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = sandbox();
    let agent = sandbox.write("bad-agent", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o700)).unwrap();
    let run = sandbox.call(["run", "--json", "--adapter", "echo", "--program", agent.to_str().unwrap(), "go"]);
    run.expect(3, "failed");
    expect_error(&run, "not-found", "bad-agent");
    sandbox.expect_nothing_left();
    assert_eq!(
        sandbox.json(&["runs", "--json"]),
        serde_json::json!([]),
        "it does not count as a run whose wharf was killed"
    );
}

#[test]
fn an_ask_that_nobody_answers_blocks_the_turn() {
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"shell","input":{}}"#;
    let script = Script::new().line(HELLO).line(ask).step("read-line").step("read-line").line(SAY).line(DONE);
    let run = sandbox().run(&script, &["--ask", "--ask-timeout", "0.3"]);
    run.expect(5, "blocked");
    assert!(run.report()["detail"].as_str().is_some_and(|detail| detail.contains("may I?")), "{}", run.report());
    let answered = run.of_type("ask-answered").next().expect("it is answered");
    assert_eq!((answered["by"].as_str(), answered["choice"].as_str()), (Some("timeout"), Some("deny")));
}

#[test]
fn an_adapter_that_traps_twice_in_the_same_place_ends_the_turn() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let boom = r#"{"type":"say","id":"2","text":"boom"}"#;
    let script = Script::new().line(HELLO).line(SAY).line(boom).step("silence");
    let run = sandbox.run(&script, &["--adapter", "faulty", "--option", "fault=panic-on-boom"]);
    run.expect(1, "failed");
    expect_error(&run, "protocol", "parse_chunk panics at \"boom\"");
    // No event is repeated.
    assert_eq!(run.of_type("session").count(), 1);
    // The agent was asked to stop, and did.
    assert_eq!(run.report()["exit"]["signal"], 15);
}

#[test]
fn a_declared_success_survives_a_trap() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let boom = r#"{"type":"say","id":"2","text":"boom"}"#;
    let script =
        Script::normal().step(&format!("wait-file {}", sandbox.path("go").display())).line(boom).step("silence");
    let args = ["--adapter", "faulty", "--option", "fault=panic-on-boom"];
    let mut live = LiveRun::start(&mut sandbox.run_command(&script, &args));
    live.read_until("turn-ended");
    sandbox.write("go", "");
    let run = live.finish();
    sandbox.expect_nothing_left();
    run.expect(0, "completed");
    // Nothing understood it any more, so it was asked to stop.
    assert_eq!(run.report()["exit"]["signal"], 15);
}

/// A timeout ended the turn, and the report says which.
#[track_caller]
fn expect_timeout(run: &Finished, timeout: &str) {
    run.expect(6, "limit");
    assert_eq!(run.report()["detail"], format!("{timeout} timeout"));
}

#[test]
fn silence_from_the_start_ends_by_the_first_output_timeout() {
    let run =
        sandbox().run(&Script::new().step("silence"), &["--first-output-timeout", "0.4", "--idle-timeout", "0.1"]);
    expect_timeout(&run, "first-output");
}

#[test]
fn silence_after_some_output_ends_by_the_idle_timeout() {
    let args = ["--first-output-timeout", "20", "--idle-timeout", "0.4", "--total-timeout", "20"];
    let run = sandbox().run(&Script::new().line(HELLO).step("silence"), &args);
    expect_timeout(&run, "idle");
}

#[test]
fn output_without_end_ends_by_the_total_timeout() {
    let sandbox = sandbox();
    let script = Script::new()
        .line(HELLO)
        .step("repeat 10000 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\\n")
        .step("silence");
    // The agent has written it all long before the timeout, so what it writes is known.
    let mut expected = script.clone();
    for _ in 0..10_000 {
        expected = expected.expecting(b"{\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\n");
    }
    let run = Finished::of(&mut sandbox.run_command(&script, &["--idle-timeout", "60", "--total-timeout", "4"]));
    sandbox.check_run(&run, &expected);
    expect_timeout(&run, "total");
}

/// The pipe always has something to read: the timeouts must expire all the same, the one before the kill too.
#[test]
fn endless_output_does_not_delay_the_timeouts() {
    let sandbox = sandbox();
    let script = Script::new().step("ignore-sigterm").line(HELLO).step("flood-stdout 1000000000000");
    let args = ["--no-record", "--total-timeout", "1", "--grace", "0.5"];
    let status = sandbox.run_command(&script, &args).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(6));
    sandbox.expect_no_process();
}

#[test]
fn the_idle_timeout_waits_while_a_tool_runs() {
    let running = r#"{"type":"tool","id":"t","name":"shell","status":"running","input":{}}"#;
    let ended = r#"{"type":"tool","id":"t","status":"succeeded","output":"ok","exit_code":0}"#;
    let script = Script::new().line(HELLO).line(running).step("sleep 1500").line(ended).line(DONE);
    sandbox().run(&script, &["--idle-timeout", "0.5"]).expect(0, "completed");
    // And not longer than that.
    let script = Script::new().line(HELLO).line(running).line(ended).step("sleep 1500").line(DONE);
    let sandbox = sandbox();
    let run = Finished::of(&mut sandbox.run_command(&script, &["--idle-timeout", "0.5"]));
    expect_timeout(&run, "idle");
    sandbox.expect_nothing_left();
}

#[test]
fn the_idle_timeout_waits_while_an_ask_is_open() {
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"shell","input":{}}"#;
    let script = Script::new().line(HELLO).line(ask).step("read-line").step("read-line").line(DONE);
    let run = sandbox().run(&script, &["--ask", "--idle-timeout", "0.3", "--ask-timeout", "1.5"]);
    run.expect(5, "blocked");
}

#[test]
fn a_timeout_does_not_change_a_declared_success() {
    let run = sandbox().run(&Script::normal().step("silence"), &["--idle-timeout", "0.4"]);
    run.expect(0, "completed");
    assert_eq!(run.report()["exit"]["signal"], 15);
}

//! How turns end: each row of the outcome table, and each clock, through the real binary.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, Ran, SAY, Script, ended, good, started};

const FAILED: &str = r#"{"type":"failed","class":"auth","text":"log in first"}"#;

/// What the report says went wrong: its class, and words that must be in its message.
#[track_caller]
fn expect_error(ran: &Ran, class: &str, words: &str) {
    let error = &ran.report()["error"];
    assert_eq!(error["class"], class, "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{error}");
}

#[test]
fn success_declared() {
    let ran = Place::new().run(&good(), &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["answer"], "as you wish");
    assert_eq!(ran.report()["exit"]["code"], 0);
    assert!(ran.report()["error"].is_null());
}

#[test]
fn success_then_a_bad_exit_is_a_success() {
    let ran = Place::new().run(&good().step("stderr it broke\\n").step("exit 1"), &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["exit"]["code"], 1);
    let ran = Place::new().run(&good().step("die SEGV"), &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["exit"]["signal"], 11);
}

#[test]
fn failure_declared_is_a_failure_whatever_the_exit() {
    for exit in ["exit 0", "exit 3", "die KILL"] {
        let ran = Place::new().run(&Script::new().line(HELLO).line(SAY).line(FAILED).step(exit), &[]);
        ran.expect(1, "failed");
        expect_error(&ran, "auth", "log in first");
    }
}

#[test]
fn the_last_declaration_counts() {
    let ran = Place::new().run(&Script::new().line(HELLO).line(FAILED).line(DONE), &[]);
    ran.expect(0, "completed");
}

#[test]
fn exit_0_with_nothing_said_is_a_failure() {
    let ran = Place::new().run(&Script::new().step("exit 0"), &[]);
    ran.expect(1, "failed");
    expect_error(&ran, "protocol", "without saying how the turn went");
    let ran = Place::new().run(&Script::new().line(HELLO).line(SAY).step("exit 0"), &[]);
    ran.expect(1, "failed");
    expect_error(&ran, "protocol", "without saying how the turn went");
}

#[test]
fn exit_and_stderr_are_read_by_the_adapter() {
    let ran = Place::new()
        .run(&Script::new().step("stderr 429 Too Many Requests: rate limit exceeded\\n").step("exit 1"), &[]);
    ran.expect(1, "failed");
    expect_error(&ran, "rate-limit", "429");
}

#[test]
fn exit_127_is_a_program_that_is_not_there() {
    let ran = Place::new().run(&Script::new().step("exit 127"), &[]);
    ran.expect(1, "failed");
    expect_error(&ran, "not-found", "127");
}

#[test]
fn a_bad_exit_without_a_word_is_a_crash() {
    let ran = Place::new().run(&Script::new().line(HELLO).step("exit 3"), &[]);
    ran.expect(1, "failed");
    expect_error(&ran, "crash", "3");
}

#[test]
fn death_by_a_signal_in_mid_line_keeps_what_was_written() {
    let half = r#"{"type":"say","id":"1","text":"half a li"#;
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        let ran = Place::new().run(&Script::new().line(HELLO).stdout(half).step(&format!("die {name}")), &[]);
        ran.expect(1, "failed");
        expect_error(&ran, "crash", &number.to_string());
        assert_eq!(ran.report()["exit"]["signal"], number);
        assert_eq!(ran.of_type("malformed").count(), 1, "{:?}", ran.events);
    }
}

#[test]
fn a_program_that_is_not_there_is_an_error_with_a_report() {
    let place = Place::new();
    let words = ["run", "--json", "--adapter", "echo", "--program", "/no/such/agent", "go"];
    let ran = Ran::of(&place.answer(&words));
    ran.expect(3, "failed");
    expect_error(&ran, "not-found", "/no/such/agent");
    assert!(ran.report()["run"].is_null() && ran.report()["exit"].is_null());
    place.expect_alone();
}

#[test]
fn a_program_that_cannot_be_started_is_no_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let agent = place.write("bad-agent", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o700)).unwrap();
    let ran =
        Ran::of(&place.answer(&["run", "--json", "--adapter", "echo", "--program", agent.to_str().unwrap(), "go"]));
    ran.expect(3, "failed");
    expect_error(&ran, "not-found", "bad-agent");
    place.expect_alone();
    assert_eq!(place.json(&["runs", "--json"]), serde_json::json!([]), "it is not one whose wharf was killed");
}

#[test]
fn an_ask_that_nobody_answers_blocks_the_turn() {
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"shell","input":{}}"#;
    let script = Script::new().line(HELLO).line(ask).step("read-line").step("read-line").line(SAY).line(DONE);
    let ran = Place::new().run(&script, &["--ask", "--limit-ask", "0.3"]);
    ran.expect(5, "blocked");
    assert!(ran.report()["detail"].as_str().is_some_and(|detail| detail.contains("may I?")), "{}", ran.report());
    let answered = ran.of_type("ask-answered").next().expect("it is answered");
    assert_eq!((answered["by"].as_str(), answered["choice"].as_str()), (Some("timeout"), Some("deny")));
}

#[test]
fn an_adapter_that_traps_twice_in_the_same_place_ends_the_turn() {
    let place = Place::new();
    place.install_faulty();
    let boom = r#"{"type":"say","id":"2","text":"boom"}"#;
    let script = Script::new().line(HELLO).line(SAY).line(boom).step("silence");
    let ran = place.run(&script, &["--adapter", "faulty", "--option", "fault=panic-on-boom"]);
    ran.expect(1, "failed");
    expect_error(&ran, "protocol", "parse_chunk panics at \"boom\"");
    // Nothing that had been said is said again.
    assert_eq!(ran.of_type("session").count(), 1);
    // The agent was told to end, and did.
    assert_eq!(ran.report()["exit"]["signal"], 15);
}

#[test]
fn a_declared_success_outlives_a_trap() {
    let place = Place::new();
    place.install_faulty();
    let boom = r#"{"type":"say","id":"2","text":"boom"}"#;
    let script = good().step(&format!("wait-file {}", place.path("go").display())).line(boom).step("silence");
    let words = ["--adapter", "faulty", "--option", "fault=panic-on-boom"];
    let (child, reader, printed) = started(&place, &script, &words, "turn-end");
    place.write("go", "");
    let ran = ended(child, reader, printed);
    place.expect_alone();
    ran.expect(0, "completed");
    // Nobody understood it any more, so it was told to end.
    assert_eq!(ran.report()["exit"]["signal"], 15);
}

/// A clock ended the turn, and the report says which.
#[track_caller]
fn expect_clock(ran: &Ran, clock: &str) {
    ran.expect(6, "limit");
    assert_eq!(ran.report()["detail"], format!("the {clock} clock ran out"));
}

#[test]
fn silence_runs_into_the_first_output_clock() {
    let ran = Place::new().run(&Script::new().step("silence"), &["--limit-first-output", "0.4", "--limit-idle", "0.1"]);
    expect_clock(&ran, "first-output");
}

#[test]
fn silence_after_a_word_runs_into_the_idle_clock() {
    let words = ["--limit-first-output", "20", "--limit-idle", "0.4", "--limit-total", "20"];
    let ran = Place::new().run(&Script::new().line(HELLO).step("silence"), &words);
    expect_clock(&ran, "idle");
}

#[test]
fn talk_without_end_runs_into_the_total_clock() {
    let place = Place::new();
    let script = Script::new()
        .line(HELLO)
        .step("repeat 10000 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\\n")
        .step("silence");
    // The talk is done long before the clock, so what is written is known.
    let mut expected = script.clone();
    for _ in 0..10_000 {
        expected = expected.written(b"{\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\n");
    }
    let ran = Ran::of(&place.order(&script, &["--limit-idle", "60", "--limit-total", "4"]).output().unwrap());
    place.examine(&ran, &expected);
    expect_clock(&ran, "total");
}

/// The pipe always has something to read: the clocks must get their turn all the same, the one before the kill too.
#[test]
fn a_flood_without_end_does_not_outrun_the_clocks() {
    let place = Place::new();
    let script = Script::new().step("ignore-sigterm").line(HELLO).step("flood-stdout 1000000000000");
    let words = ["--no-record", "--limit-total", "1", "--grace", "0.5"];
    let status = place.order(&script, &words).stdout(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(6));
    place.expect_no_process();
}

#[test]
fn the_idle_clock_is_held_while_a_tool_runs() {
    let running = r#"{"type":"tool","id":"t","name":"shell","status":"running","input":{}}"#;
    let ended = r#"{"type":"tool","id":"t","status":"succeeded","output":"ok","exit_code":0}"#;
    let script = Script::new().line(HELLO).line(running).step("sleep 1500").line(ended).line(DONE);
    Place::new().run(&script, &["--limit-idle", "0.5"]).expect(0, "completed");
    // And no longer than that.
    let script = Script::new().line(HELLO).line(running).line(ended).step("sleep 1500").line(DONE);
    let place = Place::new();
    let ran = Ran::of(&place.order(&script, &["--limit-idle", "0.5"]).output().unwrap());
    expect_clock(&ran, "idle");
    place.expect_alone();
}

#[test]
fn the_idle_clock_is_held_while_an_ask_is_open() {
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"shell","input":{}}"#;
    let script = Script::new().line(HELLO).line(ask).step("read-line").step("read-line").line(DONE);
    let ran = Place::new().run(&script, &["--ask", "--limit-idle", "0.3", "--limit-ask", "1.5"]);
    ran.expect(5, "blocked");
}

#[test]
fn a_clock_does_not_overturn_what_was_declared() {
    let ran = Place::new().run(&good().step("silence"), &["--limit-idle", "0.4"]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["exit"]["signal"], 15);
}

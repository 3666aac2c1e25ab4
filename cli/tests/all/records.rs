//! What is kept of runs, and what must not be: secrets, sessions, receipts, drift, fixtures, replays of bare captures and
//! through other adapters.

use crate::sandbox;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use wharf_test_support::{
    ANSWER, DONE, Finished, HELLO, SAY, Sandbox, Script, files_containing, shared_cache, wait_until,
};

#[test]
fn the_value_of_a_variable_that_is_passed_on_reaches_no_file_and_no_event() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "environment = [\"HARBOUR_TOKEN\", \"HARBOUR_UNSET\"]\n");
    let (front, back) = ("tok-9f8e7d", "6c5b4a3210zz");
    let secret = format!("{front}{back}");
    let environment = sandbox.path("environment");
    // In one write, in two, byte by byte, on stderr, and in a line that is not JSON.
    let script = Script::new()
        .line(HELLO)
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"1\",\"text\":\"whole {secret} end\"}}\\n"))
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"2\",\"text\":\"split {front}"))
        .step(&format!("wait-file {}", sandbox.path("go-1").display()))
        .step(&format!("stdout {back} end\"}}\\n"))
        .step("bytes 1")
        .step(&format!("stdout {{\"type\":\"say\",\"id\":\"3\",\"text\":\"slow {secret} end\"}}\\n"))
        .step(&format!("stderr on stderr: {front}"))
        .step(&format!("wait-file {}", sandbox.path("go-2").display()))
        .step(&format!("stderr {back}\\n"))
        .step(&format!("stdout noise {secret}\\n"))
        .step(&format!("write-env {}", environment.display()))
        .line(DONE);
    let prompt = sandbox.write("prompt", format!("use {secret} well"));
    let system = format!("the token is {secret}");
    let mut command = sandbox.run_command(&script, &["--system", &system, "--file", prompt.to_str().unwrap()]);
    command.env("HARBOUR_TOKEN", &secret).env("HARBOUR_OTHER", "not passed on");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The second half is written once the first was read: what comes before it is in the recording by then.
    for (before, go) in [("split ", "go-1"), ("on stderr: ", "go-2")] {
        wait_until(before, || !files_containing(&sandbox.path("data"), before.as_bytes()).is_empty());
        sandbox.write(go, "");
    }
    let run = Finished::from(child.wait_with_output().unwrap());
    run.expect(0, "completed");
    sandbox.expect_nothing_left();
    let inherited = std::fs::read_to_string(environment).unwrap();
    assert!(inherited.contains(&format!("HARBOUR_TOKEN={secret}\n")), "the agent itself gets it");
    assert!(!inherited.contains("HARBOUR_OTHER"), "{inherited}");

    assert!(!run.stdout.contains(&secret) && !run.stderr.contains(&secret), "{run:?}");
    assert_eq!(run.of_type("message").count(), 3);
    for message in run.of_type("message") {
        let text = message["text"].as_str().unwrap();
        assert!(text.ends_with(" end") && !text.contains(front) && !text.contains(back), "{text}");
    }
    assert_eq!(files_containing(&sandbox.path("data"), secret.as_bytes()), Vec::<PathBuf>::new());
    assert_eq!(files_containing(&shared_cache(), secret.as_bytes()), Vec::<PathBuf>::new());
    // The search does find things: the name is there, the value is not.
    assert!(!files_containing(&sandbox.path("data"), b"HARBOUR_TOKEN").is_empty(), "the launch has the names");
    sandbox.expect_replay(run.run_id());
}

/// A turn in a session, with the id that the agent gives it.
fn turn(sandbox: &Sandbox, session: &str, more: &[&str]) -> Finished {
    let hello = HELLO.replace("s-1", session);
    let usage = r#"{"type":"usage","input":3,"output":5}"#;
    sandbox.run(&Script::new().line(&hello).line(SAY).line(usage).line(DONE), more)
}

#[test]
fn sessions_are_remembered_and_resumed() {
    let sandbox = sandbox();
    turn(&sandbox, "first", &[]).expect(0, "completed");
    let listed = sandbox.json(&["sessions", "--json"]);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["turns"], &listed[0]["adapter"]),
        (&"first".into(), &1.into(), &"echo".into())
    );
    assert_eq!(listed[0]["usage"]["output"], 5);
    assert!(sandbox.text(&["sessions"]).contains("first"));

    // The agent continues under another id.
    let run = turn(&sandbox, "second", &["--resume", "last"]);
    assert_eq!(run.report()["session"]["resumed"], false);
    assert!(run.stdout.contains("the session first was not resumed: the agent worked in second"), "{}", run.stdout);
    // And under the same one.
    let run = turn(&sandbox, "second", &["--resume", "last"]);
    assert_eq!(run.report()["session"]["resumed"], true);
    assert!(!run.stdout.contains("not resumed"), "{}", run.stdout);
    let shown = sandbox.json(&["sessions", "second", "--json"]);
    assert_eq!(shown["turns"], 2, "a session that was not resumed is a new one: {shown}");
    let run = turn(&sandbox, "first", &["--resume", "first"]);
    assert_eq!(run.report()["session"]["resumed"], true);
    assert_eq!(sandbox.json(&["sessions", "first", "--json"])["turns"], 2);

    // In another workspace there is no last one.
    let other = sandbox.path("home");
    let args = ["run", "--adapter", "echo", "--resume", "last", "-C", other.to_str().unwrap(), "hi"];
    let run = sandbox.call(args);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn a_session_is_found_by_an_id_it_had_before() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    // This adapter does not say whether a resume resumed; some agents do not, and their ids change with each turn.
    let adapter = ["--adapter", "faulty"];
    turn(&sandbox, "old", &adapter).expect(0, "completed");
    turn(&sandbox, "new", &["--adapter", "faulty", "--resume", "old"]).expect(0, "completed");
    let found = sandbox.json(&["sessions", "old", "--json"]);
    assert_eq!((&found["id"], &found["turns"]), (&"new".into(), &2.into()), "{found}");
    assert_eq!(found["ids"], json!(["old", "new"]));
    // The old id resumes the new one, so there is nothing to warn about.
    let run = turn(&sandbox, "new", &["--adapter", "faulty", "--resume", "old"]);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert_eq!(sandbox.json(&["sessions", "new", "--json"])["turns"], 3);
}

#[test]
fn eight_runs_at_once_lose_nothing() {
    let sandbox = sandbox();
    let script = Script::normal();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("script-{number}");
            let hello = HELLO.replace("s-1", &format!("session-{number}"));
            let text =
                format!("tag {}\nline {hello}\nline {{\"type\":\"odd\"}}\nline {SAY}\nline {DONE}\n", sandbox.tag());
            let file = sandbox.write(&name, text);
            let mut command = sandbox.run_command(&script, &["--option", &format!("script={}", file.display())]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let run = Finished::from(child.wait_with_output().unwrap());
        run.expect(0, "completed");
        assert!(sandbox.output(&["receipt", run.run_id(), "--verify"]).status.success());
        sandbox.expect_replay(run.run_id());
    }
    sandbox.expect_nothing_left();
    assert_eq!(sandbox.json(&["runs", "--json"]).as_array().unwrap().len(), 8);
    let sessions = sandbox.json(&["sessions", "--json"]);
    let mut ids: Vec<_> = sessions.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let expected: Vec<String> = (0..8).map(|number| format!("session-{number}")).collect();
    assert_eq!(ids, expected);
    let doctor = sandbox.json(&["doctor", "echo", "--json"]);
    assert!(doctor[0]["drift"].to_string().contains("odd ×8"), "{}", doctor[0]["drift"]);
}

#[test]
fn a_run_that_is_not_recorded_leaves_nothing() {
    let sandbox = sandbox();
    let run = Finished::of(&mut sandbox.run_command(&Script::normal(), &["--no-record"]));
    run.expect(0, "completed");
    assert!(run.report()["run"].is_null());
    sandbox.expect_nothing_left();
    assert_eq!(sandbox.json(&["runs", "--json"]), json!([]));
    assert_eq!(files_containing(&sandbox.path("data"), b"s-1"), Vec::<PathBuf>::new());
}

#[test]
fn a_receipt_detects_any_changed_byte() {
    let sandbox = sandbox();
    let run = sandbox.run(&Script::normal(), &[]);
    let receipt = sandbox.json(&["receipt", run.run_id()]);
    assert_eq!((&receipt["run"], &receipt["outcome"]), (&run.run_id().into(), &"completed".into()));
    assert_eq!(receipt["adapter"]["id"], "echo");
    assert!(receipt["program"]["sha256"].as_str().is_some_and(|digest| digest.len() == 64), "{receipt}");
    for name in ["recording", "events.jsonl", "receipt.json"] {
        let file = sandbox.path("data/runs").join(run.run_id()).join(name);
        let intact = std::fs::read(&file).unwrap();
        let mut damaged = intact.clone();
        let at = damaged.len() / 2;
        damaged[at] ^= 1;
        std::fs::write(&file, &damaged).unwrap();
        let verified = sandbox.call(["receipt", run.run_id(), "--verify"]);
        assert_ne!(verified.code, Some(0), "{name}");
        assert!(verified.stdout.contains(name) || verified.stderr.contains(name), "{name}: {verified:?}");
        std::fs::write(&file, &intact).unwrap();
        assert!(sandbox.output(&["receipt", run.run_id(), "--verify"]).status.success(), "{name}");
    }
}

#[test]
fn a_recording_cut_anywhere_in_its_last_records_still_opens() {
    let sandbox = sandbox();
    let run = sandbox.run(&Script::normal(), &[]);
    let file = sandbox.path("data/runs").join(run.run_id()).join("recording");
    let whole = std::fs::read(&file).unwrap();
    let first = format!("{HELLO}\n");
    for cut in [1, 2, 5, 9, 20, 29, 40, 90] {
        std::fs::write(&file, &whole[..whole.len() - cut]).unwrap();
        let replayed = sandbox.call(["replay", run.run_id(), "--json"]);
        assert!(replayed.stdout.contains(ANSWER), "cut by {cut}: {replayed:?}");
        assert!(replayed.stderr.contains("the recording is incomplete"), "cut by {cut}: {replayed:?}");
        assert!(sandbox.output(&["show", run.run_id(), "--stdout"]).stdout.starts_with(first.as_bytes()));
    }
}

#[test]
fn drift_is_reported_after_the_turn_and_by_the_doctor() {
    let sandbox = sandbox();
    let odd = r#"{"type":"tide-table","at":3}"#;
    let script = Script::new().line(HELLO).line(odd).line(odd).line("not JSON").line(SAY).line(DONE);
    let run = sandbox.run(&script, &[]);
    assert_eq!(run.report()["drift"]["unknown"]["tide-table"], 2);
    assert_eq!(run.report()["drift"]["malformed"], 1);
    sandbox.run(&script, &[]).expect(0, "completed");
    let doctor = sandbox.text(&["doctor", "echo"]);
    assert!(doctor.contains("tide-table ×4") && doctor.contains("2 malformed"), "{doctor}");
}

#[test]
fn a_fixture_is_what_a_capture_replays_to() {
    let sandbox = sandbox();
    let home = sandbox.path("home");
    let work = sandbox.path("workspace");
    let say = format!(r#"{{"type":"say","id":"1","text":"in {} and {}"}}"#, work.display(), home.display());
    let script = Script::new().line(HELLO).line(&say).line(DONE).step("stderr a word\\n").step("exit 3");
    let run = sandbox.run(&script, &[]);
    let into = sandbox.path("fixture");
    sandbox.text(&["fixture", run.run_id(), "--into", into.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(into.join(name)).unwrap();
    assert_eq!(read("exit").trim(), "3");
    assert_eq!(read("stderr.txt"), "a word\n");
    let stdout = read("stdout.jsonl");
    assert!(stdout.contains("in /workspace and /home/user"), "{stdout}");
    assert!(files_containing(&into, sandbox.tag().as_bytes()).is_empty(), "it does not show where it was made");

    let file = |name: &str| into.join(name).to_str().unwrap().to_owned();
    let args = [
        "replay",
        "--adapter",
        "echo",
        "--stdout",
        &file("stdout.jsonl"),
        "--stderr",
        &file("stderr.txt"),
        "--exit",
        "3",
        "--json",
    ];
    let captured = sandbox.call(args);
    captured.expect(0, "completed");
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    for member in ["outcome", "answer", "session", "model", "usage", "error", "tools", "drift", "exit"] {
        assert_eq!(captured.report()[member], expected[member], "{member}");
    }
}

#[test]
fn a_bare_capture_replays_as_the_run_would_have_ended() {
    let sandbox = sandbox();
    let stdout = sandbox.write("out", format!("{HELLO}\n{SAY}\n"));
    let stderr = sandbox.write("err", "429 rate limit exceeded\n");
    let base = ["replay", "--adapter", "echo", "--json", "--stdout", stdout.to_str().unwrap()];
    let replay = |more: &[&str]| sandbox.call([&base[..], more].concat());
    replay(&[]).expect(1, "failed");
    replay(&["--cancelled"]).expect(130, "cancelled");
    let run = replay(&["--exit", "1", "--stderr", stderr.to_str().unwrap()]);
    run.expect(1, "failed");
    assert_eq!(run.report()["error"]["class"], "rate-limit");
    let run = replay(&["--signal", "9"]);
    assert_eq!(
        (run.report()["error"]["class"].as_str(), run.report()["exit"]["signal"].as_i64()),
        (Some("crash"), Some(9))
    );
    let whole = replay(&[]);
    for chunk in ["1", "2", "7", "64"] {
        assert_eq!(replay(&["--chunk", chunk]).events(), whole.events(), "{chunk}");
    }
}

#[test]
fn a_recording_replays_through_another_adapter() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let thought = r#"{"type":"think","id":"t","text":"hm"}"#;
    let run = sandbox.run(&Script::new().line(HELLO).line(thought).line(SAY).line(DONE), &[]);
    assert_eq!(run.of_type("thinking").count(), 1);
    // The other adapter does not know thoughts.
    let other = sandbox.path("adapters/faulty.wasm");
    let replayed = sandbox.call(["replay", run.run_id(), "--adapter", other.to_str().unwrap(), "--json"]);
    replayed.expect(0, "completed");
    assert_eq!(replayed.report()["drift"]["unknown"]["think"], 1);
    let diff = sandbox.call(["replay", run.run_id(), "--adapter", other.to_str().unwrap(), "--diff"]);
    assert_eq!(diff.code, Some(1), "{diff:?}");
    assert!(diff.stdout.contains("thinking") && diff.stdout.contains("unknown"), "{diff:?}");
}

//! Sessions of runs that were killed, and of runs at the same time.

use crate::sandbox;
use wharf_test_support::{DONE, Finished, HELLO, LiveRun, SAY, Script, wait_until};

const USAGE: &str = r#"{"type":"usage","input":3,"output":5}"#;

#[test]
fn a_killed_wharf_does_not_forget_the_session_nor_what_it_used() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).line(USAGE).line(SAY).step("silence");
    let mut live = LiveRun::start(&mut sandbox.run_command(&script, &["--label", "task=42"]));
    live.read_until("message");
    live.child.kill().unwrap();
    live.child.wait().unwrap();

    let listed = sandbox.json(&["sessions", "--json"]);
    let session = &listed[0];
    assert_eq!((&session["id"], &session["turns"]), (&"s-1".into(), &1.into()), "{listed}");
    assert_eq!((&session["outcome"], &session["usage"]["output"]), (&"failed".into(), &5.into()), "{listed}");
    assert_eq!(session["labels"]["task"], "42");
    let runs = sandbox.json(&["runs", "--json", "--label", "task=42"]);
    assert_eq!((&runs[0]["state"], &runs[0]["adapter"]), (&"torn".into(), &"echo".into()), "{runs}");
    assert_eq!(session["runs"][0], runs[0]["id"]);
    // Once, not with every command.
    assert_eq!(sandbox.json(&["sessions", "--json"])[0]["turns"], 1);

    let script = Script::new().line(HELLO).line(SAY).line(DONE);
    let resumed = sandbox.run(&script, &["--resume", "last"]);
    resumed.expect(0, "completed");
    assert_eq!(resumed.report()["session"]["resumed"], true);
    assert_eq!(sandbox.json(&["sessions", "s-1", "--json"])["turns"], 2);
}

#[test]
fn a_wharf_that_is_killed_after_its_report_keeps_the_outcome() {
    let sandbox = sandbox();
    let run = sandbox.run(&Script::new().line(HELLO).line(USAGE).line(SAY).line(DONE), &[]);
    sandbox.text(&["sessions", "rm", "s-1"]);
    // As if it had been killed before it wrote the receipt and remembered the session.
    let folder = sandbox.path("data/runs");
    std::fs::remove_file(folder.join(run.run_id()).join("receipt.json")).unwrap();
    std::fs::write(folder.join(format!("{}.lock", run.run_id())), "").unwrap();
    let listed = sandbox.json(&["sessions", "--json"]);
    assert_eq!((&listed[0]["id"], &listed[0]["outcome"]), (&"s-1".into(), &"completed".into()), "{listed}");
    assert_eq!(listed[0]["usage"]["output"], 5);
}

#[test]
fn a_second_run_on_a_live_session_is_refused_or_waits() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("read-line").line(SAY).step("read-line").line(DONE);
    let mut first = LiveRun::start_with_stdin(&mut sandbox.run_command(&script, &["--control"]));
    first.read_until("message");

    let again = Script::normal();
    let refused = Finished::of(&mut sandbox.run_command(&again, &["--resume", "s-1"]));
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("in use by the run"), "{refused:?}");
    assert!(refused.stderr.contains("--session-busy wait"), "{refused:?}");
    // A fork has a session of its own.
    Finished::of(&mut sandbox.run_command(&again, &["--fork", "s-1"])).expect(0, "completed");

    let mut waiting = LiveRun::start(&mut sandbox.run_command(&again, &["--resume", "s-1", "--session-busy", "wait"]));
    wait_until("the second run has its folder", || sandbox.json(&["runs", "--json"]).as_array().unwrap().len() == 3);
    assert!(waiting.child.try_wait().unwrap().is_none());
    assert_eq!(sandbox.processes().len(), 1, "the second agent has not started");
    first.write_line(r#"{"type":"message","text":"go on"}"#);
    first.close_stdin();
    first.finish().expect(0, "completed");
    waiting.finish().expect(0, "completed");
}

#[test]
fn the_session_of_a_killed_run_is_free_at_once() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).line(SAY).step("silence");
    let mut live = LiveRun::start(&mut sandbox.run_command(&script, &[]));
    live.read_until("message");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    Finished::of(&mut sandbox.run_command(&Script::normal(), &["--resume", "s-1"])).expect(0, "completed");
}

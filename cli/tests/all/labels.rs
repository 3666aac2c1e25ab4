//! Runs and sessions are found by their labels and their workspace, and can be deleted.

use crate::sandbox;
use serde_json::{Value, json};
use std::fs;
use wharf_test_support::{Finished, HELLO, LiveRun, Sandbox, Script, Signal};

/// A turn in a session, in a folder, with labels.
#[track_caller]
fn turn(sandbox: &Sandbox, session: &str, folder: &str, labels: &[&str]) -> String {
    let folder = sandbox.path(folder);
    fs::create_dir_all(&folder).unwrap();
    let mut args = vec!["run", "--json", "-a", "echo", "--session-id", session, "-C", folder.to_str().unwrap()];
    args.extend(labels.iter().flat_map(|label| ["--label", label]));
    args.push("hello");
    let run = sandbox.call(&args);
    run.expect(0, "completed");
    run.run_id().to_owned()
}

/// One field of the entries of a list.
fn field(list: &Value, name: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_found_by_label_and_workspace() {
    let sandbox = sandbox();
    let first = turn(&sandbox, "a", "one", &["task=42", "team=blue"]);
    let second = turn(&sandbox, "b", "two", &["task=42"]);
    let third = turn(&sandbox, "c", "one", &[]);
    let found = |more: &[&str]| field(&sandbox.json(&[&["runs", "--json"], more].concat()), "id");
    let one = sandbox.path("one");
    let one = one.to_str().unwrap();
    assert_eq!(found(&[]), [third.as_str(), &second, &first]);
    assert_eq!(found(&["--label", "task=42"]), [second.as_str(), &first]);
    assert_eq!(found(&["--label", "task=42", "--label", "team=blue"]), [first.as_str()]);
    assert_eq!(found(&["--label", "task=43"]), [] as [&str; 0]);
    assert_eq!(found(&["--workspace", one]), [third.as_str(), &first]);
    assert_eq!(found(&["--workspace", one, "--label", "task=42"]), [first.as_str()]);
    assert_eq!(found(&["--label", "task=42", "-n", "1"]), [second.as_str()]);
    let listed = sandbox.json(&["runs", "--json", "--label", "team=blue"]);
    assert_eq!(listed[0]["labels"], json!({ "task": "42", "team": "blue" }));
    assert!(sandbox.text(&["runs"]).contains("task=42"));
    let receipt = sandbox.json(&["receipt", &first]);
    assert_eq!(receipt["labels"], json!({ "task": "42", "team": "blue" }));
}

#[test]
fn sessions_are_found_by_label_and_workspace_and_know_all_their_runs() {
    let sandbox = sandbox();
    let first = turn(&sandbox, "a", "one", &["task=42"]);
    turn(&sandbox, "b", "two", &["task=42"]);
    turn(&sandbox, "c", "one", &[]);
    let one = sandbox.path("one");
    let one = one.to_str().unwrap();
    let resumed = ["run", "--json", "-a", "echo", "--resume", "a", "-C", one, "--label", "step=2", "again"];
    let resumed = sandbox.call(resumed);
    resumed.expect(0, "completed");
    let found = |more: &[&str]| field(&sandbox.json(&[&["sessions", "--json"], more].concat()), "id");
    assert_eq!(found(&[]), ["a", "c", "b"], "the most recent first");
    assert_eq!(found(&["--label", "task=42"]), ["a", "b"]);
    assert_eq!(found(&["--label", "task=42", "--workspace", one]), ["a"]);
    assert_eq!(found(&["--workspace", one]), ["a", "c"]);
    assert_eq!(found(&["--adapter", "other"]), [] as [&str; 0]);
    let session = sandbox.json(&["sessions", "a", "--json"]);
    assert_eq!(session["runs"], json!([first, resumed.run_id()]));
    assert_eq!(session["labels"], json!({ "task": "42", "step": "2" }), "the labels of all its runs");
    let shown = sandbox.text(&["sessions", "a"]);
    assert!(shown.contains("task=42") && shown.contains(resumed.run_id()), "{shown}");
}

#[test]
fn deleted_runs_are_removed_from_the_disk() {
    let sandbox = sandbox();
    let first = turn(&sandbox, "a", "one", &[]);
    let second = turn(&sandbox, "b", "one", &[]);
    let third = turn(&sandbox, "c", "one", &[]);
    let removed = sandbox.call(["runs", "rm", &first, &second]).success();
    assert_eq!(removed.stdout, "");
    let left: Vec<_> =
        fs::read_dir(sandbox.path("data/runs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [third.as_str()]);
    // An unknown id deletes nothing.
    let refused = sandbox.call(["runs", "rm", &first]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains(&first) && refused.stderr.contains("hint: "), "{refused:?}");
    let _ = sandbox.call(["runs", "rm", "last"]).success();
    assert_eq!(sandbox.json(&["runs", "--json"]), json!([]));
    // The sessions stay, and say which runs they had.
    assert_eq!(sandbox.json(&["sessions", "a", "--json"])["runs"], json!([first]));
}

#[test]
fn a_run_that_goes_on_cannot_be_deleted() {
    let sandbox = sandbox();
    let mut live = LiveRun::start(&mut sandbox.run_command(&Script::new().line(HELLO).step("silence"), &[]));
    let id = live.read_until("run-started")["run"].as_str().unwrap().to_owned();
    live.read_until("session");
    assert_eq!(sandbox.json(&["runs", "--json"])[0]["state"], "running");
    let refused = sandbox.call(["runs", "rm", &id]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("still running") && refused.stderr.contains("hint: "), "{refused:?}");
    live.signal(Signal::INT);
    let run: Finished = live.finish();
    run.expect(130, "cancelled");
    let _ = sandbox.call(["receipt", &id, "--verify"]).success();
    let _ = sandbox.call(["runs", "rm", &id]).success();
    assert_eq!(sandbox.json(&["runs", "--json"]), json!([]));
}

#[test]
fn a_deleted_session_is_forgotten_and_its_runs_stay() {
    let sandbox = sandbox();
    let first = turn(&sandbox, "a", "one", &["task=42"]);
    turn(&sandbox, "b", "one", &[]);
    let _ = sandbox.call(["sessions", "rm", "a"]).success();
    assert_eq!(field(&sandbox.json(&["sessions", "--json"]), "id"), ["b"]);
    assert_eq!(sandbox.call(["sessions", "a"]).code, Some(2));
    assert_eq!(sandbox.call(["sessions", "rm", "a"]).code, Some(2));
    assert_eq!(field(&sandbox.json(&["runs", "--json", "--label", "task=42"]), "id"), [first]);
    let _ = sandbox.call(["sessions", "rm", "last"]).success();
    assert_eq!(sandbox.json(&["sessions", "--json"]), json!([]));
}

#[test]
fn a_label_with_a_secret_is_refused() {
    let sandbox = sandbox();
    let run = sandbox.call(["run", "-a", "echo", "--env", "TOKEN=hunter2hunter2", "--label", "t=hunter2hunter2", "hi"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("the label `t`") && !run.stderr.contains("hunter2"), "{run:?}");
}

#[test]
fn a_wrong_name_deletes_nothing_and_a_name_given_twice_deletes_one() {
    let sandbox = sandbox();
    let first = turn(&sandbox, "a", "one", &[]);
    let second = turn(&sandbox, "b", "one", &[]);
    assert_eq!(sandbox.call(["runs", "rm", "last", "nope"]).code, Some(2));
    assert_eq!(sandbox.call(["sessions", "rm", "a", "nope"]).code, Some(2));
    assert_eq!(field(&sandbox.json(&["runs", "--json"]), "id"), [second.as_str(), &first]);
    assert_eq!(field(&sandbox.json(&["sessions", "--json"]), "id"), ["b", "a"]);
    assert_eq!(sandbox.call(["runs", "rm", "last", "last"]).code, Some(0));
    assert_eq!(field(&sandbox.json(&["runs", "--json"]), "id"), [first.as_str()]);
}

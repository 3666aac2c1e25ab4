//! Recordings and receipts of the first format were never released: they are refused by the number of their format, and
//! nothing else is affected by them.

use crate::sandbox;
use wharf_test_support::Sandbox;

/// An id of an old run.
const OLD: &str = "20261001T120000-0a1b2c3d";

/// A run of format 1, as far as anything reads it.
fn old_run(sandbox: &Sandbox) {
    std::fs::create_dir_all(sandbox.path("data/runs").join(OLD)).unwrap();
    sandbox.write(format!("data/runs/{OLD}/recording"), "wharf-recording 1\n\0\0\0\0L\0\0\0\0\0\0\0\0");
    sandbox.write(format!("data/runs/{OLD}/events.jsonl"), "{\"type\":\"session\",\"id\":\"s\"}\n");
    let receipt = r#"{"ended":"2026-10-01T12:00:01Z","format":1,"outcome":"completed","run":"ID","sha256":"00"}"#;
    sandbox.write(format!("data/runs/{OLD}/receipt.json"), receipt.replace("ID", OLD) + "\n");
}

#[test]
fn a_recording_of_format_1_is_refused_by_its_format() {
    let sandbox = sandbox();
    old_run(&sandbox);
    for args in [&["replay", OLD][..], &["replay", OLD, "--diff"], &["show", OLD], &["show", OLD, "--stdout"]] {
        let refused = sandbox.call(args);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}: {refused:?}");
        for part in ["recording", "version 1", OLD] {
            assert!(refused.stderr.contains(part), "{args:?}: {part:?} is not in {refused:?}");
        }
    }
}

#[test]
fn a_receipt_of_format_1_is_refused_by_its_format() {
    let sandbox = sandbox();
    old_run(&sandbox);
    let refused = sandbox.call(["receipt", OLD, "--verify"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["receipt.json", "version 1"] {
        assert!(refused.stderr.contains(part), "{part:?} is not in {refused:?}");
    }
}

#[test]
fn an_old_run_is_listed_and_can_be_deleted_and_others_still_work() {
    let sandbox = sandbox();
    old_run(&sandbox);
    let _ = sandbox.call(["run", "-a", "echo", "hello"]).success();
    let listed = sandbox.json(&["runs", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!((&listed[1]["id"], &listed[1]["adapter"]), (&OLD.into(), &serde_json::Value::Null), "{listed}");
    let _ = sandbox.call(["runs", "rm", OLD]).success();
    assert_eq!(sandbox.json(&["runs", "--json"]).as_array().unwrap().len(), 1);
}

//! Recordings and receipts of the first two formats were never released: they are refused by the number of their format,
//! and nothing else is affected by them.

use crate::sandbox;
use wharf_test_support::Sandbox;

/// An id of an old run.
const OLD: &str = "20261001T120000-0a1b2c3d";

/// A run of an old format, as far as anything reads it.
fn old_run(sandbox: &Sandbox, format: u32) {
    std::fs::create_dir_all(sandbox.path("data/runs").join(OLD)).unwrap();
    sandbox.write(format!("data/runs/{OLD}/recording"), format!("wharf-recording {format}\n\0\0\0\0L\0\0\0\0\0\0\0\0"));
    sandbox.write(format!("data/runs/{OLD}/events.jsonl"), "{\"type\":\"session\",\"id\":\"s\"}\n");
    let receipt = r#"{"ended":"2026-10-01T12:00:01Z","format":FORMAT,"outcome":"completed","run":"ID","sha256":"00"}"#;
    sandbox.write(
        format!("data/runs/{OLD}/receipt.json"),
        receipt.replace("ID", OLD).replace("FORMAT", &format.to_string()) + "\n",
    );
}

#[test]
fn a_recording_of_an_old_format_is_refused_by_its_format() {
    for format in [1, 2] {
        let sandbox = sandbox();
        old_run(&sandbox, format);
        for args in [&["replay", OLD][..], &["replay", OLD, "--diff"], &["show", OLD], &["show", OLD, "--stdout"]] {
            let refused = sandbox.call(args);
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}: {refused:?}");
            for part in ["recording", &format!("version {format}"), OLD] {
                assert!(refused.stderr.contains(part), "{args:?}: {part:?} is not in {refused:?}");
            }
        }
    }
}

#[test]
fn a_receipt_of_an_old_format_is_refused_by_its_format() {
    for format in [1, 2] {
        let sandbox = sandbox();
        old_run(&sandbox, format);
        let refused = sandbox.call(["receipt", OLD, "--verify"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        for part in ["receipt.json", &format!("version {format}")] {
            assert!(refused.stderr.contains(part), "{part:?} is not in {refused:?}");
        }
    }
}

#[test]
fn an_old_run_is_listed_and_can_be_deleted_and_others_still_work() {
    let sandbox = sandbox();
    old_run(&sandbox, 2);
    let _ = sandbox.call(["run", "-a", "echo", "hello"]).success();
    let listed = sandbox.json(&["runs", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!((&listed[1]["id"], &listed[1]["adapter"]), (&OLD.into(), &serde_json::Value::Null), "{listed}");
    let _ = sandbox.call(["runs", "rm", OLD]).success();
    assert_eq!(sandbox.json(&["runs", "--json"]).as_array().unwrap().len(), 1);
}

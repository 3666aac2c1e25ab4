//! Receipts: their form, and that every change of a byte is detected.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::content::canonical;
use super::measures::Measures;
use super::verify::open_seal;
use super::*;
use crate::digest::sha256;
use crate::error::Result;
use crate::record::folder::{EVENTS, RECEIPT, RECORDING, RunFolder};
use crate::record::format::Kind;
use crate::record::runs::{RunFilter, RunState, Runs};
use crate::record::writer::RecordingWriter;
use wharf_core::model::{
    AdapterId, ErrorClass, Failure, FileChange, FileChangeKind, Labels, Outcome, ReportTool, Retry, ToolStatus, Usage,
    time,
};
use wharf_core::stream::Secrets;

fn parse_time(text: &str) -> SystemTime {
    time::from_rfc3339(text).expect("a time")
}

/// A receipt with a value in every member.
fn receipt() -> Receipt {
    let mut error = Failure::new(ErrorClass::RateLimit, "slow down");
    error.http_status = Some(429);
    error.retry = Retry::At { time: time::from_unix_seconds(1_800_000_000) };
    let mut usage = Usage::default();
    usage.input = Some(u64::MAX);
    usage.units = BTreeMap::from([("requests".to_owned(), 0.33), ("z".to_owned(), 1e16), ("a".to_owned(), 1.0)]);
    let mut tool = ReportTool::new("t1", ToolStatus::Failed);
    tool.name = Some("bash".to_owned());
    tool.exit_code = Some(-1);
    tool.duration_ms = Some(12);
    let mut file = FileChange::new("a.rs", FileChangeKind::Edited);
    file.added = Some(1);
    Receipt {
        run: "20261116T015713-ab12cd34".to_owned(),
        wharf: "0.1.0".to_owned(),
        adapter: AdapterId { id: "echo".to_owned(), version: "0.1.0".to_owned(), sha256: "ad".repeat(32) },
        program: Some(ReceiptProgram {
            path: "/opt/agent \"é\"\u{1f}\u{7f}\n".to_owned(),
            version: Some("1.2.3".to_owned()),
            sha256: None,
        }),
        args: vec!["--token".to_owned(), "[redacted:TOKEN]".to_owned()],
        workspace: "/work".to_owned(),
        labels: Labels::from([("job".to_owned(), "7".to_owned())]),
        started: parse_time("2026-11-16T01:57:13.5Z"),
        ended: parse_time("2026-11-16T01:58:00Z"),
        outcome: Outcome::Failed,
        detail: Some("idle".to_owned()),
        error: Some(error),
        usage: Some(usage),
        tools: vec![tool],
        files: vec![file],
        killed: vec!["sleep (42)".to_owned()],
        recording: None,
        events: None,
    }
}

fn verify(folder: &Path) -> Result<Verified> {
    StoredReceipt::read(folder)?.verify()
}

/// The folder of a run with all three files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = folder.path().join(RECORDING);
    let mut writer = RecordingWriter::create(&recording, u64::MAX).expect("a new file");
    writer.append(Kind::Stdout, 1, b"hello\n").expect("written");
    let recording = Some(writer.close().expect("written").into());
    let events = folder.path().join(EVENTS);
    fs::write(&events, "{\"type\":\"session\"}\n{\"type\":\"report\"}\n").expect("written");
    let events = Some(EventsDigest::of(&events).expect("readable"));
    Receipt { recording, events, ..receipt() }.seal().write(folder.path()).expect("written");
    folder
}

fn failed_checks(folder: &Path) -> Vec<Check> {
    let verified = verify(folder).expect("readable");
    let failed: Vec<Check> = verified.checks.iter().filter(|check| !check.holds()).cloned().collect();
    assert_eq!(verified.holds(), failed.is_empty());
    failed
}

#[test]
fn the_form_is_what_the_documentation_says() {
    let sealed = receipt().seal();
    let before = concat!(
        r#"{"adapter":{"id":"echo","sha256":"DIGEST","version":"0.1.0"},"args":["--token","[redacted:TOKEN]"],"#,
        r#""detail":"idle","ended":"2026-11-16T01:58:00Z","error":{"class":"rate-limit","code":null,"#,
        r#""http_status":429,"message":"slow down","retry":{"kind":"at","time":"2027-01-15T08:00:00Z"}},"events":null,"#,
        r#""files":[{"added":1,"kind":"edited","path":"a.rs","removed":null}],"format":3,"killed":["sleep (42)"],"labels":{"job":"7"},"#,
        r#""outcome":"failed","program":{"path":"/opt/agent \"é\"\u001fDELETE\n","sha256":null,"version":"1.2.3"},"#,
        r#""recording":null,"run":"20261116T015713-ab12cd34","#,
    );
    let after = concat!(
        r#""started":"2026-11-16T01:57:13.5Z","tools":[{"duration_ms":12,"exit_code":-1,"id":"t1","name":"bash","parent":null,"#,
        r#""status":"failed"}],"usage":{"api_ms":null,"cache_read":null,"cache_write":null,"cost":null,"cost_source":null,"#,
        r#""input":18446744073709551615,"input_uncached":null,"output":null,"reasoning":null,"rounds":null,"#,
        r#""units":{"a":1.0,"requests":0.33,"z":1e+16}},"wharf":"0.1.0","workspace":"/work"}"#,
    );
    let before = before.replace("DIGEST", &"ad".repeat(32)).replace("DELETE", "\u{7f}");
    // As the documentation says to check it without wharf.
    let digest = sha256(format!("{before}{after}").as_bytes());
    assert_eq!(sealed.as_str(), format!("{before}\"sha256\":\"{digest}\",{after}\n"));
    assert_eq!(sealed.sha256(), digest);
}

#[test]
fn no_text_of_a_receipt_contains_a_secret() {
    let secret = "hunter2\"hunter2";
    let mut receipt = receipt();
    receipt.adapter.version = format!("1-{secret}");
    receipt.program = Some(ReceiptProgram {
        path: format!("/opt/{secret}/agent"),
        version: Some(format!("1.0 {secret}")),
        sha256: Some("ab".repeat(32)),
    });
    receipt.args.push(secret.to_owned());
    receipt.workspace = format!("/{secret}");
    receipt.detail = Some(secret.to_owned());
    receipt.killed = vec![secret.to_owned()];
    // A date that somebody passes on is a secret by the rule, and the times of a receipt must stay readable.
    let secrets = Secrets::new([("KEY", secret), ("TODAY", "2026-11-16")]);
    let sealed = receipt.clone().redacted(&secrets).seal();
    assert!(!sealed.as_str().contains("hunter2"), "{}", sealed.as_str());
    assert_eq!(sealed.receipt().started, receipt.started);
    assert_eq!(sealed.as_str().matches("[redacted:KEY]").count(), 7);
    let (checks, read) = open_seal(sealed.as_str().as_bytes()).expect("an object");
    assert!(checks.iter().all(Check::holds));
    assert_eq!(read.as_ref(), Ok(sealed.receipt()));
}

#[test]
fn an_unchanged_run_passes_all_checks() {
    let folder = folder();
    let verified = verify(folder.path()).expect("readable");
    assert!(verified.holds(), "{:?}", verified.checks);
    let lines: Vec<String> = verified.checks.iter().map(Check::to_string).collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[2].starts_with("recording: as sealed (74 bytes, sha256 "), "{lines:?}");
    assert!(lines[3].starts_with("events.jsonl: as sealed (2 lines, sha256 "), "{lines:?}");
    let dropped = verified.receipt.recording.map(|recording| recording.dropped);
    assert_eq!(dropped, Some(0));
    let names: Vec<_> = fs::read_dir(folder.path()).expect("it exists").collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_run_with_a_receipt_is_listed_as_ended() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let run = RunFolder::create(root.path(), &receipt().run).expect("created");
    receipt().seal().write(run.path()).expect("written");
    let runs = Runs::new(root.path().to_owned()).list(&RunFilter::default()).expect("a list");
    let ended = parse_time("2026-11-16T01:58:00Z");
    assert_eq!(runs[0].state, RunState::Ended { outcome: Outcome::Failed, ended });
}

/// All ways to flip one bit, to remove one byte, and to insert a space.
fn changes(original: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..original.len()).flat_map(move |at| {
        let flipped = (0..8).map(move |bit| {
            let mut changed = original.to_vec();
            changed[at] ^= 1 << bit;
            changed
        });
        let mut removed = original.to_vec();
        removed.remove(at);
        let mut inserted = original.to_vec();
        inserted.insert(at, b' ');
        flipped.chain([removed, inserted])
    })
}

#[test]
fn every_change_of_the_receipt_is_detected() {
    let text = receipt().seal().text;
    let holds =
        |text: &[u8]| open_seal(text).is_ok_and(|(checks, receipt)| receipt.is_ok() && checks.iter().all(Check::holds));
    assert!(holds(text.as_bytes()));
    for changed in changes(text.as_bytes()) {
        assert!(!holds(&changed), "{}", String::from_utf8_lossy(&changed));
    }
    // These make no difference to JSON.
    for (from, to) in [("\\u001f", "\\u001F"), ("1e+16", "1e16"), ("0.33", "0.330"), ("}\n", "}\n\n"), ("é", "\\u00e9")]
    {
        assert!(text.contains(from));
        assert!(!holds(text.replace(from, to).as_bytes()), "{from}");
    }
    let twice = text.replacen('{', "{\"run\":\"another\",", 1);
    assert!(!holds(twice.as_bytes()));
}

#[test]
fn every_change_of_the_recording_and_of_the_events_is_detected() {
    let folder = folder();
    for name in [RECORDING, EVENTS] {
        let path = folder.path().join(name);
        let original = fs::read(&path).expect("it exists");
        for changed in changes(&original) {
            fs::write(&path, changed).expect("written");
            let failed = failed_checks(folder.path());
            assert_eq!(failed.iter().map(|check| check.file).collect::<Vec<_>>(), [name]);
        }
        fs::remove_file(&path).expect("it exists");
        let lines = failed_checks(folder.path()).iter().map(Check::to_string).collect::<Vec<_>>().join("\n");
        assert!(lines.starts_with(&format!("{name}: changed since it was sealed (expected ")), "{lines}");
        assert!(lines.ends_with(", found no such file)"), "{lines}");
        fs::write(&path, original).expect("written");
    }
    assert_eq!(failed_checks(folder.path()), []);
}

#[test]
fn a_file_that_is_not_in_the_receipt_is_detected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    receipt().seal().write(folder.path()).expect("written");
    assert_eq!(failed_checks(folder.path()), []);
    fs::write(folder.path().join(EVENTS), "").expect("written");
    let failed = failed_checks(folder.path());
    assert_eq!((failed.len(), failed[0].expected.as_str()), (1, "no such file"));
}

#[test]
fn a_changed_value_is_described() {
    let folder = folder();
    let path = folder.path().join(RECEIPT);
    let text = fs::read_to_string(&path).expect("it exists");
    fs::write(&path, text.replace("\"failed\",\"program\"", "\"completed\",\"program\"")).expect("written");
    let verified = verify(folder.path()).expect("readable");
    assert_eq!(verified.receipt.outcome, Outcome::Completed);
    let line = verified.checks[0].to_string();
    assert!(line.starts_with("receipt.json: changed since it was sealed (expected sha256 "), "{line}");
    assert!(verified.checks[1..].iter().all(Check::holds));
}

#[test]
fn a_file_that_is_not_a_receipt_is_an_error_that_names_it() {
    let folder = folder();
    let path = folder.path().join(RECEIPT);
    let text = fs::read_to_string(&path).expect("it exists");
    let reseal = |format: &str| {
        let mut value: Value = serde_json::from_str(&text.replace("\"format\":3", format)).expect("JSON");
        value.as_object_mut().expect("an object").remove("sha256");
        value["sha256"] = Value::from(sha256(canonical(&mut value).as_bytes()));
        canonical(&mut value) + "\n"
    };
    for (content, expected) in [
        (String::new(), "it is not a JSON object"),
        ("[1]\n".to_owned(), "it is not a JSON object"),
        ("{}\n".to_owned(), "it is not sealed"),
        (
            "{\"sha256\":1}\n".to_owned(),
            "its format is version unknown, this wharf reads version 3; receipt.json: changed since",
        ),
        (reseal("\"format\":2"), "its format is version 2, this wharf reads version 3"),
        (reseal("\"format\":4"), "its format is version 4, this wharf reads version 3"),
        (text.replace("\"outcome\"", "\"income\""), "changed since it was sealed (expected sha256 "),
    ] {
        fs::write(&path, &content).expect("written");
        let message = verify(folder.path()).expect_err("not a receipt").to_string();
        assert!(message.starts_with("cannot read the receipt ") && message.contains(RECEIPT), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    fs::write(&path, reseal("\"format\":3")).expect("written");
    assert_eq!(failed_checks(folder.path()), [], "anyone can seal a receipt again");
    fs::remove_file(&path).expect("it exists");
    let error = verify(folder.path()).expect_err("no such file");
    assert!(error.hint().is_some_and(|hint| hint.contains("when it ends")), "{error:?}");
}

#[test]
fn a_last_line_without_an_end_is_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("lines");
    for (content, lines) in [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
        fs::write(&path, content).expect("written");
        let measures = Measures::of(&path).expect("it exists");
        let sha256 = sha256(content.as_bytes());
        assert_eq!(measures, Measures { bytes: content.len() as u64, lines, sha256 }, "{content:?}");
    }
}

/// JSON has no other numbers.
fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("not finite", |number| number.is_finite())
}

proptest! {
    #[test]
    fn a_receipt_that_is_read_and_sealed_again_is_the_same(
        texts in prop::array::uniform4(any::<String>()),
        units in prop::collection::btree_map(any::<String>(), finite(), 0..5),
        input in any::<Option<u64>>(),
        nanosecond in 0..2_000_000_000_000_000_000_u64,
    ) {
        let [detail, arg, name, file] = texts;
        let mut receipt = receipt();
        receipt.detail = Some(detail);
        receipt.args.push(arg);
        receipt.tools[0].name = Some(name);
        receipt.files[0].path = file;
        let mut usage = Usage::default();
        (usage.input, usage.units) = (input, units);
        receipt.usage = Some(usage);
        receipt.ended = UNIX_EPOCH + Duration::from_nanos(nanosecond);
        let sealed = receipt.seal();
        let (checks, read) = open_seal(sealed.as_str().as_bytes()).expect("a receipt");
        prop_assert!(checks.iter().all(Check::holds), "{checks:?}");
        prop_assert_eq!(read.expect("a receipt").seal(), sealed.clone());
        // After any other tool for JSON has written it.
        let value: Value = serde_json::from_str(sealed.as_str()).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let read: Receipt = serde_json::from_str(&pretty).expect("a receipt");
        prop_assert_eq!(read.seal(), sealed);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_beside_the_receipt_does_not_block_its_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["receipt.json.new", RECEIPT] {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status();
        assert!(made.expect("every system has mkfifo").success());
    }
    receipt().seal().write(folder.path()).expect("written");
    assert!(std::fs::metadata(folder.path().join(RECEIPT)).expect("it exists").is_file());
}

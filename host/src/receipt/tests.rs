//! Receipts: their form, and that no change of a byte goes unseen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::verify::open_seal;
use super::*;
use crate::event::{ErrorClass, Retry, ToolStatus};
use crate::runs::{EVENTS, RECORDING, RunFolder, RunState};

/// One with something in every place.
fn receipt() -> Receipt {
    Receipt {
        run: "20261116T015713-ab12cd34".to_owned(),
        wharf: "0.1.0".to_owned(),
        adapter: ReceiptAdapter { id: "echo".to_owned(), version: "0.1.0".to_owned(), digest: "ad".repeat(32) },
        program: Some(ReceiptProgram {
            path: "/opt/agent \"é\"\u{1f}\u{7f}\n".to_owned(),
            version: Some("1.2.3".to_owned()),
            digest: None,
        }),
        args: vec!["--token".to_owned(), "[redacted:TOKEN]".to_owned()],
        workspace: "/work".to_owned(),
        started: "2026-11-16T01:57:13.5Z".parse().expect("a time"),
        ended: "2026-11-16T01:58:00Z".parse().expect("a time"),
        outcome: Outcome::Failed,
        detail: Some("idle".to_owned()),
        error: Some(Failure {
            class: ErrorClass::RateLimit,
            message: "slow down".to_owned(),
            code: None,
            http_status: Some(429),
            retry: Retry::At { time: 1_800_000_000 },
        }),
        usage: Some(Usage {
            input: Some(u64::MAX),
            units: BTreeMap::from([("requests".to_owned(), 0.33), ("z".to_owned(), 1e16), ("a".to_owned(), 1.0)]),
            ..Usage::default()
        }),
        tools: vec![ReportTool {
            id: "t1".to_owned(),
            parent: None,
            name: Some("bash".to_owned()),
            status: ToolStatus::Failed,
            exit_code: Some(-1),
        }],
        files: vec![FileChange { path: "a.rs".to_owned(), kind: "edited".to_owned(), added: Some(1), removed: None }],
        killed: vec!["sleep (42)".to_owned()],
        recording: None,
        events: None,
    }
}

/// A folder of a run with all three files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let recording = folder.path().join(RECORDING);
    let mut writer = crate::recording::RecordingWriter::create(&recording, u64::MAX).expect("the file is new");
    writer.append(crate::recording::Kind::Stdout, 1, b"hello\n").expect("there is room");
    let recording = Some(writer.close().expect("there is room").into());
    let events = folder.path().join(EVENTS);
    fs::write(&events, "{\"type\":\"session\"}\n{\"type\":\"report\"}\n").expect("there is room");
    let events = Some(EventsDigest::of(&events).expect("it was written"));
    Receipt { recording, events, ..receipt() }.seal().write(folder.path()).expect("there is room");
    folder
}

fn broken(folder: &Path) -> Vec<Check> {
    let verified = verify(folder).expect("it can be read");
    let broken: Vec<Check> = verified.checks.iter().filter(|check| !check.holds()).cloned().collect();
    assert_eq!(verified.holds(), broken.is_empty());
    broken
}

#[test]
fn the_form_is_what_the_documentation_says() {
    let sealed = receipt().seal();
    let before = concat!(
        r#"{"adapter":{"digest":"DIGEST","id":"echo","version":"0.1.0"},"args":["--token","[redacted:TOKEN]"],"#,
        r#""detail":"idle","ended":"2026-11-16T01:58:00Z","error":{"class":"rate-limit","code":null,"#,
        r#""http_status":429,"message":"slow down","retry":{"kind":"at","time":1800000000}},"events":null,"#,
        r#""files":[{"added":1,"kind":"edited","path":"a.rs","removed":null}],"format":1,"killed":["sleep (42)"],"#,
        r#""outcome":"failed","program":{"digest":null,"path":"/opt/agent \"é\"\u001fDELETE\n","version":"1.2.3"},"#,
        r#""recording":null,"run":"20261116T015713-ab12cd34","#,
    );
    let after = concat!(
        r#""started":"2026-11-16T01:57:13.5Z","tools":[{"exit_code":-1,"id":"t1","name":"bash","parent":null,"#,
        r#""status":"failed"}],"usage":{"api_millis":null,"cache_read":null,"cache_write":null,"cost_micros":null,"#,
        r#""input":18446744073709551615,"output":null,"reasoning":null,"#,
        r#""units":{"a":1.0,"requests":0.33,"z":1e+16}},"wharf":"0.1.0","workspace":"/work"}"#,
    );
    let before = before.replace("DIGEST", &"ad".repeat(32)).replace("DELETE", "\u{7f}");
    // As the documentation says to check it without wharf.
    let digest = format!("{:x}", Sha256::digest(format!("{before}{after}")));
    assert_eq!(sealed.as_str(), format!("{before}\"sha256\":\"{digest}\",{after}\n"));
    assert_eq!(sealed.sha256(), digest);
}

#[test]
fn an_untouched_run_holds() {
    let folder = folder();
    let verified = verify(folder.path()).expect("it can be read");
    assert!(verified.holds(), "{:?}", verified.checks);
    let words: Vec<String> = verified.checks.iter().map(Check::to_string).collect();
    assert_eq!(words.len(), 4);
    assert!(words[2].starts_with("recording: as sealed (74 bytes, sha256 "), "{words:?}");
    assert!(words[3].starts_with("events.jsonl: as sealed (2 lines, sha256 "), "{words:?}");
    let dropped = verified.receipt.recording.map(|recording| recording.dropped);
    assert_eq!(dropped, Some(0));
    let names: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_run_with_a_receipt_is_listed_as_ended() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let run = RunFolder::create(root.path(), &receipt().run).expect("it can be made");
    receipt().seal().write(run.path()).expect("there is room");
    let runs = crate::runs::list(root.path()).expect("it can be listed");
    let ended = "2026-11-16T01:58:00Z".to_owned();
    assert_eq!(runs[0].state, RunState::Ended { adapter: "echo".to_owned(), outcome: Outcome::Failed, ended });
}

/// All ways to flip one bit, to remove one byte, and to put a blank in.
fn changes(original: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..original.len()).flat_map(move |place| {
        let flipped = (0..8).map(move |bit| {
            let mut changed = original.to_vec();
            changed[place] ^= 1 << bit;
            changed
        });
        let mut removed = original.to_vec();
        removed.remove(place);
        let mut inserted = original.to_vec();
        inserted.insert(place, b' ');
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
    // The same to JSON.
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
        let original = fs::read(&path).expect("it is there");
        for changed in changes(&original) {
            fs::write(&path, changed).expect("there is room");
            let broken = broken(folder.path());
            assert_eq!(broken.iter().map(|check| check.file).collect::<Vec<_>>(), [name]);
        }
        fs::remove_file(&path).expect("it is there");
        let words = broken(folder.path()).iter().map(Check::to_string).collect::<Vec<_>>().join("\n");
        assert!(words.starts_with(&format!("{name}: changed since it was sealed (expected ")), "{words}");
        assert!(words.ends_with(", found no such file)"), "{words}");
        fs::write(&path, original).expect("there is room");
    }
    assert_eq!(broken(folder.path()), []);
}

#[test]
fn a_file_that_the_receipt_does_not_know_is_detected() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    receipt().seal().write(folder.path()).expect("there is room");
    assert_eq!(broken(folder.path()), []);
    fs::write(folder.path().join(EVENTS), "").expect("there is room");
    let broken = broken(folder.path());
    assert_eq!((broken.len(), broken[0].expected.as_str()), (1, "no such file"));
}

#[test]
fn a_changed_figure_is_said_in_words() {
    let folder = folder();
    let path = folder.path().join(RECEIPT);
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, text.replace("\"failed\",\"program\"", "\"completed\",\"program\"")).expect("there is room");
    let verified = verify(folder.path()).expect("it can be read");
    assert_eq!(verified.receipt.outcome, Outcome::Completed);
    let words = verified.checks[0].to_string();
    assert!(words.starts_with("receipt.json: changed since it was sealed (expected sha256 "), "{words}");
    assert!(verified.checks[1..].iter().all(Check::holds));
}

#[test]
fn what_is_no_receipt_is_an_error_that_names_the_file() {
    let folder = folder();
    let path: PathBuf = folder.path().join(RECEIPT);
    let text = fs::read_to_string(&path).expect("it is there");
    let reseal = |format: &str| {
        let mut value: Value = serde_json::from_str(&text.replace("\"format\":1", format)).expect("it is JSON");
        value.as_object_mut().expect("it is an object").remove("sha256");
        value["sha256"] = Value::from(format!("{:x}", Sha256::digest(canonical(&mut value))));
        canonical(&mut value) + "\n"
    };
    for (content, expected) in [
        (String::new(), "it is no JSON object"),
        ("[1]\n".to_owned(), "it is no JSON object"),
        ("{}\n".to_owned(), "it is not sealed"),
        ("{\"sha256\":1}\n".to_owned(), "its format is none, this wharf reads 1; receipt.json: changed since"),
        (reseal("\"format\":2"), "its format is 2, this wharf reads 1"),
        (text.replace("\"outcome\"", "\"income\""), "changed since it was sealed (expected sha256 "),
    ] {
        fs::write(&path, &content).expect("there is room");
        let message = verify(folder.path()).expect_err("it is no receipt").to_string();
        assert!(message.starts_with("cannot read the receipt ") && message.contains(RECEIPT), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    fs::write(&path, reseal("\"format\":1")).expect("there is room");
    assert_eq!(broken(folder.path()), [], "sealing anew is no more than this");
    fs::remove_file(&path).expect("it is there");
    let error = verify(folder.path()).expect_err("there is none");
    assert!(error.to_do().is_some_and(|hint| hint.contains("once it has ended")), "{error:?}");
}

#[test]
fn lines_are_counted_with_the_last_one() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("lines");
    for (content, lines) in [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
        fs::write(&path, content).expect("there is room");
        let measures = Measures::of(&path).expect("it is there");
        let sha256 = format!("{:x}", Sha256::digest(content));
        assert_eq!(measures, Measures { bytes: content.len() as u64, lines, sha256 }, "{content:?}");
    }
}

/// JSON has no other.
fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("it is not finite", |figure| figure.is_finite())
}

proptest! {
    #[test]
    fn a_receipt_is_stable_under_serialisation(
        texts in prop::array::uniform4(any::<String>()),
        units in prop::collection::btree_map(any::<String>(), finite(), 0..5),
        input in any::<Option<u64>>(),
        nanosecond in 0..2_000_000_000_000_000_000_i128,
    ) {
        let [detail, arg, name, file] = texts;
        let mut receipt = receipt();
        receipt.detail = Some(detail);
        receipt.args.push(arg);
        receipt.tools[0].name = Some(name);
        receipt.files[0].path = file;
        receipt.usage = Some(Usage { input, units, ..Usage::default() });
        receipt.ended = Timestamp::from_nanosecond(nanosecond).expect("it is in range");
        let sealed = receipt.seal();
        let (checks, read) = open_seal(sealed.as_str().as_bytes()).expect("it is a receipt");
        prop_assert!(checks.iter().all(Check::holds), "{checks:?}");
        prop_assert_eq!(read.expect("it is a receipt").seal(), sealed.clone());
        // Through any other tool that knows JSON.
        let value: Value = serde_json::from_str(sealed.as_str()).expect("it is JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("it is JSON");
        let read: Receipt = serde_json::from_str(&pretty).expect("it is a receipt");
        prop_assert_eq!(read.seal(), sealed);
    }
}

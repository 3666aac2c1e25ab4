//! Recorded runs: listed, filtered, found and deleted.

use super::*;
use crate::record::folder::RunFolder;
use crate::record::folder::tests::{create_ended, id, new_root};
use crate::record::format::Kind;
use crate::record::writer::RecordingWriter;
use std::fs;
use wharf_core::model::{AdapterId, AgentId, Binary, ExitBehavior, Framing, Prices, RunStarted, Turn, Usage};

fn list(root: &Path, filter: &RunFilter) -> Vec<RunEntry> {
    Runs::new(root.to_owned()).list(filter).expect("a list")
}

/// The seconds in the ids of some runs.
fn seconds(runs: &[RunEntry]) -> Vec<u32> {
    runs.iter().map(|run| u32::from_str_radix(&run.id[16..], 16).expect("hexadecimal digits")).collect()
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Creates an ended run whose recording says what was started.
fn create_launched(root: &Path, id: &str, workspace: &str, labels: Labels) {
    let folder = RunFolder::create(root, id).expect("created");
    let adapter = AdapterId { id: "echo".to_owned(), version: "0.1.0".to_owned(), sha256: "ad".repeat(32) };
    let agent = AgentId { program: "/bin/agent".to_owned(), version: None, transport: "lines".to_owned() };
    let mut started = RunStarted::new(id, SystemTime::now(), adapter, agent);
    started.prompt = "Fix it".to_owned();
    started.workspace = workspace.to_owned();
    started.labels = labels;
    let launch = LaunchRecord {
        started,
        wharf: "0.1.0".to_owned(),
        binary: Binary::new("/bin/agent"),
        turn: Turn::new("Fix it"),
        args: vec![],
        environment: vec![],
        framing: Framing::Lines,
        exit_behavior: ExitBehavior::ByItself,
        frame_limit: 1024,
        used_before: Usage::default(),
        prices: Prices::default(),
    };
    let mut writer = RecordingWriter::create(&folder.recording(), u64::MAX).expect("a new file");
    writer.append(Kind::Launch, 0, &serde_json::to_vec(&launch).expect("JSON")).expect("written");
    writer.close().expect("written");
}

#[test]
fn the_state_of_each_run() {
    let (_folder, root) = new_root();
    let all = RunFilter::default();
    assert_eq!(list(&root, &all), []);
    for (second, receipt) in [
        (1, r#"{"adapter":{"id":"echo"},"outcome":"completed","ended":"2026-11-16T00:00:09Z","sha256":"x"}"#),
        (2, "{}"),
        (3, ""),
    ] {
        create_ended(&root, &id(second));
        fs::write(root.join(id(second)).join(RECEIPT), receipt).expect("written");
    }
    create_ended(&root, &id(4));
    let live = RunFolder::create(&root, &id(5)).expect("created");
    // What wharf did not create is not listed.
    fs::write(root.join("notes.txt"), "mine").expect("written");
    fs::write(root.join(id(6)), "a file").expect("written");
    fs::create_dir(root.join("20261116")).expect("created");

    let runs = list(&root, &all);
    assert_eq!(seconds(&runs), [5, 4, 3, 2, 1]);
    assert_eq!(runs[0].state, RunState::Running);
    assert_eq!((&runs[1].state, runs[1].bytes), (&RunState::Torn, 100));
    for run in &runs[2..4] {
        assert!(matches!(run.state, RunState::Unreadable { .. }), "{run:?}");
    }
    let time = |text| time::from_rfc3339(text).expect("a time");
    let ended = RunState::Ended { outcome: Outcome::Completed, ended: time("2026-11-16T00:00:09Z") };
    assert_eq!((runs[4].state.clone(), runs[4].started), (ended, time("2026-11-16T00:00:01Z")));

    drop(live);
    assert_eq!(list(&root, &all)[0].state, RunState::Torn);
    assert!(fs::read_dir(&root).expect("it exists").all(|file| {
        let name = file.expect("an entry").file_name();
        !name.to_string_lossy().ends_with(".lock")
    }));
}

#[test]
fn a_list_shows_what_the_recording_says_was_started() {
    let (_folder, root) = new_root();
    create_launched(&root, &id(1), "/work", labels(&[("job", "7")]));
    create_ended(&root, &id(2));
    let [unreadable, launched] = &list(&root, &RunFilter::default())[..] else { panic!("two runs") };
    assert_eq!((launched.adapter.as_deref(), launched.prompt.as_deref()), (Some("echo"), Some("Fix it")));
    assert_eq!((launched.workspace.as_deref(), &launched.labels), (Some(Path::new("/work")), &labels(&[("job", "7")])));
    assert_eq!((&unreadable.adapter, &unreadable.prompt, &unreadable.workspace), (&None, &None, &None));
    assert_eq!(unreadable.labels, Labels::new());
}

#[test]
fn runs_are_listed_by_label_workspace_and_number() {
    let (_folder, root) = new_root();
    create_launched(&root, &id(1), "/work", labels(&[("job", "7"), ("user", "ann")]));
    create_launched(&root, &id(2), "/work", labels(&[("job", "8"), ("user", "ann")]));
    create_launched(&root, &id(3), "/other", labels(&[("job", "7")]));
    create_ended(&root, &id(4));
    let no_labels: &[(&str, &str)] = &[];
    for (wanted, workspace, limit, expected) in [
        (no_labels, None, None, &[4, 3, 2, 1][..]),
        (&[("job", "7")], None, None, &[3, 1]),
        (&[("job", "7"), ("user", "ann")], None, None, &[1]),
        (&[("job", "9")], None, None, &[]),
        (&[("name", "7")], None, None, &[]),
        (no_labels, Some("/work"), None, &[2, 1]),
        (no_labels, Some("/wor"), None, &[]),
        (&[("job", "7")], Some("/work"), None, &[1]),
        // The limit counts what passes the filter.
        (&[("user", "ann")], None, Some(1), &[2]),
        (no_labels, None, Some(0), &[]),
    ] {
        let filter = RunFilter { labels: labels(wanted), workspace: workspace.map(PathBuf::from), limit };
        assert_eq!(seconds(&list(&root, &filter)), expected, "{filter:?}");
    }
}

#[test]
fn runs_are_found_by_id_prefix_and_as_last() {
    let (_folder, root) = new_root();
    let runs = Runs::new(root.clone());
    let none = runs.find("last").expect_err("none exists").to_string();
    assert!(none.starts_with("there is no run yet in "), "{none}");
    for second in [11, 12, 20] {
        create_ended(&root, &id(second));
    }
    for (text, expected) in [("last", 20), ("20261116T00002", 20), (id(11).as_str(), 11), ("20261116T000012-", 12)] {
        let run = runs.find(text).expect("it exists");
        assert_eq!((run.id(), run.path()), (id(expected).as_str(), root.join(id(expected)).as_path()));
        assert_eq!(run.event_lines().expect("events"), [b'y'; 40]);
        assert!(run.recording_path().is_file() && run.receipt().is_err());
    }
    let two = runs.find("20261116T00001").expect_err("ambiguous").to_string();
    assert_eq!(two, format!("\"20261116T00001\" matches 2 runs:\n  {}\n  {}", id(12), id(11)));
    for text in ["", "2025", "../runs", "."] {
        let error = runs.find(text).expect_err("none exists");
        assert!(error.to_string().contains(&format!("no run \"{text}\" in ")), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("wharf runs")));
    }
}

#[test]
fn of_two_runs_in_one_second_the_last_is_the_one_created_last() {
    let (folder, root) = new_root();
    if fs::metadata(folder.path()).expect("it exists").created().is_err() {
        return;
    }
    let random = ["80000000", "f0000000", "00000000", "c0000000"];
    let created = |path: &Path| fs::metadata(path).and_then(|file| file.created()).expect("it exists");
    for random in random {
        let run = format!("20261116T000000-{random}");
        create_ended(&root, &run);
        // The clock of the file system advances in steps: wait for the next one.
        let probe = folder.path().join("probe");
        let advanced = || {
            let _ = fs::remove_file(&probe);
            fs::write(&probe, "").expect("written");
            created(&probe) > created(&root.join(&run))
        };
        while !advanced() {
            std::thread::yield_now();
        }
    }
    let found: Vec<String> = list(&root, &RunFilter::default()).into_iter().map(|run| run.id).collect();
    let expected: Vec<String> = random.iter().rev().map(|random| format!("20261116T000000-{random}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_run_is_deleted_unless_it_is_live() {
    let (_folder, root) = new_root();
    let runs = Runs::new(root.clone());
    create_ended(&root, &id(1));
    create_ended(&root, &id(2));
    let ended = runs.find(&id(1)).expect("it exists");
    runs.delete(&ended).expect("deleted");
    assert_eq!(seconds(&list(&root, &RunFilter::default())), [2], "and no other");
    assert_eq!(fs::read_dir(&root).expect("it exists").count(), 1, "no lock is left");
    runs.delete(&ended).expect("a run that another process deleted is deleted");

    let live = RunFolder::create(&root, &id(3)).expect("created");
    let error = runs.delete(&runs.find("last").expect("it exists")).expect_err("it is live");
    assert!(error.to_string().contains(&format!("the run {} is still running", id(3))), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("stop it")), "{error:?}");
    assert!(live.path().is_dir());
    drop(live);
    runs.delete(&runs.find("last").expect("it exists")).expect("it has ended");
    assert_eq!(seconds(&list(&root, &RunFilter::default())), [2]);
}

#[test]
fn a_run_whose_receipt_could_not_be_written_is_not_torn() {
    let (_folder, root) = new_root();
    let state = |last: &str| {
        let run = RunFolder::create(&root, &id(1)).expect("created");
        fs::write(run.events(), last).expect("written");
        drop(run);
        let state = list(&root, &RunFilter::default()).remove(0).state;
        fs::remove_dir_all(root.join(id(1))).expect("removed");
        state
    };
    let report = wharf_core::model::Report::new(Outcome::Refused);
    let event = Event::new(2, std::time::Duration::ZERO, EventKind::Report(Box::new(report)));
    let line = serde_json::to_string(&event).expect("plain data");
    let ended = state(&format!("{{\"seq\":1}}\n{line}\n"));
    assert!(matches!(ended, RunState::Ended { outcome: Outcome::Refused, .. }), "{ended:?}");
    assert_eq!(state(&line), RunState::Torn, "the line is not complete");
    assert_eq!(state(&format!("{line}\n{{\"seq\":3}}\n")), RunState::Torn);
    assert_eq!(state(""), RunState::Torn);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_of_a_run_is_not_waited_for() {
    let (_folder, root) = new_root();
    create_ended(&root, &id(1));
    let pipe = |path: std::path::PathBuf| {
        let _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().expect("every system has it").success());
    };
    for name in [RECEIPT, EVENTS, RECORDING] {
        pipe(root.join(id(1)).join(name));
    }
    pipe(root.join(format!("{}.lock", id(1))));
    let runs = Runs::new(root);
    let entry = runs.list(&RunFilter::default()).expect("a list").remove(0);
    assert!(matches!(entry.state, RunState::Unreadable { .. }), "{entry:?}");
    let run = runs.find("last").expect("found");
    run.receipt().expect_err("not a file");
    run.event_lines().expect_err("not a file");
    run.launch().expect_err("not a file");
    runs.delete(&run).expect_err("its lock is not a file");
}

#[test]
fn an_entry_has_the_session_and_the_usage_as_far_as_they_are_known() {
    let (_folder, root) = new_root();
    let session = |id: &str| format!(r#"{{"seq":1,"at":0,"type":"session","id":"{id}","model":"m"}}"#);
    let events = |second, lines: &[String]| {
        create_launched(&root, &id(second), "/w", Labels::new());
        fs::write(root.join(id(second)).join(EVENTS), lines.join("\n") + "\n").expect("written");
    };
    let mut report = wharf_core::model::Report::new(Outcome::Completed);
    report.session = Some(wharf_core::model::ReportSession::new("last", None));
    report.usage = Some(Usage::default());
    // Longer than the first piece of the end that is read.
    report.answer = Some("a".repeat(200_000));
    let report = Event::new(2, std::time::Duration::ZERO, EventKind::Report(Box::new(report)));
    events(1, &[session("a"), session("b"), "{\"cut".to_owned()]);
    events(2, &[session("a"), serde_json::to_string(&report).expect("JSON")]);
    let [ended, torn] = &list(&root, &RunFilter::default())[..] else { panic!("two runs") };
    assert_eq!(
        (torn.state.clone(), torn.session.as_deref(), torn.model.as_deref()),
        (RunState::Torn, Some("b"), Some("m"))
    );
    assert_eq!((ended.session.as_deref(), ended.usage.clone()), (Some("last"), Some(Usage::default())));
    assert!(matches!(ended.state, RunState::Ended { outcome: Outcome::Completed, .. }));
}

//! Sessions: many writers, changing ids, filters, drift.

mod entries;
mod file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::error::ErrorKind;
use wharf_core::model::{Drift, Labels, Money, Outcome, Usage, time};

/// A turn of the adapter "echo" that ended so many seconds after 1970. An empty id means none.
pub(super) fn turn(requested: &str, new: &str, ended: u64) -> SessionTurn {
    let id = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    SessionTurn {
        adapter: "echo".to_owned(),
        adapter_version: "0.1.0".to_owned(),
        agent_version: None,
        requested_id: id(requested),
        resumed: None,
        new_id: id(new),
        workspace: PathBuf::from("/work"),
        labels: Labels::new(),
        model: None,
        outcome: Outcome::Completed,
        usage: None,
        session_usage: None,
        run: None,
        ended: UNIX_EPOCH + Duration::from_secs(ended),
    }
}

fn usage(input: Option<u64>, output: Option<u64>) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (input, output);
    usage
}

fn drift(unknown: &[(&str, u64)], malformed: u64) -> Drift {
    let mut drift = Drift::default();
    drift.unknown = unknown.iter().map(|(native, count)| ((*native).to_owned(), *count)).collect();
    drift.malformed = malformed;
    drift
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn new_path() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("data/sessions.db");
    (folder, path)
}

fn open() -> (TempDir, Sessions) {
    let (folder, path) = new_path();
    let sessions = Sessions::open(&path).expect("created");
    (folder, sessions)
}

fn remember(sessions: &Sessions, turn: &SessionTurn) -> SessionEntry {
    sessions.remember_turn(turn).expect("written").expect("a session")
}

fn find(sessions: &Sessions, id: &str) -> Option<SessionEntry> {
    sessions.find(id).expect("readable and not ambiguous")
}

fn list(sessions: &Sessions) -> Vec<SessionEntry> {
    sessions.list(&SessionFilter::default()).expect("a list")
}

fn ids(entries: &[SessionEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn what_was_remembered_is_read_after_opening_again() {
    let (_folder, path) = new_path();
    let mut full_usage = usage(Some(u64::MAX), None);
    full_usage.units = BTreeMap::from([("requests".to_owned(), 0.1 + 0.2)]);
    let full = SessionTurn {
        agent_version: Some("2.0".to_owned()),
        labels: labels(&[("job", "7")]),
        model: Some("large".to_owned()),
        outcome: Outcome::Limit,
        usage: Some(full_usage),
        session_usage: Some(usage(None, Some(0))),
        run: Some("20261116T015713-ab12cd34".to_owned()),
        ..turn("a", "b", 1_700_000_000)
    };
    let entry = remember(&Sessions::open(&path).expect("created"), &full);
    let again = Sessions::open(&path).expect("it exists");
    assert_eq!(list(&again), std::slice::from_ref(&entry));
    let SessionTurn { adapter, adapter_version, agent_version, workspace, labels, model, outcome, usage, .. } = full;
    let expected = SessionEntry {
        id: "b".to_owned(),
        ids: vec!["a".to_owned(), "b".to_owned()],
        adapter,
        adapter_version,
        agent_version,
        workspace,
        model,
        outcome,
        turns: 1,
        usage: usage.expect("it was set"),
        session_usage: full.session_usage,
        created: full.ended,
        updated: full.ended,
        runs: full.run.into_iter().collect(),
        labels,
    };
    assert_eq!(entry, expected);
}

#[test]
fn a_session_whose_id_changes_is_found_by_each() {
    let (_folder, sessions) = open();
    remember(&sessions, &turn("", "other", 1));
    for (requested, new) in [("", "first"), ("first", "second"), ("second", "third")] {
        remember(&sessions, &turn(requested, new, 2));
    }
    for id in ["first", "second", "third", "fir", "s"] {
        let entry = find(&sessions, id).unwrap_or_else(|| panic!("{id} is not found"));
        assert_eq!((entry.id.as_str(), entry.turns), ("third", 3));
        assert_eq!(entry.ids, ["first", "second", "third"]);
    }
    assert_eq!(find(&sessions, "other").map(|entry| entry.turns), Some(1));
    assert_eq!(find(&sessions, "fourth"), None);
    // An old id may be resumed too.
    assert_eq!(remember(&sessions, &turn("first", "fourth", 3)).ids, ["first", "second", "third", "fourth"]);
    assert_eq!(list(&sessions).len(), 2);
}

#[test]
fn a_resume_that_did_not_resume_is_a_new_session() {
    let (_folder, sessions) = open();
    let first = remember(&sessions, &turn("", "a", 1));
    remember(&sessions, &SessionTurn { resumed: Some(false), ..turn("a", "b", 2) });
    assert_eq!(find(&sessions, "a"), Some(first));
    assert_eq!(find(&sessions, "b").map(|entry| entry.ids), Some(vec!["b".to_owned()]));
    assert_eq!(sessions.remember_turn(&turn("c", "", 3)).expect("written"), None);
    assert_eq!(list(&sessions).len(), 2);
}

#[test]
fn two_adapters_may_use_the_same_id() {
    let (_folder, sessions) = open();
    remember(&sessions, &turn("", "1", 1));
    remember(&sessions, &SessionTurn { adapter: "other".to_owned(), ..turn("1", "1", 2) });
    assert_eq!(list(&sessions).len(), 2);
    let message = sessions.find("1").expect_err("ambiguous").to_string();
    assert!(message.contains("1 (echo, /work)") && message.contains("1 (other, /work)"), "{message}");
}

#[test]
fn unknown_usage_stays_unknown() {
    let (_folder, sessions) = open();
    let usage = |input, output| Some(usage(input, output));
    for (reported, expected) in [
        (None, usage(None, None)),
        (usage(None, Some(0)), usage(None, Some(0))),
        (None, usage(None, Some(0))),
        (usage(None, Some(5)), usage(None, Some(5))),
        (usage(Some(2), Some(1)), usage(Some(2), Some(6))),
    ] {
        let entry = remember(&sessions, &SessionTurn { usage: reported, ..turn("", "a", 1) });
        assert_eq!(Some(entry.usage), expected);
    }
}

#[test]
fn sums_that_json_cannot_represent_do_not_make_the_entry_unreadable() {
    let (_folder, sessions) = open();
    let mut usage = Usage::default();
    usage.units = BTreeMap::from([("credits".to_owned(), f64::MAX)]);
    for _ in 0..2 {
        remember(&sessions, &SessionTurn { usage: Some(usage.clone()), ..turn("", "a", 1) });
    }
    assert_eq!(find(&sessions, "a").map(|entry| entry.usage), Some(Usage::default()));
}

#[test]
fn a_prefix_that_matches_two_sessions_is_an_error_that_lists_them() {
    let (_folder, sessions) = open();
    for id in ["abc-1", "abc-2", "abd", "a%c"] {
        remember(&sessions, &turn("", id, 1));
    }
    let error = sessions.find("abc").expect_err("ambiguous");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let message = error.to_string();
    assert!(message.starts_with("\"abc\" matches 2 sessions:"), "{message}");
    assert!(message.contains("abc-1 (echo, /work)") && message.contains("abc-2"), "{message}");
    assert_eq!(find(&sessions, "abd").map(|entry| entry.id).as_deref(), Some("abd"));
    assert_eq!(find(&sessions, "a%").map(|entry| entry.id).as_deref(), Some("a%c"), "a prefix is not a pattern");
    sessions.find("").expect_err("an empty prefix matches everything");
    // A complete id is preferred, even if others start with it.
    remember(&sessions, &turn("", "abc", 2));
    assert_eq!(find(&sessions, "abc").map(|entry| entry.id).as_deref(), Some("abc"));
}

#[test]
fn the_last_is_the_one_that_was_written_last() {
    let (_folder, sessions) = open();
    let last = |adapter, workspace: Option<&str>| {
        sessions.last(adapter, workspace.map(Path::new)).expect("readable").map(|entry| entry.id)
    };
    assert_eq!(last(None, None), None);
    // All in the same second; then the clock is set back.
    remember(&sessions, &turn("", "a", 5));
    remember(&sessions, &SessionTurn { workspace: PathBuf::from("/there"), ..turn("", "b", 5) });
    remember(&sessions, &SessionTurn { adapter: "other".to_owned(), ..turn("", "c", 5) });
    remember(&sessions, &turn("a", "a", 4));
    assert_eq!(ids(&list(&sessions)), ["a", "c", "b"]);
    let two = SessionFilter { limit: Some(2), ..SessionFilter::default() };
    assert_eq!(ids(&sessions.list(&two).expect("a list")), ["a", "c"]);
    for (adapter, workspace, expected) in [
        (None, None, Some("a")),
        (Some("other"), None, Some("c")),
        (None, Some("/there"), Some("b")),
        (Some("echo"), Some("/work"), Some("a")),
        (Some("other"), Some("/there"), None),
        (Some("none"), None, None),
    ] {
        assert_eq!(last(adapter, workspace).as_deref(), expected, "{adapter:?} {workspace:?}");
    }
}

#[test]
fn an_entry_replaces_the_entries_that_had_its_ids() {
    let (_folder, sessions) = open();
    remember(&sessions, &turn("", "a", 1));
    let mut entry = remember(&sessions, &turn("", "b", 1));
    remember(&sessions, &turn("", "c", 1));
    entry.ids = vec!["a".to_owned(), "b".to_owned()];
    entry.turns = 7;
    sessions.remember(&entry).expect("written");
    sessions.remember(&entry).expect("written again");
    assert_eq!(find(&sessions, "a"), Some(entry));
    assert_eq!(ids(&list(&sessions)), ["b", "c"]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    const TURNS: usize = 25;
    let (_folder, path) = new_path();
    let start = Barrier::new(WRITERS);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (start, path) = (&start, &path);
            scope.spawn(move || {
                start.wait();
                // The first one creates the file.
                let sessions = Sessions::open(path).expect("opened while others create it");
                let mut own = format!("own-{writer}-0");
                let drift = drift(&[("new", 1)], 2);
                for number in 0..TURNS {
                    let usage = Some(usage(Some(1), None));
                    remember(&sessions, &SessionTurn { usage, ..turn("shared", "shared", 1) });
                    let next = format!("own-{writer}-{number}");
                    remember(&sessions, &turn(&own, &next, 1));
                    own = next;
                    sessions.count_drift("echo", "0.1.0", None, &drift).expect("written");
                }
            });
        }
    });
    let sessions = Sessions::open(&path).expect("it exists");
    let all = (WRITERS * TURNS) as u64;
    let shared = find(&sessions, "shared").expect("all wrote to it");
    assert_eq!((shared.turns, shared.usage.input), (all, Some(all)));
    for writer in 0..WRITERS {
        let own = find(&sessions, &format!("own-{writer}-0")).expect("it was written");
        assert_eq!((own.turns, own.ids.len()), (TURNS as u64, TURNS));
    }
    let drift = drift(&[("new", all)], 2 * all);
    assert_eq!(sessions.drift("echo").expect("readable").pop().map(|row| row.drift), Some(drift));
}

#[test]
fn many_processes_may_create_the_file_at_the_same_time() {
    const OPENERS: usize = 16;
    for _ in 0..20 {
        let (_folder, path) = new_path();
        let start = Barrier::new(OPENERS);
        thread::scope(|scope| {
            for opener in 0..OPENERS {
                let (start, path) = (&start, &path);
                scope.spawn(move || {
                    start.wait();
                    let sessions = Sessions::open(path).expect("opened while others create it");
                    remember(&sessions, &turn("", &opener.to_string(), 1));
                });
            }
        });
        let sessions = Sessions::open(&path).expect("it exists");
        assert_eq!(list(&sessions).len(), OPENERS);
    }
}

#[test]
fn drift_is_counted_by_version() {
    let (_folder, sessions) = open();
    for (adapter, version, agent, counted) in [
        ("echo", "1", Some("1.0"), drift(&[("x", 1), ("", 1)], 0)),
        ("echo", "1", None, drift(&[("x", 9)], 9)),
        ("other", "1", Some("1.0"), drift(&[("x", 9)], 9)),
        ("echo", "2", Some("1.0"), drift(&[("z", u64::MAX)], 0)),
        ("echo", "1", Some("1.0"), drift(&[("x", 2), ("y", 1)], 4)),
        ("echo", "1", Some(""), drift(&[], 1)),
        ("echo", "3", None, drift(&[], 0)),
    ] {
        sessions.count_drift(adapter, version, agent, &counted).expect("written");
    }
    let row = |version: &str, agent: Option<&str>, drift| DriftRow {
        adapter: "echo".to_owned(),
        adapter_version: version.to_owned(),
        agent_version: agent.map(str::to_owned),
        drift,
    };
    let expected = [
        row("1", Some("1.0"), drift(&[("x", 3), ("y", 1), ("", 1)], 4)),
        row("1", None, drift(&[("x", 9)], 9)),
        row("2", Some("1.0"), drift(&[("z", 1 << 40)], 0)),
        row("1", Some(""), drift(&[], 1)),
    ];
    assert_eq!(sessions.drift("echo").expect("readable"), expected);
    assert_eq!(sessions.drift("none").expect("readable"), []);
}

#[test]
fn a_session_is_found_among_those_of_its_adapter_and_first_in_its_workspace() {
    let (_folder, path) = new_path();
    let sessions = Sessions::open(&path).expect("a new file");
    for (adapter, id, workspace) in
        [("echo", "same", "/a"), ("claude", "same", "/a"), ("echo", "prefix-1", "/a"), ("echo", "prefix-2", "/b")]
    {
        let turn = SessionTurn { adapter: adapter.to_owned(), workspace: workspace.into(), ..turn("", id, 1) };
        remember(&sessions, &turn);
    }
    let find = |adapter: Option<&str>, workspace: Option<&str>, id: &str| {
        let found = sessions.find_of(adapter, workspace.map(Path::new), id);
        found.map(|found| found.map(|entry| format!("{} {}", entry.adapter, entry.id)))
    };
    assert_eq!(find(Some("claude"), None, "sa").expect("one").as_deref(), Some("claude same"));
    assert_eq!(find(Some("claude"), None, "prefix-1").expect("none"), None);
    assert_eq!(find(Some("echo"), Some("/b"), "prefix").expect("one").as_deref(), Some("echo prefix-2"));
    assert!(find(Some("echo"), Some("/c"), "prefix").is_err(), "both are elsewhere");
    let error = find(None, None, "same").expect_err("two adapters have it");
    assert_eq!(error.hint(), Some("name the adapter too: --adapter"), "no more of the id can be given");
}

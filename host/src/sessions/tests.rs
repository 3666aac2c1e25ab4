//! The file of sessions: many writers, changing ids, and files that are none.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Barrier;
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::error::ErrorKind;
use crate::event::Drift;

/// A turn of the adapter "echo" that ended at this time. An empty id is none.
pub(super) fn turn(wanted: &str, new: &str, ended: u64) -> SessionTurn {
    let id = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    SessionTurn {
        adapter: "echo".to_owned(),
        adapter_version: "0.1.0".to_owned(),
        runtime_version: None,
        wanted_id: id(wanted),
        resumed: None,
        new_id: id(new),
        workspace: PathBuf::from("/work"),
        model: None,
        outcome: Outcome::Completed,
        usage: None,
        session_usage: None,
        run: None,
        ended,
    }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("data/sessions.db");
    (folder, path)
}

fn open() -> (TempDir, Sessions) {
    let (folder, path) = place();
    let sessions = Sessions::open(&path).expect("it can be made");
    (folder, sessions)
}

fn took(sessions: &Sessions, turn: &SessionTurn) -> SessionEntry {
    sessions.remember_turn(turn).expect("it can be written").expect("it has a session")
}

fn find(sessions: &Sessions, id: &str) -> Option<SessionEntry> {
    sessions.find(id).expect("it can be read and is not ambiguous")
}

fn ids(entries: &[SessionEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn what_was_remembered_is_there_after_opening_again() {
    let (_folder, path) = place();
    let full = SessionTurn {
        runtime_version: Some("2.0".to_owned()),
        model: Some("large".to_owned()),
        outcome: Outcome::Limit,
        usage: Some(Usage {
            input: Some(u64::MAX),
            units: BTreeMap::from([("requests".to_owned(), 0.1 + 0.2)]),
            ..Usage::default()
        }),
        session_usage: Some(Usage { output: Some(0), ..Usage::default() }),
        run: Some("20261116T015713-ab12cd34".to_owned()),
        ..turn("a", "b", 1_700_000_000)
    };
    let entry = took(&Sessions::open(&path).expect("it can be made"), &full);
    let again = Sessions::open(&path).expect("it is there");
    assert_eq!(again.list(9).expect("it can be read"), std::slice::from_ref(&entry));
    let SessionTurn { adapter, adapter_version, runtime_version, workspace, model, outcome, usage, .. } = full;
    let expected = SessionEntry {
        id: "b".to_owned(),
        ids: vec!["a".to_owned(), "b".to_owned()],
        adapter,
        adapter_version,
        runtime_version,
        workspace,
        model,
        outcome,
        turns: 1,
        usage: usage.expect("it was given"),
        session_usage: full.session_usage,
        created: 1_700_000_000,
        updated: 1_700_000_000,
        last_run: full.run,
    };
    assert_eq!(entry, expected);
}

#[test]
fn a_session_whose_id_changes_is_found_by_each() {
    let (_folder, sessions) = open();
    took(&sessions, &turn("", "other", 1));
    for (wanted, new) in [("", "first"), ("first", "second"), ("second", "third")] {
        took(&sessions, &turn(wanted, new, 2));
    }
    for id in ["first", "second", "third", "fir", "s"] {
        let entry = find(&sessions, id).unwrap_or_else(|| panic!("{id} is not found"));
        assert_eq!((entry.id.as_str(), entry.turns), ("third", 3));
        assert_eq!(entry.ids, ["first", "second", "third"]);
    }
    assert_eq!(find(&sessions, "other").map(|entry| entry.turns), Some(1));
    assert_eq!(find(&sessions, "fourth"), None);
    // An old id may be resumed too.
    assert_eq!(took(&sessions, &turn("first", "fourth", 3)).ids, ["first", "second", "third", "fourth"]);
    assert_eq!(sessions.list(9).expect("it can be read").len(), 2);
}

#[test]
fn a_resume_that_did_not_resume_is_another_session() {
    let (_folder, sessions) = open();
    let first = took(&sessions, &turn("", "a", 1));
    took(&sessions, &SessionTurn { resumed: Some(false), ..turn("a", "b", 2) });
    assert_eq!(find(&sessions, "a"), Some(first));
    assert_eq!(find(&sessions, "b").map(|entry| entry.ids), Some(vec!["b".to_owned()]));
    assert_eq!(sessions.remember_turn(&turn("c", "", 3)).expect("it can be written"), None);
    assert_eq!(sessions.list(9).expect("it can be read").len(), 2);
}

#[test]
fn adapters_have_ids_of_their_own() {
    let (_folder, sessions) = open();
    took(&sessions, &turn("", "1", 1));
    took(&sessions, &SessionTurn { adapter: "other".to_owned(), ..turn("1", "1", 2) });
    assert_eq!(sessions.list(9).expect("it can be read").len(), 2);
    let message = sessions.find("1").expect_err("two have it").to_string();
    assert!(message.contains("1 (echo, /work)") && message.contains("1 (other, /work)"), "{message}");
}

#[test]
fn unknown_usage_stays_unknown() {
    let (_folder, sessions) = open();
    let usage = |input, output| Some(Usage { input, output, ..Usage::default() });
    for (given, expected) in [
        (None, usage(None, None)),
        (usage(None, Some(0)), usage(None, Some(0))),
        (None, usage(None, Some(0))),
        (usage(None, Some(5)), usage(None, Some(5))),
        (usage(Some(2), Some(1)), usage(Some(2), Some(6))),
    ] {
        let entry = took(&sessions, &SessionTurn { usage: given, ..turn("", "a", 1) });
        assert_eq!(Some(entry.usage), expected);
    }
}

#[test]
fn sums_that_json_cannot_say_do_not_make_the_entry_unreadable() {
    let (_folder, sessions) = open();
    let usage = Usage { units: BTreeMap::from([("credits".to_owned(), f64::MAX)]), ..Usage::default() };
    for _ in 0..2 {
        took(&sessions, &SessionTurn { usage: Some(usage.clone()), ..turn("", "a", 1) });
    }
    assert_eq!(find(&sessions, "a").map(|entry| entry.usage), Some(Usage::default()));
}

#[test]
fn a_prefix_that_fits_two_sessions_lists_them() {
    let (_folder, sessions) = open();
    for id in ["abc-1", "abc-2", "abd", "a%c"] {
        took(&sessions, &turn("", id, 1));
    }
    let error = sessions.find("abc").expect_err("it fits two");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let message = error.to_string();
    assert!(message.starts_with("\"abc\" fits 2 sessions:"), "{message}");
    assert!(message.contains("abc-1 (echo, /work)") && message.contains("abc-2"), "{message}");
    assert_eq!(find(&sessions, "abd").map(|entry| entry.id).as_deref(), Some("abd"));
    assert_eq!(find(&sessions, "a%").map(|entry| entry.id).as_deref(), Some("a%c"), "a prefix is no pattern");
    sessions.find("").expect_err("nothing fits all");
    // A whole id is meant, even if it begins others.
    took(&sessions, &turn("", "abc", 2));
    assert_eq!(find(&sessions, "abc").map(|entry| entry.id).as_deref(), Some("abc"));
}

#[test]
fn the_last_is_the_one_that_was_written_last() {
    let (_folder, sessions) = open();
    let last = |adapter, workspace: Option<&str>| {
        sessions.last(adapter, workspace.map(Path::new)).expect("it can be read").map(|entry| entry.id)
    };
    assert_eq!(last(None, None), None);
    // All in one second, and the clock is set back at the end.
    took(&sessions, &turn("", "a", 5));
    took(&sessions, &SessionTurn { workspace: PathBuf::from("/there"), ..turn("", "b", 5) });
    took(&sessions, &SessionTurn { adapter: "other".to_owned(), ..turn("", "c", 5) });
    took(&sessions, &turn("a", "a", 4));
    assert_eq!(ids(&sessions.list(9).expect("it can be read")), ["a", "c", "b"]);
    assert_eq!(ids(&sessions.list(2).expect("it can be read")), ["a", "c"]);
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
fn an_entry_replaces_what_had_its_ids() {
    let (_folder, sessions) = open();
    took(&sessions, &turn("", "a", 1));
    let mut entry = took(&sessions, &turn("", "b", 1));
    took(&sessions, &turn("", "c", 1));
    entry.ids = vec!["a".to_owned(), "b".to_owned()];
    entry.turns = 7;
    sessions.remember(&entry).expect("it can be written");
    sessions.remember(&entry).expect("it can be written again");
    assert_eq!(find(&sessions, "a"), Some(entry));
    assert_eq!(ids(&sessions.list(9).expect("it can be read")), ["b", "c"]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    const TURNS: usize = 25;
    let (_folder, path) = place();
    let start = Barrier::new(WRITERS);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (start, path) = (&start, &path);
            scope.spawn(move || {
                start.wait();
                // Each makes the file too, if it comes first.
                let sessions = Sessions::open(path).expect("it can be opened while others make it");
                let mut own = format!("own-{writer}-0");
                let drift = Drift { unknown: BTreeMap::from([("new".to_owned(), 1)]), malformed: 2 };
                for number in 0..TURNS {
                    let usage = Some(Usage { input: Some(1), ..Usage::default() });
                    took(&sessions, &SessionTurn { usage, ..turn("shared", "shared", 1) });
                    let next = format!("own-{writer}-{number}");
                    took(&sessions, &turn(&own, &next, 1));
                    own = next;
                    sessions.count_drift("echo", "0.1.0", None, &drift).expect("it can be written");
                }
            });
        }
    });
    let sessions = Sessions::open(&path).expect("it is there");
    let all = (WRITERS * TURNS) as u64;
    let shared = find(&sessions, "shared").expect("all wrote it");
    assert_eq!((shared.turns, shared.usage.input), (all, Some(all)));
    for writer in 0..WRITERS {
        let own = find(&sessions, &format!("own-{writer}-0")).expect("it was written");
        assert_eq!((own.turns, own.ids.len()), (TURNS as u64, TURNS));
    }
    let drift = Drift { unknown: BTreeMap::from([("new".to_owned(), all)]), malformed: 2 * all };
    assert_eq!(sessions.drift("echo").expect("it can be read").pop().map(|row| row.drift), Some(drift));
}

#[test]
fn many_may_open_a_new_file_at_the_same_time() {
    const OPENERS: usize = 16;
    for _ in 0..20 {
        let (_folder, path) = place();
        let start = Barrier::new(OPENERS);
        thread::scope(|scope| {
            for opener in 0..OPENERS {
                let (start, path) = (&start, &path);
                scope.spawn(move || {
                    start.wait();
                    let sessions = Sessions::open(path).expect("it can be opened while others make it");
                    took(&sessions, &turn("", &opener.to_string(), 1));
                });
            }
        });
        let sessions = Sessions::open(&path).expect("it is there");
        assert_eq!(sessions.list(99).expect("it can be read").len(), OPENERS);
    }
}

#[test]
fn drift_is_counted_by_version() {
    let (_folder, sessions) = open();
    let drift = |unknown: &[(&str, u64)], malformed| Drift {
        unknown: unknown.iter().map(|(native, count)| ((*native).to_owned(), *count)).collect(),
        malformed,
    };
    for (adapter, version, runtime, given) in [
        ("echo", "1", Some("1.0"), drift(&[("x", 1), ("", 1)], 0)),
        ("echo", "1", None, drift(&[("x", 9)], 9)),
        ("other", "1", Some("1.0"), drift(&[("x", 9)], 9)),
        ("echo", "2", Some("1.0"), drift(&[("z", u64::MAX)], 0)),
        ("echo", "1", Some("1.0"), drift(&[("x", 2), ("y", 1)], 4)),
        ("echo", "1", Some(""), drift(&[], 1)),
        ("echo", "3", None, drift(&[], 0)),
    ] {
        sessions.count_drift(adapter, version, runtime, &given).expect("it can be written");
    }
    let row = |version: &str, runtime: Option<&str>, drift| DriftRow {
        adapter: "echo".to_owned(),
        adapter_version: version.to_owned(),
        runtime_version: runtime.map(str::to_owned),
        drift,
    };
    let expected = [
        row("1", Some("1.0"), drift(&[("x", 3), ("y", 1), ("", 1)], 4)),
        row("1", None, drift(&[("x", 9)], 9)),
        row("2", Some("1.0"), drift(&[("z", 1 << 40)], 0)),
        row("1", Some(""), drift(&[], 1)),
    ];
    assert_eq!(sessions.drift("echo").expect("it can be read"), expected);
    assert_eq!(sessions.drift("none").expect("it can be read"), []);
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().expect("it has one")).expect("there is room");
    for content in [&b"{\"sessions\": []}\n"[..], &[0xab; 10_000]] {
        fs::write(&path, content).expect("there is room");
        let error = Sessions::open(&path).expect_err("it is no database");
        assert_eq!(error.kind(), ErrorKind::System);
        let message = error.to_string();
        assert!(message.starts_with("cannot open the sessions in ") && message.contains("sessions.db"), "{message}");
        let hint = error.to_do().expect("something can be done");
        assert!(hint.contains("move ") && hint.contains("sessions.db-wal"), "{hint}");
        assert_eq!(fs::read(&path).expect("it is there"), content);
    }
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    let (_folder, path) = place();
    let sessions = Sessions::open(&path).expect("it can be made");
    for number in 0..200 {
        took(&sessions, &turn("", &format!("session-{number}"), 1));
    }
    drop(sessions);
    // Any other program that closes it moves the log into the file.
    let other = rusqlite::Connection::open(&path).expect("it is a database");
    other.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0)).expect("it is whole");
    drop(other);
    let mut bytes = fs::read(&path).expect("it is there");
    assert!(bytes.len() > 3 * 4096, "the pages are there to be damaged");
    bytes[4096..].fill(0x5a);
    fs::write(&path, bytes).expect("there is room");
    let error = Sessions::open(&path).and_then(|sessions| sessions.list(9)).expect_err("its pages are damaged");
    assert!(error.to_string().contains("sessions.db"), "{error}");
    assert!(error.to_do().is_some_and(|hint| hint.contains("move ")), "{:?}", error.to_do());
}

#[test]
fn a_file_of_a_newer_wharf_is_left_alone() {
    let (_folder, path) = place();
    drop(Sessions::open(&path).expect("it can be made"));
    for version in [2, -1] {
        let connection = Connection::open(&path).expect("it is there");
        connection.pragma_update(None, "user_version", version).expect("it can be written");
        drop(connection);
        let before = fs::read(&path).expect("it is there");
        let error = Sessions::open(&path).expect_err("it is newer");
        let message = error.to_string();
        assert!(message.contains("sessions.db") && message.contains(&format!("version {version},")), "{message}");
        assert!(error.to_do().is_some_and(|hint| hint.contains("WHARF_DATA")), "{:?}", error.to_do());
        assert_eq!(fs::read(&path).expect("it is there"), before);
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    let sessions = Sessions::open(&path).expect("it can be made");
    took(&sessions, &turn("", "a", 1));
    let folder = path.parent().expect("it has one");
    let files = fs::read_dir(folder).expect("it is there").map(|file| file.expect("it is there").path());
    for file in files.chain([folder.to_owned()]) {
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o} {}", file.display());
    }
}

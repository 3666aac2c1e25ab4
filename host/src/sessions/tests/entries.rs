//! Which sessions are listed, what an entry collects from its turns, and how it is deleted.

use super::*;

#[test]
fn sessions_are_listed_by_adapter_workspace_and_label() {
    let (_folder, sessions) = open();
    remember(&sessions, &SessionTurn { labels: labels(&[("job", "7"), ("user", "ann")]), ..turn("", "a", 1) });
    let there = SessionTurn { workspace: PathBuf::from("/there"), labels: labels(&[("job", "7")]), ..turn("", "b", 2) };
    remember(&sessions, &there);
    let other = SessionTurn { adapter: "other".to_owned(), labels: labels(&[("job", "8")]), ..turn("", "c", 3) };
    remember(&sessions, &other);
    let no_labels: &[(&str, &str)] = &[];
    for (adapter, workspace, wanted, limit, expected) in [
        (None, None, no_labels, None, &["c", "b", "a"][..]),
        (Some("echo"), None, no_labels, None, &["b", "a"]),
        (Some("ech"), None, no_labels, None, &[]),
        (None, Some("/work"), no_labels, None, &["c", "a"]),
        (Some("echo"), Some("/work"), no_labels, None, &["a"]),
        (None, None, &[("job", "7")], None, &["b", "a"]),
        (None, None, &[("job", "7"), ("user", "ann")], None, &["a"]),
        (None, None, &[("job", "9")], None, &[]),
        (Some("other"), None, &[("job", "7")], None, &[]),
        // The limit counts what passes the filter.
        (None, None, &[("job", "7")], Some(1), &["b"]),
        (None, Some("/work"), &[("user", "ann")], Some(1), &["a"]),
    ] {
        let filter = SessionFilter {
            adapter: adapter.map(str::to_owned),
            workspace: workspace.map(PathBuf::from),
            labels: labels(wanted),
            limit,
        };
        assert_eq!(ids(&sessions.list(&filter).expect("a list")), expected, "{filter:?}");
    }
}

#[test]
fn a_later_turn_adds_its_labels_and_changes_the_value_of_a_known_one() {
    let (_folder, sessions) = open();
    remember(&sessions, &SessionTurn { labels: labels(&[("job", "7"), ("user", "ann")]), ..turn("", "a", 1) });
    remember(&sessions, &SessionTurn { labels: labels(&[("job", "8"), ("team", "x")]), ..turn("a", "a", 2) });
    let entry = find(&sessions, "a").expect("a session");
    assert_eq!(entry.labels, labels(&[("job", "8"), ("team", "x"), ("user", "ann")]));
}

#[test]
fn a_session_knows_all_its_runs() {
    let (_folder, sessions) = open();
    let with_run = |requested: &str, new: &str, run: Option<&str>| SessionTurn {
        run: run.map(str::to_owned),
        ..turn(requested, new, 1)
    };
    remember(&sessions, &with_run("", "a", Some("run-1")));
    remember(&sessions, &with_run("", "other", Some("run-2")));
    remember(&sessions, &with_run("a", "b", Some("run-3")));
    // A turn that was not recorded has no run.
    remember(&sessions, &with_run("b", "b", None));
    // Two turns may have been in one process, so in one run.
    remember(&sessions, &with_run("b", "b", Some("run-4")));
    remember(&sessions, &with_run("b", "b", Some("run-4")));
    let entry = find(&sessions, "a").expect("a session");
    assert_eq!((entry.turns, entry.runs), (5, ["run-1", "run-3", "run-4"].map(str::to_owned).to_vec()));
    assert_eq!(find(&sessions, "other").expect("a session").runs, ["run-2"]);
}

#[test]
fn a_deleted_session_is_not_known_by_any_of_its_ids() {
    let (_folder, sessions) = open();
    remember(&sessions, &SessionTurn { run: Some("run-1".to_owned()), ..turn("", "a", 1) });
    remember(&sessions, &turn("a", "b", 2));
    let kept = remember(&sessions, &SessionTurn { run: Some("run-2".to_owned()), ..turn("", "kept", 3) });
    let same_id = remember(&sessions, &SessionTurn { adapter: "other".to_owned(), ..turn("", "b", 3) });
    let deleted = SessionEntry { adapter: "echo".to_owned(), ..same_id.clone() };
    assert!(sessions.delete(&deleted).expect("written"));
    assert!(!sessions.delete(&deleted).expect("written"), "it is deleted already");
    assert_eq!(find(&sessions, "a"), None);
    assert_eq!(find(&sessions, "b"), Some(same_id.clone()), "another adapter's session with the same id");
    assert_eq!(list(&sessions), [same_id, kept]);
    // A session that gets the id later has nothing of the deleted one.
    let again = remember(&sessions, &turn("", "a", 4));
    assert_eq!((again.turns, again.runs.len(), again.ids), (1, 0, vec!["a".to_owned()]));
}

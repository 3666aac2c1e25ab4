//! Folders of runs: their ids, how they are created, and who may enter them.

use tempfile::TempDir;

use super::*;
use crate::record::runs::{RunFilter, RunState, Runs};

/// A root that does not exist yet, in a temporary folder.
pub(in crate::record) fn new_root() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().join("data/runs");
    (folder, root)
}

/// The id of a run that started so many seconds after midnight.
pub(in crate::record) fn id(second: u32) -> String {
    format!("20261116T0000{second:02}-{second:08x}")
}

/// Creates a run of a hundred bytes that has ended.
pub(in crate::record) fn create_ended(root: &Path, id: &str) {
    let folder = RunFolder::create(root, id).expect("created");
    fs::write(folder.recording(), [b'x'; 60]).expect("written");
    fs::write(folder.events(), [b'y'; 40]).expect("written");
}

#[test]
fn a_new_id_contains_the_time_it_was_created() {
    let before = Timestamp::now().as_second();
    let (first, second) = (new_run_id(), new_run_id());
    let after = Timestamp::now().as_second();
    assert_ne!(first, second);
    for id in [first, second] {
        let started = start_time(&id).unwrap_or_else(|| panic!("{id} is not an id"));
        assert!((before..=after).contains(&started.as_second()), "{id}");
        assert_eq!(started.strftime("%Y%m%dT%H%M%S").to_string(), id[..15]);
    }
}

#[test]
fn only_a_time_and_eight_hexadecimal_digits_are_an_id() {
    let started = start_time("20261116T015713-ab12cd34").map(|time| time.to_string());
    assert_eq!(started.as_deref(), Some("2026-11-16T01:57:13Z"));
    for text in [
        "",
        "last",
        "20261116T015713",
        "20261116T015713-",
        "20261116T015713-ab12cd3",
        "20261116T015713-ab12cd345",
        "20261116T015713-AB12CD34",
        "20261116T015713-ab12cd3é",
        "20261116T015713-ab12cd34.lock",
        "20261316T015713-ab12cd34",
        "20261116t015713-ab12cd34",
        "2026111T6015713-ab12cd34",
        "-20261116T01571-ab12cd34",
        "../20261116T015713-ab12cd34",
    ] {
        assert_eq!(start_time(text), None, "{text:?}");
        let (_folder, root) = new_root();
        RunFolder::create(&root, text).expect_err("not an id");
        assert!(!root.exists());
    }
}

#[test]
fn a_run_is_never_created_twice() {
    let (_folder, root) = new_root();
    let newest = || Runs::new(root.clone()).list(&RunFilter::default()).expect("a list").remove(0);
    create_ended(&root, &id(1));
    let error = RunFolder::create(&root, &id(1)).expect_err("it exists").to_string();
    assert!(error.contains(&id(1)), "{error}");
    assert_eq!(newest().bytes, 100);
    let live = RunFolder::create(&root, &id(2)).expect("created");
    RunFolder::create(&root, &id(2)).expect_err("it is being written");
    assert_eq!(newest().state, RunState::Running);
    drop(live);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_enter() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, root) = new_root();
    let run = RunFolder::create(&root, &new_run_id()).expect("created");
    for folder in [root.as_path(), run.path()] {
        let mode = fs::metadata(folder).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{mode:o}");
    }
}

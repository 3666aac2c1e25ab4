//! Pruning, also while other threads and processes write runs.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use crate::record::folder::RunFolder;
use crate::record::folder::tests::{create_ended, id, new_root};
use crate::record::runs::{RunFilter, RunState, Runs};

fn newest_state(root: &Path) -> RunState {
    Runs::new(root.to_owned()).list(&RunFilter::default()).expect("a list").remove(0).state
}

#[test]
fn the_oldest_are_pruned_and_no_more_than_needed() {
    for (keep_runs, keep_bytes, protect, expected) in [
        (9, 9999, &[][..], &[1, 2, 3, 4, 5][..]),
        (5, 500, &[], &[1, 2, 3, 4, 5]),
        (3, 9999, &[], &[3, 4, 5]),
        (9, 499, &[], &[2, 3, 4, 5]),
        (9, 250, &[], &[4, 5]),
        (0, 0, &[], &[]),
        (0, 9999, &[3], &[3]),
        (3, 9999, &[1, 2], &[1, 2, 5]),
        (9, 99, &[1, 5], &[1, 5]),
    ] {
        let (_folder, root) = new_root();
        (1..=5).for_each(|second| create_ended(&root, &id(second)));
        let protect: Vec<String> = protect.iter().map(|second| id(*second)).collect();
        let pruned = prune(&root, keep_runs, keep_bytes, &protect).expect("a list");
        let left: Vec<String> = places(&root).expect("a list").into_iter().map(|place| place.id).collect();
        let expected: Vec<String> = expected.iter().map(|second| id(*second)).collect();
        assert_eq!(left, expected, "{keep_runs} runs, {keep_bytes} bytes, {protect:?}");
        let removed: Vec<String> = (1..=5).map(id).filter(|id| !left.contains(id)).collect();
        assert_eq!(
            pruned,
            Pruned {
                freed: 100 * removed.len() as u64,
                removed,
                runs: left.len(),
                bytes: 100 * left.len() as u64,
                failed: vec![]
            }
        );
        let locks = fs::read_dir(&root).expect("it exists").count() - left.len();
        assert_eq!(locks, 0, "the locks of pruned runs are removed too");
    }
    let (_folder, root) = new_root();
    assert_eq!(prune(&root, 0, 0, &[]).expect("nothing to list"), Pruned::default());
}

#[test]
fn a_run_that_is_being_written_is_never_pruned() {
    let (_folder, root) = new_root();
    create_ended(&root, &id(2));
    let live = RunFolder::create(&root, &id(1)).expect("created");
    let pruned = prune(&root, 0, 0, &[]).expect("a list");
    assert_eq!((pruned.removed, pruned.runs), (vec![id(2)], 1));
    assert!(live.path().is_dir());
    drop(live);
    assert_eq!(prune(&root, 0, 0, &[]).expect("a list").removed, [id(1)]);
}

/// The other process is this test again.
#[test]
fn a_run_of_another_process_is_safe_until_that_process_is_killed() {
    use std::io::{BufRead, BufReader, Read};
    const INSIDE: &str = "WHARF_TEST_RUN_OF_ANOTHER_PROCESS";
    if let Some(root) = std::env::var_os(INSIDE) {
        let _run = RunFolder::create(Path::new(&root), &id(1)).expect("created");
        writeln!(io::stdout(), "created").expect("the parent reads it");
        let _ = io::stdin().read(&mut [0]);
        return;
    }
    let (_folder, root) = new_root();
    let (_, module) = module_path!().split_once("::").expect("the tests are in a module");
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--nocapture", "--exact"])
        .arg(format!("{module}::a_run_of_another_process_is_safe_until_that_process_is_killed"))
        .env(INSIDE, &root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut output = BufReader::new(other.stdout.take().expect("a pipe")).lines();
    assert!(output.any(|line| line.is_ok_and(|line| line.ends_with("created"))), "the other process created no run");
    assert_eq!(newest_state(&root), RunState::Running);
    assert_eq!(prune(&root, 0, 0, &[]).expect("a list").removed, [] as [String; 0]);

    other.kill().expect("it was waiting");
    other.wait().expect("it is a child");
    assert_eq!(newest_state(&root), RunState::Torn);
    assert_eq!(prune(&root, 0, 0, &[]).expect("a list").removed, [id(1)]);
    assert_eq!(fs::read_dir(&root).expect("it exists").count(), 0, "the leftover lock is removed too");
}

#[test]
fn runs_that_start_while_others_prune_keep_their_folders() {
    let (_folder, root) = new_root();
    std::thread::scope(|scope| {
        for writer in 0..4_u32 {
            let root = &root;
            scope.spawn(move || {
                for number in 0..50 {
                    let id = format!("20261116T0000{writer:02}-{number:08x}");
                    let run = RunFolder::create(root, &id).expect("created");
                    fs::write(run.recording(), b"x").expect("the folder exists");
                    prune(root, 0, 0, &[]).expect("a list");
                    assert_eq!(fs::read(run.recording()).expect("it still exists"), b"x");
                }
            });
        }
    });
    prune(&root, 0, 0, &[]).expect("a list");
    assert_eq!(fs::read_dir(&root).expect("it exists").count(), 0);
}

#[test]
fn the_lock_of_a_killed_host_is_removed_and_those_of_live_and_new_runs_are_not() {
    let (_folder, root) = new_root();
    let live = RunFolder::create(&root, &id(1)).expect("created");
    let lock = |number| root.join(format!("{}.lock", id(number)));
    for number in [2, 3] {
        std::fs::write(lock(number), "").expect("written");
    }
    std::fs::write(root.join("notes.lock"), "").expect("written");
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    for path in [lock(1), lock(2), root.join("notes.lock")] {
        std::fs::File::options().append(true).open(path).and_then(|file| file.set_modified(old)).expect("changed");
    }
    prune(&root, 10, 1000, &[]).expect("pruned");
    let left: Vec<bool> =
        [lock(1), lock(2), lock(3), root.join("notes.lock")].iter().map(|path| path.exists()).collect();
    assert_eq!(left, [true, false, true, true]);
    drop(live);
}

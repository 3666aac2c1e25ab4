//! Folders of runs: made, listed, found and pruned, also while others live.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;

/// The root is not there yet.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let root = folder.path().join("data/runs");
    (folder, root)
}

/// The id of a run that began so many seconds after midnight.
fn id(second: u32) -> String {
    format!("20261116T0000{second:02}-{second:08x}")
}

/// Makes a run of a hundred bytes that is over.
fn leave(root: &Path, id: &str) {
    let folder = RunFolder::create(root, id).expect("it can be made");
    fs::write(folder.recording(), [b'x'; 60]).expect("there is room");
    fs::write(folder.events(), [b'y'; 40]).expect("there is room");
}

fn seconds(root: &Path) -> Vec<u32> {
    let runs = list(root).expect("it can be listed");
    runs.iter().map(|run| u32::from_str_radix(&run.id[16..], 16).expect("it is hexadecimal")).collect()
}

#[test]
fn a_new_id_says_when_it_was_made() {
    let before = Timestamp::now().as_second();
    let (first, second) = (new_run_id(), new_run_id());
    let after = Timestamp::now().as_second();
    assert_ne!(first, second);
    for id in [first, second] {
        let began = began(&id).unwrap_or_else(|| panic!("{id} is no id"));
        assert!((before..=after).contains(&began.as_second()), "{id}");
        assert_eq!(began.strftime("%Y%m%dT%H%M%S").to_string(), id[..15]);
    }
}

#[test]
fn what_is_an_id() {
    assert_eq!(began("20261116T015713-ab12cd34").map(|time| time.to_string()).as_deref(), Some("2026-11-16T01:57:13Z"));
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
        assert_eq!(began(text), None, "{text:?}");
        let (_folder, root) = place();
        RunFolder::create(&root, text).expect_err("it is no id");
        assert!(!root.exists());
    }
}

#[test]
fn the_state_of_each_run() {
    let (_folder, root) = place();
    assert_eq!(list(&root).expect("nothing is there"), []);
    for (second, receipt) in [
        (1, r#"{"adapter":{"id":"echo"},"outcome":"completed","ended":"2026-11-16T00:00:09Z","sha256":"x"}"#),
        (2, "{}"),
        (3, ""),
    ] {
        leave(&root, &id(second));
        fs::write(root.join(id(second)).join(RECEIPT), receipt).expect("there is room");
    }
    leave(&root, &id(4));
    let living = RunFolder::create(&root, &id(5)).expect("it can be made");
    // What is not ours is left out.
    fs::write(root.join("notes.txt"), "mine").expect("there is room");
    fs::write(root.join(id(6)), "a file").expect("there is room");
    fs::create_dir(root.join("20261116")).expect("there is room");

    let runs = list(&root).expect("it can be listed");
    assert_eq!(seconds(&root), [5, 4, 3, 2, 1]);
    assert_eq!(runs[0].state, RunState::Running);
    assert_eq!((&runs[1].state, runs[1].bytes), (&RunState::Torn, 100));
    for run in &runs[2..4] {
        assert!(matches!(run.state, RunState::Unreadable { .. }), "{run:?}");
    }
    let ended = RunState::Ended {
        adapter: "echo".to_owned(),
        outcome: Outcome::Completed,
        ended: "2026-11-16T00:00:09Z".to_owned(),
    };
    assert_eq!((runs[4].state.clone(), runs[4].started.as_str()), (ended, "2026-11-16T00:00:01Z"));

    drop(living);
    assert_eq!(list(&root).expect("it can be listed")[0].state, RunState::Torn);
    assert!(fs::read_dir(&root).expect("it is there").all(|file| {
        let name = file.expect("it is there").file_name();
        !name.to_string_lossy().ends_with(".lock")
    }));
}

#[test]
fn runs_are_found_by_id_prefix_and_as_last() {
    let (_folder, root) = place();
    let none = find(&root, "last").expect_err("there is none").to_string();
    assert!(none.starts_with("there is no run yet in "), "{none}");
    for second in [11, 12, 20] {
        leave(&root, &id(second));
    }
    for (text, expected) in [("last", 20), ("20261116T00002", 20), (id(11).as_str(), 11), ("20261116T000012-", 12)] {
        let run = find(&root, text).expect("it is there");
        assert_eq!((run.id(), run.path()), (id(expected).as_str(), root.join(id(expected)).as_path()));
        assert!(run.recording().is_file() && run.events().is_file() && !run.receipt().exists());
    }
    let two = find(&root, "20261116T00001").expect_err("it fits two").to_string();
    assert_eq!(two, format!("\"20261116T00001\" fits 2 runs:\n  {}\n  {}", id(12), id(11)));
    for text in ["", "2025", "../runs", "."] {
        let error = find(&root, text).expect_err("there is none");
        assert!(error.to_string().contains(&format!("no run \"{text}\" in ")), "{error}");
        assert!(error.to_do().is_some_and(|hint| hint.contains("wharf runs")));
    }
}

#[test]
fn of_two_runs_in_one_second_the_last_is_the_one_made_last() {
    let (folder, root) = place();
    if fs::metadata(folder.path()).expect("it is there").created().is_err() {
        return;
    }
    let random = ["80000000", "f0000000", "00000000", "c0000000"];
    let made = |path: &Path| fs::metadata(path).and_then(|file| file.created()).expect("it is there");
    for random in random {
        let run = format!("20261116T000000-{random}");
        leave(&root, &run);
        // Until the clock of the file system, which goes in steps, has made one.
        let probe = folder.path().join("probe");
        let moved_on = || {
            let _ = fs::remove_file(&probe);
            fs::write(&probe, "").expect("it can be written");
            made(&probe) > made(&root.join(&run))
        };
        while !moved_on() {
            std::thread::yield_now();
        }
    }
    let found: Vec<String> = list(&root).expect("it can be listed").into_iter().map(|run| run.id).collect();
    let expected: Vec<String> = random.iter().rev().map(|random| format!("20261116T000000-{random}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_run_is_never_made_twice() {
    let (_folder, root) = place();
    leave(&root, &id(1));
    let error = RunFolder::create(&root, &id(1)).expect_err("it is there").to_string();
    assert!(error.contains(&id(1)), "{error}");
    assert_eq!(list(&root).expect("it can be listed")[0].bytes, 100);
    let living = RunFolder::create(&root, &id(2)).expect("it can be made");
    RunFolder::create(&root, &id(2)).expect_err("it is being written");
    assert_eq!(list(&root).expect("it can be listed")[0].state, RunState::Running);
    drop(living);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_enter() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, root) = place();
    let run = RunFolder::create(&root, &new_run_id()).expect("it can be made");
    for folder in [root.as_path(), run.path()] {
        let mode = fs::metadata(folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{mode:o}");
    }
}

#[test]
fn the_oldest_are_pruned_and_no_more_than_needed() {
    for (keep_runs, keep_bytes, protect, expected) in [
        (9, 9999, &[][..], &[5, 4, 3, 2, 1][..]),
        (5, 500, &[], &[5, 4, 3, 2, 1]),
        (3, 9999, &[], &[5, 4, 3]),
        (9, 499, &[], &[5, 4, 3, 2]),
        (9, 250, &[], &[5, 4]),
        (0, 0, &[], &[]),
        (0, 9999, &[3], &[3]),
        (3, 9999, &[1, 2], &[5, 2, 1]),
        (9, 99, &[1, 5], &[5, 1]),
    ] {
        let (_folder, root) = place();
        (1..=5).for_each(|second| leave(&root, &id(second)));
        let protect: Vec<String> = protect.iter().map(|second| id(*second)).collect();
        let pruned = prune(&root, keep_runs, keep_bytes, &protect).expect("it can be listed");
        let left = seconds(&root);
        assert_eq!(left, expected, "{keep_runs} runs, {keep_bytes} bytes, {protect:?}");
        let removed: Vec<String> = (1..=5).filter(|second| !left.contains(second)).map(id).collect();
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
        let locks = fs::read_dir(&root).expect("it is there").count() - left.len();
        assert_eq!(locks, 0, "the locks of pruned runs are gone too");
    }
    let (_folder, root) = place();
    assert_eq!(prune(&root, 0, 0, &[]).expect("nothing is there"), Pruned::default());
}

#[test]
fn a_run_that_is_being_written_is_never_pruned() {
    let (_folder, root) = place();
    leave(&root, &id(2));
    let living = RunFolder::create(&root, &id(1)).expect("it can be made");
    let pruned = prune(&root, 0, 0, &[]).expect("it can be listed");
    assert_eq!((pruned.removed, pruned.runs), (vec![id(2)], 1));
    assert!(living.path().is_dir());
    drop(living);
    assert_eq!(prune(&root, 0, 0, &[]).expect("it can be listed").removed, [id(1)]);
}

/// The other process is this very test.
#[test]
fn a_run_of_another_process_is_safe_until_that_is_killed() {
    use std::io::{BufRead, BufReader, Read, Write};
    const INSIDE: &str = "WHARF_TEST_RUN_OF_ANOTHER_PROCESS";
    if let Some(root) = std::env::var_os(INSIDE) {
        let _run = RunFolder::create(Path::new(&root), &id(1)).expect("it can be made");
        writeln!(io::stdout(), "made").expect("somebody listens");
        let _ = io::stdin().read(&mut [0]);
        return;
    }
    let (_folder, root) = place();
    let (_, module) = module_path!().split_once("::").expect("the tests are in a module");
    let mut other = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--nocapture", "--exact"])
        .arg(format!("{module}::a_run_of_another_process_is_safe_until_that_is_killed"))
        .env(INSIDE, &root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut said = BufReader::new(other.stdout.take().expect("it is piped")).lines();
    assert!(said.any(|line| line.is_ok_and(|line| line.ends_with("made"))), "the other process made no run");
    assert_eq!(list(&root).expect("it can be listed")[0].state, RunState::Running);
    assert_eq!(prune(&root, 0, 0, &[]).expect("it can be listed").removed, [] as [String; 0]);

    other.kill().expect("it was waiting");
    other.wait().expect("it was started here");
    assert_eq!(list(&root).expect("it can be listed")[0].state, RunState::Torn);
    assert_eq!(prune(&root, 0, 0, &[]).expect("it can be listed").removed, [id(1)]);
    assert_eq!(fs::read_dir(&root).expect("it is there").count(), 0, "the lock that was left is gone too");
}

#[test]
fn runs_that_begin_while_others_prune_keep_their_folders() {
    let (_folder, root) = place();
    std::thread::scope(|scope| {
        for writer in 0..4_u32 {
            let root = &root;
            scope.spawn(move || {
                for number in 0..50 {
                    let id = format!("20261116T0000{writer:02}-{number:08x}");
                    let run = RunFolder::create(root, &id).expect("it can be made");
                    fs::write(run.recording(), b"x").expect("the folder is there");
                    prune(root, 0, 0, &[]).expect("it can be listed");
                    assert_eq!(fs::read(run.recording()).expect("it is still there"), b"x");
                }
            });
        }
    });
    prune(&root, 0, 0, &[]).expect("it can be listed");
    assert_eq!(fs::read_dir(&root).expect("it is there").count(), 0);
}

//! Runs whose host has died: found by their records in the folder of live runs, and ended.

//!
//! Agents can write to that folder. A forged record must not make us kill anything: only processes that were started with
//! the markers of the run, or are in its cgroup, are the start of what is killed.

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::cgroup::Cgroup;
use super::markers::Markers;
use super::process_table::ProcessEntry;
use super::process_tree::ProcessTree;
use super::run_record::{INCOMPLETE, PidScope, RunFile, RunRecord};
use crate::cleanup::ReapedRun;

/// How long the cleanup of one orphaned run may take.
const LIMIT: Duration = Duration::from_secs(5);

/// A file that is incomplete for so long was left by a host that was killed while it wrote.
const ABANDONED: Duration = Duration::from_hours(1);

/// What to do with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// The host is alive, or cannot be seen from here.
    Keep,
    /// No process of the run can be left.
    Delete,
    /// The host has died.
    Reap,
}

/// `process` is the one that now has the process id of the host.
fn action_for(record: &RunRecord, current: &PidScope, process: Option<&ProcessEntry>) -> Action {
    if record.pid_scope.boot != current.boot {
        return Action::Delete;
    }
    if record.pid_scope.namespace != current.namespace {
        return Action::Keep;
    }
    match process {
        Some(entry) if entry.alive && entry.identity() == record.host() => Action::Keep,
        _ => Action::Reap,
    }
}

/// See [`crate::reap_orphans`].
pub(crate) fn reap_orphans(registry: &Path) -> Vec<ReapedRun> {
    let current = PidScope::current();
    let mut files: Vec<PathBuf> =
        fs::read_dir(registry).into_iter().flatten().flatten().map(|item| item.path()).collect();
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == INCOMPLETE)) {
        let written = fs::symlink_metadata(path).and_then(|found| found.modified());
        let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        if age.is_some_and(|age| age > ABANDONED) {
            fs::remove_file(path).ok();
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.into_iter().filter_map(|path| reap(RunFile::at(path), &current)).collect()
}

fn reap(file: RunFile, current: &PidScope) -> Option<ReapedRun> {
    let lock = file.open().ok()?;
    match lock.try_lock() {
        // A filesystem without locks: killing twice does no harm, but a process may be reported twice.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => return None,
    }
    // Read by its path, not from the locked file: the previous holder of the lock may have removed it.
    let mut record = file.read().ok()?;
    // We name files by the run id. Another name means that the file is not ours.
    if file.path().file_stem()? != record.run.as_str() {
        return None;
    }
    let process = ProcessEntry::of(record.host_pid).ok();
    match action_for(&record, current, process.as_ref()) {
        Action::Keep => return None,
        Action::Delete => {
            fs::remove_file(file.path()).ok();
            return None;
        }
        Action::Reap => {}
    }
    let cgroup = record.cgroup.as_deref().and_then(|path| Cgroup::of_dead_host(path, &record.run));
    let cgroup = cgroup.filter(Cgroup::is_real);
    // Anyone can write down a process id. What the agent itself was started with cannot be forged.
    let is_agent = |pid: i32| {
        Markers::new(&record.run, record.host()).are_on(pid)
            || cgroup.as_ref().is_some_and(|cgroup| cgroup.contains(pid))
    };
    if !record.agent_pid.is_some_and(is_agent) {
        (record.agent_pid, record.agent_start) = (None, None);
    }
    let cleanup = ProcessTree::without_owner(&record, cgroup, Some(file)).clean_up(LIMIT);
    Some(ReapedRun { run: record.run, cleanup })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(boot: &str, namespace: &str) -> PidScope {
        PidScope { boot: boot.into(), namespace: namespace.into() }
    }

    fn record() -> RunRecord {
        RunRecord {
            run: "r".into(),
            pid_scope: scope("b", "n"),
            host_pid: 7,
            host_start: 70,
            agent_pid: Some(8),
            agent_start: Some(80),
            cgroup: None,
        }
    }

    #[test]
    fn only_runs_of_dead_hosts_are_reaped() {
        let host = ProcessEntry { pid: 7, parent: 1, session: 7, start_time: 70, alive: true, exiting: false };
        let table = [
            (scope("b", "n"), Some(host), Action::Keep),
            (scope("b", "n"), Some(ProcessEntry { alive: false, ..host }), Action::Reap),
            (scope("b", "n"), Some(ProcessEntry { start_time: 71, ..host }), Action::Reap),
            (scope("b", "n"), None, Action::Reap),
            (scope("b", "other"), None, Action::Keep),
            (scope("later", "n"), Some(host), Action::Delete),
            (scope("later", "other"), None, Action::Delete),
        ];
        for (current, process, expected) in table {
            assert_eq!(action_for(&record(), &current, process.as_ref()), expected, "{current:?} {process:?}");
        }
    }

    #[test]
    fn invalid_and_misnamed_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let orphan = RunRecord { pid_scope: PidScope::current(), host_pid: i32::MAX, ..record() };
        let valid = serde_json::to_vec(&orphan).expect("plain data");
        for (name, content) in [("a.json", &b"{"[..]), ("b.json", b""), ("other.json", &valid), ("r.txt", &valid)] {
            fs::write(folder.path().join(name), content).expect("written");
        }
        assert_eq!(reap_orphans(folder.path()), []);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder exists").count(), 4);
        assert_eq!(reap_orphans(&folder.path().join("missing")), []);
    }

    #[test]
    fn a_pipe_or_a_link_in_the_folder_of_live_runs_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["zzz.json", "r.new"] {
            let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status();
            assert!(made.expect("every system has mkfifo").success());
        }
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("yyy.json")).expect("a link");
        assert_eq!(reap_orphans(folder.path()), []);
        RunFile::new(folder.path(), "r").write(&record()).expect("written beside them");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder exists").count(), 4);
    }

    #[test]
    fn a_record_locked_by_another_host_is_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = RunFile::new(folder.path(), "r");
        let orphan = RunRecord { pid_scope: PidScope::current(), host_pid: i32::MAX, ..record() };
        file.write(&orphan).expect("written");
        let lock = file.open().expect("the file exists");
        lock.try_lock().expect("not locked");
        assert_eq!(reap_orphans(folder.path()), []);
        drop(lock);
        let reaped = reap_orphans(folder.path());
        assert_eq!(reaped.len(), 1);
        assert_eq!(reaped[0].run, "r");
        assert!(!file.path().exists());
    }
}

//! The record of a live run on disk: one small file, written before the agent starts and removed when no process of the
//! run is left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::process_table::ProcessIdentity;
use super::pseudofile;

/// The content of the file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct RunRecord {
    pub(super) run: String,
    pub(super) pid_scope: PidScope,
    pub(super) host_pid: i32,
    pub(super) host_start: u64,
    /// Absent if the host died while it started the agent.
    pub(super) agent_pid: Option<i32>,
    pub(super) agent_start: Option<u64>,
    pub(super) cgroup: Option<PathBuf>,
}

impl RunRecord {
    pub(super) fn host(&self) -> ProcessIdentity {
        ProcessIdentity { pid: self.host_pid, start_time: self.host_start }
    }

    pub(super) fn agent(&self) -> Option<ProcessIdentity> {
        Some(ProcessIdentity { pid: self.agent_pid?, start_time: self.agent_start? })
    }
}

/// Where the process ids and start times of a record are valid.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct PidScope {
    /// The kernel's id of this boot.
    pub(super) boot: String,
    /// The pid namespace. A container shares the boot and perhaps the folder of live runs, but not the process ids.
    pub(super) namespace: String,
}

impl PidScope {
    /// The scope of this process. It never changes, so it is cached unless a part of it could not be read.
    pub(super) fn current() -> Self {
        static CURRENT: OnceLock<PidScope> = OnceLock::new();
        if let Some(current) = CURRENT.get() {
            return current.clone();
        }
        let boot = pseudofile::read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let current = Self { boot: boot.trim_end().to_owned(), namespace: namespace.to_string_lossy().into_owned() };
        if !current.boot.is_empty() && !current.namespace.is_empty() {
            return CURRENT.get_or_init(|| current).clone();
        }
        current
    }
}

/// The file of one live run.
#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
}

impl RunFile {
    pub(super) fn new(registry: &Path, run: &str) -> Self {
        Self { path: registry.join(format!("{run}.json")) }
    }

    /// A file that was found in the folder.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a temporary file and renames it, so that no reader sees half a record.
    pub(super) fn write(&self, record: &RunRecord) -> io::Result<()> {
        let temporary = self.path.with_extension("new");
        let content = serde_json::to_vec(record)?;
        match (fs::write(&temporary, &content), self.path.parent()) {
            // The folder nearly always exists, so it is created only if the write fails.
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder)?;
                fs::write(&temporary, &content)?;
            }
            (result, _) => result?,
        }
        fs::rename(&temporary, &self.path)
    }

    pub(super) fn read(&self) -> io::Result<RunRecord> {
        Ok(serde_json::from_slice(&fs::read(&self.path)?)?)
    }

    /// Removes the file, and the temporary file that a write leaves if the disk is full. A missing file is no error.
    pub(super) fn remove(&self) {
        fs::remove_file(self.path.with_extension("new")).ok();
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = RunRecord {
            run: "r".into(),
            pid_scope: PidScope { boot: "b".into(), namespace: "n".into() },
            host_pid: 7,
            host_start: 70,
            agent_pid: Some(8),
            agent_start: Some(80),
            cgroup: None,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = RunFile::new(&folder.path().join("live"), "r");
        file.write(&record).expect("written");
        let content = fs::read(file.path()).expect("the file exists");
        assert_eq!(serde_json::from_slice::<RunRecord>(&content).expect("complete"), record);
        assert_eq!(file.read().expect("readable"), record);
        file.remove();
        assert_eq!(fs::read_dir(folder.path().join("live")).expect("the folder exists").count(), 0);
    }
}

//! The record of a live run on disk: one small file, written before the agent starts and removed when no process of the
//! run is left.
//!
//! Agents can write to the folder. So nothing but a plain file is read, and a new file never has a name that exists.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::OFlags;

use serde::{Deserialize, Serialize};

use super::process_table::ProcessIdentity;
use super::pseudofile;

/// The largest record that is read.
const LIMIT: u64 = 64 << 10;

/// How the names of files end that are not complete yet.
pub(super) const INCOMPLETE: &str = "new";

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
        let content = serde_json::to_vec(record)?;
        let (temporary, mut file) = match (self.create_temporary(), self.path.parent()) {
            // The folder nearly always exists, so it is created only if the write fails.
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                self.create_temporary()?
            }
            (result, _) => result?,
        };
        let result = file.write_all(&content).and_then(|()| fs::rename(&temporary, &self.path));
        if result.is_err() {
            fs::remove_file(&temporary).ok();
        }
        result
    }

    /// A file that did not exist: whatever has its name already, a pipe perhaps, is left alone.
    fn create_temporary(&self) -> io::Result<(PathBuf, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.path.with_extension(format!("{}-{number}.{INCOMPLETE}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return Ok((path, result?)),
            }
        }
    }

    /// Opens the file, if it is a plain one. Never waits: the file may be a pipe.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    pub(super) fn read(&self) -> io::Result<RunRecord> {
        let mut content = Vec::new();
        self.open()?.take(LIMIT).read_to_end(&mut content)?;
        Ok(serde_json::from_slice(&content)?)
    }

    /// Removes the file. A missing file is no error.
    pub(super) fn remove(&self) {
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
        let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions();
        let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&mode(path)) & 0o777;
        assert_eq!((mode(&folder.path().join("live")), mode(file.path())), (0o700, 0o600));
        file.remove();
        assert_eq!(fs::read_dir(folder.path().join("live")).expect("the folder exists").count(), 0);
    }
}

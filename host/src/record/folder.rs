//! The folder of runs: the files of each run, `<root>/<run id>/{recording, events.jsonl, receipt.json}`.
//!
//! While a run is being written, its host holds a lock on `<root>/<run id>.lock`. The system releases the lock when the
//! host exits for any reason, so whether a run is live is never guessed from times or process ids. The lock is acquired
//! before the folder is created: the folder of a live run is never without it. The lock file is beside the folder
//! because Windows does not remove a folder that contains an open file, and locks a file for readers too.
//!
//! This module never reads or writes the files of a run.

#[cfg(test)]
#[path = "folder_tests.rs"]
pub(super) mod tests;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::disk::{Links, open_plain_file, open_plain_file_with, private_folder};
use crate::error::{Error, Result};

/// The file of the run's raw bytes.
pub(super) const RECORDING: &str = "recording";
/// The file of the run's events, one JSON object per line.
pub(super) const EVENTS: &str = "events.jsonl";
/// The largest file of events that is read: as much as all runs may take together by default.
pub(super) const EVENTS_LIMIT: u64 = 4 << 30;
/// The file of the run's receipt, which is written last.
pub(super) const RECEIPT: &str = "receipt.json";
/// The largest receipt that is read. It lists tools and changed files.
pub(super) const RECEIPT_LIMIT: u64 = 256 << 20;

/// An id for a run that starts now: the time in UTC and eight random digits, as in `20261116T015713-ab12cd34`. Ids sort
/// by time.
pub(super) fn new_run_id() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%S"), &random[..8])
}

/// When the run with this id started. None if the text is not a run id.
fn start_time(id: &str) -> Option<Timestamp> {
    let (time, random) = id.split_once('-')?;
    let digits = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let (date, clock) = time.split_once('T')?;
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if !digits(date, 8) || !digits(clock, 6) || random.len() != 8 || !random.bytes().all(lower_hex) {
        return None;
    }
    TimeZone::UTC.to_timestamp(time.parse::<DateTime>().ok()?).ok()
}

/// Whether a text is the id of a run.
pub(crate) fn is_run_id(id: &str) -> bool {
    start_time(id).is_some()
}

/// The folder of one run.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Held while the run is being written.
    _lock: Lock,
}

impl RunFolder {
    /// Creates the folder of a new run, which only its owner may enter. Until the value is dropped, the run counts as
    /// live.
    pub(crate) fn create(root: &Path, id: &str) -> Result<RunFolder> {
        if start_time(id).is_none() {
            return Err(Error::invalid(format!("\"{id}\" is not a run id")));
        }
        let path = root.join(id);
        let create = || {
            private_folder().recursive(true).create(root)?;
            let lock = Lock::create(root, id)?;
            private_folder().create(&path)?;
            Ok(lock)
        };
        let lock = create().map_err(|error: io::Error| {
            let error = Error::system(format!("creating the folder of the run {}", path.display()), error);
            error.with_hint("set WHARF_DATA to a folder that you may write to")
        })?;
        Ok(RunFolder { path, _lock: lock })
    }

    /// The folder of the run.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the recording.
    pub(crate) fn recording(&self) -> PathBuf {
        self.path.join(RECORDING)
    }

    /// The path of the event file.
    pub(crate) fn events(&self) -> PathBuf {
        self.path.join(EVENTS)
    }
}

/// Where a run is. Sorts by age, oldest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) started: Timestamp,
    /// Orders runs that started in the same second. Not every file system knows it.
    created: Option<SystemTime>,
    pub(super) id: String,
    pub(super) path: PathBuf,
}

/// The folders of runs, oldest first. Anything else in the root is ignored.
pub(super) fn places(root: &Path) -> Result<Vec<Place>> {
    let fail = |error: io::Error| Error::system(format!("listing the runs in {}", root.display()), error);
    let files = match fs::read_dir(root) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(fail(error)),
    };
    let mut places = Vec::new();
    for file in files {
        let file = file.map_err(fail)?;
        // It may have been pruned since.
        let Ok(metadata) = file.metadata() else { continue };
        let Ok(id) = file.file_name().into_string() else { continue };
        if let Some(started) = start_time(&id).filter(|_| metadata.is_dir()) {
            places.push(Place { started, created: metadata.created().ok(), path: file.path(), id });
        }
    }
    places.sort();
    Ok(places)
}

/// The size of all files in a folder. A file that cannot be read, or was removed meanwhile, is not counted.
pub(super) fn size_of(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = files.map(|file| match file.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&file.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// How long a lock file may exist before it is locked.
const NEW: Duration = Duration::from_mins(1);

/// The lock of a run, held until the value is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
    /// Whether the file stays when the lock is released.
    keep_file: bool,
}

impl Lock {
    /// Creates the lock file of a new run and acquires the lock. It can wait only for a process that is just checking
    /// the lock.
    fn create(root: &Path, id: &str) -> io::Result<Lock> {
        let path = Lock::path(root, id);
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        match file.lock() {
            // A run without a lock is better than no run. Where locks are unsupported, nothing is pruned either.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(Lock { path, _file: file, keep_file: false }),
        }
    }

    /// Removes lock files without a run: their host was killed before it created the folder, or the run was deleted. One
    /// that is new may be about to be locked. Those of torn runs are removed when their sessions are remembered.
    pub(super) fn remove_abandoned(root: &Path) {
        for file in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = file.file_name().into_string().unwrap_or_default();
            let Some(id) = name.strip_suffix(".lock").filter(|id| is_run_id(id)) else { continue };
            let created = file.metadata().and_then(|metadata| metadata.modified());
            let age = created.ok().and_then(|created| SystemTime::now().duration_since(created).ok());
            if age.is_some_and(|age| age > NEW) && !root.join(id).is_dir() {
                // A lock that can be acquired belongs to nobody. Its file is removed when it is dropped.
                drop(Lock::try_acquire(root, id));
            }
        }
    }

    /// Acquires the lock unless another process holds it.
    pub(super) fn try_acquire(root: &Path, id: &str) -> io::Result<Option<Lock>> {
        let path = Lock::path(root, id);
        let file = open_plain_file_with(OpenOptions::new().append(true).create(true), &path, Links::Refuse)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { path, _file: file, keep_file: false })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Releases the lock and leaves its file, which shows that the run was not looked at yet.
    pub(super) fn release(mut self) {
        self.keep_file = true;
    }

    pub(super) fn is_held(root: &Path, id: &str) -> bool {
        let file = open_plain_file(&Lock::path(root, id), Links::Refuse);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn path(root: &Path, id: &str) -> PathBuf {
        root.join(format!("{id}.lock"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed before it is closed. A process that has opened it meanwhile acquires a lock without
        // meaning, for a run that has ended; ids are never reused.
        if !self.keep_file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The runs that have a lock file: those that are live, and those whose host was killed.
pub(super) fn locked(root: &Path) -> Vec<String> {
    let names =
        fs::read_dir(root).into_iter().flatten().flatten().filter_map(|file| file.file_name().into_string().ok());
    let ids = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned));
    ids.filter(|id| start_time(id).is_some()).collect()
}

//! The folder of runs: what each run leaves behind, `<root>/<run id>/{recording, events.jsonl, receipt.json}`.
//!
//! While a run is being written, its host holds a lock on `<root>/<run id>.lock`. The system lets go of the lock when
//! the host dies, however it dies, so nobody has to guess from times or process ids whether a run is alive. The lock is
//! taken before the folder is made: no folder of a living run is ever without it. It stands beside the folder since
//! Windows removes no folder in which a file is open, and locks a file for readers too.
//!
//! Here folders are made, found and removed. What is in their files is the affair of `recording` and `receipt`.

mod prune;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::event::Outcome;

pub(crate) use prune::is_due;
pub use prune::{Pruned, prune};

/// The raw bytes of the run.
pub(crate) const RECORDING: &str = "recording";
/// Its events, one JSON object a line.
pub(crate) const EVENTS: &str = "events.jsonl";
/// Its receipt: the last thing that is written.
pub(crate) const RECEIPT: &str = "receipt.json";

/// As many runs as an ambiguous prefix lists.
const MOST_LISTED: usize = 10;

/// An id for a run that begins now: UTC and eight random digits, as `20261116T015713-ab12cd34`. Ids sort by time.
pub(crate) fn new_run_id() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%S"), &random[..8])
}

/// When the run with this id began. None where the text is no id of a run.
fn began(id: &str) -> Option<Timestamp> {
    let (time, random) = id.split_once('-')?;
    let digits = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let (date, clock) = time.split_once('T')?;
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if !digits(date, 8) || !digits(clock, 6) || random.len() != 8 || !random.bytes().all(lower_hex) {
        return None;
    }
    TimeZone::UTC.to_timestamp(time.parse::<DateTime>().ok()?).ok()
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    id: String,
    path: PathBuf,
    /// Held by whoever writes the run.
    _lock: Option<Lock>,
}

impl RunFolder {
    /// Makes the folder of a new run, which only its owner may enter. As long as the value lives, the run counts as one
    /// that is being written.
    pub fn create(root: &Path, id: &str) -> Result<RunFolder> {
        if began(id).is_none() {
            return Err(Error::invalid(format!("\"{id}\" is no id of a run")));
        }
        let path = root.join(id);
        let make = || {
            private_folder().recursive(true).create(root)?;
            let lock = Lock::make(root, id)?;
            private_folder().create(&path)?;
            Ok(lock)
        };
        let lock = make().map_err(|why: io::Error| {
            let error = Error::system(format!("cannot make the folder of the run {}", path.display()), why);
            error.hint("set WHARF_DATA to a folder that you may write to")
        })?;
        Ok(RunFolder { id: id.to_owned(), path, _lock: Some(lock) })
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its recording is.
    pub fn recording(&self) -> PathBuf {
        self.path.join(RECORDING)
    }

    /// Where its events are.
    pub fn events(&self) -> PathBuf {
        self.path.join(EVENTS)
    }

    /// Where its receipt is, once it has ended.
    pub fn receipt(&self) -> PathBuf {
        self.path.join(RECEIPT)
    }
}

/// A run, as `wharf runs` lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunEntry {
    /// Its id.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// The size of all its files.
    pub bytes: u64,
    /// How it stands.
    #[serde(flatten)]
    pub state: RunState,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum RunState {
    /// It has a receipt, which says this. The receipt is not verified here.
    Ended {
        /// The adapter's id.
        adapter: String,
        /// How the turn ended.
        outcome: Outcome,
        /// When: RFC 3339, UTC.
        ended: String,
    },
    /// It is being written.
    Running,
    /// Its host died before it could write the receipt.
    Torn,
    /// It has a receipt that cannot be read.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// The runs, newest first. A root that is not there has none.
pub fn list(root: &Path) -> Result<Vec<RunEntry>> {
    let places = places(root)?;
    Ok(places.into_iter().rev().map(|place| entry_of(root, place)).collect())
}

/// The run with this id, or with an id that begins with it, or the newest for `last`.
pub fn find(root: &Path, id_or_prefix: &str) -> Result<RunFolder> {
    let mut places = places(root)?;
    let hint = "`wharf runs` lists what there is";
    if id_or_prefix != "last" {
        places.retain(|place| !id_or_prefix.is_empty() && place.id.starts_with(id_or_prefix));
        if places.len() > 1 {
            return Err(ambiguous(id_or_prefix, &places));
        }
    }
    match places.pop() {
        Some(Place { id, path, .. }) => Ok(RunFolder { id, path, _lock: None }),
        None if id_or_prefix == "last" => Err(Error::invalid(format!("there is no run yet in {}", root.display()))),
        None => Err(Error::invalid(format!("there is no run \"{id_or_prefix}\" in {}", root.display())).hint(hint)),
    }
}

fn ambiguous(prefix: &str, found: &[Place]) -> Error {
    let mut lines = vec![format!("\"{prefix}\" fits {} runs:", found.len())];
    lines.extend(found.iter().rev().take(MOST_LISTED).map(|place| place.id.clone()));
    if found.len() > MOST_LISTED {
        lines.push(format!("and {} more", found.len() - MOST_LISTED));
    }
    Error::invalid(lines.join("\n  ")).hint("give more of the id")
}

/// Where a run is. They sort by age, the oldest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    began: Timestamp,
    /// Two runs may begin in the same second. Not every file system tells.
    made: Option<SystemTime>,
    id: String,
    path: PathBuf,
}

/// The folders of runs, the oldest first. Anything else in the root is somebody else's.
fn places(root: &Path) -> Result<Vec<Place>> {
    let fail = |why: io::Error| Error::system(format!("cannot list the runs in {}", root.display()), why);
    let files = match fs::read_dir(root) {
        Ok(files) => files,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(why) => return Err(fail(why)),
    };
    let mut places = Vec::new();
    for file in files {
        let file = file.map_err(fail)?;
        // One that is gone by now was pruned.
        let Ok(metadata) = file.metadata() else { continue };
        let Ok(id) = file.file_name().into_string() else { continue };
        if let Some(began) = began(&id).filter(|_| metadata.is_dir()) {
            places.push(Place { began, made: metadata.created().ok(), path: file.path(), id });
        }
    }
    places.sort();
    Ok(places)
}

fn entry_of(root: &Path, place: Place) -> RunEntry {
    // In this order: a run whose lock is free has its receipt by now, if it will ever have one.
    let held = Lock::is_held(root, &place.id);
    let state = match fs::read(place.path.join(RECEIPT)) {
        Ok(text) => state_from(&text),
        Err(why) if why.kind() != io::ErrorKind::NotFound => RunState::Unreadable { why: why.to_string() },
        Err(_) if held => RunState::Running,
        Err(_) => RunState::Torn,
    };
    RunEntry { started: place.began.to_string(), bytes: size_of(&place.path), id: place.id, path: place.path, state }
}

/// What a receipt says of how the run ended.
fn state_from(receipt: &[u8]) -> RunState {
    /// As much of a receipt as every format of it will have.
    #[derive(Deserialize)]
    struct Head {
        adapter: Adapter,
        outcome: Outcome,
        ended: String,
    }
    #[derive(Deserialize)]
    struct Adapter {
        id: String,
    }
    match serde_json::from_slice(receipt) {
        Ok(Head { adapter, outcome, ended }) => RunState::Ended { adapter: adapter.id, outcome, ended },
        Err(why) => RunState::Unreadable { why: why.to_string() },
    }
}

/// The size of all files in a folder. What cannot be read, or is gone by now, counts for nothing.
fn size_of(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = files.map(|file| match file.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&file.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are a thing of Unix"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The lock of a run, held as long as the value lives.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Makes the lock of a new run and takes it; waits only for whoever looks at it just now.
    fn make(root: &Path, id: &str) -> io::Result<Lock> {
        let path = Lock::place(root, id);
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        match file.lock() {
            // A run without a lock is better than none; it is then never pruned either.
            Err(why) if why.kind() != io::ErrorKind::Unsupported => Err(why),
            _ => Ok(Lock { path, _file: file }),
        }
    }

    /// Takes the lock unless somebody has it.
    fn try_take(root: &Path, id: &str) -> io::Result<Option<Lock>> {
        let path = Lock::place(root, id);
        let file = OpenOptions::new().append(true).create(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { path, _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(why)) => Err(why),
        }
    }

    fn is_held(root: &Path, id: &str) -> bool {
        let file = File::open(Lock::place(root, id));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn place(root: &Path, id: &str) -> PathBuf {
        root.join(format!("{id}.lock"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before the file is closed. Whoever has opened it in the meantime gets a lock that means nothing, of a run
        // that is over; a new run never has an old id.
        let _ = fs::remove_file(&self.path);
    }
}

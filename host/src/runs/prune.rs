//! Removes the oldest runs, never one that is being written.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::{Lock, places, size_of};
use crate::error::Result;

/// What pruning came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The ids of the runs that were removed, the oldest first.
    pub removed: Vec<String>,
    /// How many bytes they had.
    pub freed: u64,
    /// How many runs are left.
    pub runs: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// Runs that could not be removed, each with why.
    pub failed: Vec<(String, String)>,
}

/// Removes runs, the oldest first, until no more than `keep_runs` with no more than `keep_bytes` are left. Those that
/// are being written and those to be protected count, but stay. One that cannot be removed does not save the others.
pub fn prune(root: &Path, keep_runs: usize, keep_bytes: u64, protect: &[String]) -> Result<Pruned> {
    let runs: Vec<_> = places(root)?.into_iter().map(|place| (size_of(&place.path), place)).collect();
    let mut pruned = Pruned { runs: runs.len(), bytes: runs.iter().map(|(bytes, _)| bytes).sum(), ..Pruned::default() };
    for (bytes, place) in runs {
        if pruned.runs <= keep_runs && pruned.bytes <= keep_bytes {
            break;
        }
        if protect.contains(&place.id) {
            continue;
        }
        match remove(root, &place.id) {
            Ok(Removal::Busy) => continue,
            Ok(Removal::Done) => {
                pruned.freed += bytes;
                pruned.removed.push(place.id);
            }
            Ok(Removal::DoneByAnother) => {}
            Err(why) => {
                pruned.failed.push((place.id, why.to_string()));
                continue;
            }
        }
        pruned.runs -= 1;
        pruned.bytes -= bytes;
    }
    Ok(pruned)
}

/// Whether it is time to look at all runs, after one of so many bytes. A look at every folder after every run would cost
/// more than the run did, once there are a thousand; so there may be a few too many for a while.
pub(crate) fn is_due(root: &Path, keep_runs: usize, keep_bytes: u64, run: &str, bytes: u64) -> bool {
    let count = std::fs::read_dir(root).into_iter().flatten().count();
    // A large one counts by itself, small ones by one look in sixteen.
    count > keep_runs.saturating_add(keep_runs / 16) || bytes > keep_bytes / 64 || run.ends_with('0')
}

enum Removal {
    Done,
    /// It is being written.
    Busy,
    DoneByAnother,
}

fn remove(root: &Path, id: &str) -> io::Result<Removal> {
    let Some(_lock) = Lock::try_take(root, id)? else { return Ok(Removal::Busy) };
    match std::fs::remove_dir_all(root.join(id)) {
        Ok(()) => Ok(Removal::Done),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Removal::DoneByAnother),
        Err(why) => Err(why),
    }
}

//! Removes the oldest runs, never one that is being written.

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;

use std::io;
use std::path::Path;

use serde::Serialize;

use super::folder::{Lock, places, size_of};
use crate::error::Result;

/// The result of pruning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pruned {
    /// The ids of the removed runs, oldest first.
    pub removed: Vec<String>,
    /// How many bytes the removed runs had.
    pub freed: u64,
    /// How many runs are left.
    pub runs: usize,
    /// How many bytes the runs that are left have.
    pub bytes: u64,
    /// The ids of runs that could not be removed, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Removes runs, oldest first, until at most `keep_runs` with at most `keep_bytes` are left. Live runs and those in
/// `protect` count, but are not removed. If one cannot be removed, the others still are.
pub(super) fn prune(root: &Path, keep_runs: usize, keep_bytes: u64, protect: &[String]) -> Result<Pruned> {
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
            Err(error) => {
                pruned.failed.push((place.id, error.to_string()));
                continue;
            }
        }
        pruned.runs -= 1;
        pruned.bytes -= bytes;
    }
    Lock::remove_abandoned(root);
    Ok(pruned)
}

/// Whether to prune after a run of so many bytes. With a thousand runs, measuring every folder after every run would
/// cost more than the run itself, so the limits may be exceeded by a little for a while.
pub(crate) fn is_due(root: &Path, keep_runs: usize, keep_bytes: u64, run: &str, bytes: u64) -> bool {
    let count = std::fs::read_dir(root).into_iter().flatten().count();
    // A large run is a reason by itself; after small ones, one in sixteen is.
    count > keep_runs.saturating_add(keep_runs / 16) || bytes > keep_bytes / 64 || run.ends_with('0')
}

/// What happened to a run that was to be removed.
pub(super) enum Removal {
    Done,
    /// The run is being written.
    Busy,
    /// Another process removed it first.
    DoneByAnother,
}

pub(super) fn remove(root: &Path, id: &str) -> io::Result<Removal> {
    let Some(_lock) = Lock::try_acquire(root, id)? else { return Ok(Removal::Busy) };
    match std::fs::remove_dir_all(root.join(id)) {
        Ok(()) => Ok(Removal::Done),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Removal::DoneByAnother),
        Err(error) => Err(error),
    }
}

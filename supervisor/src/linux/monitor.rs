//! The periodic scan of all live runs.

use super::process_table::{self, own_pid};
use super::{cloned_child, live_runs, process_handle};

/// Remembers which processes belong to each run while their parents still show it, and takes the exit status of
/// orphans that have exited.
pub(crate) fn scan_live_runs() {
    cloned_child::reap_abandoned();
    let runs = live_runs::all();
    if runs.is_empty() {
        return;
    }
    let table = process_table::read();
    for run in &runs {
        run.observe(&table);
    }
    // An orphan that could belong to several runs is claimed by none until the last of them ends. But once the orphan
    // has exited, there is nothing left to decide.
    let Some(adoption) = runs.first().and_then(|run| live_runs::adoption(&**run)) else { return };
    let host = own_pid();
    let session = table.iter().find(|entry| entry.pid == host).map(|entry| entry.session);
    for entry in table.iter().filter(|entry| !entry.alive && adoption.is_adopted(entry, host, session)) {
        process_handle::reap(entry.pid);
    }
}

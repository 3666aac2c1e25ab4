//! Linux: the process table in `/proc`, pidfds, cgroups, and the folder of live runs.

mod cgroup;
mod child_setup;
mod clone;
mod cloned_child;
mod live_runs;
mod markers;
mod members;
mod monitor;
mod orphans;
mod pending_spawn;
mod process_handle;
mod process_table;
mod process_tree;
mod pseudofile;
mod run_record;

#[cfg(test)]
pub(crate) use clone::close_stdio;
pub(crate) use cloned_child::ClonedChild;
pub(crate) use live_runs::{become_subreaper, begin_spawn};
pub(crate) use monitor::scan_live_runs;
pub(crate) use orphans::reap_orphans;
pub(crate) use pending_spawn::PendingSpawn;
pub(crate) use process_tree::ProcessTree;

//! The supervisor: the only place that starts agents, and the only one that kills.
//!
//! Agents start tools in sessions of their own, tools leave daemons behind, and hosts are killed. So a [`Process`] is
//! never only the process that was started: it is a whole tree, found again by process group, session, parentage, a
//! marker in the environment and, where the system lets us, a cgroup. [`Process::sweep`] ends when a look finds none
//! of it left; [`reap_orphans`] does the same for the runs of hosts that died.
//!
//! It never signals a bare number that might meanwhile mean somebody else, never waits for children it does not know,
//! and knows nothing of adapters, turns or outcomes. It is a crate of its own because it is all that differs between
//! systems: without the host's dependencies any machine can check it for all of them.

mod error;
mod order;

#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod spawner;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(all(unix, not(target_os = "linux")))]
mod unix;
#[cfg(all(unix, not(target_os = "linux")))]
use unix as platform;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as platform;

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::path::Path;
use std::process::ExitStatus;

pub use error::{SpawnError, SpawnErrorKind};
pub use order::{MARKER_HOST, MARKER_RUN, Order};
#[cfg(unix)]
pub use process::Process;
#[cfg(windows)]
pub use windows::Process;

/// How a process ended. Both are absent only where the system would not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// What it returned, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self { code: status.code(), signal }
    }
}

/// What keeps a run's processes together, so that a report can say how far "none is left" may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// A cgroup of its own: nothing leaves it unseen.
    Cgroup,
    /// Group, session, parentage and marker, looked up in the process table. A process that cleared its environment,
    /// opened a session and lost its parent between two looks is found only if this process is the subreaper.
    ProcessTable,
    /// The process group only.
    Group,
    /// A job object of Windows.
    Job,
}

/// A process of a run that was still there when the run was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remnant {
    /// Its process id, at the time.
    pub pid: u32,
    /// Its command line, shortened, or its name in brackets. May contain whatever the agent put into arguments.
    pub command: String,
}

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Killed, and gone.
    pub killed: Vec<Remnant>,
    /// Still there when the sweep gave up: stuck in the kernel, or not ours to kill.
    pub survivors: Vec<Remnant>,
}

/// A run whose host had died, now ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// The run's id.
    pub run: String,
    /// What was found of it.
    pub swept: Swept,
}

/// Lets orphans of our runs become children of this process instead of init, so that they are found by parentage.
///
/// For a program that starts no children but through this module, as the `wharf` binary: a child in a session of its
/// own that this module did not start is then taken for the remnant of a run. A program that embeds the library must
/// not call it. Does nothing where the system has no such thing.
pub fn become_subreaper() -> std::io::Result<()> {
    platform::become_subreaper()
}

/// Ends what is left of runs whose host is gone, as noted in the folder of live runs (see [`Order::registry`]).
///
/// Blocks for as long as it takes, bounded by some seconds a run. Any number of hosts may do it at once: each entry is
/// locked by the one that works on it. Where the system itself ends the agents of a dead host, there is nothing to do.
pub fn reap_orphans(registry: &Path) -> Vec<Reaped> {
    platform::reap_orphans(registry)
}

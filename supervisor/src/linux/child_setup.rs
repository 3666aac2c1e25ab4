//! What a child does between its creation and exec, apart from its pipes, folder and session.

use std::fs::File;
use std::io;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Created in the host, applied in the child.
#[derive(Debug)]
pub(crate) struct ChildSetup {
    host: Pid,
    /// The `cgroup.procs` file of the cgroup to join.
    cgroup: Option<File>,
}

impl ChildSetup {
    /// For a child of this process. A child that is already in its cgroup needs no file to join one.
    pub(super) fn new(cgroup: Option<File>) -> Self {
        Self { host: getpid(), cgroup }
    }

    /// Runs in the child before exec: plain system calls only.
    ///
    /// A forked child joins the cgroup by itself, before it can start anything. If the host moved it after the spawn,
    /// the first processes that it starts could stay outside. The host checks later whether it worked.
    pub(crate) fn apply(&self) -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // If the host died before the line above, the signal never comes.
        if getppid() != Some(self.host) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        if let Some(cgroup) = &self.cgroup {
            rustix::io::write(cgroup, b"0").ok();
        }
        Ok(())
    }
}

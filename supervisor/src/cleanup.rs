//! What a cleanup found and killed.

/// A process of a run that was still alive when the run was over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftoverProcess {
    /// The process id it had. The system may have reused it since.
    pub pid: u32,
    /// The command line, shortened, or the process name in brackets. May contain anything that the agent passed as an
    /// argument, secrets included.
    pub command: String,
}

/// The result of [`Process::clean_up`](crate::Process::clean_up).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleanup {
    /// Processes that were killed and have exited.
    pub killed: Vec<LeftoverProcess>,
    /// Processes that were still alive when the cleanup gave up: blocked in the kernel, or owned by another user.
    pub survivors: Vec<LeftoverProcess>,
}

/// A run whose host had died and whose processes were ended by [`reap_orphans`](crate::reap_orphans).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReapedRun {
    /// The id of the run, from [`SpawnSpec::run`](crate::SpawnSpec::run).
    pub run: String,
    /// The processes of the run that were found.
    pub cleanup: Cleanup,
}

//! How reliably the processes of a run can be found.

/// What holds the processes of a run together. A report uses it to say how reliable "no process is left" is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// A cgroup for this run only. A process cannot leave it unnoticed.
    Cgroup,
    /// Process group, session, parents and markers, looked up in the process table. A process that clears its
    /// environment, opens a session and loses its parent between two scans is found only if the host is the subreaper
    /// (see [`become_subreaper`](crate::become_subreaper)).
    ProcessTable,
    /// The process group only.
    Group,
    /// A Windows job object.
    Job,
}

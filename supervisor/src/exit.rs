//! The exit status of a process, in one form for all systems.

use std::process::ExitStatus;

/// The exit status of an agent. Both fields are absent only if the system did not report a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exit {
    /// The exit code, if the process exited by itself.
    pub code: Option<i32>,
    /// The number of the signal that ended the process. Always absent on Windows.
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

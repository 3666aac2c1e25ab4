//! How far the host is with stopping a process: a request, then a signal, then the end.

use std::time::Duration;

/// The state of stopping a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    /// The adapter asks the agent, until this time.
    Requested {
        until: Duration,
    },
    /// The process was asked to exit, until this time.
    Terminated {
        until: Duration,
    },
    Killed,
}

impl Stop {
    /// Until when the process has time to exit.
    pub(super) fn until(self) -> Option<Duration> {
        match self {
            Stop::Requested { until } | Stop::Terminated { until } => Some(until),
            Stop::No | Stop::Killed => None,
        }
    }

    /// Whether the process will exit, whatever the agent wants.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Stop::Terminated { .. } | Stop::Killed)
    }
}

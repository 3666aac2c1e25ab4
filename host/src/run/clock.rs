//! The only clock of a run. Everything that happens in a run has a time since its start, and all of them come from
//! here.

use std::time::Duration;
use tokio::time::Instant;

/// Measures the time since the run started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    start: Instant,
}

impl RunClock {
    /// The run starts now.
    pub(crate) fn start() -> RunClock {
        RunClock { start: Instant::now() }
    }

    /// The time since the start, as exact as a recording keeps it.
    pub(crate) fn now(&self) -> Duration {
        let elapsed = self.start.elapsed();
        Duration::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }

    /// The instant of a time since the start.
    pub(crate) fn instant(&self, at: Duration) -> Instant {
        self.start + at
    }
}

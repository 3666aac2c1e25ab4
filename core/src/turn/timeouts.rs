//! The timeouts of a turn, and which of them expires next.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The timeouts of a turn. One that is absent never expires.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start to the first output.
    pub first_output: Option<Duration>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<Duration>,
    /// For the whole run.
    pub total: Option<Duration>,
    /// Until an ask counts as denied.
    pub ask: Duration,
    /// Between asking an agent to stop and killing it.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            first_output: Some(Duration::from_mins(5)),
            idle: Some(Duration::from_mins(15)),
            total: None,
            ask: Duration::from_mins(5),
            grace: Duration::from_secs(5),
        }
    }
}

impl Timeouts {
    /// The same with nothing longer than a year, so that no time in a run can overflow.
    pub(super) fn clamped(mut self) -> Timeouts {
        const YEAR: Duration = Duration::from_hours(24 * 365);
        for timeout in [&mut self.first_output, &mut self.idle, &mut self.total].into_iter().flatten() {
            *timeout = YEAR.min(*timeout);
        }
        self.ask = YEAR.min(self.ask);
        self.grace = YEAR.min(self.grace);
        self
    }

    /// No timeout ends the turn.
    pub fn none() -> Timeouts {
        Timeouts { first_output: None, idle: None, total: None, ..Timeouts::default() }
    }

    /// The timeout that expires next, and when. `silent_since` is the time of the last output, absent before the first
    /// one; `idle_held` says that the agent has a reason to be silent.
    pub fn next(&self, silent_since: Option<Duration>, idle_held: bool) -> Option<(Timeout, Duration)> {
        let total = self.total.map(|limit| (Timeout::Total, limit));
        let first = self.first_output.filter(|_| silent_since.is_none()).map(|limit| (Timeout::FirstOutput, limit));
        let idle = self.idle.filter(|_| !idle_held).zip(silent_since);
        let idle = idle.map(|(limit, since)| (Timeout::Idle, since + limit));
        [total, first, idle].into_iter().flatten().min_by_key(|(_, at)| *at)
    }
}

/// A timeout that may end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timeout {
    /// There was no output at all.
    FirstOutput,
    /// There was no output for too long, while no tool ran and no ask was open.
    Idle,
    /// The run took too long.
    Total,
}

impl fmt::Display for Timeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Timeout::FirstOutput => "first-output timeout",
            Timeout::Idle => "idle timeout",
            Timeout::Total => "total timeout",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_that_expires_first_counts() {
        let seconds = Duration::from_secs;
        let mut timeouts = Timeouts::default();
        (timeouts.first_output, timeouts.idle, timeouts.total) =
            (Some(seconds(10)), Some(seconds(20)), Some(seconds(100)));
        for (silent_since, held, next) in [
            (None, false, Some((Timeout::FirstOutput, seconds(10)))),
            (Some(seconds(7)), false, Some((Timeout::Idle, seconds(27)))),
            (Some(seconds(7)), true, Some((Timeout::Total, seconds(100)))),
            (Some(seconds(90)), false, Some((Timeout::Total, seconds(100)))),
        ] {
            assert_eq!(timeouts.next(silent_since, held), next, "{silent_since:?} {held}");
        }
        assert_eq!(Timeouts::none().next(Some(seconds(1)), false), None);
    }
}

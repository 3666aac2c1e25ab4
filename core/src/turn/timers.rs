//! The timers that an adapter has set, by its numbers.

use std::collections::BTreeMap;
use std::time::Duration;

/// How many timers an adapter may have at a time.
pub(super) const TIMERS: usize = 1000;

/// Timers that have not expired.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeMap<u32, Duration>);

impl Timers {
    /// Sets a timer, or sets it again. Returns false if there are too many.
    pub(super) fn set(&mut self, number: u32, at: Duration) -> bool {
        let allowed = self.0.len() < TIMERS || self.0.contains_key(&number);
        if allowed {
            self.0.insert(number, at);
        }
        allowed
    }

    /// The timers that have expired, each once.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<u32> {
        self.0.extract_if(.., |_, at| now >= *at).map(|(number, _)| number).collect()
    }

    /// When the next one expires.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.0.values().min().copied()
    }
}

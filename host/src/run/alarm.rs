//! The timer that wakes the loop.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Wakes the loop in time, or earlier. Every output moves the idle timeout; moving the timer with it would cost more
/// than parsing a line, so it is left alone if it rings early enough.
pub(super) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// When it rings, unless it has.
    at: Option<Instant>,
}

impl Alarm {
    pub(super) fn new() -> Alarm {
        Alarm { sleep: Box::pin(tokio::time::sleep(Duration::ZERO)), at: None }
    }

    pub(super) fn set(&mut self, wake: Option<Instant>) {
        if let Some(wake) = wake
            && self.at.is_none_or(|at| wake < at)
        {
            self.sleep.as_mut().reset(wake);
            self.at = Some(wake);
        }
    }

    /// Call it only after it was set.
    pub(super) async fn ring(&mut self) {
        self.sleep.as_mut().await;
        self.at = None;
    }
}

//! When to give up on a network that does not answer.
//!
//! Since some version after 0.142.0, Codex waits without end for a connection: it reports the same error again and again,
//! also if its provider is set to make no retries. A turn that waits for nothing must end. So the first failure to connect
//! starts a timer, any sign of the model stops it, and its end is the end of the turn. Other errors are retried a limited
//! number of times by Codex itself.

use wharf_adapter::{Effects, ErrorClass, Failure, Turn};

/// The option with the seconds to wait; 0 waits without end.
pub(crate) const OPTION: &str = "reconnect-seconds";

/// The seconds to wait unless the option is set.
pub(crate) const SECONDS: &str = "60";

/// Whether the model can be reached.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    seconds: u32,
    /// The timer of the present outage.
    timer: Option<u32>,
    /// How many timers were set.
    timers: u32,
    /// What failed last.
    last: Option<Failure>,
}

impl Outage {
    /// A turn starts.
    pub(crate) fn start(&mut self, turn: &Turn) {
        let seconds = turn.option(OPTION).u64().unwrap_or(0);
        self.seconds = u32::try_from(seconds).unwrap_or(u32::MAX).min(u32::MAX / 1000);
        self.timer = None;
        self.last = None;
    }

    /// Codex retries a request.
    pub(crate) fn retrying(&mut self, failure: &Failure, out: &mut Effects) {
        let is_new = failure.class == ErrorClass::Network && self.timer.is_none() && self.seconds > 0;
        self.last = Some(failure.clone());
        if is_new {
            self.timers += 1;
            self.timer = Some(self.timers);
            out.set_timer(self.timers, self.seconds * 1000);
        }
    }

    /// An error that is not retried.
    pub(crate) fn failed(&mut self, failure: Failure) {
        self.last = Some(failure);
    }

    /// The model has answered.
    pub(crate) fn over(&mut self) {
        self.timer = None;
        self.last = None;
    }

    /// What failed last, if nothing has worked since.
    pub(crate) fn last(&self) -> Option<&Failure> {
        self.last.as_ref()
    }

    /// A timer has expired: the failure of the turn, if the outage lasts.
    pub(crate) fn expired(&mut self, timer: u32) -> Option<Failure> {
        (self.timer == Some(timer)).then_some(())?;
        self.timer = None;
        let last = self.last.as_ref().map_or("", |failure| failure.message.as_str());
        let message = format!("no connection to the model for {} s: {last}", self.seconds);
        Some(Failure::new(ErrorClass::Network, message))
    }
}

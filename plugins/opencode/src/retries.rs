//! Model calls that failed and are retried. `OpenCode` retries some errors for ever and says so only in its log.

use wharf_adapter::{Effects, ErrorClass, Event, Failure};

/// The failed calls since the model last answered.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// The last one, until it is known whether it is retried.
    pending: Option<Failure>,
    count: u64,
    /// Whether a call has started and nothing came of it yet.
    open: bool,
}

impl Retries {
    /// A call has failed. Returns the failure of the turn, if more calls in a row have failed than may be retried.
    pub(crate) fn failed(&mut self, failure: Failure, limit: u64, out: &mut Effects) -> Option<Failure> {
        if let Some(before) = self.pending.replace(failure) {
            out.emit(Event::Retrying(before));
        }
        self.count += 1;
        if limit == 0 || self.count <= limit {
            return None;
        }
        let failure = self.pending.take()?;
        let message = format!("{} model calls in a row failed, the last with: {}", self.count, failure.message);
        Some(Failure { message, ..failure })
    }

    /// A call starts. If nothing came of the one before it, and no error was reported, its connection was closed. Returns
    /// the failure of the turn, if that happened too often. The log may be read before the output: a single call says
    /// nothing, so that nothing is reported.
    pub(crate) fn started(&mut self, limit: u64, out: &mut Effects) -> Option<Failure> {
        if !std::mem::replace(&mut self.open, true) || self.pending.is_some() {
            return None;
        }
        self.count += 1;
        if limit == 0 || self.count <= limit {
            return None;
        }
        self.count -= 1;
        self.failed(cut(), limit, out)
    }

    /// The model answers.
    pub(crate) fn answered(&mut self, out: &mut Effects) {
        if let Some(failure) = self.pending.take() {
            out.emit(Event::Retrying(failure));
        }
    }

    /// Something came of the call.
    pub(crate) fn progressed(&mut self, out: &mut Effects) {
        self.answered(out);
        self.count = 0;
        self.open = false;
    }

    /// The turn has ended, or `OpenCode` reported the failure itself.
    pub(crate) fn clear(&mut self) {
        *self = Retries::default();
    }
}

/// The connection was closed in the middle of an answer.
pub(crate) fn cut() -> Failure {
    Failure::new(ErrorClass::Network, "the connection was closed before the answer was complete")
}

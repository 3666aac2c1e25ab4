//! Model calls that failed and are retried. `OpenCode` retries some errors for ever and says so only in its log.

use wharf_adapter::{Effects, Event, Failure};

/// The failed calls since the model last answered.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// The last one, until it is known whether it is retried.
    pending: Option<Failure>,
    count: u64,
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

    /// The model answers.
    pub(crate) fn answered(&mut self, out: &mut Effects) {
        if let Some(failure) = self.pending.take() {
            out.emit(Event::Retrying(failure));
        }
        self.count = 0;
    }

    /// The turn has ended, or `OpenCode` reported the failure itself.
    pub(crate) fn clear(&mut self) {
        *self = Retries::default();
    }
}

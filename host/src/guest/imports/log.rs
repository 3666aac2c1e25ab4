//! The log lines of an adapter, which go to `tracing`. An adapter needs no grant to log, so a run logs only so much.

use wharf_core::model::LogLevel;

/// How many bytes an instance may log. A line counts as at least [`LINE`].
const LIMIT: usize = 256 << 10;

/// What a line counts as if it is shorter.
const LINE: usize = 64;

/// The longest line; the rest of it is cut off.
const LONGEST: usize = 8 << 10;

/// The log of one instance.
pub(super) struct Log {
    left: usize,
    /// Lines that were dropped since this was last reported.
    dropped: u64,
}

impl Default for Log {
    fn default() -> Log {
        Log { left: LIMIT, dropped: 0 }
    }
}

impl Log {
    pub(super) fn line(&mut self, level: LogLevel, message: &str) {
        let shown = &message[..message.floor_char_boundary(LONGEST)];
        let Some(left) = self.left.checked_sub(shown.len().max(LINE)) else {
            self.dropped += 1;
            return;
        };
        self.left = left;
        let cut = if shown.len() < message.len() { " …" } else { "" };
        match level {
            LogLevel::Debug => tracing::debug!(target: "wharf::adapter", "{shown}{cut}"),
            LogLevel::Info => tracing::info!(target: "wharf::adapter", "{shown}{cut}"),
            LogLevel::Warn => tracing::warn!(target: "wharf::adapter", "{shown}{cut}"),
            LogLevel::Error => tracing::error!(target: "wharf::adapter", "{shown}{cut}"),
        }
    }

    /// Says how many lines were dropped in the call that has ended.
    pub(super) fn end_call(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            tracing::warn!(target: "wharf::adapter", "{dropped} more lines dropped: a run may log {LIMIT} bytes");
        }
    }
}

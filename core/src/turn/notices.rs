//! The notices with which the driver explains what it did not do.

use super::input::EventSink;
use crate::model::{EventKind, LogLevel};
use std::time::Duration;

pub(super) fn warn(text: String, now: Duration, sink: &mut dyn EventSink) {
    sink.emit(EventKind::notice(LogLevel::Warn, text).into(), now);
}

/// A message is never dropped silently.
pub(super) fn message_not_sent(reason: &str, now: Duration, sink: &mut dyn EventSink) {
    warn(format!("a message was not sent: {reason}"), now, sink);
}

pub(super) fn turn_not_started(reason: &str, now: Duration, sink: &mut dyn EventSink) {
    warn(format!("another turn was not started: {reason}"), now, sink);
}

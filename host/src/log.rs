//! Where adapters' log lines go: to whoever embeds the library, through one function they may set.

use crate::info::Level;
use std::sync::OnceLock;

type Sink = Box<dyn Fn(Level, &str) + Send + Sync>;

static SINK: OnceLock<Sink> = OnceLock::new();

/// Set where log lines go. Only the first call counts; without one they go nowhere.
pub fn set_log(sink: impl Fn(Level, &str) + Send + Sync + 'static) {
    let _ = SINK.set(Box::new(sink));
}

pub(crate) fn line(level: Level, message: &str) {
    if let Some(sink) = SINK.get() {
        sink(level, message);
    }
}

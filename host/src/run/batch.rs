//! Events on the way to their reader.

use wharf_core::model::Event;
use wharf_core::stream::Lines;

/// Events that came together, such as what the agent wrote at once.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The events. A run with [`lines_only`](crate::RunOptions::lines_only) has none here but the report.
    pub events: Vec<Event>,
    lines: Option<Vec<u8>>,
}

impl Batch {
    pub(super) fn from_events(events: Vec<Event>, lines: Option<Vec<u8>>) -> Batch {
        Batch { events, lines }
    }

    pub(super) fn from_lines(lines: Vec<u8>) -> Batch {
        Batch { events: vec![], lines: Some(lines) }
    }

    /// The events as lines of JSON, as `wharf run --json` prints them. A run that is recorded has written them before,
    /// so that this costs nothing more.
    pub fn into_json_lines(self) -> Vec<u8> {
        self.lines.unwrap_or_else(|| self.events.iter().collect::<Lines>().bytes)
    }
}

//! Events between the driver and their reader: numbered, kept in the form that the reader wants, redacted and written
//! to disk before they are handed over.

use super::batch::Batch;
use crate::record::Journal;
use std::time::Duration;
use wharf_core::model::Event;
use wharf_core::stream::{Lines, StreamedEvent};
use wharf_core::turn::EventSink;

/// The events since the last batch.
pub(crate) struct EventBuffer {
    /// The number of events so far.
    seq: u64,
    pending: Pending,
}

/// The form in which events wait.
enum Pending {
    /// As values.
    Events(Vec<Event>),
    /// As lines of JSON, written directly from the agent's output: nobody parses them.
    Lines(Lines),
}

impl EventBuffer {
    pub(crate) fn new(lines_only: bool) -> EventBuffer {
        let pending = if lines_only { Pending::Lines(Lines::default()) } else { Pending::Events(vec![]) };
        EventBuffer { seq: 0, pending }
    }

    /// The number of events so far.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The events since the last call, without secrets and on disk. None if there are none.
    pub(crate) fn take(&mut self, journal: &mut Journal) -> Option<Batch> {
        match &mut self.pending {
            Pending::Lines(lines) if lines.count == 0 => None,
            Pending::Events(events) if events.is_empty() => None,
            Pending::Lines(lines) => {
                let mut lines = std::mem::take(lines);
                journal.redact_lines(&mut lines);
                journal.write_events(&lines);
                Some(Batch::from_lines(lines.bytes))
            }
            Pending::Events(events) => {
                let mut events = std::mem::take(events);
                let lines = journal.wants_events().then(|| {
                    let mut lines: Lines = events.iter().collect();
                    journal.redact_events(&mut events, &mut lines);
                    journal.write_events(&lines);
                    lines.bytes
                });
                Some(Batch::from_events(events, lines))
            }
        }
    }
}

impl EventSink for EventBuffer {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        self.seq += 1;
        match &mut self.pending {
            Pending::Lines(lines) => lines.push(self.seq, at, &event),
            Pending::Events(events) => events.push(Event::new(self.seq, at, event.into_kind())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::{EventKind, LogLevel, TextPart};
    use wharf_core::stream::Secrets;

    #[test]
    fn both_forms_give_the_same_lines() {
        let lines = |lines_only| {
            let mut journal = Journal::new(None, Secrets::new([("KEY", "hunter2hunter2")]));
            let mut buffer = EventBuffer::new(lines_only);
            assert!(buffer.take(&mut journal).is_none());
            for (millis, text) in [(1, "a"), (2, "hunter2hunter2")] {
                let part = EventKind::TextDelta(TextPart { id: "1".into(), parent: None, text: text.into() });
                buffer.emit(StreamedEvent::borrowed(&part), Duration::from_millis(millis));
                buffer.emit(EventKind::notice(LogLevel::Info, text).into(), Duration::from_millis(millis));
            }
            assert_eq!(buffer.seq(), 4);
            String::from_utf8(buffer.take(&mut journal).expect("four events").into_json_lines()).expect("text")
        };
        assert_eq!(lines(true), lines(false));
        assert!(lines(true).contains("[redacted:KEY]") && !lines(true).contains("hunter2"));
        assert!(lines(true).starts_with(r#"{"seq":1,"at":1,"type":"text-delta""#));
    }
}

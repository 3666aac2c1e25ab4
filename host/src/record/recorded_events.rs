//! The event file of a run, line by line. A line that is not an event is reported, never dropped silently.

use wharf_core::model::Event;

/// The events of a recorded run, as far as they can be read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecordedEvents {
    /// The events, in their order.
    pub events: Vec<Event>,
    /// The lines that are not events: cut off when the host was killed, written by a later version, or changed since.
    pub unreadable: Vec<UnreadableLine>,
}

/// A line of an event file that is not an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableLine {
    /// Its number: 1, 2, 3 …
    pub number: usize,
    /// Why it cannot be read.
    pub reason: String,
}

impl RecordedEvents {
    /// Parses the lines of an event file.
    pub fn parse(lines: &[u8]) -> RecordedEvents {
        let mut parsed = RecordedEvents::default();
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        if lines.is_empty() {
            return parsed;
        }
        for (at, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                Ok(event) => parsed.events.push(event),
                // Each line is parsed by itself, so that the parser's own number of the line is always 1.
                Err(error) => parsed.unreadable.push(UnreadableLine {
                    number: at + 1,
                    reason: error.to_string().replace(" at line 1 column ", " at column "),
                }),
            }
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_that_is_not_an_event_is_reported_by_its_number() {
        let lines = b"{\"seq\":1,\"at\":0,\"type\":\"discard\",\"id\":\"a\"}\n\
            {\"seq\":2,\n\n\xff\n{\"seq\":5,\"at\":0,\"type\":\"later\"}\n\
            {\"seq\":6,\"at\":0,\"type\":\"discard\",\"id\":\"b\"}\n{\"seq\":7,\"at";
        let parsed = RecordedEvents::parse(lines);
        assert_eq!(parsed.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 6]);
        assert_eq!(parsed.unreadable.iter().map(|line| line.number).collect::<Vec<_>>(), [2, 3, 4, 5, 7]);
        assert!(parsed.unreadable[0].reason.ends_with("at column 9"), "{:?}", parsed.unreadable);
        assert!(parsed.unreadable[3].reason.contains("`later`"), "{:?}", parsed.unreadable);
        let nothing = RecordedEvents::parse(b"");
        assert!(nothing.events.is_empty() && nothing.unreadable.is_empty());
    }
}

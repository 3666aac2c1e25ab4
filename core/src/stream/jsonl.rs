//! Events as lines of JSON, written once for all uses: the run's event file, its digest, `--json`.
//!
//! The frequent events are written by hand, the others by `serde_json`; the result is the same.

use super::event::{Part, PartKind, StreamedEvent};
use super::text::{Text, quote};
use crate::model::{Event, ToolCall, time};
use serde::Serialize;
use std::time::Duration;

/// Lines of events, each with its newline.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// The lines themselves.
    pub bytes: Vec<u8>,
    /// The number of lines.
    pub count: u64,
    position: Position,
}

impl PartialEq for Lines {
    fn eq(&self, other: &Lines) -> bool {
        (self.count, &self.bytes) == (other.count, &other.bytes)
    }
}

/// The beginning of a line: `{"seq":17,"at":250`. The next line mostly differs in one digit, so that the text is kept and
/// counted up: this is done for every event.
#[derive(Debug, Clone)]
struct Position {
    seq: u64,
    at: Duration,
    text: [u8; 64],
    length: usize,
    /// Where the digits of `seq` end.
    seq_end: usize,
}

impl Default for Position {
    fn default() -> Position {
        Position { seq: 0, at: Duration::ZERO, text: [0; 64], length: 0, seq_end: 0 }
    }
}

impl Position {
    #[inline]
    fn text(&mut self, seq: u64, at: Duration) -> &[u8] {
        let counts_up =
            self.length > 0 && seq.wrapping_sub(self.seq) == 1 && at == self.at && self.text[self.seq_end - 1] != b'9';
        if counts_up {
            self.text[self.seq_end - 1] += 1;
        } else {
            self.write(at, seq);
        }
        (self.seq, self.at) = (seq, at);
        &self.text[..self.length]
    }

    fn write(&mut self, at: Duration, seq: u64) {
        let mut number = itoa::Buffer::new();
        let mut length = 0;
        let mut push = |bytes: &[u8]| {
            self.text[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
            length
        };
        push(br#"{"seq":"#);
        self.seq_end = push(number.format(seq).as_bytes());
        push(br#","at":"#);
        self.length = push(number.format(time::millis(at)).as_bytes());
    }
}

impl Lines {
    /// Adds an event.
    pub fn push(&mut self, seq: u64, at: Duration, event: &StreamedEvent<'_>) {
        self.begin(seq, at);
        match event {
            StreamedEvent::Part(part) => self.part(part),
            StreamedEvent::Tool(call, output) => self.tool(call, output.as_ref()),
            StreamedEvent::Other(event) => {
                // An internally tagged enum is an object: its fields continue the line.
                let start = self.bytes.len();
                self.value(&**event);
                self.bytes[start] = b',';
            }
        }
        self.bytes.push(b'\n');
        self.count += 1;
    }

    /// Adds a line that was written before, with its newline.
    pub fn push_line(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.count += 1;
    }

    #[inline]
    fn begin(&mut self, seq: u64, at: Duration) {
        let text = self.position.text(seq, at);
        self.bytes.extend_from_slice(text);
    }

    fn part(&mut self, Part { kind, id, parent, text }: &Part<'_>) {
        let begin: &[u8] = match kind {
            PartKind::TextDelta => br#","type":"text-delta","id":"#,
            PartKind::Message => br#","type":"message","id":"#,
            PartKind::ThinkingDelta => br#","type":"thinking-delta","id":"#,
            PartKind::Thinking => br#","type":"thinking","id":"#,
            PartKind::ToolOutput => br#","type":"tool-output","id":"#,
        };
        self.bytes.extend_from_slice(begin);
        quote(id, &mut self.bytes);
        // In as few pieces as possible: this runs for every delta.
        if parent.is_none() {
            self.bytes.extend_from_slice(br#","parent":null,"text":"#);
        } else {
            self.field("parent", parent.as_deref());
            self.bytes.extend_from_slice(br#","text":"#);
        }
        text.write_json(&mut self.bytes);
        self.bytes.push(b'}');
    }

    fn tool(&mut self, call: &ToolCall, output: Option<&Text<'_>>) {
        self.bytes.extend_from_slice(br#","type":"tool","id":"#);
        quote(&call.id, &mut self.bytes);
        self.field("parent", call.parent.as_deref());
        self.field("name", call.name.as_deref());
        self.bytes.extend_from_slice(br#","kind":"#);
        self.value(&call.kind);
        self.field("mcp_server", call.mcp_server.as_deref());
        self.field("title", call.title.as_deref());
        self.field("status", Some(call.status.as_str()));
        self.bytes.extend_from_slice(br#","input":"#);
        self.value(&call.input);
        self.bytes.extend_from_slice(br#","output":"#);
        match output {
            Some(output) => output.write_json(&mut self.bytes),
            None => self.bytes.extend_from_slice(b"null"),
        }
        self.bytes.extend_from_slice(br#","exit_code":"#);
        self.value(&call.exit_code);
        self.bytes.extend_from_slice(br#","paths":"#);
        self.value(&call.paths);
        self.bytes.extend_from_slice(br#","diffs":"#);
        self.value(&call.diffs);
        self.field("denied_because", call.denied_because.as_deref());
        self.bytes.extend_from_slice(br#","duration_ms":"#);
        self.value(&call.duration_ms);
        self.bytes.push(b'}');
    }

    fn field(&mut self, name: &str, text: Option<&str>) {
        self.bytes.extend_from_slice(b",\"");
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        match text {
            Some(text) => quote(text, &mut self.bytes),
            None => self.bytes.extend_from_slice(b"null"),
        }
    }

    fn value(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.bytes, value).expect("an event is plain data, and a Vec takes all of it");
    }
}

impl<'a> FromIterator<&'a Event> for Lines {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Lines {
        let mut lines = Lines::default();
        for event in events {
            lines.push(event.seq, event.at, &StreamedEvent::borrowed(&event.kind));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Diff, EventKind, ToolKind, ToolStatus};
    use crate::stream::Whole;
    use proptest::prelude::*;

    fn same_as_serde(kind: EventKind) {
        let event = Event { seq: 17, at: Duration::from_micros(1_234_567), kind };
        let mut line = serde_json::to_vec(&event).expect("plain data");
        line.push(b'\n');
        let ours: Lines = [&event].into_iter().collect();
        assert_eq!(String::from_utf8_lossy(&ours.bytes), String::from_utf8_lossy(&line));
        assert_eq!(ours.count, 1);
    }

    fn same_when_streamed(event: StreamedEvent<'_>) {
        let mut lines = Lines::default();
        lines.push(1, Duration::ZERO, &event);
        let event = Event { seq: 1, at: Duration::ZERO, kind: event.into_kind() };
        assert_eq!(lines, [&event].into_iter().collect());
        same_as_serde(event.kind);
    }

    #[test]
    fn positions_count_up_across_every_change_of_digits_and_of_time() {
        let seqs = (1..=12).chain(95..=112).chain(998..=1003).chain([7, u64::MAX - 1, u64::MAX, 3]);
        let mut position = Position::default();
        for (number, seq) in seqs.enumerate() {
            let at = Duration::from_millis(number as u64 / 4 * 33);
            let expected = format!("{{\"seq\":{seq},\"at\":{}", at.as_millis());
            assert_eq!(position.text(seq, at), expected.as_bytes());
        }
        assert_eq!(position.text(u64::MAX, Duration::MAX).len(), 7 + 20 + 6 + 20, "the longest text fits");
    }

    proptest! {
        #[test]
        fn lines_are_what_serde_json_writes(
            text in "\\PC*|[\\x00-\\x7f]*|[a\"\\\\\\n\u{80}é\u{1f}\u{20}\u{7f}]{0,80}",
            parent in prop::option::of("[a-z\"]{0,9}"),
            code in prop::option::of(any::<i32>()),
        ) {
            let plain = || Text::Plain(text.as_str().into());
            for kind in
                [PartKind::TextDelta, PartKind::Message, PartKind::ThinkingDelta, PartKind::Thinking, PartKind::ToolOutput]
            {
                let parent = parent.as_deref().map(Into::into);
                same_when_streamed(StreamedEvent::Part(Part { kind, id: "i\\d".into(), parent, text: plain() }));
            }
            same_as_serde(EventKind::Unknown { native: text.clone() });
            for status in [ToolStatus::Running, ToolStatus::Succeeded, ToolStatus::Denied] {
                let mut call = ToolCall::new(text.clone(), status);
                call.parent.clone_from(&parent);
                call.name = Some(text.clone());
                call.input = Some(serde_json::json!({"command": text}));
                call.exit_code = code;
                call.kind = code.map(|_| ToolKind::Execute);
                call.mcp_server.clone_from(&parent);
                call.paths = parent.iter().cloned().collect();
                call.diffs = vec![Diff { path: text.clone(), old: parent.clone(), new: text.clone() }];
                call.denied_because.clone_from(&parent);
                call.duration_ms = code.map(|code| u64::from(code.unsigned_abs()));
                for output in [None, Some(plain())] {
                    same_when_streamed(StreamedEvent::Tool(Whole::Owned(Box::new(call.clone())), output));
                }
            }
        }
    }
}

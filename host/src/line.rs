//! Events as lines of JSON, written once for whoever wants them: the file beside the recording, its digest, `--json`.
//!
//! The events that come by the thousand are written by hand, the others by `serde_json`; nobody can tell which.

use crate::event::{Event, TextPart, ToolCall};
use crate::lift::{Part, PartKind, Said};
use crate::text::{Text, quote};
use serde::Serialize;

/// Lines of events, each with its newline.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Lines {
    pub(crate) bytes: Vec<u8>,
    /// How many they are.
    pub(crate) count: u64,
}

impl Lines {
    /// An event more.
    pub(crate) fn push(&mut self, event: &Event) {
        match event {
            Event::TextDelta(part) => self.text_part(PartKind::TextDelta, part),
            Event::Message(part) => self.text_part(PartKind::Message, part),
            Event::ThinkingDelta(part) => self.text_part(PartKind::ThinkingDelta, part),
            Event::Thinking(part) => self.text_part(PartKind::Thinking, part),
            Event::ToolOutput(part) => self.text_part(PartKind::ToolOutput, part),
            Event::Tool(call) => self.tool(call, call.output.as_deref().map(|text| Text::Plain(text.into())).as_ref()),
            other => {
                self.other(other);
                self.end();
            }
        }
    }

    /// The same, of one whose text may stand elsewhere.
    pub(crate) fn say(&mut self, said: &Said<'_>) {
        match said {
            Said::Part(Part { kind, id, parent, text }) => self.part(*kind, id, parent.as_deref(), text),
            Said::Tool(call, output) => self.tool(call, output.as_ref()),
        }
    }

    /// More lines behind these.
    pub(crate) fn append(&mut self, more: Lines) {
        self.count += more.count;
        if self.bytes.is_empty() {
            self.bytes = more.bytes;
        } else {
            self.bytes.extend_from_slice(&more.bytes);
        }
    }

    fn text_part(&mut self, kind: PartKind, part: &TextPart) {
        self.part(kind, &part.id, part.parent.as_deref(), &Text::Plain(part.text.as_str().into()));
    }

    fn part(&mut self, kind: PartKind, id: &str, parent: Option<&str>, text: &Text<'_>) {
        let begin: &[u8] = match kind {
            PartKind::TextDelta => br#"{"type":"text-delta","id":"#,
            PartKind::Message => br#"{"type":"message","id":"#,
            PartKind::ThinkingDelta => br#"{"type":"thinking-delta","id":"#,
            PartKind::Thinking => br#"{"type":"thinking","id":"#,
            PartKind::ToolOutput => br#"{"type":"tool-output","id":"#,
        };
        self.bytes.extend_from_slice(begin);
        quote(id, &mut self.bytes);
        // In as few pieces as can be: it is done for every delta.
        if parent.is_none() {
            self.bytes.extend_from_slice(br#","parent":null,"text":"#);
        } else {
            self.field("parent", parent);
            self.bytes.extend_from_slice(br#","text":"#);
        }
        text.write_json(&mut self.bytes);
        self.bytes.extend_from_slice(b"}\n");
        self.count += 1;
    }

    fn tool(&mut self, call: &ToolCall, output: Option<&Text<'_>>) {
        self.bytes.extend_from_slice(br#"{"type":"tool","id":"#);
        quote(&call.id, &mut self.bytes);
        self.field("parent", call.parent.as_deref());
        self.field("name", call.name.as_deref());
        self.field("title", call.title.as_deref());
        self.bytes.extend_from_slice(br#","status":"#);
        self.other(&call.status);
        self.bytes.extend_from_slice(br#","input":"#);
        self.other(&call.input);
        self.bytes.extend_from_slice(br#","output":"#);
        match output {
            Some(output) => output.write_json(&mut self.bytes),
            None => self.bytes.extend_from_slice(b"null"),
        }
        self.bytes.extend_from_slice(br#","exit_code":"#);
        self.other(&call.exit_code);
        self.bytes.push(b'}');
        self.end();
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

    fn other(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.bytes, value).expect("an event is plain data, and memory takes all of it");
    }

    fn end(&mut self) {
        self.bytes.push(b'\n');
        self.count += 1;
    }
}

impl<'a> FromIterator<&'a Event> for Lines {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Lines {
        let mut lines = Lines::default();
        events.into_iter().for_each(|event| lines.push(event));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolStatus;
    use proptest::prelude::*;

    fn same_as_serde(event: &Event) {
        let mut line = serde_json::to_vec(event).expect("plain data");
        line.push(b'\n');
        let ours: Lines = [event].into_iter().collect();
        assert_eq!(String::from_utf8_lossy(&ours.bytes), String::from_utf8_lossy(&line));
        assert_eq!(ours.count, 1);
    }

    fn same_when_said(said: Said<'_>) {
        let mut lines = Lines::default();
        lines.say(&said);
        assert_eq!(lines, [&said.into_event()].into_iter().collect());
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
                let part = Part { kind, id: "i\\d".to_owned(), parent: parent.clone(), text: plain() };
                same_as_serde(&Said::Part(part.clone()).into_event());
                same_when_said(Said::Part(part));
            }
            same_as_serde(&Event::Unknown { native: text.clone() });
            for status in [ToolStatus::Running, ToolStatus::Succeeded, ToolStatus::Denied] {
                let call = ToolCall {
                    id: text.clone(),
                    parent: parent.clone(),
                    name: Some(text.clone()),
                    title: None,
                    status,
                    input: Some(serde_json::json!({"command": text})),
                    output: None,
                    exit_code: code,
                };
                for output in [None, Some(plain())] {
                    let said = Said::Tool(Box::new(call.clone()), output);
                    same_as_serde(&said.clone().into_event());
                    same_when_said(said);
                }
            }
        }
    }
}

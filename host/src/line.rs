//! Events as lines of JSON, written once for whoever wants them: the file beside the recording, its digest, `--json`.
//!
//! The events that come by the thousand are written by hand, the others by `serde_json`; nobody can tell which. Most of
//! a stream is text with little to escape, which is looked at in blocks and copied.

use crate::event::{Event, TextPart, ToolCall};
use serde::Serialize;

/// Some events, each with its newline.
pub(crate) fn lines<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<u8> {
    let mut lines = Vec::new();
    for event in events {
        write(event, &mut lines);
        lines.push(b'\n');
    }
    lines
}

fn write(event: &Event, out: &mut Vec<u8>) {
    match event {
        Event::TextDelta(part) => write_part("text-delta", part, out),
        Event::Message(part) => write_part("message", part, out),
        Event::ThinkingDelta(part) => write_part("thinking-delta", part, out),
        Event::Thinking(part) => write_part("thinking", part, out),
        Event::ToolOutput(part) => write_part("tool-output", part, out),
        Event::Tool(call) => write_call(call, out),
        other => write_other(other, out),
    }
}

fn write_part(kind: &str, part: &TextPart, out: &mut Vec<u8>) {
    out.reserve(part.text.len() + part.id.len() + 64);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"id\":");
    quote(&part.id, out);
    write_text("parent", part.parent.as_deref(), out);
    write_text("text", Some(&part.text), out);
    out.push(b'}');
}

fn write_call(call: &ToolCall, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"tool\",\"id\":");
    quote(&call.id, out);
    write_text("parent", call.parent.as_deref(), out);
    write_text("name", call.name.as_deref(), out);
    write_text("title", call.title.as_deref(), out);
    out.extend_from_slice(b",\"status\":");
    write_other(&call.status, out);
    out.extend_from_slice(b",\"input\":");
    write_other(&call.input, out);
    write_text("output", call.output.as_deref(), out);
    out.extend_from_slice(b",\"exit_code\":");
    write_other(&call.exit_code, out);
    out.push(b'}');
}

fn write_text(name: &str, text: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    match text {
        Some(text) => quote(text, out),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_other(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("an event is plain data, and memory takes all of it");
}

/// A string as `serde_json` writes it.
fn quote(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut from = 0;
    while let Some(at) = next_escape(bytes, from) {
        out.extend_from_slice(&bytes[from..at]);
        escape(bytes[at], out);
        from = at + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        b'"' | b'\\' => byte,
        control => {
            out.extend_from_slice(b"\\u00");
            out.extend([control >> 4, control & 15].map(|digit| DIGITS[usize::from(digit)]));
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// The next byte that has to be escaped.
fn next_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    const BLOCK: usize = 32;
    // Compilers know what to make of a whole block; only where there is something in it, it is looked for.
    while let Some(block) = bytes[at..].first_chunk::<BLOCK>() {
        if block.iter().fold(false, |any, byte| any | is_escaped(*byte)) {
            break;
        }
        at += BLOCK;
    }
    while let Some(word) = bytes[at..].first_chunk() {
        let found = to_escape(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| is_escaped(*byte)).map(|found| at + found)
}

#[expect(clippy::needless_bitwise_bool, reason = "a block is looked at without branches")]
fn is_escaped(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// The high bit of each of the word's bytes that is escaped, and no other bit.
fn to_escape(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const SEVENS: u64 = 0x7f * ONES;
    let is_not = |byte: u8| {
        let differs = word ^ (ONES * u64::from(byte));
        ((differs & SEVENS) + SEVENS) | differs
    };
    // Of a byte from 0x20 on, the sum has its high bit; a byte from 0x80 on has it anyway.
    let no_control = ((word & SEVENS) + 0x60 * ONES) | word;
    !(is_not(b'"') & is_not(b'\\') & no_control) & (0x80 * ONES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolStatus;
    use proptest::prelude::*;

    fn same_as_serde(event: &Event) {
        let mut line = serde_json::to_vec(event).expect("plain data");
        line.push(b'\n');
        let ours = lines([event]);
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&line));
    }

    proptest! {
        #[test]
        fn lines_are_what_serde_json_writes(
            text in "\\PC*|[\\x00-\\x7f]*|[a\"\\\\\\n\u{80}é\u{1f}\u{20}\u{7f}]{0,80}",
            parent in prop::option::of("[a-z\"]{0,9}"),
            code in prop::option::of(any::<i32>()),
        ) {
            let part = TextPart { id: "i\\d".to_owned(), parent: parent.clone(), text: text.clone() };
            same_as_serde(&Event::TextDelta(part.clone()));
            same_as_serde(&Event::Message(part.clone()));
            same_as_serde(&Event::ThinkingDelta(part.clone()));
            same_as_serde(&Event::Thinking(part.clone()));
            same_as_serde(&Event::ToolOutput(part));
            same_as_serde(&Event::Unknown { native: text.clone() });
            for status in [ToolStatus::Running, ToolStatus::Succeeded, ToolStatus::Denied] {
                same_as_serde(&Event::Tool(ToolCall {
                    id: text.clone(),
                    parent: parent.clone(),
                    name: Some(text.clone()),
                    title: None,
                    status,
                    input: Some(serde_json::json!({"command": text})),
                    output: Some(text.clone()),
                    exit_code: code,
                }));
            }
        }

        #[test]
        fn every_byte_that_must_be_escaped_is_found(bytes in prop::array::uniform8(any::<u8>())) {
            let found = to_escape(u64::from_le_bytes(bytes));
            for (place, byte) in bytes.iter().enumerate() {
                prop_assert_eq!(found >> (place * 8) & 0xff, if is_escaped(*byte) { 0x80 } else { 0 });
            }
        }
    }
}

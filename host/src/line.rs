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
    while let Some(block) = bytes[at..].first_chunk() {
        let found = block::to_escape(*block);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += block::SIZE;
    }
    bytes[at..].iter().position(|byte| *byte < b' ' || *byte == b'"' || *byte == b'\\').map(|found| at + found)
}

/// Sixteen bytes at once, on a processor that has instructions for it.
#[cfg(target_arch = "x86_64")]
mod block {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    pub(super) const SIZE: usize = 16;

    /// A bit for each byte that is a quote, a backslash or a control character.
    #[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "bits are meant, not numbers")]
    pub(super) fn to_escape(block: [u8; SIZE]) -> u32 {
        let block = u128::from_le_bytes(block);
        let block = _mm_set_epi64x((block >> 64) as i64, block as i64);
        let quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
        let backslashes = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8));
        let controls = _mm_cmpeq_epi8(block, _mm_min_epu8(block, _mm_set1_epi8(0x1f)));
        _mm_movemask_epi8(_mm_or_si128(controls, _mm_or_si128(quotes, backslashes))) as u32
    }
}

/// A byte at a time, elsewhere; compilers know what to make of it.
#[cfg(not(target_arch = "x86_64"))]
mod block {
    pub(super) const SIZE: usize = 8;

    /// A bit for each byte that is a quote, a backslash or a control character.
    pub(super) fn to_escape(block: [u8; SIZE]) -> u32 {
        let bit = |(place, byte): (usize, u8)| u32::from(byte < b' ' || byte == b'"' || byte == b'\\') << place;
        block.into_iter().enumerate().map(bit).sum()
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
        let ours = lines([event]);
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&line));
    }

    proptest! {
        #[test]
        fn lines_are_what_serde_json_writes(
            text in "\\PC*|[\\x00-\\x7f]*|[a\"\\\\\\n\u{80}é\u{1f}\u{20}\u{7f}]{0,40}",
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
        fn every_byte_that_must_be_escaped_is_found(bytes in prop::array::uniform16(any::<u8>())) {
            let found = block::to_escape(*bytes.first_chunk().expect("a block is no longer"));
            for (place, byte) in bytes.iter().take(block::SIZE).enumerate() {
                let marked = found >> place & 1 == 1;
                prop_assert_eq!(marked, *byte < b' ' || *byte == b'"' || *byte == b'\\');
            }
        }
    }
}

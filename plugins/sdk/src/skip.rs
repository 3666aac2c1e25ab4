//! Steps over JSON text without looking into it: from the first byte of a value to the byte after its last one.
//!
//! Knows bytes only. It never builds a value and never recurses, so nesting depth costs no stack.

use crate::scan;

/// The frame is not the JSON that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The first byte that is not JSON whitespace.
#[inline]
pub(crate) fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    // Agents rarely write whitespace between tokens.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The same within a line: stops at a newline.
#[expect(clippy::inline_always, reason = "in a guest every call checks the stack limit and the time limit")]
#[inline(always)]
pub(crate) fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    // Agents rarely write whitespace between tokens.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// From an opening quote to the byte after the closing one.
#[inline(never)]
pub(crate) fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    scan::string_end(bytes, start + 1)
}

/// From the first byte of any value to the byte after its last one.
pub(crate) fn skip_value(bytes: &[u8], start: usize, limit: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b'"' => skip_string(bytes, start),
        b'{' | b'[' => skip_nested(bytes, start, limit, false),
        _ => skip_scalar(bytes, start),
    }
}

/// The same for a value that is not a string, object or array.
pub(crate) fn skip_scalar(bytes: &[u8], start: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b't' => literal(bytes, start, b"true"),
        b'f' => literal(bytes, start, b"false"),
        b'n' => literal(bytes, start, b"null"),
        b'-' | b'0'..=b'9' => Some(skip_number(bytes, start + 1)),
        _ => None,
    }
}

/// From the byte after a number's first one to the byte after its last one.
fn skip_number(bytes: &[u8], mut at: usize) -> usize {
    // Most numbers are short integers: eight digits are checked at once.
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let end = at + scan::digits(*word);
        if matches!(bytes.get(end), Some(b',' | b'}' | b']')) {
            return end;
        }
    }
    while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = bytes.get(at) {
        at += 1;
    }
    at
}

fn literal(bytes: &[u8], start: usize, word: &[u8]) -> Option<usize> {
    bytes[start..].starts_with(word).then_some(start + word.len())
}

/// From an opening bracket to the byte after the closing one. Gives up at `limit` or, with `in_line`, at a newline: an
/// unclosed bracket must not be searched for in all the lines that follow.
pub(crate) fn skip_nested(bytes: &[u8], start: usize, limit: usize, in_line: bool) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    while at < limit {
        match *bytes.get(at)? {
            b'"' => {
                at = skip_string(bytes, at)?;
                continue;
            }
            b'\n' if in_line => return None,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

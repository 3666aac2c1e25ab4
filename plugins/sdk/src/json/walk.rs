//! JSON text that is on no tape: from one value to the next.

use super::{Json, Malformed};
use crate::scan;

/// A walk over the fields of an object.
pub(super) struct Fields<'a> {
    object: Json<'a>,
    at: usize,
    first: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(object: Json<'a>) -> Result<Fields<'a>, Malformed> {
        if object.is_object() { Ok(Fields { object, at: object.start + 1, first: true }) } else { Err(Malformed) }
    }

    pub(super) fn step(&mut self) -> Result<Option<(&'a str, Json<'a>)>, Malformed> {
        let (bytes, end) = (self.object.source.as_bytes(), self.object.end);
        let mut at = skip_blanks(bytes, self.at);
        match bytes.get(at) {
            Some(b'}') if at + 1 == end => return Ok(None),
            Some(b',') if !self.first => at = skip_blanks(bytes, at + 1),
            Some(b'"') if self.first => {}
            _ => return Err(Malformed),
        }
        self.first = false;
        if bytes.get(at) != Some(&b'"') {
            return Err(Malformed);
        }
        let key_end = skip_string(bytes, at).ok_or(Malformed)?;
        let colon = skip_blanks(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            return Err(Malformed);
        }
        let start = skip_blanks(bytes, colon + 1);
        // What ends behind the object began in it and was never closed: the scanner saw it end in another line.
        let value_end = skip_value(bytes, start, end).filter(|value_end| *value_end < end).ok_or(Malformed)?;
        self.at = value_end;
        Ok(Some((&self.object.source[at + 1..key_end - 1], self.object.part(start, value_end))))
    }
}

#[inline]
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    // Agents write no blanks between tokens, as a rule.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// From an opening quote to behind the closing one.
#[inline(never)]
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    scan::string_end(bytes, start + 1)
}

/// From a value's first byte to behind its last one.
pub(super) fn skip_value(bytes: &[u8], start: usize, limit: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b'"' => skip_string(bytes, start),
        b'{' | b'[' => skip_nested(bytes, start, limit, false),
        _ => skip_scalar(bytes, start),
    }
}

/// From the first byte of what is no string, object or array, to behind its last one.
pub(crate) fn skip_scalar(bytes: &[u8], start: usize) -> Option<usize> {
    match *bytes.get(start)? {
        b't' => literal(bytes, start, b"true"),
        b'f' => literal(bytes, start, b"false"),
        b'n' => literal(bytes, start, b"null"),
        b'-' | b'0'..=b'9' => Some(skip_number(bytes, start + 1)),
        _ => None,
    }
}

/// From behind a number's first byte to behind its last one.
fn skip_number(bytes: &[u8], mut at: usize) -> usize {
    // Most are whole and short: their digits are looked at together.
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

/// Gives up at `limit` or, in a line, at the newline: a bracket that is never closed must not be looked for in all the
/// lines that follow.
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

//! A line read once: where its values stand, so that asking for a field looks at no byte twice.
//!
//! It is bounded: of a line with more values than it takes, or of what lies deeper than adapters look, it knows
//! nothing, and whoever asks reads that part again. So no agent can make it grow.

#![expect(clippy::inline_always, reason = "a guest pays for each call that it checks its stack and its clock")]

use crate::json::{Malformed, skip_blanks, skip_nested, skip_scalar};
use crate::scan;

/// How many values a tape takes. Lines of real agents have 20 to 200; the longest lists (tools, skills) have more.
const VALUES: usize = 256;

/// How deep it looks: `message.content[0].input.command` is four below the line.
const DEPTH: u32 = 5;

/// No value.
const NONE: u16 = u16::MAX;

/// One value. The values in an object or an array follow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    /// From where to where its key stands, without quotes; nowhere in an array.
    pub(crate) key: (usize, usize),
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The value that follows it and all that is in it. While it is being read: the object or array that it is in.
    pub(crate) next: u16,
    /// Whether what is in it follows.
    pub(crate) open: bool,
}

/// The values of one line.
#[derive(Debug)]
pub(crate) struct Tape {
    values: [Value; VALUES],
    length: u16,
}

impl Tape {
    pub(crate) fn new() -> Tape {
        let nothing = Value { key: (0, 0), start: 0, end: 0, next: 0, open: false };
        Tape { values: [nothing; VALUES], length: 0 }
    }

    pub(crate) fn value(&self, index: u16) -> &Value {
        &self.values[usize::from(index)]
    }

    /// What is in an object or an array, each with its place on the tape.
    #[inline(always)]
    pub(crate) fn values_in(&self, index: u16) -> impl Iterator<Item = (u16, &Value)> {
        let end = self.value(index).next;
        let mut at = index + 1;
        std::iter::from_fn(move || {
            let place = (at < end).then_some(at)?;
            let value = self.value(place);
            at = value.next;
            Some((place, value))
        })
    }

    /// Reads the value in `bytes[start..end]`, from its first byte to its last. Gives whether all of it found place.
    pub(crate) fn read(&mut self, bytes: &[u8], start: usize, end: usize) -> Result<bool, Malformed> {
        self.length = 0;
        let mut around = Around { index: NONE, object: false };
        let mut depth = 0;
        let mut key = (0, 0);
        let mut at = start;
        loop {
            // A value begins here.
            let begun = at;
            let opening = match bytes.get(at) {
                Some(b'"') => {
                    at = scan::string_end(bytes, at + 1, end).ok_or(Malformed)?;
                    None
                }
                Some(bracket @ (b'{' | b'[')) if depth < DEPTH => Some(*bracket),
                Some(b'{' | b'[') => {
                    at = skip_nested(bytes, at, end).ok_or(Malformed)?;
                    None
                }
                _ => {
                    at = skip_scalar(bytes, at).ok_or(Malformed)?;
                    None
                }
            };
            let next = if opening.is_some() { around.index } else { self.length + 1 };
            let Some(index) = self.push(Value { key, start: begun, end: at, next, open: opening.is_some() }) else {
                return Ok(false);
            };
            if let Some(bracket) = opening {
                around = Around { index, object: bracket == b'{' };
                depth += 1;
                at = skip_blanks(bytes, at + 1);
                if !matches!(bytes.get(at), Some(b'}' | b']')) {
                    (key, at) = if around.object { read_key(bytes, at, end)? } else { ((0, 0), at) };
                    continue;
                }
            }
            // A value has ended, or an object or array that is empty is about to.
            loop {
                if around.index == NONE {
                    // What ends behind the line was never closed: the scanner saw it end in another one.
                    return if at == end { Ok(true) } else { Err(Malformed) };
                }
                at = skip_blanks(bytes, at);
                match bytes.get(at) {
                    Some(b',') if self.length > around.index + 1 => {
                        at = skip_blanks(bytes, at + 1);
                        (key, at) = if around.object { read_key(bytes, at, end)? } else { ((0, 0), at) };
                        break;
                    }
                    Some(b'}') if around.object => {}
                    Some(b']') if !around.object => {}
                    _ => return Err(Malformed),
                }
                at += 1;
                depth -= 1;
                around = self.close(around.index, at, bytes);
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, value: Value) -> Option<u16> {
        let index = self.length;
        *self.values.get_mut(usize::from(index))? = value;
        self.length += 1;
        Some(index)
    }

    /// The object or array ends; gives what it stands in.
    #[inline(always)]
    fn close(&mut self, index: u16, end: usize, bytes: &[u8]) -> Around {
        let next = self.length;
        let value = &mut self.values[usize::from(index)];
        let index = std::mem::replace(&mut value.next, next);
        value.end = end;
        let object = self.values.get(usize::from(index)).is_some_and(|around| bytes[around.start] == b'{');
        Around { index, object }
    }
}

/// What the value that is being read stands in.
struct Around {
    index: u16,
    object: bool,
}

/// A key and its colon; gives where the key stands and where its value begins.
#[inline(always)]
fn read_key(bytes: &[u8], at: usize, limit: usize) -> Result<((usize, usize), usize), Malformed> {
    if bytes.get(at) != Some(&b'"') {
        return Err(Malformed);
    }
    let end = scan::string_end(bytes, at + 1, limit).ok_or(Malformed)?;
    let colon = skip_blanks(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return Err(Malformed);
    }
    Ok(((at + 1, end - 1), skip_blanks(bytes, colon + 1)))
}

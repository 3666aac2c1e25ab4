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
    /// Its key, without quotes; empty in an array.
    pub(crate) key_start: u32,
    pub(crate) key_end: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
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
        let nothing = Value { key_start: 0, key_end: 0, start: 0, end: 0, next: 0, open: false };
        Tape { values: [nothing; VALUES], length: 0 }
    }

    pub(crate) fn value(&self, index: u16) -> &Value {
        &self.values[usize::from(index)]
    }

    /// Reads the value in `bytes[start..end]`, from its first byte to its last. Gives whether all of it found place.
    pub(crate) fn read(&mut self, bytes: &[u8], start: usize, end: usize) -> Result<bool, Malformed> {
        self.length = 0;
        let mut inside = NONE;
        let mut depth = 0;
        let mut key = (0, 0);
        let mut at = start;
        loop {
            // A value begins here.
            let Some(index) = self.push(key, at) else { return Ok(false) };
            let opens = match bytes.get(at) {
                Some(b'"') => {
                    at = scan::string_end(bytes, at + 1).ok_or(Malformed)?;
                    false
                }
                Some(b'{' | b'[') if depth == DEPTH => {
                    at = skip_nested(bytes, at, end).ok_or(Malformed)?;
                    false
                }
                Some(b'{' | b'[') => true,
                _ => {
                    at = skip_scalar(bytes, at).ok_or(Malformed)?;
                    false
                }
            };
            if opens {
                let value = &mut self.values[usize::from(index)];
                (value.next, value.open) = (inside, true);
                inside = index;
                depth += 1;
                let object = bytes[at] == b'{';
                at = skip_blanks(bytes, at + 1);
                if object && bytes.get(at) == Some(&b'"') {
                    (key, at) = read_key(bytes, at)?;
                    continue;
                }
                let empty = bytes.get(at) == Some(if object { &b'}' } else { &b']' });
                if !object && !empty {
                    continue;
                }
                if !empty {
                    return Err(Malformed);
                }
            } else {
                self.close(index, at);
            }
            // A value has ended, or an object or array that is empty is about to.
            loop {
                if inside == NONE {
                    // What ends behind the line was never closed: the scanner saw it end in another one.
                    return if at == end { Ok(true) } else { Err(Malformed) };
                }
                at = skip_blanks(bytes, at);
                let object = bytes[self.value(inside).start as usize] == b'{';
                match bytes.get(at) {
                    Some(b',') if self.length > inside + 1 => {
                        at = skip_blanks(bytes, at + 1);
                        if object {
                            (key, at) = read_key(bytes, at)?;
                        } else {
                            key = (0, 0);
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return Err(Malformed),
                }
                at += 1;
                let around = self.value(inside).next;
                self.close(inside, at);
                inside = around;
                depth -= 1;
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, (key_start, key_end): (u32, u32), start: usize) -> Option<u16> {
        let index = self.length;
        let start = u32::try_from(start).ok()?;
        *self.values.get_mut(usize::from(index))? =
            Value { key_start, key_end, start, end: start, next: NONE, open: false };
        self.length += 1;
        Some(index)
    }

    #[inline(always)]
    fn close(&mut self, index: u16, end: usize) {
        let next = self.length;
        let value = &mut self.values[usize::from(index)];
        // A chunk is below 4 GiB, as its spans are.
        value.end = u32::try_from(end).unwrap_or(u32::MAX);
        value.next = next;
    }
}

/// A key and its colon; gives where the key stands and where its value begins.
#[inline(always)]
fn read_key(bytes: &[u8], at: usize) -> Result<((u32, u32), usize), Malformed> {
    if bytes.get(at) != Some(&b'"') {
        return Err(Malformed);
    }
    let end = scan::string_end(bytes, at + 1).ok_or(Malformed)?;
    let colon = skip_blanks(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return Err(Malformed);
    }
    let place = |at: usize| u32::try_from(at).map_err(|_| Malformed);
    Ok(((place(at + 1)?, place(end - 1)?), skip_blanks(bytes, colon + 1)))
}

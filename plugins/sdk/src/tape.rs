//! A line read once: where its values stand, so that asking for a field looks at no byte twice.
//!
//! It is bounded: of a line with more values than it takes, or of what lies deeper than adapters look, it knows
//! nothing, and whoever asks reads that part again. So no agent can make it grow.

#![expect(clippy::inline_always, reason = "a guest pays for each call that it checks its stack and its clock")]

use crate::json::{Malformed, skip_nested, skip_scalar};
use crate::scan::Strings;

/// How many values a tape takes. Lines of real agents have 20 to 200; the longest lists (tools, skills) have more.
const VALUES: usize = 256;

/// How deep it looks: `message.content[0].input.command` is four below the line.
const DEPTH: u32 = 5;

/// No value.
const NONE: u16 = u16::MAX;

/// A key's length and its first seven bytes: two keys of up to seven bytes are the same when these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head(u64);

impl Head {
    /// How many bytes of a key it tells.
    pub(crate) const TOLD: usize = 7;

    const MASK: u64 = (1 << (8 * Head::TOLD)) - 1;

    /// Of a key, in one load or two that overlap.
    #[inline(always)]
    pub(crate) fn of(key: &[u8]) -> Head {
        let length = key.len();
        let word = if let Some(first) = key.first_chunk() {
            u64::from_le_bytes(*first) & Head::MASK
        } else if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        } else {
            let byte = |at: usize| key.get(at).map_or(0, |byte| u64::from(*byte) << (8 * at));
            byte(0) | byte(1) | byte(2)
        };
        Head::new(word, length)
    }

    /// Of the key in `bytes[start..end]`, in one load where there are enough bytes behind it.
    #[inline(always)]
    fn read(bytes: &[u8], start: usize, end: usize) -> Head {
        let length = end - start;
        let Some(word) = bytes.get(start..start + 8) else { return Head::of(&bytes[start..end]) };
        let word = u64::from_le_bytes(word.try_into().expect("a word has eight bytes"));
        let told = if length < Head::TOLD { length } else { Head::TOLD };
        Head::new(word & ((1 << (8 * told)) - 1), length)
    }

    #[inline(always)]
    const fn new(word: u64, length: usize) -> Head {
        // Longer keys than it can tell the length of are not taken for short ones.
        let length = if length < 0xff { length as u64 } else { 0xff };
        Head(word | length << 56)
    }
}

/// One value. The values in an object or an array follow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    /// Its key; nothing in an array.
    pub(crate) head: Head,
    /// From where to where its key stands, without quotes; nowhere in an array.
    pub(crate) key: (usize, usize),
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The value that follows it and all that is in it. While it is being read: the object or array that it is in.
    pub(crate) next: u16,
    /// Whether what is in it follows.
    pub(crate) open: bool,
}

/// A key, and where its value begins.
type Key = (Head, (usize, usize), usize);

/// The values of one line.
#[derive(Debug)]
pub(crate) struct Tape {
    values: [Value; VALUES],
    length: u16,
}

impl Tape {
    pub(crate) fn new() -> Tape {
        let nothing = Value { head: Head(0), key: (0, 0), start: 0, end: 0, next: 0, open: false };
        Tape { values: [nothing; VALUES], length: 0 }
    }

    #[inline(always)]
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

    /// Reads the value that begins at `start`, up to its end or that of the line. Gives where it ends; nothing where
    /// not all of it found place.
    pub(crate) fn read(&mut self, bytes: &[u8], start: usize) -> Result<Option<usize>, Malformed> {
        self.length = 0;
        let mut strings = Strings::new(bytes);
        let mut around = Around { index: NONE, object: false };
        let mut depth = 0;
        let (mut head, mut key, mut at) = (Head(0), (0, 0), start);
        loop {
            // A value begins here.
            let begun = at;
            let first = bytes.get(at).copied().unwrap_or_default();
            let opens = (first == b'{' || first == b'[') && depth < DEPTH;
            if first == b'"' {
                at = strings.end(at + 1).ok_or(Malformed)?;
            } else if !opens {
                at = skip_other(bytes, at).ok_or(Malformed)?;
            }
            let next = if opens { around.index } else { self.length + 1 };
            let Some(index) = self.push(Value { head, key, start: begun, end: at, next, open: opens }) else {
                return Ok(None);
            };
            if opens {
                around = Around { index, object: first == b'{' };
                depth += 1;
                at = skip_spaces(bytes, at + 1);
                if !matches!(bytes.get(at), Some(b'}' | b']')) {
                    (head, key, at) =
                        if around.object { read_key(&mut strings, bytes, at)? } else { (Head(0), (0, 0), at) };
                    continue;
                }
            }
            // What follows a value in an object is another one, most of the time.
            if around.object && !opens && bytes.get(at) == Some(&b',') && bytes.get(at + 1) == Some(&b'"') {
                (head, key, at) = read_key(&mut strings, bytes, at + 1)?;
                continue;
            }
            // A value has ended, or an object or array that is empty is about to.
            loop {
                if around.index == NONE {
                    return Ok(Some(at));
                }
                at = skip_spaces(bytes, at);
                match bytes.get(at) {
                    Some(b',') if self.length > around.index + 1 => {
                        at = skip_spaces(bytes, at + 1);
                        (head, key, at) =
                            if around.object { read_key(&mut strings, bytes, at)? } else { (Head(0), (0, 0), at) };
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

/// What may stand between two tokens of a line.
#[inline(always)]
pub(crate) fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    // Agents write none between tokens, as a rule.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// What is no string, and nothing that is looked into.
#[inline(never)]
fn skip_other(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'{' | b'[' => skip_nested(bytes, at, bytes.len(), true),
        _ => skip_scalar(bytes, at),
    }
}

/// A key and its colon.
#[inline(always)]
fn read_key(strings: &mut Strings<'_>, bytes: &[u8], at: usize) -> Result<Key, Malformed> {
    if bytes.get(at) != Some(&b'"') {
        return Err(Malformed);
    }
    let (start, end) = (at + 1, strings.end(at + 1).ok_or(Malformed)?);
    let colon = skip_spaces(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return Err(Malformed);
    }
    Ok((Head::read(bytes, start, end - 1), (start, end - 1), skip_spaces(bytes, colon + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_has_one_head_however_it_is_read(key in "[a-zé]{0,20}", behind in "[a-z]{0,12}") {
            let bytes = format!("{key}{behind}").into_bytes();
            let told = key.bytes().take(Head::TOLD).rev().fold(0, |word, byte| word << 8 | u64::from(byte));
            prop_assert_eq!(Head::of(key.as_bytes()), Head::new(told, key.len()));
            prop_assert_eq!(Head::read(&bytes, 0, key.len()), Head::of(key.as_bytes()));
        }

        #[test]
        fn a_long_key_is_not_taken_for_a_short_one(short in "[a-z]{0,7}", length in 8usize..600) {
            let long = format!("{short}{}", "x".repeat(length));
            prop_assert_ne!(Head::of(long.as_bytes()), Head::of(short.as_bytes()));
        }

        #[test]
        fn short_keys_are_the_same_when_their_heads_are(one in "[ab]{0,7}", other in "[ab]{0,7}") {
            prop_assert_eq!(Head::of(one.as_bytes()) == Head::of(other.as_bytes()), one == other);
        }
    }
}

//! One pass over a line that records where its values are, so that looking up a field reads no byte twice.
//!
//! It is bounded: a line with more values than fit, or values nested deeper than adapters look, are not recorded, and a
//! lookup there reads that part again. An agent cannot make it grow.

#![expect(clippy::inline_always, reason = "in a guest every call checks the stack limit and the time limit")]

use crate::scan::Strings;
use crate::skip::{Malformed, skip_nested, skip_scalar, skip_spaces};

/// How many values fit. Lines of real agents have 20 to 200; the longest lists (tools, skills) have more.
const VALUES: usize = 256;

/// The maximum nesting depth: `message.content[0].input.command` is four levels below the line.
const DEPTH: u32 = 5;

/// The index of no value.
const NONE: u16 = u16::MAX;

/// A key's length and its first seven bytes. Keys of up to seven bytes are equal if and only if their prefixes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyPrefix(u64);

impl KeyPrefix {
    /// How many bytes of the key it holds.
    pub(crate) const BYTES: usize = 7;

    const MASK: u64 = (1 << (8 * KeyPrefix::BYTES)) - 1;

    /// The prefix of a key, read in one load or in two that overlap.
    #[inline(always)]
    pub(crate) fn of(key: &[u8]) -> KeyPrefix {
        let length = key.len();
        let word = if let Some(first) = key.first_chunk() {
            u64::from_le_bytes(*first) & KeyPrefix::MASK
        } else if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        } else {
            let byte = |at: usize| key.get(at).map_or(0, |byte| u64::from(*byte) << (8 * at));
            byte(0) | byte(1) | byte(2)
        };
        KeyPrefix::new(word, length)
    }

    /// The prefix of the key in `bytes[start..end]`, read in one load if at least eight bytes remain.
    #[inline(always)]
    fn read(bytes: &[u8], start: usize, end: usize) -> KeyPrefix {
        let length = end - start;
        let Some(word) = bytes.get(start..start + 8) else { return KeyPrefix::of(&bytes[start..end]) };
        let word = u64::from_le_bytes(word.try_into().expect("a word has eight bytes"));
        let held = if length < KeyPrefix::BYTES { length } else { KeyPrefix::BYTES };
        KeyPrefix::new(word & ((1 << (8 * held)) - 1), length)
    }

    #[inline(always)]
    const fn new(word: u64, length: usize) -> KeyPrefix {
        // Saturates, so that a long key never looks like a short one.
        let length = if length < 0xff { length as u64 } else { 0xff };
        KeyPrefix(word | length << 56)
    }
}

/// One value. The values inside an object or array follow it on the tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    /// The prefix of its key; zero in an array.
    pub(crate) prefix: KeyPrefix,
    /// Where its key starts and ends, without quotes; zero in an array.
    pub(crate) key: (usize, usize),
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The index after this value and everything inside it. While an object or array is being read: the index of its
    /// own parent.
    pub(crate) next: u16,
    /// Whether the values inside it are on the tape.
    pub(crate) open: bool,
}

/// A key's prefix and position, and where its value starts.
type Key = (KeyPrefix, (usize, usize), usize);

/// The values of one line.
#[derive(Debug)]
pub(crate) struct Tape {
    values: [Value; VALUES],
    length: u16,
}

impl Tape {
    pub(crate) fn new() -> Tape {
        let empty = Value { prefix: KeyPrefix(0), key: (0, 0), start: 0, end: 0, next: 0, open: false };
        Tape { values: [empty; VALUES], length: 0 }
    }

    #[inline(always)]
    pub(crate) fn value(&self, index: u16) -> &Value {
        &self.values[usize::from(index)]
    }

    /// The values inside an object or array, each with its index.
    #[inline(always)]
    pub(crate) fn values_in(&self, index: u16) -> impl Iterator<Item = (u16, &Value)> {
        let end = self.value(index).next;
        let mut at = index + 1;
        std::iter::from_fn(move || {
            let index = (at < end).then_some(at)?;
            let value = self.value(index);
            at = value.next;
            Some((index, value))
        })
    }

    /// Reads the value that starts at `start`, up to its end or the end of the line. Returns where it ends, or `None`
    /// if it has more values than fit.
    pub(crate) fn read(&mut self, bytes: &[u8], start: usize) -> Result<Option<usize>, Malformed> {
        self.length = 0;
        let mut strings = Strings::new(bytes);
        let mut parent = Container { index: NONE, object: false };
        let mut depth = 0;
        let (mut prefix, mut key, mut at) = (KeyPrefix(0), (0, 0), start);
        loop {
            // A value starts here.
            let value_start = at;
            let first = bytes.get(at).copied().unwrap_or_default();
            let opens = (first == b'{' || first == b'[') && depth < DEPTH;
            if first == b'"' {
                at = strings.end(at + 1).ok_or(Malformed)?;
            } else if !opens {
                at = skip_other(bytes, at).ok_or(Malformed)?;
            }
            let next = if opens { parent.index } else { self.length + 1 };
            let Some(index) = self.push(Value { prefix, key, start: value_start, end: at, next, open: opens }) else {
                return Ok(None);
            };
            if opens {
                parent = Container { index, object: first == b'{' };
                depth += 1;
                at = skip_spaces(bytes, at + 1);
                if !matches!(bytes.get(at), Some(b'}' | b']')) {
                    (prefix, key, at) =
                        if parent.object { read_key(&mut strings, bytes, at)? } else { (KeyPrefix(0), (0, 0), at) };
                    continue;
                }
            }
            // The usual case: another field follows.
            if parent.object && !opens && bytes.get(at) == Some(&b',') && bytes.get(at + 1) == Some(&b'"') {
                (prefix, key, at) = read_key(&mut strings, bytes, at + 1)?;
                continue;
            }
            // A value has ended, or an empty object or array is about to end.
            loop {
                if parent.index == NONE {
                    return Ok(Some(at));
                }
                at = skip_spaces(bytes, at);
                match bytes.get(at) {
                    Some(b',') if self.length > parent.index + 1 => {
                        at = skip_spaces(bytes, at + 1);
                        (prefix, key, at) =
                            if parent.object { read_key(&mut strings, bytes, at)? } else { (KeyPrefix(0), (0, 0), at) };
                        break;
                    }
                    Some(b'}') if parent.object => {}
                    Some(b']') if !parent.object => {}
                    _ => return Err(Malformed),
                }
                at += 1;
                depth -= 1;
                parent = self.close(parent.index, at, bytes);
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

    /// Ends an object or array. Returns its parent.
    #[inline(always)]
    fn close(&mut self, index: u16, end: usize, bytes: &[u8]) -> Container {
        let next = self.length;
        let value = &mut self.values[usize::from(index)];
        let parent = std::mem::replace(&mut value.next, next);
        value.end = end;
        let object = self.values.get(usize::from(parent)).is_some_and(|parent| bytes[parent.start] == b'{');
        Container { index: parent, object }
    }
}

/// The object or array that contains the value being read.
struct Container {
    index: u16,
    object: bool,
}

/// Skips a value that is not a string and whose inside is not recorded.
#[inline(never)]
fn skip_other(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'{' | b'[' => skip_nested(bytes, at, bytes.len(), true),
        _ => skip_scalar(bytes, at),
    }
}

/// Reads a key and its colon.
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
    Ok((KeyPrefix::read(bytes, start, end - 1), (start, end - 1), skip_spaces(bytes, colon + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_has_one_prefix_however_it_is_read(key in "[a-zé]{0,20}", after in "[a-z]{0,12}") {
            let bytes = format!("{key}{after}").into_bytes();
            let expected = key.bytes().take(KeyPrefix::BYTES).rev().fold(0, |word, byte| word << 8 | u64::from(byte));
            prop_assert_eq!(KeyPrefix::of(key.as_bytes()), KeyPrefix::new(expected, key.len()));
            prop_assert_eq!(KeyPrefix::read(&bytes, 0, key.len()), KeyPrefix::of(key.as_bytes()));
        }

        #[test]
        fn a_long_key_never_equals_a_short_one(short in "[a-z]{0,7}", length in 8usize..600) {
            let long = format!("{short}{}", "x".repeat(length));
            prop_assert_ne!(KeyPrefix::of(long.as_bytes()), KeyPrefix::of(short.as_bytes()));
        }

        #[test]
        fn short_keys_are_equal_exactly_when_their_prefixes_are(one in "[ab]{0,7}", other in "[ab]{0,7}") {
            prop_assert_eq!(KeyPrefix::of(one.as_bytes()) == KeyPrefix::of(other.as_bytes()), one == other);
        }
    }
}

//! The text of an event, as an adapter gave it: the text itself, or the inside of a JSON string in the agent's output.
//!
//! Most text passes through unchanged, because the inside of a JSON string in the input is the inside of a JSON string
//! in the output. It is scanned once, 64 bytes at a time, and copied once. Only text that is escaped differently from
//! `serde_json` is unescaped and escaped again.

use std::borrow::Cow;
use wide::u8x16;

/// A text that may still be borrowed from the chunk that contains it.
#[derive(Debug, Clone, PartialEq)]
pub enum Text<'c> {
    /// The text itself.
    Plain(Cow<'c, str>),
    /// The inside of a JSON string.
    Quoted(Quoted<'c>),
}

impl<'c> Text<'c> {
    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Text::Plain(text) => text.is_empty(),
            // Every escape yields at least one character, except for a single backslash at the end.
            Text::Quoted(quoted) => quoted.inside.is_empty() || quoted.inside == "\\",
        }
    }

    /// Appends the unescaped text to a string.
    pub fn push_to(&self, text: &mut String) {
        match self {
            Text::Plain(plain) => text.push_str(plain),
            Text::Quoted(quoted) if quoted.escapes == Escapes::None => text.push_str(quoted.inside),
            Text::Quoted(quoted) => unescape(quoted.inside, text),
        }
    }

    /// The unescaped text.
    pub fn into_string(self) -> String {
        self.into_cow().into_owned()
    }

    /// The unescaped text, borrowed if it has no escapes.
    pub fn into_cow(self) -> Cow<'c, str> {
        match self {
            Text::Plain(text) => text,
            Text::Quoted(quoted) if quoted.escapes == Escapes::None => Cow::Borrowed(quoted.inside),
            Text::Quoted(quoted) => {
                let mut text = String::with_capacity(quoted.inside.len());
                unescape(quoted.inside, &mut text);
                Cow::Owned(text)
            }
        }
    }

    /// Writes it as a JSON string, exactly as `serde_json` would.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Text::Plain(text) => quote(text, out),
            Text::Quoted(quoted) if quoted.escapes == Escapes::Unusual => {
                let mut text = String::with_capacity(quoted.inside.len());
                unescape(quoted.inside, &mut text);
                quote(&text, out);
            }
            Text::Quoted(quoted) => {
                out.reserve(quoted.inside.len() + 2);
                out.push(b'"');
                out.extend_from_slice(quoted.inside.as_bytes());
                out.push(b'"');
            }
        }
    }
}

/// The inside of a JSON string that contains no unescaped quote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quoted<'c> {
    inside: &'c str,
    escapes: Escapes,
}

/// How the inside of a JSON string is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Not at all: it is the text.
    None,
    /// Exactly as `serde_json` would.
    Usual,
    /// Differently, or not everywhere it must be.
    Unusual,
}

impl Quoted<'_> {
    /// None if there is an unescaped quote, which would end the string.
    pub fn new(inside: &str) -> Option<Quoted<'_>> {
        let bytes = inside.as_bytes();
        let mut escapes = Escapes::None;
        // Whether the last byte before the window escapes the first byte of the window.
        let mut carried = false;
        for (number, chunk) in bytes.chunks(WINDOW).enumerate() {
            let window = Window::new(chunk);
            if window.is_plain() && !carried {
                continue;
            }
            let after_backslash;
            (after_backslash, carried) = window.escaped(carried);
            if window.quotes & !after_backslash != 0 {
                return None;
            }
            let mut unsure = after_backslash & !(window.quotes | window.backslashes | window.letters());
            let mut usual = window.controls == 0;
            while unsure != 0 && usual {
                let at = number * WINDOW + unsure.trailing_zeros() as usize;
                unsure &= unsure - 1;
                usual = match bytes.get(at) {
                    Some(b'b' | b'f') => true,
                    Some(b'u') => is_usual_code(&bytes[at + 1..]),
                    _ => false,
                };
            }
            if !usual {
                escapes = Escapes::Unusual;
            } else if escapes == Escapes::None {
                escapes = Escapes::Usual;
            }
        }
        if carried {
            // A single backslash at the end.
            escapes = Escapes::Unusual;
        }
        Some(Quoted { inside, escapes })
    }
}

/// How many bytes of a quoted text are scanned at once.
const WINDOW: usize = 4 * BLOCK;

/// The bytes of a window, and bit masks of those that have a meaning in JSON strings.
struct Window {
    blocks: [u8x16; WINDOW / BLOCK],
    quotes: u64,
    backslashes: u64,
    controls: u64,
}

impl Window {
    /// A window of at most [`WINDOW`] bytes, padded with spaces.
    #[inline]
    fn new(bytes: &[u8]) -> Window {
        let mut padded = [b' '; WINDOW];
        let bytes = bytes.first_chunk().unwrap_or_else(|| {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        });
        let blocks = [0, 1, 2, 3].map(|block| u8x16::new(*bytes[block * BLOCK..].first_chunk().expect("four blocks")));
        let [first, second, third, fourth] = blocks.map(special);
        if !(first | second | third | fourth).any() {
            return Window { blocks, quotes: 0, backslashes: 0, controls: 0 };
        }
        Window {
            blocks,
            quotes: bit_mask(blocks.map(|block| is(block, b'"'))),
            backslashes: bit_mask(blocks.map(|block| is(block, b'\\'))),
            controls: bit_mask(blocks.map(is_control)),
        }
    }

    /// Whether nothing in it has a meaning in JSON.
    #[inline]
    fn is_plain(&self) -> bool {
        self.quotes | self.backslashes | self.controls == 0
    }

    /// The bytes that follow a backslash which is not escaped itself, and whether the first byte after the window is
    /// one. `first` says whether the first byte of the window is one. One subtraction finds the end of every sequence
    /// of backslashes at once; the method is that of simdjson.
    #[inline]
    fn escaped(&self, first: bool) -> (u64, bool) {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let first = u64::from(first);
        let escaping = self.backslashes & !first;
        let sequences = ((escaping << 1 | ODD).wrapping_sub(escaping)) ^ ODD;
        (sequences ^ (self.backslashes | first), sequences & self.backslashes & 1 << 63 != 0)
    }

    /// The letters that most often follow a backslash.
    #[inline]
    fn letters(&self) -> u64 {
        bit_mask(self.blocks.map(|block| is(block, b'n') | is(block, b't') | is(block, b'r')))
    }
}

/// One bit for each byte that is set.
#[inline]
fn bit_mask(blocks: [u8x16; WINDOW / BLOCK]) -> u64 {
    let [first, second, third, fourth] = blocks.map(|block| u64::from(block.to_bitmask()));
    first | second << 16 | third << 32 | fourth << 48
}

/// Whether `serde_json` would write these four digits: those of a control character without a short escape.
fn is_usual_code(digits: &[u8]) -> bool {
    match digits {
        [b'0', b'0', b'0', low, ..] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', low, ..] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// Writes a string as `serde_json` does.
pub(super) fn quote(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut from = 0;
    for at in specials(bytes) {
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

/// Appends the unescaped inside of a JSON string to `text`.
fn unescape(inside: &str, text: &mut String) {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        rest = unescape_one(&rest[at + 1..], text);
    }
    text.push_str(rest);
}

/// Unescapes what follows a backslash, and returns the rest. An invalid escape becomes U+FFFD, as in the SDK: an
/// agent's mistake is not a fault of the adapter.
fn unescape_one<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let mut characters = rest.chars();
    let character = match characters.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some(itself @ ('"' | '\\' | '/')) => itself,
        Some('u') => return unescape_unicode(characters.as_str(), text),
        Some(_) => char::REPLACEMENT_CHARACTER,
        None => return "",
    };
    text.push(character);
    characters.as_str()
}

/// Unescapes what follows `\u`, and returns the rest. An unpaired surrogate or fewer than four digits become U+FFFD.
fn unescape_unicode<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(high) = hex4(rest) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return rest;
    };
    let after = &rest[4..];
    if (0xD800..0xDC00).contains(&high)
        && let Some(low) = after.strip_prefix("\\u").and_then(hex4)
        && (0xDC00..0xE000).contains(&low)
    {
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return &after[6..];
    }
    text.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
    after
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// How many bytes are compared at once.
const BLOCK: usize = 16;

/// The positions of the bytes that must be escaped in a JSON string: quotes, backslashes, control characters.
fn specials(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let (mut base, mut next) = (0, 0);
    let mut left = 0u32;
    std::iter::from_fn(move || {
        while left == 0 {
            base = next;
            let rest = &bytes[base.min(bytes.len())..];
            left = if let Some(block) = rest.first_chunk() {
                specials_in(*block)
            } else if rest.is_empty() {
                return None;
            } else {
                // Padded with spaces.
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                specials_in(block)
            };
            next = base + BLOCK;
        }
        let position = base + left.trailing_zeros() as usize;
        left &= left - 1;
        Some(position)
    })
}

/// One bit for each byte of the block that must be escaped.
#[inline]
fn specials_in(block: [u8; BLOCK]) -> u32 {
    special(u8x16::new(block)).to_bitmask()
}

/// The bytes that must be escaped: all bits set in each of them.
#[inline]
fn special(block: u8x16) -> u8x16 {
    is(block, b'"') | is(block, b'\\') | is_control(block)
}

#[inline]
fn is(block: u8x16, byte: u8) -> u8x16 {
    block.simd_eq(u8x16::splat(byte))
}

#[inline]
fn is_control(block: u8x16) -> u8x16 {
    block.simd_le(u8x16::splat(0x1f))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;

//! A text of an event, as an adapter gave it: itself, or the inside of a JSON string of the agent's own line.
//!
//! Most of what agents write passes through as it came: the inside of a JSON string is the inside of a JSON string
//! again. So it is looked at once, 64 bytes at a time, and copied once; only what is escaped in another way than
//! `serde_json` does it is written anew.

use std::borrow::Cow;
use wide::u8x16;

/// A text that may still stand in the chunk it came with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Text<'c> {
    /// The text itself.
    Plain(Cow<'c, str>),
    /// The inside of a JSON string.
    Quoted(Quoted<'c>),
}

impl Text<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Text::Plain(text) => text.is_empty(),
            // What is no text unescapes to something, but for a lone backslash at the end.
            Text::Quoted(quoted) => quoted.inside.is_empty() || quoted.inside == "\\",
        }
    }

    /// Add the text to another.
    pub(crate) fn push_to(&self, text: &mut String) {
        match self {
            Text::Plain(plain) => text.push_str(plain),
            Text::Quoted(quoted) if quoted.escapes == Escapes::None => text.push_str(quoted.inside),
            Text::Quoted(quoted) => unescape(quoted.inside, text),
        }
    }

    pub(crate) fn into_string(self) -> String {
        match self {
            Text::Plain(text) => text.into_owned(),
            Text::Quoted(quoted) if quoted.escapes == Escapes::None => quoted.inside.to_owned(),
            Text::Quoted(quoted) => {
                let mut text = String::with_capacity(quoted.inside.len());
                unescape(quoted.inside, &mut text);
                text
            }
        }
    }

    /// Write it as a JSON string, exactly as `serde_json` would.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>) {
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

/// The inside of a JSON string that has no bare quote in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quoted<'c> {
    inside: &'c str,
    escapes: Escapes,
}

/// How the inside of a JSON string is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Not at all: it is the text.
    None,
    /// As `serde_json` would do it.
    Usual,
    /// In another way, or not where it has to be.
    Unusual,
}

impl Quoted<'_> {
    /// Nothing where there is a quote that would end the string.
    pub(crate) fn new(inside: &str) -> Option<Quoted<'_>> {
        let bytes = inside.as_bytes();
        let mut escapes = Escapes::None;
        // Whether the last byte before the window escapes its first.
        let mut carried = false;
        for (number, of_window) in bytes.chunks(WINDOW).enumerate() {
            let window = Window::of(of_window);
            if window.is_plain() && !carried {
                continue;
            }
            let behind_backslash;
            (behind_backslash, carried) = window.escaped(carried);
            if window.quotes & !behind_backslash != 0 {
                return None;
            }
            let mut unsure = behind_backslash & !(window.quotes | window.backslashes | window.letters());
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
            // A backslash that stands alone at the end.
            escapes = Escapes::Unusual;
        }
        Some(Quoted { inside, escapes })
    }
}

/// How many bytes of a quoted text are looked at together.
const WINDOW: usize = 4 * BLOCK;

/// So many bytes of a string, and a bit for each of those that mean something in JSON.
struct Window {
    blocks: [u8x16; WINDOW / BLOCK],
    quotes: u64,
    backslashes: u64,
    controls: u64,
}

impl Window {
    /// Of at most so many bytes; what is missing is blank.
    #[inline]
    fn of(bytes: &[u8]) -> Window {
        let mut padded = [b' '; WINDOW];
        let bytes = bytes.first_chunk().unwrap_or_else(|| {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        });
        let blocks = [0, 1, 2, 3].map(|place| u8x16::new(*bytes[place * BLOCK..].first_chunk().expect("four blocks")));
        let [first, second, third, fourth] = blocks.map(special);
        if !(first | second | third | fourth).any() {
            return Window { blocks, quotes: 0, backslashes: 0, controls: 0 };
        }
        Window {
            blocks,
            quotes: places(blocks.map(|block| is(block, b'"'))),
            backslashes: places(blocks.map(|block| is(block, b'\\'))),
            controls: places(blocks.map(is_control)),
        }
    }

    /// Whether there is nothing in it but text.
    #[inline]
    fn is_plain(&self) -> bool {
        self.quotes | self.backslashes | self.controls == 0
    }

    /// The bytes that a backslash stands before which is not escaped itself; whether the first is one of them is known.
    /// And whether the first behind the window is. A row of backslashes is told from where it begins by one subtraction
    /// that runs through it, for all rows at once, as simdjson does it.
    #[inline]
    fn escaped(&self, first: bool) -> (u64, bool) {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let first = u64::from(first);
        let escaping = self.backslashes & !first;
        let rows = ((escaping << 1 | ODD).wrapping_sub(escaping)) ^ ODD;
        (rows ^ (self.backslashes | first), rows & self.backslashes & 1 << 63 != 0)
    }

    /// The letters that follow a backslash most of the time.
    #[inline]
    fn letters(&self) -> u64 {
        places(self.blocks.map(|block| is(block, b'n') | is(block, b't') | is(block, b'r')))
    }
}

/// A bit for each byte that is there.
#[inline]
fn places(blocks: [u8x16; WINDOW / BLOCK]) -> u64 {
    let [first, second, third, fourth] = blocks.map(|block| u64::from(block.to_bitmask()));
    first | second << 16 | third << 32 | fourth << 48
}

/// Whether `serde_json` would write these four digits: of a control character that has no letter of its own.
fn is_usual_code(digits: &[u8]) -> bool {
    match digits {
        [b'0', b'0', b'0', low, ..] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', low, ..] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// A string as `serde_json` writes it.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
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

/// The inside of a JSON string, unescaped.
fn unescape(inside: &str, text: &mut String) {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        rest = unescape_one(&rest[at + 1..], text);
    }
    text.push_str(rest);
}

/// One escape, whose backslash has been taken; gives what follows it. What JSON does not know becomes U+FFFD, as in the
/// SDK: an agent's slip is no fault of its adapter's.
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

/// The rest of a `\u` escape. A lone surrogate is no character, nor is one without four digits.
fn unescape_unicode<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(high) = hex4(rest) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return rest;
    };
    let behind = &rest[4..];
    if (0xD800..0xDC00).contains(&high)
        && let Some(low) = behind.strip_prefix("\\u").and_then(hex4)
        && (0xDC00..0xE000).contains(&low)
    {
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return &behind[6..];
    }
    text.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
    behind
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// How many bytes are looked at together.
const BLOCK: usize = 16;

/// The places of the bytes that have to be escaped in a JSON string: quotes, backslashes, control characters.
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
                // With blanks behind it.
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                specials_in(block)
            };
            next = base + BLOCK;
        }
        let place = base + left.trailing_zeros() as usize;
        left &= left - 1;
        Some(place)
    })
}

/// A bit for each place in the block that has to be escaped.
#[inline]
fn specials_in(block: [u8; BLOCK]) -> u32 {
    special(u8x16::new(block)).to_bitmask()
}

/// Something in each place that has to be escaped.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quoted(inside: &str) -> Text<'_> {
        Text::Quoted(Quoted::new(inside).expect("no bare quote"))
    }

    fn written(text: &Text<'_>) -> String {
        let mut out = Vec::new();
        text.write_json(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_bare_quote_is_found_wherever_it_stands() {
        for length in [0, 1, 7, 14, 15, 16, 17, 31, 32, 61, 62, 63, 64, 65, 66, 127, 128, 200] {
            let before = "x".repeat(length);
            assert_eq!(Quoted::new(&format!("{before}\"")), None, "{length}");
            assert_eq!(Quoted::new(&format!("{before}\\\\\"y")), None, "{length}");
            assert!(Quoted::new(&format!("{before}\\\"y")).is_some(), "{length}");
            assert!(Quoted::new(&format!("{before}\\\\\\\"")).is_some(), "{length}");
        }
    }

    #[test]
    fn escapes_that_json_does_not_know_are_replaced() {
        for (inside, text) in [
            (r"C:\qux", "C:\u{FFFD}ux"),
            (r"\u12", "\u{FFFD}12"),
            ("a\\", "a"),
            ("\\", ""),
            (r"\u00g0", "\u{FFFD}00g0"),
            ("\\é", "\u{FFFD}"),
            (r"\ud83d\ude00 \ud83d x", "\u{1F600} \u{FFFD} x"),
        ] {
            assert_eq!(quoted(inside).into_string(), text, "{inside}");
            assert_eq!(written(&quoted(inside)), serde_json::to_string(text).expect("a string"), "{inside}");
            assert_eq!(quoted(inside).is_empty(), text.is_empty(), "{inside}");
        }
    }

    #[test]
    fn only_what_serde_json_would_write_passes_as_it_is() {
        for byte in 0..=0xffu16 {
            for digits in [format!("{byte:04x}"), format!("{byte:04X}")] {
                let inside = format!("\\u{digits}");
                let text = char::from_u32(byte.into()).expect("a character").to_string();
                assert_eq!(written(&quoted(&inside)), serde_json::to_string(&text).expect("a string"), "{inside}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_serde_json_quotes_comes_back(text in "\\PC*|[\\x00-\\x7f]*|[a\"\\\\\\n\u{80}é\u{1f}\u{20}\u{7f}]{0,80}") {
            let json = serde_json::to_string(&text).expect("a string");
            let quoted = quoted(&json[1..json.len() - 1]);
            prop_assert_eq!(&written(&quoted), &json);
            prop_assert_eq!(&written(&Text::Plain(text.as_str().into())), &json);
            prop_assert_eq!(quoted.is_empty(), text.is_empty());
            let mut more = "before ".to_owned();
            quoted.push_to(&mut more);
            prop_assert_eq!(more, format!("before {text}"));
            prop_assert_eq!(quoted.into_string(), text);
        }

        #[test]
        fn any_inside_is_written_as_the_text_that_it_is(inside in r#"([a-z]|\\[nrtbfu/"\\q]|\\u00[01][0-9a-fA-F]|[\x00-\x1f]|é){0,40}"#) {
            let text = quoted(&inside).into_string();
            prop_assert_eq!(written(&quoted(&inside)), serde_json::to_string(&text).expect("a string"));
        }

        #[test]
        fn a_bare_quote_is_found_among_backslashes(inside in r#"(\\{0,3}|[ab\\]{0,70})"?([a\\]{0,70}\\"){0,3}"?\\{0,70}"#) {
            let mut escaped = false;
            let bare = inside.bytes().any(|byte| {
                let bare = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                bare
            });
            prop_assert_eq!(Quoted::new(&inside).is_none(), bare);
        }

        #[test]
        fn every_byte_that_must_be_escaped_is_found(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
            let plain: Vec<usize> = (0..bytes.len()).filter(|at| special(bytes[*at])).collect();
            prop_assert_eq!(specials(&bytes).collect::<Vec<_>>(), plain);
        }
    }
}

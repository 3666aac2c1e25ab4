//! Escaping and unescaping JSON strings.

use crate::scan;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The inside of a JSON string, unescaped. An invalid escape becomes U+FFFD.
pub fn unescape(inside: &str) -> Cow<'_, str> {
    if !scan::contains(inside.as_bytes(), b'\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            break;
        };
        rest = &rest[kind.len_utf8()..];
        match kind {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => text.push(unescape_unicode(&mut rest)),
            '"' | '\\' | '/' => text.push(kind),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn unescape_unicode(rest: &mut &str) -> char {
    let Some(high) = hex4(rest) else {
        return char::REPLACEMENT_CHARACTER;
    };
    *rest = &rest[4..];
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    match rest.strip_prefix("\\u").and_then(hex4) {
        Some(low) if (0xDC00..0xE000).contains(&low) => {
            *rest = &rest[6..];
            char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::REPLACEMENT_CHARACTER,
    }
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// A text as a JSON string, with its quotes.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quote_into(&mut quoted, text);
    quoted
}

pub(super) fn quote_into(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

//! The forms in which a secret appears: as it is, in a JSON string of any common writer, in JSON inside JSON, and
//! percent-encoded, as in a URL.
//!
//! Writers of JSON differ in what they escape beyond what they must. Most secrets contain nothing that anybody escapes,
//! and have one form.

use std::fmt::Write as _;

/// How many times JSON may be inside of JSON.
const LEVELS: usize = 3;

/// What a writer of JSON escapes beyond quotes, backslashes and control characters.
#[derive(Clone, Copy)]
struct Writer {
    /// These, as `\u0026`.
    characters: &'static str,
    /// Everything that is not ASCII, as `\u00e9`.
    not_ascii: bool,
    /// A slash, as `\/`.
    slash: bool,
    /// The digits of `\u002B` are upper case.
    upper: bool,
}

/// `serde_json`, JavaScript, and most others.
const USUAL: Writer = Writer { characters: "", not_ascii: false, slash: false, upper: false };

/// The others.
const UNUSUAL: [Writer; 6] = [
    // Go.
    Writer { characters: "<>&\u{2028}\u{2029}", ..USUAL },
    // Gson.
    Writer { characters: "<>&='\u{2028}\u{2029}", ..USUAL },
    // Python.
    Writer { not_ascii: true, ..USUAL },
    // PHP, with its two ways to write other characters.
    Writer { not_ascii: true, slash: true, ..USUAL },
    Writer { slash: true, ..USUAL },
    // .NET.
    Writer { characters: "\"<>&'+`\u{7f}", not_ascii: true, slash: false, upper: true },
];

/// What percent-encodings leave as it is, beside letters, digits and `-._~`: `quote` of Python, `encodeURIComponent` of
/// JavaScript, and the strict one.
const UNENCODED: [&str; 3] = ["/", "!'()*", ""];

/// One way to write a text.
#[derive(Clone)]
pub(super) enum Encoding {
    /// In JSON strings, the innermost first. None at all is the text itself.
    Json(Vec<JsonWriter>),
    /// In a URL, except for these characters.
    Percent(&'static str),
}

/// A writer of JSON, by what it escapes.
#[derive(Clone, Copy)]
pub(super) struct JsonWriter(Writer);

impl Encoding {
    /// All of them, the text itself first. In JSON inside JSON one of the writers may be an unusual one: the innermost or
    /// the outermost.
    pub(super) fn all() -> Vec<Encoding> {
        let usual = JsonWriter(USUAL);
        let mut all = vec![Encoding::Json(vec![])];
        for level in 1..=LEVELS {
            let around = vec![usual; level - 1];
            all.push(Encoding::Json(vec![usual; level]));
            for unusual in UNUSUAL.map(JsonWriter) {
                all.push(Encoding::Json([&[unusual], &around[..]].concat()));
                all.push(Encoding::Json([&around[..], &[unusual]].concat()));
            }
        }
        all.extend(UNENCODED.map(Encoding::Percent));
        all
    }

    /// A text in this form. Each character is written by itself, so that the form of a part is a part of the form.
    pub(super) fn write(&self, text: &str) -> String {
        match self {
            Encoding::Json(writers) => writers.iter().fold(text.to_owned(), |text, writer| writer.0.escape(&text)),
            Encoding::Percent(unencoded) => percent_encode(text, unencoded),
        }
    }
}

impl Writer {
    fn escape(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            let code = self.characters.contains(character) || (self.not_ascii && !character.is_ascii());
            match character {
                _ if code => self.push_code(character, &mut out),
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '/' if self.slash => out.push_str("\\/"),
                '\u{8}' => out.push_str("\\b"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\u{c}' => out.push_str("\\f"),
                '\r' => out.push_str("\\r"),
                '\0'..'\u{20}' => self.push_code(character, &mut out),
                _ => out.push(character),
            }
        }
        out
    }

    fn push_code(&self, character: char, out: &mut String) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let written = if self.upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
            written.expect("a String takes everything");
        }
    }
}

fn percent_encode(text: &str, unencoded: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_unreserved(byte) || unencoded.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String takes everything");
        }
    }
    out
}

/// What no form changes.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// The longest part that is the same in every form: where it starts and ends.
pub(super) fn anchor(text: &str) -> std::ops::Range<usize> {
    let mut longest = 0..0;
    let mut start = 0;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if !is_unreserved(byte) {
            if at - start > longest.len() {
                longest = start..at;
            }
            start = at + 1;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str) -> Vec<String> {
        let mut forms: Vec<String> = Encoding::all().iter().map(|encoding| encoding.write(text)).collect();
        forms.sort();
        forms.dedup();
        forms
    }

    #[test]
    fn a_secret_of_harmless_characters_has_one_form() {
        assert_eq!(forms("sk-ant_0123.abc~"), ["sk-ant_0123.abc~"]);
    }

    #[test]
    fn the_forms_are_what_the_writers_write() {
        let forms = forms("a\"é&+/=b");
        for form in [
            r#"a\"é&+/=b"#,
            r#"a\"é\u0026+/=b"#,
            r#"a\"é\u0026+/\u003db"#,
            r#"a\"\u00e9&+/=b"#,
            r#"a\"\u00e9&+\/=b"#,
            r"a\u0022\u00E9\u0026\u002B/=b",
            r#"a\\\"é&+/=b"#,
            r#"a\\\"é\\u0026+/=b"#,
            r#"a\\\"é\u0026+/=b"#,
            r#"a\\\\\\\"é&+/=b"#,
            "a%22%C3%A9%26%2B%2F%3Db",
            "a%22%C3%A9%26%2B/%3Db",
        ] {
            assert!(forms.iter().any(|one| one == form), "{form}: {forms:#?}");
        }
        assert!(forms.len() < 50, "{}", forms.len());
    }

    #[test]
    fn the_anchor_is_the_longest_part_that_no_form_changes() {
        for (text, expected) in [
            ("sk-ant", "sk-ant"),
            ("say \"friend\"", "friend"),
            ("/ab/cde/fg", "cde"),
            ("&&", ""),
            ("é&longest", "longest"),
        ] {
            assert_eq!(&text[anchor(text)], expected);
            for encoding in Encoding::all() {
                assert!(encoding.write(text).contains(expected));
            }
        }
    }
}

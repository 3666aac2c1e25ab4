//! Texts are compared with what `serde_json` reads and writes.

use super::*;
use proptest::prelude::*;

fn quoted(inside: &str) -> Text<'_> {
    Text::Quoted(Quoted::new(inside).expect("no unescaped quote"))
}

fn written(text: &Text<'_>) -> String {
    let mut out = Vec::new();
    text.write_json(&mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn an_unescaped_quote_is_found_at_any_position() {
    for length in [0, 1, 7, 14, 15, 16, 17, 31, 32, 61, 62, 63, 64, 65, 66, 127, 128, 200] {
        let before = "x".repeat(length);
        assert_eq!(Quoted::new(&format!("{before}\"")), None, "{length}");
        assert_eq!(Quoted::new(&format!("{before}\\\\\"y")), None, "{length}");
        assert!(Quoted::new(&format!("{before}\\\"y")).is_some(), "{length}");
        assert!(Quoted::new(&format!("{before}\\\\\\\"")).is_some(), "{length}");
    }
}

#[test]
fn invalid_escapes_are_replaced() {
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
fn only_what_serde_json_would_write_passes_unchanged() {
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
    fn a_string_quoted_by_serde_json_survives_a_round_trip(text in "\\PC*|[\\x00-\\x7f]*|[a\"\\\\\\n\u{80}é\u{1f}\u{20}\u{7f}]{0,80}") {
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
    fn any_inside_is_written_like_its_unescaped_text(inside in r#"([a-z]|\\[nrtbfu/"\\q]|\\u00[01][0-9a-fA-F]|[\x00-\x1f]|é){0,40}"#) {
        let text = quoted(&inside).into_string();
        prop_assert_eq!(written(&quoted(&inside)), serde_json::to_string(&text).expect("a string"));
    }

    #[test]
    fn an_unescaped_quote_is_found_among_backslashes(inside in r#"(\\{0,3}|[ab\\]{0,70})"?([a\\]{0,70}\\"){0,3}"?\\{0,70}"#) {
        let mut escaped = false;
        let found = inside.bytes().any(|byte| {
            let unescaped = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            unescaped
        });
        prop_assert_eq!(Quoted::new(&inside).is_none(), found);
    }

    #[test]
    fn every_byte_that_must_be_escaped_is_found(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
        let special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        let expected: Vec<usize> = (0..bytes.len()).filter(|at| special(bytes[*at])).collect();
        prop_assert_eq!(specials(&bytes).collect::<Vec<_>>(), expected);
    }
}

use super::*;
use proptest::prelude::*;
use serde_json::Value as Parsed;

#[test]
fn fields_are_found_whatever_surrounds_them() {
    let line = Json::parse(r#" {"a":{"type":"no","x":"}\""},"n":[1,{"type":"no"}] , "type" : "yes","t":"a\nb"} "#);
    let [kind, text, none] = line.pick(["type", "t", "absent"]).expect("an object");
    assert_eq!(kind.name(), Some("yes"));
    assert_eq!(text.str().as_deref(), Some("a\nb"));
    assert!(none.is_missing() && none.get("deeper").is_missing() && none.str().is_none());
    assert_eq!(line.at(&["a", "x"]).str().as_deref(), Some("}\""));
    assert_eq!(line.get("n").items().count(), 2);
}

#[test]
fn truncated_text_and_trailing_text_are_malformed() {
    for bad in [
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1}x",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":x}",
        "[1]",
        "x",
        "{a:1}",
        "{\"a\":tru}",
    ] {
        assert_eq!(Json::parse(bad).pick(["a"]).err(), Some(Malformed), "{bad}");
        let mut tape = Tape::new();
        let picked = Json::read(bad, 0, &mut tape).and_then(|(line, _)| line.pick(["a"]).ok());
        assert!(picked.is_none(), "{bad}");
    }
}

#[test]
fn a_value_of_the_chunk_gives_spans_and_any_other_gives_text() {
    let chunk = "{}\n  {\"t\":\"x\\ny\",\"o\":{\"k\":1}}\n";
    let mut tape = Tape::new();
    let (line, end) = Json::read(chunk, 5, &mut tape).expect("it is well formed");
    assert_eq!(end, chunk.len() - 1);
    let Some(Text::Quoted(span)) = line.get("t").text() else { panic!("a span") };
    assert_eq!(&chunk[span.start as usize..(span.start + span.length) as usize], "x\\ny");
    let Some(Text::Verbatim(span)) = line.get("o").verbatim() else { panic!("a span") };
    assert_eq!(&chunk[span.start as usize..(span.start + span.length) as usize], "{\"k\":1}");
    assert_eq!(Json::parse(line.raw()).get("t").text(), Some(Text::Inline("x\ny".into())));
}

/// A line goes onto a tape if it fits, other texts do not: both ways must agree.
fn line<'a>(chunk: &'a str, start: usize, end: usize, tape: &'a mut Tape) -> Json<'a> {
    let mut other = Tape::new();
    match Json::read(chunk, start, tape) {
        Some((line, line_end)) => {
            assert_eq!(line_end, end);
            line
        }
        None => Json::whole(chunk, start, end, &mut other).expect("it is well formed"),
    }
}

#[test]
fn an_unclosed_value_does_not_continue_on_the_next_line() {
    for bad in [r#"{"a":"x"#, r#"{"a":{"b":1"#, r#"{"a"#, r#"{"a":[1,"#, r#"{"a":1"#, r#"{"a":"x","b"#] {
        let chunk = format!("{bad}\n\"y\":1}}}}]\",\"a\":1}}\n");
        assert!(Json::read(&chunk, 0, &mut Tape::new()).is_none(), "{bad}");
        assert_eq!(Json::whole(&chunk, 0, bad.len(), &mut Tape::new()).err(), Some(Malformed), "{bad}");
    }
}

#[test]
fn lone_surrogates_and_bad_escapes_are_replaced() {
    assert_eq!(unescape(r"\ud83d\ude00"), "\u{1F600}");
    assert_eq!(unescape(r"a\ud83dz"), "a\u{FFFD}z");
    assert_eq!(unescape(r"\ud83d\u0041"), "\u{FFFD}A");
    assert_eq!(unescape(r"\q\u12"), "\u{FFFD}\u{FFFD}12");
    assert_eq!(unescape("\\u+123"), "\u{FFFD}+123");
}

#[test]
fn numbers() {
    assert_eq!(Json::parse("12").u64(), Some(12));
    assert_eq!(Json::parse("12.0").u64(), Some(12));
    assert_eq!(Json::parse("12.5").u64(), None);
    assert_eq!(Json::parse("-1").u64(), None);
    assert_eq!(Json::parse("NaN").f64(), None);
    assert_eq!(Json::parse("0.0123456").micros(), Some(12346));
}

#[test]
fn objects_are_written() {
    let json = Object::new().str("a", "x\"\n\u{1}").number("n", 3).bool("b", true).object("o", Object::new());
    assert_eq!(json.finish(), r#"{"a":"x\"\n\u0001","n":3,"b":true,"o":{}}"#);
}

fn any_json() -> impl Strategy<Value = Parsed> {
    let leaf = prop_oneof![
        Just(Parsed::Null),
        any::<bool>().prop_map(Parsed::from),
        any::<i64>().prop_map(Parsed::from),
        "\\PC*|[\\x00-\\x7f]*".prop_map(Parsed::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Parsed::from),
            prop::collection::hash_map("[a-z]{1,3}", inner, 0..6)
                .prop_map(|map| Parsed::Object(map.into_iter().collect())),
        ]
    })
}

/// The scanner reads every value as `serde_json` does.
fn agrees(scanned: Json<'_>, value: &Parsed) {
    match value {
        Parsed::Null => assert!(scanned.is_null()),
        Parsed::Bool(value) => assert_eq!(scanned.bool(), Some(*value)),
        Parsed::Number(value) => assert_eq!(scanned.raw(), value.to_string()),
        Parsed::String(value) => assert_eq!(scanned.str().as_deref(), Some(value.as_str())),
        Parsed::Array(items) => {
            assert_eq!(scanned.items().count(), items.len());
            scanned.items().zip(items).for_each(|(scanned, value)| agrees(scanned, value));
        }
        Parsed::Object(fields) => {
            assert_eq!(scanned.fields().count(), fields.len());
            fields.iter().for_each(|(key, value)| agrees(scanned.get(key), value));
        }
    }
}

proptest! {
    #[test]
    fn the_scanner_agrees_with_serde_json(value in any_json()) {
        agrees(Json::parse(&value.to_string()), &value);
        agrees(Json::parse(&serde_json::to_string_pretty(&value).expect("a value")), &value);
        // With other lines around it, and long enough not to fit on a tape.
        let text = value.to_string();
        let chunk = format!("{{\"x\":\"\n{text}\n\"}}]");
        agrees(line(&chunk, 7, 7 + text.len(), &mut Tape::new()), &value);
        let many = Parsed::from(vec![value; 40]);
        let text = many.to_string();
        agrees(line(&text, 0, text.len(), &mut Tape::new()), &many);
    }

    #[test]
    fn keys_with_the_same_beginning_are_distinguished(keys in prop::collection::vec("aaaaaa[ab]{0,14}", 1..8), other in "aaaaaa[ab]{0,14}") {
        let fields: Vec<String> = keys.iter().enumerate().map(|(number, key)| format!("\"{key}\":{number}")).collect();
        let text = format!("{{{}}}", fields.join(","));
        let mut tape = Tape::new();
        let line = line(&text, 0, text.len(), &mut tape);
        for key in keys.iter().chain([&other]) {
            let last = keys.iter().rposition(|found| found == key).map(|number| number as u64);
            prop_assert_eq!(line.get(key).u64(), last, "{} in {}", key, text);
        }
    }

    #[test]
    fn a_line_is_malformed_exactly_when_serde_json_says_so(text in "[{}\\[\\]\",:1a ]{0,24}") {
        let trimmed = text.trim();
        let mut tape = Tape::new();
        let read = Json::read(trimmed, 0, &mut tape);
        prop_assert_eq!(read.is_some(), serde_json::from_str::<Parsed>(trimmed).is_ok(), "{}", trimmed);
    }

    #[test]
    fn nothing_makes_the_scanner_panic(text in "\\PC*|[{}\\[\\]\",:\\\\ua0-9 ]*") {
        let json = Json::parse(&text);
        let _ = (json.pick(["a"]), json.str(), json.f64(), json.items().count(), json.fields().count());
        for start in (0..=text.len()).filter(|start| text.is_char_boundary(*start)) {
            let mut tape = Tape::new();
            let _ = Json::read(&text, start, &mut tape).map(|(line, _)| line.pick(["a"]).is_ok());
            let _ = Json::whole(&text, start, text.len(), &mut tape).map(|line| line.pick(["a"]).is_ok());
        }
    }

    #[test]
    fn quoting_is_undone_by_serde_json(text in "\\PC*|[\\x00-\\x7f]*") {
        prop_assert_eq!(serde_json::from_str::<String>(&quote(&text)).expect("a string"), text);
    }
}

/// On the tape, too deep for it, and not on any tape.
#[test]
fn select_finds_what_pick_finds() {
    let deep = format!("{}{{\"a\":1,\"b\":\"x\",\"a\":2}}{}", "[".repeat(40), "]".repeat(40));
    for text in [r#"{"a":1,"b":{"c":[2]},"a":3}"#, r#"{"longer than fifteen bytes":1,"b":2}"#, "{}", "[1]", "7", &deep]
    {
        let mut tape = Tape::new();
        let (mut value, _) = Json::read(text, 0, &mut tape).expect("a value");
        for value in [Json::parse(text), value, {
            while let Some(item) = value.items().next() {
                value = item;
            }
            value
        }] {
            let keys = ["a", "missing", "b", "longer than fifteen bytes"];
            let raw =
                |found: Result<[Json<'_>; 4], Malformed>| found.map(|found| found.map(|value| value.raw().to_owned()));
            assert_eq!(raw(value.select(keys)), raw(value.pick(keys)), "{text}");
        }
    }
}

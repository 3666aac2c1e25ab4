//! Every event, with hostile text in every text that it has, as it is shown to a person. The events are made from their
//! JSON Schema, so that a new event or a new field is covered without a change here.

use super::text::{BAD, BOLD, DIM, GOOD, ODD, TOOL};
use super::visible::{is_hidden, steers};
use super::{Shell, View};
use serde_json::{Map, Value, json};
use wharf::event::{Event, EventKind};

/// What an agent may write to control the terminal, to hide something, and to look like a question of ours.
const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{1b}[2K\r\u{9b}31m\u{202e}\u{200b}\u{feff}\u{e0041}\u{2028}\u{7f}\u{8}\n\
    ? May I read README.md?\n  y = yes, n = no\r\n";

/// The line that it wants to forge.
const FORGED: &str = "? May I read README.md?";

/// How many values are made of each schema: at least as many as an enum has.
const VARIANTS: usize = 24;

/// A value of a schema. `variant` chooses among alternatives, and whether what may be missing is missing.
fn sample(schema: &Value, definitions: &Value, variant: usize) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return sample(&definitions[name], definitions, variant);
    }
    // A reference with a description.
    if let Some(only) = schema["allOf"].as_array().and_then(|all| all.first()) {
        return sample(only, definitions, variant);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let choice = |list: &Vec<Value>| list[variant % list.len()].clone();
    if let Some(values) = schema["enum"].as_array() {
        return choice(values);
    }
    // A number that has no divisor in common with those of most enums, so that all values occur with all texts.
    let missing = variant % 5 == 4;
    if let Some(schemas) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let (nothing, schemas): (Vec<_>, Vec<_>) = schemas.iter().cloned().partition(|schema| schema["type"] == "null");
        return if missing && !nothing.is_empty() {
            Value::Null
        } else {
            sample(&choice(&schemas), definitions, variant)
        };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        // Anything.
        _ => return json!({ HOSTILE: [HOSTILE] }),
    };
    if types.contains(&"null") && missing {
        return Value::Null;
    }
    // Only times have a pattern.
    let is_time = schema["pattern"].is_string();
    match types[0] {
        "string" if is_time => json!("2026-01-01T00:00:00Z"),
        "string" => json!(HOSTILE),
        "boolean" => json!(variant.is_multiple_of(2)),
        "array" => json!([sample(&schema["items"], definitions, variant)]),
        "object" => {
            let known = schema["properties"].as_object().cloned().unwrap_or_default();
            let mut object: Map<String, Value> =
                known.iter().map(|(name, field)| (name.clone(), sample(field, definitions, variant))).collect();
            match &schema["additionalProperties"] {
                Value::Object(more) => {
                    object.insert(HOSTILE.to_owned(), sample(&Value::Object(more.clone()), definitions, variant));
                }
                _ if known.is_empty() => drop(object.insert(HOSTILE.to_owned(), json!(HOSTILE))),
                _ => {}
            }
            Value::Object(object)
        }
        _ => json!(7),
    }
}

/// Every event, in many variants.
fn events() -> Vec<Event> {
    let schema = wharf::event::schema();
    let kinds = schema["oneOf"].as_array().expect("the kinds of events");
    let parsed = kinds.iter().flat_map(|kind| {
        (0..VARIANTS).map(|variant| {
            let value = sample(kind, &schema["$defs"], variant);
            serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
        })
    });
    parsed.collect()
}

/// What is printed of an event by itself, without our own styles.
fn shown(event: &Event, verbose: bool, terminal: bool) -> String {
    let shell = Shell::capturing(verbose, terminal);
    let mut view = View::new(&shell);
    match &event.kind {
        EventKind::Report(report) => view.report(report),
        kind => view.show(kind),
    }
    view.end_line();
    let mut text = shell.take();
    for style in [BAD, BOLD, DIM, GOOD, ODD, TOOL] {
        for sequence in [style.render().to_string(), style.render_reset().to_string()] {
            text = text.replace(&sequence, "");
        }
    }
    text
}

/// Whether this event is the agent's own text, which goes to stdout with its newlines.
fn is_text(event: &Event) -> bool {
    matches!(event.kind, EventKind::TextDelta(_) | EventKind::Message(_))
}

#[test]
fn no_text_of_any_event_controls_the_terminal() {
    let mut kinds_shown = std::collections::BTreeSet::new();
    for event in events() {
        for verbose in [false, true] {
            let text = shown(&event, verbose, true);
            let found = text.chars().find(|character| is_hidden(*character) && *character != '\n');
            assert_eq!(found, None, "{event:?}: {text:?}");
            assert!(is_text(&event) || text.lines().all(|line| !line.starts_with(FORGED)), "{event:?}: {text}");
            if text.contains("\\u{1b}[2K") {
                kinds_shown.insert(serde_json::to_value(&event).expect("plain data")["type"].to_string());
            }
        }
    }
    assert!(kinds_shown.len() > 10, "hardly any event was shown: {kinds_shown:?}");
}

#[test]
fn no_text_of_any_event_controls_the_terminal_that_a_pipe_ends_at() {
    for event in events() {
        let text = shown(&event, true, false);
        let found = text.chars().find(|character| steers(*character) && !matches!(character, '\n' | '\r'));
        assert_eq!(found, None, "{event:?}: {text:?}");
        assert!(!text.replace("\r\n", "").contains('\r'), "{event:?}: {text:?}");
    }
}

#[test]
fn json_on_a_terminal_does_not_control_it() {
    let shell = Shell::capturing(false, true);
    for event in events() {
        let line = serde_json::to_vec(&event).expect("plain data");
        shell.json_lines(&line);
        let text = shell.take();
        assert!(!text.contains(is_hidden), "{text:?}");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("the same JSON"), event);
    }
}

#[test]
fn bytes_of_an_agent_on_a_terminal_do_not_control_it() {
    let shell = Shell::capturing(false, true);
    shell.bytes(b"a\x1b[2K\xff\x9b\n\tb\n").expect("printed");
    assert_eq!(shell.take(), "a\\u{1b}[2K\u{fffd}\u{fffd}\n\tb\n");
    let shell = Shell::capturing(false, false);
    shell.bytes(b"a\x1b[2K\n").expect("printed");
    assert_eq!(shell.take(), "a\u{1b}[2K\n", "a program gets them unchanged");
}

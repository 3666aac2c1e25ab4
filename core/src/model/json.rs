//! JSON from outside: of an agent, an adapter, a model, a project, or a file that one of them may have written.
//!
//! `serde_json` gives two keys a meaning of their own if a feature is on, and any crate of a build may turn it on: with
//! `raw_value`, the text below such a key is parsed again, so that the agent's text changes and the limit of depth does
//! not hold. Therefore every [`Value`] from outside is built here: all keys are plain, and the depth is limited.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;

/// How deep the arrays and objects of a value from outside may be nested. Less than `serde_json` reads (127): what an
/// event or a record puts around a value must fit too, so that everything that is written can be read again.
pub const DEPTH_LIMIT: usize = 100;

/// What `serde_json` itself reads. Values in files are held to that only: they were checked before they were written.
const READER_LIMIT: usize = 127;

/// Parses JSON from outside. A value that is nested deeper than [`DEPTH_LIMIT`] is an error.
pub fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Nested(DEPTH_LIMIT).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// JSON text from an adapter: parsed, or kept as a string if it does not parse, so that nothing is lost.
pub fn json_or_text(text: String) -> Value {
    parse_json(&text).unwrap_or(Value::String(text))
}

/// Whether a value is nested deeper than [`DEPTH_LIMIT`].
pub fn is_too_deep(value: &Value) -> bool {
    fn exceeds(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left == 0 || items.iter().any(|item| exceeds(item, left - 1)),
            Value::Object(fields) => left == 0 || fields.values().any(|field| exceeds(field, left - 1)),
            _ => false,
        }
    }
    exceeds(value, DEPTH_LIMIT)
}

/// For a field: any value.
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Nested(READER_LIMIT).deserialize(deserializer)
}

/// For a field: any value; null is none.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    value(deserializer).map(|value| Some(value).filter(|value| !value.is_null()))
}

/// For a field: values by name.
pub(crate) fn by_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    match value(deserializer)? {
        Value::Object(fields) => Ok(fields.into_iter().collect()),
        other => Err(D::Error::custom(format!("expected an object, found {other}"))),
    }
}

/// Builds a value whose arrays and objects are nested at most this deep.
struct Nested(usize);

impl Nested {
    fn inner<E: serde::de::Error>(&self) -> Result<Nested, E> {
        self.0.checked_sub(1).map(Nested).ok_or_else(|| E::custom("it is nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.inner::<A::Error>()?.0;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Nested(depth))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.inner::<A::Error>()?.0;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            object.insert(name, fields.next_value_seed(Nested(depth))?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Event, EventKind, Turn};
    use serde_json::json;
    use std::time::Duration;

    const RAW: &str = "$serde_json::private::RawValue";
    const NUMBER: &str = "$serde_json::private::Number";

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn values_are_what_serde_json_reads() {
        for text in [
            "null",
            "true",
            "-7",
            "18446744073709551615",
            "1e400",
            "0.1",
            "-0.0",
            r#""é\ud83d\ude00\n""#,
            r#"{"b":[1,2.5,{}],"a":null,"b":"again"}"#,
            " [ ] ",
        ] {
            let expected: Option<Value> = serde_json::from_str(text).ok();
            assert_eq!(parse_json(text).ok(), expected, "{text}");
        }
        for text in ["", "{", "[1,]", "1 2", "nul", "\"\u{1}\""] {
            assert!(parse_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_keys_of_serde_json_are_plain_and_the_text_of_an_agent_is_not_changed() {
        for key in [RAW, NUMBER] {
            for inner in ["[1]", "{", "1", &nested(2400)] {
                let text = json!({ key: inner }).to_string();
                assert_eq!(parse_json(&text).expect("JSON")[key], *inner, "{key}");
                assert_eq!(json_or_text(text.clone()).to_string(), text);
            }
        }
    }

    /// A crate of the workspace that turns the feature on turns it on for wharf.
    #[test]
    fn the_feature_raw_value_is_off() {
        let text = json!({ RAW: "[1]" }).to_string();
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON").to_string(), text);
    }

    #[test]
    fn depth_is_counted_over_all_and_what_is_too_deep_stays_a_text() {
        let inside = nested(60);
        let mut bomb = inside.clone();
        for _ in 0..40 {
            bomb = json!({ RAW: bomb }).to_string();
            if bomb.len() > 1 << 20 {
                break;
            }
        }
        assert_eq!(json_or_text(bomb.clone()).to_string(), bomb, "one object with a string in it");
        assert!(parse_json(&nested(DEPTH_LIMIT)).is_ok_and(|value| !is_too_deep(&value)));
        assert!(parse_json(&nested(DEPTH_LIMIT + 1)).is_err());
        assert!(is_too_deep(&json!({ "a": parse_json(&nested(DEPTH_LIMIT)).expect("JSON") })));
        for deep in [nested(DEPTH_LIMIT + 1), nested(8 << 20), "[".repeat(16 << 20), "{\"a\":".repeat(3 << 20)] {
            assert_eq!(json_or_text(deep.clone()), Value::String(deep));
        }
    }

    #[test]
    fn every_event_that_is_written_can_be_read_again() {
        let deep = format!("{{\"{RAW}\":{}}}", nested(DEPTH_LIMIT - 1));
        for text in [deep, json!({ RAW: nested(300) }).to_string(), json!({ RAW: "{" }).to_string(), nested(500)] {
            let mut call = crate::model::ToolCall::new("t", crate::model::ToolStatus::Running);
            call.input = Some(json_or_text(text.clone()));
            let mut end = crate::model::TurnEnd::new(crate::model::Outcome::Completed);
            end.structured_output = Some(json_or_text(text.clone()));
            let mut ask = crate::model::Ask::new("a", crate::model::AskKind::Permission, "?");
            ask.detail = json_or_text(text.clone());
            let mut report = crate::model::Report::new(crate::model::Outcome::Completed);
            report.structured_output = Some(json_or_text(text.clone()));
            for kind in [
                EventKind::Tool(call),
                EventKind::TurnEnded(end),
                EventKind::Ask(ask),
                EventKind::Report(Box::new(report)),
                EventKind::Other { name: "plan".into(), payload: json_or_text(text.clone()) },
                EventKind::Other { name: "x".into(), payload: json_or_text(text.clone()) },
            ] {
                let event = Event { seq: 1, at: Duration::ZERO, kind };
                let line = serde_json::to_string(&event).expect("plain data");
                assert_eq!(serde_json::from_str::<Event>(&line).expect("an event"), event);
                assert!(serde_json::from_str::<Value>(&line).is_ok(), "any reader of JSON can read it");
                // As a recording has it.
                let note = json!({ "event": event }).to_string();
                assert!(serde_json::from_str::<Value>(&note).is_ok());
            }
        }
    }

    #[test]
    fn a_setting_that_is_nested_too_deeply_is_refused() {
        let deep = json!({ "a": parse_json(&nested(DEPTH_LIMIT)).expect("JSON") });
        let mut turn = Turn::new("hello");
        turn.output_schema = Some(deep.clone());
        let mut servers = Turn::new("hello");
        servers.mcp_servers = Some(deep);
        for (turn, name) in [(turn, "output_schema"), (servers, "mcp_servers")] {
            let error = turn.complete("echo", &[], String::new).expect_err("refused");
            assert!(error.message.contains(name) && error.message.contains("nested"), "{error}");
        }
    }
}

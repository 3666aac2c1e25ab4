//! Whether two loops wrote the same events. They must, before it makes sense to compare what they cost.

use crate::{Result, error};
use serde_json::{Map, Value};

/// The events in a loop's output, without what differs from run to run: times, and what only wharf knows.
///
/// The report is left out, because only wharf writes one. Of the first event only its type is left.
pub fn comparable(output: &str) -> Result<Vec<Value>> {
    let mut events = Vec::new();
    for (number, line) in (1..).zip(output.lines()) {
        let mut event: Map<String, Value> = serde_json::from_str(line).map_err(|cause| {
            let head: String = line.chars().take(80).collect();
            error(format!("`{head}` is not an event: {cause}"))
        })?;
        if event.remove("at").is_none_or(|at| !at.is_u64()) {
            return Err(error(format!("an event without its time: {event:?}")));
        }
        let seq = event.remove("seq").and_then(|seq| seq.as_u64());
        if seq != Some(number) {
            return Err(error(format!("event {number} has the number {seq:?}")));
        }
        match event.get("type").and_then(Value::as_str) {
            // Only wharf says what it does not set.
            Some("report" | "notice") => continue,
            Some("run-started") => event.retain(|name, _| name == "type"),
            // wharf chooses the id of a new session, and asks the program for its version.
            Some("session") => event.retain(|name, _| !matches!(name.as_str(), "id" | "agent_version")),
            Some("tool") => {
                let ended = event.remove("duration_ms").is_some_and(|duration| duration.is_u64());
                event.insert("has_duration".to_owned(), ended.into());
            }
            _ => {}
        }
        events.push(normal(Value::Object(event)));
    }
    Ok(events)
}

/// With every number as a float: in JavaScript `1` and `1.0` are the same.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, normal(value))).collect(),
        other => other,
    }
}

/// The first difference between the events of two loops, for people.
pub fn difference(one: (&str, &[Value]), other: (&str, &[Value])) -> Option<String> {
    let length = one.1.len().max(other.1.len());
    let index = (0..length).find(|index| one.1.get(*index) != other.1.get(*index))?;
    let show = |(name, events): (&str, &[Value])| {
        let event = events.get(index).map_or_else(|| "no event".to_owned(), Value::to_string);
        let head: String = event.chars().take(300).collect();
        format!("{name}: {head}")
    };
    Some(format!("event {}: {}; {}", index + 1, show(one), show(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_events_at_other_times_are_equal() {
        let wharf = concat!(
            r#"{"seq":1,"at":9,"type":"run-started","run":"20261118T060246-4a49fd47"}"#,
            "\n",
            r#"{"seq":2,"at":9,"type":"session","id":"new","model":"m","agent_version":"1.0.102"}"#,
            "\n",
            r#"{"seq":3,"at":10,"type":"tool","id":"t","duration_ms":1,"units":{"x":1.0}}"#,
            "\n",
            r#"{"seq":4,"at":11,"type":"report","outcome":"completed"}"#,
            "\n",
        );
        let node = concat!(
            r#"{"seq":1,"at":0,"type":"run-started"}"#,
            "\n",
            r#"{"seq":2,"at":1,"type":"session","id":null,"model":"m","agent_version":null}"#,
            "\n",
            r#"{"seq":3,"at":1,"type":"tool","id":"t","duration_ms":0,"units":{"x":1}}"#,
            "\n",
        );
        let (wharf, node) = (comparable(wharf).expect("events"), comparable(node).expect("events"));
        assert_eq!(difference(("wharf", &wharf), ("node", &node)), None);
        assert_eq!(wharf.len(), 3);
    }

    #[test]
    fn the_first_difference_is_named() {
        let first = r#"{"seq":1,"at":0,"type":"message","text":"a"}"#;
        for (other, expected) in [
            (r#"{"seq":1,"at":0,"type":"message","text":"b"}"#, r#""text":"b""#),
            (r#"{"seq":1,"at":0,"type":"tool","duration_ms":null}"#, r#""has_duration":false"#),
            ("", "no event"),
        ] {
            let (one, other) = (comparable(first).expect("events"), comparable(other).expect("events"));
            let text = difference(("wharf", &one), ("node", &other)).expect("they differ");
            assert!(text.starts_with("event 1: wharf: {") && text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_not_an_event_is_an_error() {
        for (line, part) in [
            ("hello\n", "`hello`"),
            (r#"{"seq":1,"type":"message"}"#, "without its time"),
            (r#"{"seq":2,"at":0,"type":"message"}"#, "event 1 has the number Some(2)"),
        ] {
            assert!(comparable(line).expect_err(line).to_string().contains(part), "{line}");
        }
    }
}

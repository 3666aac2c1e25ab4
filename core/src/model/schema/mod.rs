//! JSON Schemas of what wharf prints and reads, in a form that code generators turn into named, complete types.
//!
//! A schema that is derived from a type is correct, but generators make little of it: they ignore `properties` beside a
//! `$ref`, number the variants of an enum, and do not know the formats of Rust's integers. [`names`] gives every variant
//! a name and all of its fields; [`plain`] removes what validators refuse and generators misread.

mod fields;
mod names;
mod plain;

use super::event::Event;
use fields::{take_fields, take_object};
use names::Names;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Which way JSON goes. It decides which fields are required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Wharf reads it: what has a default may be left out.
    In,
    /// Wharf writes it: every field is there, and unknown is null.
    Out,
}

/// What a schema is called, and what it describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaHead {
    /// The name in `wharf schema NAME`.
    pub name: &'static str,
    /// The name of the type that generators create.
    pub title: &'static str,
    /// A sentence for people.
    pub description: &'static str,
    /// Whether wharf reads or writes it.
    pub direction: Direction,
}

impl SchemaHead {
    /// The schema of a type.
    ///
    /// ```
    /// use wharf_core::model::{Direction, SchemaHead, Usage};
    ///
    /// let description = "What a turn used.";
    /// let head = SchemaHead { name: "usage", title: "WharfUsage", description, direction: Direction::Out };
    /// assert_eq!(head.schema_of::<Usage>()["title"], "WharfUsage");
    /// ```
    pub fn schema_of<T: JsonSchema>(&self) -> Value {
        let settings = SchemaSettings::draft2020_12();
        let settings = match self.direction {
            Direction::In => settings.for_deserialize(),
            Direction::Out => settings.for_serialize(),
        };
        let mut root = settings.into_generator().into_root_schema_for::<T>().to_value();
        let definitions = take_object(&mut root, "$defs");
        let mut names = Names::new(definitions);
        let mut body = names.complete(&T::schema_name(), root);
        let definitions = names.into_definitions();
        let head = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("https://wharf.dev/schema/{}-0.1.json", self.name),
            "title": self.title,
            "description": self.description,
        });
        let mut schema = Map::new();
        schema.extend(take_fields(head));
        body["$defs"] = Value::Object(definitions);
        for (name, value) in take_fields(body) {
            schema.entry(name).or_insert(value);
        }
        let mut schema = Value::Object(schema);
        plain::simplify(&mut schema);
        names::remove_unused(&mut schema);
        schema
    }
}

/// The schema of events.
pub const EVENT: SchemaHead = SchemaHead {
    name: "event",
    title: "WharfEvent",
    description: "One line of `wharf run --json`, of `show --json` and `replay --json`, and of a run's file of events.",
    direction: Direction::Out,
};

/// The JSON Schema of one line of `wharf run --json`.
pub fn schema() -> Value {
    EVENT.schema_of::<Event>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Answer, ModelList};

    fn visit(value: &Value, see: &mut impl FnMut(&Map<String, Value>)) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
            Value::Object(fields) => {
                see(fields);
                fields.values().for_each(|field| visit(field, see));
            }
            _ => {}
        }
    }

    fn head(direction: Direction) -> SchemaHead {
        SchemaHead { name: "x", title: "WharfX", description: "x", direction }
    }

    #[test]
    fn every_event_is_a_named_type_with_all_its_fields() {
        let schema = schema();
        let variants = schema["oneOf"].as_array().expect("the events");
        assert!(variants.len() > 20, "{}", variants.len());
        for variant in variants {
            let name = variant["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a reference");
            let definition = &schema["$defs"][name];
            assert_eq!(definition["title"], name);
            assert!(definition["description"].is_string(), "{name}");
            for field in ["seq", "at", "type"] {
                assert!(definition["properties"][field].is_object(), "{name} has no {field}");
                assert!(definition["required"].as_array().is_some_and(|all| all.contains(&json!(field))), "{name}");
            }
        }
        let report = &schema["$defs"]["ReportEvent"];
        assert!(report["properties"]["usage"].is_object() && report["properties"]["outcome"].is_object());
        // It is always there, and may be null.
        assert!(report["required"].as_array().is_some_and(|all| all.contains(&json!("usage"))), "{report}");
        assert_eq!(schema["$defs"]["RetryingEvent"]["properties"]["class"]["allOf"][0]["$ref"], "#/$defs/ErrorClass");
    }

    #[test]
    fn nothing_is_in_it_that_generators_drop_or_number_and_validators_refuse() {
        let schemas =
            [schema(), head(Direction::In).schema_of::<Answer>(), head(Direction::Out).schema_of::<ModelList>()];
        for schema in &schemas {
            visit(schema, &mut |fields| {
                if fields.get("$ref").is_some_and(Value::is_string) {
                    assert_eq!(fields.len(), 1, "{fields:?}");
                }
                assert!(!fields.get("format").is_some_and(Value::is_string), "{fields:?}");
                for kind in ["oneOf", "anyOf"] {
                    if let Some(variants) = fields.get(kind).and_then(Value::as_array) {
                        let named = |variant: &Value| variant["$ref"].is_string() || variant["type"] == "null";
                        assert!(variants.iter().all(named), "{fields:?}");
                    }
                }
            });
        }
    }

    #[test]
    fn what_is_read_may_be_left_out_if_it_has_a_default() {
        let read = head(Direction::In).schema_of::<Answer>();
        assert_eq!(read["required"], json!(["decision"]));
        let written = head(Direction::Out).schema_of::<Answer>();
        assert_eq!(
            written["required"],
            json!(["ask", "number", "decision", "text", "input", "fields", "value", "name"])
        );
    }

    #[test]
    fn a_decision_is_a_word_or_a_choice() {
        let schema = head(Direction::In).schema_of::<Answer>();
        let words = &schema["$defs"]["SimpleDecision"];
        assert_eq!(words["enum"], json!(["allow", "allow-always", "deny", "deny-and-stop"]), "{schema}");
        assert_eq!(schema["$defs"]["ChoiceDecision"]["required"], json!(["choice"]), "{schema}");
    }
}

//! The JSON Schema of what wharf prints, in a form that code generators turn into named, complete types.
//!
//! The schemas that are derived from the types are correct, but generators make little of them: they ignore
//! `properties` beside a `$ref`, number the variants of an enum, and do not know the formats of Rust's integers.

use super::event::Event;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The JSON Schema of one line of `--json`.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Event>().to_value();
    let mut definitions = take_object(&mut schema, "$defs");
    let shared = take_object(&mut schema, "properties");
    let shared_required = take_list(&mut schema, "required");
    let mut references = Vec::new();
    for variant in take_list(&mut schema, "oneOf") {
        let (name, definition) = event(variant, &definitions, &shared, &shared_required);
        references.push(json!({"$ref": format!("#/$defs/{name}")}));
        definitions.insert(name, definition);
    }
    let mut named = Map::new();
    for (name, mut definition) in definitions {
        named.extend(variants(&name, &mut definition));
        definition["title"] = json!(name);
        named.insert(name, definition);
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://wharf.dev/schema/event-0.1.json",
        "title": "WharfEvent",
        "description": "One line of `wharf run --json`.",
        "oneOf": references,
        "$defs": named,
    });
    simplify(&mut schema);
    remove_unused(&mut schema);
    schema
}

/// The name and the schema of one type of event, with everything that it contains in one object.
fn event(
    variant: Value,
    definitions: &Map<String, Value>,
    shared: &Map<String, Value>,
    shared_required: &[Value],
) -> (String, Value) {
    let mut variant = variant;
    let own = take_object(&mut variant, "properties");
    let own_required = take_list(&mut variant, "required");
    let kind = own.get("type").and_then(|kind| kind["const"].as_str()).unwrap_or_default();
    let name = format!("{}Event", pascal_case(kind));
    let content = variant["$ref"].as_str().and_then(|path| definitions.get(path.trim_start_matches("#/$defs/")));
    let mut properties = shared.clone();
    let mut required = shared_required.to_vec();
    properties.extend(own);
    required.extend(own_required);
    if let Some(content) = content {
        properties.extend(content["properties"].as_object().cloned().unwrap_or_default());
        required.extend(content["required"].as_array().cloned().unwrap_or_default());
    }
    let definition = json!({
        "description": variant["description"], "type": "object", "properties": properties, "required": required,
    });
    (name, definition)
}

/// Makes the variants of a definition, if they are objects, definitions themselves.
fn variants(name: &str, definition: &mut Value) -> Map<String, Value> {
    let mut named = Map::new();
    for variant in definition.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let mut fields = variant["properties"].as_object().into_iter().flatten();
        if let Some(kind) = fields.find_map(|(_, value)| value["const"].as_str()) {
            let name = format!("{name}{}", pascal_case(kind));
            variant["title"] = json!(name);
            let reference = json!({"$ref": format!("#/$defs/{name}")});
            named.insert(name, std::mem::replace(variant, reference));
        }
    }
    named
}

/// Removes the definitions whose content is now part of an event.
fn remove_unused(schema: &mut Value) {
    loop {
        let text = schema.to_string();
        let Some(definitions) = schema["$defs"].as_object_mut() else { return };
        let before = definitions.len();
        definitions.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
        if definitions.len() == before {
            return;
        }
    }
}

/// Changes what generators do not understand, everywhere below a value.
fn simplify(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(simplify);
    }
    let Some(fields) = value.as_object_mut() else { return };
    fields.values_mut().for_each(simplify);
    // A reference beside anything else is copied in place of the named type.
    if fields.contains_key("$ref") {
        fields.retain(|name, _| name == "$ref");
    }
    // Validators refuse formats that they do not know; `minimum` says the same of the unsigned ones.
    let number = ["uint", "int", "double", "float"];
    if fields
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| number.iter().any(|start| format.starts_with(start)))
    {
        fields.remove("format");
    }
    let constants = |variants: &Vec<Value>| -> Option<Vec<Value>> {
        variants.iter().map(|variant| variant.get("const").filter(|value| value.is_string()).cloned()).collect()
    };
    if let Some(constants) = fields.get("oneOf").and_then(Value::as_array).and_then(constants) {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(constants));
    }
}

fn take_object(schema: &mut Value, name: &str) -> Map<String, Value> {
    match schema.get_mut(name).map(Value::take) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn take_list(schema: &mut Value, name: &str) -> Vec<Value> {
    match schema.get_mut(name).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// `run-started` as `RunStarted`.
fn pascal_case(kebab: &str) -> String {
    let words = kebab.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn every_event_is_a_named_type_with_all_its_fields() {
        let schema = schema();
        let variants = schema["oneOf"].as_array().expect("the events");
        assert!(variants.len() > 20, "{}", variants.len());
        for variant in variants {
            let name = variant["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a reference");
            let definition = &schema["$defs"][name];
            assert_eq!(definition["title"], name);
            for field in ["seq", "at", "type"] {
                assert!(definition["properties"][field].is_object(), "{name} has no {field}");
                assert!(definition["required"].as_array().is_some_and(|all| all.contains(&json!(field))), "{name}");
            }
        }
        let report = &schema["$defs"]["ReportEvent"];
        assert!(report["properties"]["usage"].is_object() && report["properties"]["outcome"].is_object());
        // It is always there, and may be null.
        assert!(report["required"].as_array().is_some_and(|all| all.contains(&json!("usage"))), "{report}");
    }

    #[test]
    fn nothing_is_in_it_that_generators_drop_or_number() {
        visit(&schema(), &mut |fields| {
            if fields.get("$ref").is_some_and(Value::is_string) {
                assert_eq!(fields.len(), 1, "{fields:?}");
            }
            if let Some(format) = fields.get("format").and_then(Value::as_str) {
                assert!(!format.contains("int"), "{fields:?}");
            }
            if let Some(variants) = fields.get("oneOf").and_then(Value::as_array) {
                let named = |variant: &Value| variant["$ref"].is_string() || variant["title"].is_string();
                assert!(variants.iter().all(named), "{fields:?}");
            }
        });
    }
}

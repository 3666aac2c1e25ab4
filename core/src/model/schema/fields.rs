//! The fields of a schema, taken out of it. What is missing is empty.

use serde_json::{Map, Value};

pub(super) fn take_fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) fn take_object(schema: &mut Value, name: &str) -> Map<String, Value> {
    schema.as_object_mut().and_then(|fields| fields.remove(name)).map(take_fields).unwrap_or_default()
}

pub(super) fn take_list(schema: &mut Value, name: &str) -> Vec<Value> {
    match schema.as_object_mut().and_then(|fields| fields.remove(name)) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

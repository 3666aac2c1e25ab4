//! Gives the variants of enums names and all of their fields: `ReportEvent`, `NeverRetry`, `PresentLogin`.

use super::fields::{take_list, take_object};
use serde_json::{Map, Value, json};

/// The definitions of a schema, and those that were made of them.
pub(super) struct Names {
    source: Map<String, Value>,
    made: Map<String, Value>,
}

impl Names {
    pub(super) fn new(source: Map<String, Value>) -> Names {
        Names { source, made: Map::new() }
    }

    /// All definitions, completed and titled.
    pub(super) fn into_definitions(mut self) -> Map<String, Value> {
        for (name, definition) in self.source.clone() {
            let completed = self.complete(&name, definition);
            self.made.insert(name, completed);
        }
        for (name, definition) in &mut self.made {
            definition["title"] = json!(name);
        }
        self.made
    }

    /// A definition with named variants. Its own properties, which all variants share, become part of each.
    pub(super) fn complete(&mut self, name: &str, definition: Value) -> Value {
        let mut definition = definition;
        if is_nullable(&definition) {
            return definition;
        }
        for kind in ["oneOf", "anyOf"] {
            let variants = take_list(&mut definition, kind);
            if variants.is_empty() {
                continue;
            }
            if variants.iter().all(is_word) {
                return words(definition, &variants);
            }
            let shared = take_object(&mut definition, "properties");
            let required = take_list(&mut definition, "required");
            if !shared.is_empty() {
                definition.as_object_mut().map(|fields| fields.remove("type"));
            }
            let (simple, objects): (Vec<Value>, Vec<Value>) = variants.into_iter().partition(is_word);
            let mut references = Vec::new();
            if !simple.is_empty() {
                references.push(self.define(format!("Simple{name}"), words(json!({}), &simple)));
            }
            for variant in objects {
                // One of several types without a tag: a text, or a definition that has its name.
                if shared.is_empty() && variant.get("properties").is_none() {
                    references.push(variant);
                    continue;
                }
                let (tag, object) = self.object(variant, &shared, &required);
                references.push(self.define(format!("{}{name}", pascal_case(&tag)), object));
            }
            definition[kind] = Value::Array(references);
        }
        definition
    }

    /// Adds a definition, and returns a reference to it.
    fn define(&mut self, name: String, definition: Value) -> Value {
        let reference = json!({"$ref": format!("#/$defs/{name}")});
        self.made.insert(name, definition);
        reference
    }

    /// The tag of a variant, and the variant with the fields that it shares and those that it refers to.
    fn object(&self, variant: Value, shared: &Map<String, Value>, shared_required: &[Value]) -> (String, Value) {
        let mut variant = variant;
        let own = take_object(&mut variant, "properties");
        let own_required = take_list(&mut variant, "required");
        let constant = own.values().find_map(|value| value["const"].as_str());
        let tag = constant.or_else(|| own.keys().next().map(String::as_str)).unwrap_or_default().to_owned();
        let mut properties = shared.clone();
        let mut required = shared_required.to_vec();
        properties.extend(own);
        required.extend(own_required);
        let path = variant.as_object_mut().and_then(|fields| fields.remove("$ref"));
        let path = path.as_ref().and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        if let Some(content) = path.and_then(|name| self.source.get(name)) {
            properties.extend(content["properties"].as_object().cloned().unwrap_or_default());
            required.extend(content["required"].as_array().cloned().unwrap_or_default());
        }
        variant["type"] = json!("object");
        variant["properties"] = Value::Object(properties);
        variant["required"] = Value::Array(required);
        (tag, variant)
    }
}

/// Whether it is another type or null, which generators understand.
fn is_nullable(definition: &Value) -> bool {
    definition["anyOf"].as_array().is_some_and(|variants| variants.iter().any(|variant| variant["type"] == "null"))
}

fn is_word(variant: &Value) -> bool {
    variant["const"].is_string() || (variant["type"] == "string" && variant["enum"].is_array())
}

/// Words as one list.
fn words(definition: Value, variants: &[Value]) -> Value {
    let mut definition = definition;
    let all = variants.iter().flat_map(|variant| match variant["enum"].as_array() {
        Some(words) => words.clone(),
        None => vec![variant["const"].clone()],
    });
    definition["type"] = json!("string");
    definition["enum"] = all.collect();
    let meaning =
        |variant: &Value| Some(format!("`{}`: {}", variant["const"].as_str()?, variant["description"].as_str()?));
    let meanings: Vec<String> = variants.iter().filter_map(meaning).collect();
    if !meanings.is_empty() {
        let head = definition["description"].as_str().map(|head| format!("{head}\n\n")).unwrap_or_default();
        definition["description"] = json!(head + &meanings.join("\n"));
    }
    definition
}

/// Removes the definitions that nothing refers to: their content is part of a variant now.
pub(super) fn remove_unused(schema: &mut Value) {
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

/// `run-started` as `RunStarted`.
fn pascal_case(kebab: &str) -> String {
    let words = kebab.split(['-', '_']).map(|word| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    });
    words.collect()
}

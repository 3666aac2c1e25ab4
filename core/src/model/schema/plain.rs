//! Changes what validators refuse and what generators misread. The meaning of the schema stays.

use serde_json::{Map, Value, json};

/// Simplifies everything below a schema.
pub(super) fn simplify(value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(simplify);
    }
    let Some(fields) = value.as_object_mut() else { return };
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = without_markup(description);
    }
    for (name, field) in fields.iter_mut() {
        match name.as_str() {
            // Values, not schemas.
            "const" | "default" | "enum" | "required" => {}
            "properties" | "$defs" => field.as_object_mut().into_iter().flatten().for_each(|(_, one)| property(one)),
            _ => simplify(field),
        }
    }
    // A reference beside anything else is copied in place of the named type.
    if fields.len() > 1
        && let Some(reference) = fields.remove("$ref")
    {
        fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
    // Validators refuse formats that they do not know; `minimum` says the same of the unsigned numbers.
    fields.remove("format");
    if let Some(words) = fields.get("oneOf").and_then(Value::as_array).and_then(|all| constants(all)) {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(words));
    }
}

/// A comment without what only rustdoc understands: examples, and links to other items.
fn without_markup(comment: &str) -> String {
    let comment = comment.split("```").next().unwrap_or_default().trim_end();
    let mut plain = String::with_capacity(comment.len());
    let mut rest = comment;
    while let Some((before, link)) = rest.split_once("[`") {
        plain.push_str(before);
        plain.push('`');
        let (name, after) = link.split_once("`]").unwrap_or((link, ""));
        plain.push_str(name);
        plain.push('`');
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or("", |(_, after)| after),
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}

fn property(value: &mut Value) {
    simplify(value);
    if is_anything(value) {
        *value = json!({});
    }
}

/// Whether any JSON is valid. With a description, generators take that for an object.
fn is_anything(value: &Value) -> bool {
    let says_nothing =
        |fields: &Map<String, Value>| fields.keys().all(|name| matches!(name.as_str(), "description" | "default"));
    *value == json!(true) || value.as_object().is_some_and(says_nothing)
}

fn constants(variants: &[Value]) -> Option<Vec<Value>> {
    variants.iter().map(|variant| variant.get("const").filter(|value| value.is_string()).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_plain_text() {
        for (comment, text) in [
            ("An [`Answer`] names it.", "An `Answer` names it."),
            ("As in [`Turn`](super::Turn), or [`Ask`].", "As in `Turn`, or `Ask`."),
            ("Money.\n\n```\nlet x = 1;\n```", "Money."),
            ("A list [of] words.", "A list [of] words."),
        ] {
            assert_eq!(without_markup(comment), text);
        }
    }

    #[test]
    fn anything_has_no_description_and_a_property_may_have_any_name() {
        let mut schema = json!({ "properties": {
            "plan": { "description": "As the agent gave it." },
            "format": { "type": "integer", "format": "uint64", "minimum": 0 },
        } });
        simplify(&mut schema);
        let expected = json!({ "properties": { "plan": {}, "format": { "type": "integer", "minimum": 0 } } });
        assert_eq!(schema, expected);
    }
}

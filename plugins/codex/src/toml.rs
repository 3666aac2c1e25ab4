//! Values for `-c key=value`, which Codex reads as TOML.

use wharf_adapter::Json;
use wharf_adapter::json::quote;

/// A string. JSON's notation is TOML's, except for one character that TOML wants escaped.
pub(crate) fn string(text: &str) -> String {
    quote(text).replace('\u{7f}', "\\u007F")
}

/// A JSON value on one line. TOML has no null: such fields are left out.
pub(crate) fn value(json: Json<'_>) -> String {
    if json.is_object() {
        let fields = json.fields().filter(|(_, value)| !value.is_null());
        let pairs: Vec<String> = fields.map(|(key, of)| pair(key, of)).collect();
        return ["{", &pairs.join(","), "}"].concat();
    }
    if json.is_array() {
        return wharf_adapter::json::array(json.items().filter(|item| !item.is_null()).map(value));
    }
    match json.str() {
        Some(text) => string(&text),
        None => json.raw().to_owned(),
    }
}

fn pair(key: &str, of: Json<'_>) -> String {
    [&string(&wharf_adapter::json::unescape(key)), "=", &value(of)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_toml_on_one_line() {
        for (json, toml) in [
            (
                r#"{"command":"a b","args":["-x",1,true,1.5],"env":{"A B":"é\"\\\n"}}"#,
                r#"{"command"="a b","args"=["-x",1,true,1.5],"env"={"A B"="é\"\\\n"}}"#,
            ),
            (r#"{"a":null,"b":[null]}"#, r#"{"b"=[]}"#),
            ("\"\u{7f}\"", r#""\u007F""#),
            ("{}", "{}"),
        ] {
            assert_eq!(value(Json::parse(json)), toml);
        }
    }
}

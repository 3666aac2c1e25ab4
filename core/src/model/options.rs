//! The values of an adapter's own options: read from text, and checked against what the adapter declares.

use super::agent::{OptionKind, OptionSpec};
use super::json::{DEPTH_LIMIT, is_too_deep, json_or_text};
use serde_json::Value;
use std::fmt;

/// A setting that cannot be used, and what can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// What is wrong.
    pub message: String,
    /// What to use instead.
    pub hint: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for SettingError {}

/// Checks that a value can be read again when it is part of a record.
pub(super) fn check_depth(name: &str, value: &Value) -> Result<(), SettingError> {
    if !is_too_deep(value) {
        return Ok(());
    }
    Err(SettingError {
        message: format!("the value of `{name}` cannot be used: it is nested too deeply"),
        hint: format!("nest arrays and objects at most {DEPTH_LIMIT} deep"),
    })
}

/// Checks the value of an option. The error lists what is allowed.
pub(super) fn check_option(adapter: &str, specs: &[OptionSpec], name: &str, value: &Value) -> Result<(), SettingError> {
    check_depth(name, value)?;
    let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(SettingError {
            message: format!("the adapter {adapter} has no option `{name}`"),
            hint: format!("its options: {known}; see `wharf adapters show {adapter}`"),
        });
    };
    let fits = match spec.kind {
        OptionKind::Flag => value.is_boolean(),
        OptionKind::Integer => value.is_i64() || value.is_u64(),
        OptionKind::Number => value.is_number(),
        OptionKind::Text => value.is_string(),
        OptionKind::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        OptionKind::Json => true,
    };
    let chosen =
        spec.choices.is_empty() || value.as_str().is_some_and(|text| spec.choices.iter().any(|one| one == text));
    if fits && chosen {
        return Ok(());
    }
    let wanted = match (spec.choices.as_slice(), spec.kind) {
        ([], OptionKind::Flag) => "true or false".to_owned(),
        ([], OptionKind::Integer) => "a whole number".to_owned(),
        ([], OptionKind::Number) => "a number".to_owned(),
        ([], OptionKind::List) => "a list of strings: [\"a\", \"b\"]".to_owned(),
        ([], _) => "a string".to_owned(),
        (choices, _) => format!("one of {}", choices.join(", ")),
    };
    Err(SettingError {
        message: format!("the option `{name}` of the adapter {adapter} cannot be {value}"),
        hint: format!("it takes {wanted}"),
    })
}

/// The value of `--option name=value`: according to the option's kind, else JSON if it parses, else a string.
pub fn parse_option(specs: &[OptionSpec], name: &str, text: &str) -> Value {
    let kind = specs.iter().find(|spec| spec.name == name).map(|spec| spec.kind);
    match kind {
        Some(OptionKind::Text) => Value::String(text.to_owned()),
        Some(OptionKind::List) if !text.trim_start().starts_with('[') => {
            Value::Array(text.split(',').map(|item| Value::String(item.trim().to_owned())).collect())
        }
        _ => json_or_text(text.to_owned()),
    }
}

/// MCP servers in another form would be passed on, and the agent would have no servers, without a word.
pub(super) fn check_mcp_servers(servers: &Value) -> Result<(), SettingError> {
    let named = servers.get("mcpServers").and_then(Value::as_object);
    let message = match named {
        None => "the MCP servers have no object `mcpServers`".to_owned(),
        Some(named) => match named.iter().find(|(_, settings)| !settings.is_object()) {
            Some((name, _)) => format!("the settings of the MCP server `{name}` are not an object"),
            None => return Ok(()),
        },
    };
    Err(SettingError { message, hint: r#"write {"mcpServers": {"NAME": {"command": "…"}}}"#.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, kind: OptionKind) -> OptionSpec {
        OptionSpec { name: name.into(), help: String::new(), kind, choices: vec![], default: None }
    }

    #[test]
    fn options_on_the_command_line_follow_their_kind() {
        let specs =
            [spec("bare", OptionKind::Flag), spec("transport", OptionKind::Text), spec("retries", OptionKind::Integer)];
        assert_eq!(parse_option(&specs, "transport", "123"), Value::from("123"));
        assert_eq!(parse_option(&specs, "retries", "3"), Value::from(3));
        assert_eq!(parse_option(&specs, "bare", "true"), Value::Bool(true));
        assert_eq!(parse_option(&specs, "unknown", "x y"), Value::from("x y"));
    }

    #[test]
    fn mcp_servers_in_another_form_are_refused() {
        let check =
            |text: &str| check_mcp_servers(&serde_json::from_str(text).expect("JSON")).map_err(|error| error.message);
        assert_eq!(check(r#"{"mcpServers": {"db": {"command": "x"}}}"#), Ok(()));
        assert_eq!(check(r#"{"mcpServers": {}}"#), Ok(()));
        for invalid in [r#"{"servers": {}}"#, "[]", r#"{"mcpServers": []}"#, r#"{"mcpServers": {"db": "x"}}"#] {
            assert!(check(invalid).is_err_and(|error| error.contains("MCP server")), "{invalid}");
        }
    }
}

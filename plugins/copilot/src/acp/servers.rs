//! MCP servers as the protocol wants them: a list, where the CLI's own configuration has a map.

use wharf_adapter::Json;
use wharf_adapter::json::{Object, array, unescape};

/// The list, as JSON. What is not a server is left out.
pub(super) fn list(config: Option<&str>) -> String {
    let config = Json::parse(config.unwrap_or_default());
    let nested = config.get("mcpServers");
    let servers = if nested.is_object() { nested } else { config };
    array(servers.fields().filter_map(|(name, server)| one(&unescape(name), server)))
}

fn one(name: &str, server: Json<'_>) -> Option<String> {
    let [kind, url, command, args, variables, headers] =
        server.pick(["type", "url", "command", "args", "env", "headers"]).ok()?;
    let object = Object::new().str("name", name);
    Some(if let Some(url) = url.str() {
        let kind = if kind.is("sse") { "sse" } else { "http" };
        object.str("type", kind).str("url", &url).raw("headers", &pairs(headers)).finish()
    } else {
        let args = if args.is_array() { args.raw() } else { "[]" };
        object.str("command", &command.str()?).raw("args", args).raw("env", &pairs(variables)).finish()
    })
}

fn pairs(map: Json<'_>) -> String {
    array(
        map.fields().map(|(name, value)| Object::new().str("name", &unescape(name)).raw("value", value.raw()).finish()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_becomes_a_list() {
        let map =
            r#"{"a":{"type":"local","command":"/bin/a","args":["x"],"env":{"K":"v"}},"b":{"url":"https://b"},"c":1}"#;
        let expected = concat!(
            r#"[{"name":"a","command":"/bin/a","args":["x"],"env":[{"name":"K","value":"v"}]},"#,
            r#"{"name":"b","type":"http","url":"https://b","headers":[]}]"#
        );
        assert_eq!(list(Some(map)), expected);
        assert_eq!(list(Some(&format!("{{\"mcpServers\":{map}}}"))), expected);
        assert_eq!(list(None), "[]");
        assert_eq!(list(Some("nonsense")), "[]");
    }
}

//! The part of `OpenCode`'s configuration that a turn needs: a system prompt, MCP servers.
//!
//! `OpenCode` merges several sources, each over the one before: the user's file, the file in `OPENCODE_CONFIG`, those of the
//! workspace, and `OPENCODE_CONFIG_CONTENT`. The adapter uses a variable that the user has not set, so that nothing of the
//! user's is replaced.

use crate::product::Product;
use wharf_adapter::json::{Object, array, quote, unescape};
use wharf_adapter::{Binary, Host, Json, Launch, LogLevel, text};

/// The name of the launch file.
const FILE: &str = "opencode.json";

/// Notes which of the variables the user has set. `build_args` learns of it by the note only.
pub(crate) fn note_variables(host: &dyn Host, product: Product, binary: &mut Binary) {
    for name in ["CONFIG_CONTENT", "CONFIG"] {
        let variable = product.variable(name);
        if host.set_variable(&variable).is_some() {
            binary.note(LogLevel::Debug, format!("{variable}{IS_SET}"), None);
        }
    }
}

const IS_SET: &str = " is set, and is passed on unchanged";

fn is_set(binary: &Binary, variable: &str) -> bool {
    binary.notes.iter().any(|note| note.text.strip_suffix(IS_SET) == Some(variable))
}

/// Why a setting cannot be applied.
pub(crate) const NO_PLACE: &str =
    "OPENCODE_CONFIG and OPENCODE_CONFIG_CONTENT are both set, so that there is no place for it";

/// The configuration of a turn.
#[derive(Debug, Default)]
pub(crate) struct Config<'a> {
    /// The agent, and the system prompt that replaces its own.
    pub(crate) prompt: Option<(&'a str, &'a str)>,
    /// MCP servers, as most agents have them: `{"mcpServers": {"name": {"command", "args", "env"}}}`.
    pub(crate) servers: Option<String>,
}

impl Config<'_> {
    /// Adds it to a launch. Returns whether there was a place for it.
    pub(crate) fn put(&self, product: Product, binary: &Binary, launch: &mut Launch) -> bool {
        let Some(content) = self.to_json() else { return true };
        let [inline, file] = ["CONFIG_CONTENT", "CONFIG"].map(|name| product.variable(name));
        if !is_set(binary, &inline) {
            launch.set(&inline, content);
        } else if !is_set(binary, &file) {
            let path = launch.file(FILE, content);
            launch.set(&file, path);
        } else {
            return false;
        }
        true
    }

    fn to_json(&self) -> Option<String> {
        if self.prompt.is_none() && self.servers.is_none() {
            return None;
        }
        let mut config = Object::new();
        if let Some((agent, prompt)) = self.prompt {
            config = config.object("agent", Object::new().object(agent, Object::new().str("prompt", prompt)));
        }
        if let Some(servers) = &self.servers {
            config = config.object("mcp", mcp(Json::parse(servers)));
        }
        Some(config.finish())
    }
}

/// MCP servers in `OpenCode`'s form. A server that is in that form already stays as it is.
fn mcp(config: Json<'_>) -> Object {
    let nested = config.first_of(&["mcpServers", "mcp"]);
    let servers = if nested.is_object() { nested } else { config };
    servers.fields().fold(Object::new(), |object, (name, server)| object.raw(&unescape(name), &one(server)))
}

fn one(server: Json<'_>) -> String {
    let [kind, command, args, env, url, headers] =
        ["type", "command", "args", "env", "url", "headers"].map(|key| server.get(key));
    if matches!(kind.name(), Some("local" | "remote")) || command.is_array() {
        return server.raw().to_owned();
    }
    let object = if url.is_string() {
        let object = Object::new().str("type", "remote").raw("url", url.raw());
        if headers.is_object() { object.raw("headers", headers.raw()) } else { object }
    } else {
        let command = command.str().map(|command| quote(&command));
        let words = command.into_iter().chain(args.items().map(|arg| arg.raw().to_owned()));
        let object = Object::new().str("type", "local").raw("command", &array(words));
        if env.is_object() { object.raw("environment", env.raw()) } else { object }
    };
    object.bool("enabled", true).finish()
}

/// Whether a text is the name of an agent: it becomes an argument and a key.
pub(crate) fn is_agent_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !text::contains(name, "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    fn placed(set: &[&str]) -> (bool, Launch) {
        let host = set.iter().fold(FakeHost::default(), |host, name| host.with_variable(name, "{}"));
        let mut binary = Binary::at("/usr/bin/opencode".to_owned());
        note_variables(&host, Product::OpenCode, &mut binary);
        let mut launch = Launch::lines([""; 0]);
        let config = Config { prompt: Some(("build", "Be \"brief\".")), servers: None };
        (config.put(Product::OpenCode, &binary, &mut launch), launch)
    }

    #[test]
    fn a_variable_of_the_user_is_not_replaced() {
        let content = r#"{"agent":{"build":{"prompt":"Be \"brief\"."}}}"#;
        let (done, launch) = placed(&[]);
        assert_eq!((done, launch.variables[0].0.as_str()), (true, "OPENCODE_CONFIG_CONTENT"));
        assert_eq!(launch.variables[0].1.text, content);
        let (done, launch) = placed(&["OPENCODE_CONFIG_CONTENT"]);
        assert_eq!((done, launch.variables[0].0.as_str()), (true, "OPENCODE_CONFIG"));
        assert_eq!(launch.files[0].content, content.as_bytes());
        let (done, launch) = placed(&["OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG"]);
        assert!(!done && launch.variables.is_empty());
    }

    #[test]
    fn mcp_servers_are_written_in_the_programs_form() {
        let servers = r#"{"mcpServers":{"lab":{"command":"py","args":["a b"],"env":{"K":"v"}},
            "web":{"type":"http","url":"https://h","headers":{"A":"b"}},"own":{"type":"local","command":["x"]}}}"#;
        let config = Config { prompt: None, servers: Some(servers.to_owned()) };
        assert_eq!(
            config.to_json().as_deref(),
            Some(concat!(
                r#"{"mcp":{"lab":{"type":"local","command":["py","a b"],"environment":{"K":"v"},"enabled":true},"#,
                r#""web":{"type":"remote","url":"https://h","headers":{"A":"b"},"enabled":true},"#,
                r#""own":{"type":"local","command":["x"]}}}"#
            ))
        );
    }
}

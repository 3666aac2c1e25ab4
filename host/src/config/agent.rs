//! `[agents.NAME]`: which version of an agent is used, or another agent that an adapter runs under this name.

use super::PassedVariable;
use crate::error::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::path::Path;

/// The settings of one agent. With `command` or `adapter`, the name is a new one, for `--adapter`; otherwise it is the id
/// of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The adapter that runs it, by its id; `acp` if there is none and the name is a new one.
    pub adapter: Option<String>,
    /// The program, by its name in PATH or its absolute path, and its first arguments.
    #[serde(deserialize_with = "command")]
    pub command: Vec<String>,
    /// The version, as it was installed by `wharf agent install NAME@VERSION`.
    pub version: Option<String>,
    /// Variables that this agent gets beside the base set.
    pub environment: Vec<PassedVariable>,
}

impl AgentConfig {
    /// An agent with this command, for the adapter `acp`.
    pub fn with_command(command: impl IntoIterator<Item = impl Into<String>>) -> AgentConfig {
        AgentConfig { command: command.into_iter().map(Into::into).collect(), ..AgentConfig::default() }
    }

    /// A version that was installed by `wharf agent install`.
    pub fn with_version(version: impl Into<String>) -> AgentConfig {
        AgentConfig { version: Some(version.into()), ..AgentConfig::default() }
    }

    /// Whether it makes a name that is not the id of an adapter.
    pub(crate) fn names_an_agent(&self) -> bool {
        self.adapter.is_some() || !self.command.is_empty()
    }
}

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let command = Vec::<String>::deserialize(deserializer)?;
    check_command(&command).map_err(D::Error::custom)?;
    Ok(command)
}

fn check_command(command: &[String]) -> Result<(), String> {
    let Some(program) = command.first() else {
        return Err("the command is empty: it needs at least a program".to_owned());
    };
    if program.is_empty() || command.iter().any(|word| word.contains('\0')) {
        return Err(format!("{program:?} cannot be a program, or an argument contains a NUL byte"));
    }
    if program.contains(['/', '\\']) && !Path::new(program).is_absolute() {
        return Err(format!("the program {program:?} is neither a name in PATH nor an absolute path"));
    }
    Ok(())
}

/// Refuses a name that cannot be one, and two programs for one agent.
pub(super) fn check(file: &Path, name: &str, agent: &AgentConfig, has_program: bool) -> Result<()> {
    let refuse = |message: String, hint: &str| {
        let message = format!("the configuration {}: {message}", file.display());
        Err(Error::new(ErrorKind::Config, message).with_hint(hint))
    };
    let plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return refuse(
            format!("`[agents.{name}]` cannot be the name of an agent"),
            "use lower-case letters, digits and hyphens",
        );
    }
    let set = if agent.command.is_empty() { "version" } else { "command" };
    if has_program && (agent.version.is_some() || !agent.command.is_empty()) {
        return refuse(
            format!("`[programs]` and `{set}` in `[agents.{name}]` both say what the program of {name} is"),
            "remove one of them",
        );
    }
    Ok(())
}

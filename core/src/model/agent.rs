//! What is known about an adapter and about the agent that it found.

use super::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An adapter, as it describes itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdapterInfo {
    /// Short and stable: "copilot". Nothing is decided by it: see [`AdapterInfo::name`] for people.
    pub id: String,
    /// The product's name: "GitHub Copilot CLI".
    pub name: String,
    /// The adapter's version, not the agent's.
    pub version: String,
    /// The versions of the agent that it was tested with, oldest first.
    pub tested_with: Vec<String>,
    /// How to install the agent.
    pub install_hint: String,
    /// The access that it requests.
    pub access: Access,
    /// The variable that names the folder in which the agent keeps its state.
    #[serde(default)]
    pub state_variable: Option<String>,
    /// Its settings beyond those that every turn has.
    pub options: Vec<OptionSpec>,
}

/// What an adapter requests, or what a user grants. Both sides have the same four lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// Names to look up in PATH, or patterns of absolute paths.
    pub programs: Vec<String>,
    /// Exact origins, or `$NAME` for the origin of the URL in that variable.
    pub origins: Vec<String>,
    /// Names of environment variables.
    pub variables: Vec<String>,
    /// Patterns of absolute paths.
    pub files: Vec<String>,
}

/// An option of an adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionSpec {
    /// As in `--option name=value`.
    pub name: String,
    /// For people.
    pub help: String,
    /// The type of its value.
    pub kind: OptionKind,
    /// The allowed values, if only some are.
    pub choices: Vec<String>,
    /// The value if nobody sets it.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub default: Option<serde_json::Value>,
}

/// The type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OptionKind {
    /// True or false.
    Flag,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// A list of strings.
    List,
    /// Any JSON.
    Json,
}

/// The agent's program, as an adapter found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Binary {
    /// The absolute path.
    pub program: String,
    /// Arguments before all others.
    pub leading_args: Vec<String>,
    /// The agent's version; null if unknown.
    pub version: Option<String>,
    /// Whether the adapter was tested with that version.
    pub support: Support,
    /// Why that version is unsupported; null otherwise.
    #[serde(default)]
    pub unsupported_because: Option<String>,
    /// How the host can talk to that version, best first.
    pub transports: Vec<Transport>,
    /// Whether there is a login.
    pub login: Login,
    /// What a preflight tells the user.
    pub notes: Vec<Note>,
}

impl Binary {
    /// A program about which nothing else is known.
    pub fn new(program: impl Into<String>) -> Binary {
        Binary {
            program: program.into(),
            leading_args: vec![],
            version: None,
            support: Support::BestEffort,
            unsupported_because: None,
            transports: vec![],
            login: Login::Unknown,
            notes: vec![],
        }
    }

    /// The transport with this name.
    pub fn transport(&self, name: &str) -> Option<&Transport> {
        self.transports.iter().find(|transport| transport.name == name)
    }

    /// Whether this version can do something over at least one of its transports.
    pub fn can(&self, capability: Capability) -> bool {
        self.transports.iter().any(|transport| transport.can(capability))
    }
}

/// A way to talk to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transport {
    /// "sdk", "acp", "json-lines".
    pub name: String,
    /// What the agent can do over it.
    pub capabilities: Vec<Capability>,
}

impl Transport {
    /// A transport of which only the name is known. Without a name it is the adapter's default.
    pub fn named(name: impl Into<String>) -> Transport {
        Transport { name: name.into(), capabilities: vec![] }
    }

    /// Whether the agent can do something over it.
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// What a version of an agent can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it; docs/glossary.md has a sentence for each")]
pub enum Capability {
    Streaming,
    SessionResume,
    SessionFork,
    ChooseSessionId,
    SessionPersistenceControl,
    SystemPromptFile,
    PromptViaArg,
    ModelDiscovery,
    ModelShorthands,
    EffortLevels,
    FallbackModel,
    TokenUsage,
    CostTracking,
    BudgetCap,
    TurnCap,
    BareMode,
    Duplex,
    Asks,
    Steering,
    Interrupt,
    ToolRules,
    McpServers,
    Autopilot,
    StructuredOutput,
    Attachments,
    CallerTools,
    Hooks,
    Policy,
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_value(self).unwrap_or_default();
        formatter.pad(name.as_str().unwrap_or_default())
    }
}

/// Whether an adapter was tested with a version of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It was.
    Tested,
    /// Not with this version, but with an older and a newer one.
    BetweenTested,
    /// It is newer than all tested versions.
    NewerUntested,
    /// It is older than all tested versions.
    OlderUntested,
    /// Unknown; it may work.
    BestEffort,
    /// It is known not to work.
    Unsupported,
}

/// Whether the agent has a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", content = "detail", rename_all = "kebab-case")]
pub enum Login {
    /// How it was found.
    Present(String),
    /// How to log in.
    Missing(String),
    /// The adapter cannot tell.
    Unknown,
}

/// Something that a preflight tells the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// How important it is.
    pub level: LogLevel,
    /// For people.
    pub text: String,
    /// The command that fixes it.
    pub fix: Option<String>,
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// Good to know.
    Info,
    /// May need attention.
    Warn,
    /// Needs attention.
    Error,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The value for `--model`.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The company that makes it.
    pub vendor: Option<String>,
    /// The reasoning efforts that it supports, in the agent's own words.
    pub efforts: Vec<String>,
    /// The context window in tokens.
    pub context: Option<u64>,
    /// Whether the agent uses it if none is named.
    pub is_default: bool,
    /// Whatever else the vendor publishes about it.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub extra: Option<serde_json::Value>,
}

/// The available models, or why there is no list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", content = "detail", rename_all = "kebab-case")]
#[schemars(rename = "Answer")]
pub enum ModelList {
    /// The models.
    Models(Vec<Model>),
    /// The adapter cannot list them.
    Unsupported,
    /// Not now, for this reason.
    Unavailable(String),
    /// Only with a login; how to log in.
    NeedsAuth(String),
}

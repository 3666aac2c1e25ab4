//! What an agent may do, in terms that every agent shares. Plain data: who enforces a rule is decided elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule. Among the rules of an area that match, `deny` counts before `ask`, and `ask` before `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRule {
    /// What it is about.
    pub area: PolicyArea,
    /// With `*` for any characters; of commands, the beginning ("git status"). Without one: everything that no other rule of
    /// the area matches.
    #[serde(default)]
    pub pattern: Option<String>,
    /// What is decided.
    pub decision: PolicyDecision,
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = self.pattern.as_deref().unwrap_or("anything else");
        write!(formatter, "{} {}: {pattern}", self.decision, self.area)
    }
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PolicyArea {
    /// Tools, by their names in events.
    Tools,
    /// Commands; each command of a shell line by itself.
    Commands,
    /// Files and folders that are read.
    ReadPaths,
    /// Files and folders that are written.
    WritePaths,
    /// Hosts on the network.
    Hosts,
    /// MCP servers, by their names in the configuration.
    McpServers,
}

impl fmt::Display for PolicyArea {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            PolicyArea::Tools => "tools",
            PolicyArea::Commands => "commands",
            PolicyArea::ReadPaths => "read-paths",
            PolicyArea::WritePaths => "write-paths",
            PolicyArea::Hosts => "hosts",
            PolicyArea::McpServers => "mcp-servers",
        })
    }
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PolicyDecision {
    Allow,
    Ask,
    Deny,
}

impl fmt::Display for PolicyDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            PolicyDecision::Allow => "allow",
            PolicyDecision::Ask => "ask",
            PolicyDecision::Deny => "deny",
        })
    }
}

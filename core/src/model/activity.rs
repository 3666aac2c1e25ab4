//! What an agent does beside writing and calling tools: plans, rounds, compactions, sub-agents, MCP servers. Plain data of
//! events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A step of the agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanItem {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// An MCP server of the agent, and whether it can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct McpServer {
    /// As the configuration names it.
    pub name: String,
    /// Whether it can be used.
    pub status: McpStatus,
    /// Why it failed.
    pub error: Option<String>,
}

impl McpServer {
    /// A server and its status.
    pub fn new(name: impl Into<String>, status: McpStatus) -> McpServer {
        McpServer { name: name.into(), status, error: None }
    }
}

/// Whether an MCP server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum McpStatus {
    Connecting,
    Connected,
    Failed,
    NeedsAuth,
    Disabled,
}

impl fmt::Display for McpStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            McpStatus::Connecting => "connecting",
            McpStatus::Connected => "connected",
            McpStatus::Failed => "failed",
            McpStatus::NeedsAuth => "needs-auth",
            McpStatus::Disabled => "disabled",
        })
    }
}

/// Whether something begins or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Phase {
    Begun,
    Ended,
}

/// The agent summarizes the conversation to free context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Compaction {
    /// Whether it begins or has ended.
    pub phase: Phase,
    /// What it began for: "manual", "threshold".
    pub trigger: Option<String>,
    /// The tokens in the context before it.
    pub tokens_before: Option<u64>,
    /// The tokens in the context after it.
    pub tokens_after: Option<u64>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Compaction {
    /// A compaction of which nothing else is known.
    pub fn new(phase: Phase) -> Compaction {
        Compaction { phase, trigger: None, tokens_before: None, tokens_after: None, error: None }
    }
}

/// One call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Round {
    /// Whether it begins or has ended.
    pub phase: Phase,
    /// The tool call whose sub-agent made it; null if it is the agent itself.
    pub parent: Option<String>,
    /// The model that was called.
    pub model: Option<String>,
    /// Milliseconds until its first token.
    pub first_token_ms: Option<u64>,
}

impl Round {
    /// A round of which nothing else is known.
    pub fn new(phase: Phase) -> Round {
        Round { phase, parent: None, model: None, first_token_ms: None }
    }
}

/// A sub-agent begins or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Subagent {
    /// The tool call that started it: the `parent` of its events.
    pub id: String,
    /// Whether it begins or has ended.
    pub phase: Phase,
    /// Which kind of sub-agent it is: "explore".
    pub name: Option<String>,
    /// What it is to do.
    pub title: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Subagent {
    /// A sub-agent of which nothing else is known.
    pub fn new(id: impl Into<String>, phase: Phase) -> Subagent {
        Subagent { id: id.into(), phase, name: None, title: None, error: None }
    }
}

/// A command that a prompt can have: "/compact".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

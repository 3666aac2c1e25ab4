//! What the caller of a turn gives the agent: tools that the caller runs, and points at which it wants to be asked.

use super::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A tool that the caller runs. A call of it is an ask of the kind `tool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerTool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// A JSON Schema of its input.
    #[serde(deserialize_with = "json::value")]
    pub input_schema: Value,
}

/// A point at which the caller wants to be asked. Each time is an ask of the kind `hook`, with the point's name as its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum HookPoint {
    SessionStarted,
    PromptSubmitted,
    BeforeTool,
    AfterTool,
    ToolFailed,
    SubagentEnded,
    BeforeCompaction,
    TurnEnded,
    SessionEnded,
    Failed,
}

impl HookPoint {
    /// All points.
    pub const ALL: [HookPoint; 10] = [
        HookPoint::SessionStarted,
        HookPoint::PromptSubmitted,
        HookPoint::BeforeTool,
        HookPoint::AfterTool,
        HookPoint::ToolFailed,
        HookPoint::SubagentEnded,
        HookPoint::BeforeCompaction,
        HookPoint::TurnEnded,
        HookPoint::SessionEnded,
        HookPoint::Failed,
    ];
}

impl fmt::Display for HookPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_value(self).unwrap_or_default();
        formatter.pad(name.as_str().unwrap_or_default())
    }
}

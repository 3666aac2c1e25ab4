//! Tool calls and changed files, in events and in reports.

use super::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ToolCall {
    /// The agent's id of it.
    pub id: String,
    /// The tool call whose sub-agent made it.
    pub parent: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// What it does.
    pub kind: Option<ToolKind>,
    /// The MCP server that the tool belongs to.
    pub mcp_server: Option<String>,
    /// A description of the call for people.
    pub title: Option<String>,
    /// How far it is.
    pub status: ToolStatus,
    /// As the agent gave it.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub input: Option<Value>,
    /// The whole output so far.
    pub output: Option<String>,
    /// The exit code of the command that it ran.
    pub exit_code: Option<i32>,
    /// The files that it touches, as the agent gave them. Empty: as before.
    pub paths: Vec<String>,
    /// How it changes them. Empty: as before.
    pub diffs: Vec<Diff>,
    /// Why it was denied.
    pub denied_because: Option<String>,
    /// How long it ran, in milliseconds: known when it has ended.
    pub duration_ms: Option<u64>,
}

impl ToolCall {
    /// A tool call of which only the status is known.
    pub fn new(id: impl Into<String>, status: ToolStatus) -> ToolCall {
        ToolCall {
            id: id.into(),
            parent: None,
            name: None,
            kind: None,
            mcp_server: None,
            title: None,
            status,
            input: None,
            output: None,
            exit_code: None,
            paths: vec![],
            diffs: vec![],
            denied_because: None,
            duration_ms: None,
        }
    }
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Fetch,
    Think,
    Other,
}

/// How a file changes: its contents before and after, or parts of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// As the agent gave it.
    pub path: String,
    /// Before; null if the file is new or its content unknown.
    pub old: Option<String>,
    /// After.
    pub new: String,
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// It has not started.
    Pending,
    /// It is running.
    Running,
    /// It ended successfully.
    Succeeded,
    /// It ended with an error.
    Failed,
    /// It was not allowed.
    Denied,
    /// It was stopped.
    Cancelled,
}

impl ToolStatus {
    /// Whether the call has ended.
    pub fn is_final(self) -> bool {
        !matches!(self, ToolStatus::Pending | ToolStatus::Running)
    }

    /// The word for it, in JSON and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolStatus::Pending => "pending",
            ToolStatus::Running => "running",
            ToolStatus::Succeeded => "succeeded",
            ToolStatus::Failed => "failed",
            ToolStatus::Denied => "denied",
            ToolStatus::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ToolStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A file that the agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FileChange {
    /// As the agent gave it.
    pub path: String,
    /// What happened to the file.
    pub kind: FileChangeKind,
    /// The number of lines added.
    pub added: Option<u32>,
    /// The number of lines removed.
    pub removed: Option<u32>,
}

impl FileChange {
    /// A change of which the size is unknown.
    pub fn new(path: impl Into<String>, kind: FileChangeKind) -> FileChange {
        FileChange { path: path.into(), kind, added: None, removed: None }
    }
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum FileChangeKind {
    Created,
    Edited,
    Deleted,
    Moved,
    Other,
}

impl fmt::Display for FileChangeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            FileChangeKind::Created => "created",
            FileChangeKind::Edited => "edited",
            FileChangeKind::Deleted => "deleted",
            FileChangeKind::Moved => "moved",
            FileChangeKind::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_displayed_names_are_those_in_json() {
        for status in [
            ToolStatus::Pending,
            ToolStatus::Running,
            ToolStatus::Succeeded,
            ToolStatus::Failed,
            ToolStatus::Denied,
            ToolStatus::Cancelled,
        ] {
            assert_eq!(serde_json::json!(status), status.to_string());
        }
    }
}

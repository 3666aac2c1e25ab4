//! How a run ended: the last event, and what the library returns.

use super::failure::{Failure, Outcome};
use super::json;
use super::plan::UnsupportedSetting;
use super::tool::{FileChange, ToolStatus};
use super::usage::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// How the turn ended.
    pub outcome: Outcome,
    /// Which limit or timeout, what is needed, why it was refused.
    pub detail: Option<String>,
    /// The final text.
    pub answer: Option<String>,
    /// The answer in the requested schema.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub structured_output: Option<Value>,
    /// The agent's session; null if the agent did not name one.
    pub session: Option<ReportSession>,
    /// The model that answered.
    pub model: Option<String>,
    /// What the turn used; null if nothing is known.
    pub usage: Option<Usage>,
    /// What failed.
    pub error: Option<Failure>,
    /// The tool calls, in the order in which they started.
    pub tools: Vec<ReportTool>,
    /// Files that the agent says it changed.
    pub files: Vec<FileChange>,
    /// Settings that the agent could not apply.
    pub unsupported: Vec<UnsupportedSetting>,
    /// What the adapter did not know.
    pub drift: Drift,
    /// How much came that the lists above do not contain, because they are limited.
    #[serde(default)]
    pub omitted: Omitted,
    /// How the process exited; null if it never started.
    pub exit: Option<Exit>,
    /// Processes that were still running after the agent had exited, and were killed.
    pub killed: Vec<String>,
    /// The id under which the recording is kept; null if none is.
    pub run: Option<String>,
}

impl Report {
    /// A report that says nothing but the outcome.
    pub fn new(outcome: Outcome) -> Report {
        Report {
            outcome,
            detail: None,
            answer: None,
            structured_output: None,
            session: None,
            model: None,
            usage: None,
            error: None,
            tools: vec![],
            files: vec![],
            unsupported: vec![],
            drift: Drift::default(),
            omitted: Omitted::default(),
            exit: None,
            killed: vec![],
            run: None,
        }
    }

    /// Whether the turn completed.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

/// The agent's session, in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReportSession {
    /// The agent's id of it: a later turn resumes it by this.
    pub id: String,
    /// Whether a resume really resumed; null if none was requested or the agent did not say.
    pub resumed: Option<bool>,
}

impl ReportSession {
    /// A session by its id.
    pub fn new(id: impl Into<String>, resumed: Option<bool>) -> ReportSession {
        ReportSession { id: id.into(), resumed }
    }
}

/// A tool call, in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReportTool {
    /// The agent's id of it.
    pub id: String,
    /// The tool call whose sub-agent made it.
    pub parent: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// How it ended, or how far it was.
    pub status: ToolStatus,
    /// The exit code of the command that it ran.
    pub exit_code: Option<i32>,
    /// How long it ran, in milliseconds; null if it did not end.
    pub duration_ms: Option<u64>,
}

impl ReportTool {
    /// A call of which only the status is known.
    pub fn new(id: impl Into<String>, status: ToolStatus) -> ReportTool {
        ReportTool { id: id.into(), parent: None, name: None, status, exit_code: None, duration_ms: None }
    }
}

/// What an adapter did not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Drift {
    /// The agent's types of messages that the adapter does not know, and how often each came.
    pub unknown: BTreeMap<String, u64>,
    /// The number of frames that violated the protocol.
    pub malformed: u64,
}

impl Drift {
    /// Whether the adapter knew everything.
    pub fn is_empty(&self) -> bool {
        self.unknown.is_empty() && self.malformed == 0
    }
}

/// What a report does not contain. Its lists are limited, so that no agent makes the host remember without end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Omitted {
    /// The number of events about tool calls that are not in `tools`.
    pub tools: u64,
    /// The number of changes of files that are not in `files`.
    pub files: u64,
    /// The number of messages whose type is not in `drift`.
    pub types: u64,
    /// The number of figures that are not in `usage`.
    pub usage: u64,
    /// The number of asks that were denied because too many were open.
    pub asks: u64,
}

impl Omitted {
    /// Whether the report is complete.
    pub fn is_empty(&self) -> bool {
        *self == Omitted::default()
    }
}

/// How a process exited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// The exit code; null if a signal killed it.
    pub code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
}

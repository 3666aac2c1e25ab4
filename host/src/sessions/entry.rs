//! What is remembered about a session, and how sessions are filtered. Plain data.

use std::path::PathBuf;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wharf_core::model::{Labels, Outcome, Usage, time};

/// What is remembered about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SessionEntry {
    /// The latest id that the agent gave it: a later turn resumes it by this.
    pub id: String,
    /// All ids that it has had, in order; the last is `id`.
    pub ids: Vec<String>,
    /// The id of the adapter.
    pub adapter: String,
    /// The version of the adapter in the last turn.
    pub adapter_version: String,
    /// The version of the agent, if it was ever reported.
    pub agent_version: Option<String>,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    /// The model, if it was ever reported.
    pub model: Option<String>,
    /// How the last turn ended.
    pub outcome: Outcome,
    /// How many of its turns were run by wharf.
    pub turns: u64,
    /// The sum over the turns that reported usage. A field that no turn reported is unknown, not zero.
    pub usage: Usage,
    /// What the session has used according to the agent.
    pub session_usage: Option<Usage>,
    /// When wharf first saw it; RFC 3339 in JSON.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub created: SystemTime,
    /// When its last turn ended; RFC 3339 in JSON.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub updated: SystemTime,
    /// The runs of its turns, latest last. Some may have been deleted since.
    pub runs: Vec<String>,
    /// The labels of its runs; if several have the same label, the latest value.
    pub labels: Labels,
}

/// Which sessions to list. The default lists all.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionFilter {
    /// Only sessions of this adapter.
    pub adapter: Option<String>,
    /// Only sessions in this workspace.
    pub workspace: Option<PathBuf>,
    /// Only sessions that have all these labels.
    pub labels: Labels,
    /// Only the most recent of them.
    pub limit: Option<usize>,
}

//! What a caller can set for one run.

use crate::guest::Variable;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wharf_core::model::Labels;
use wharf_core::turn::{AskRules, Timeouts};

/// How one run differs from the configuration.
///
/// ```
/// let mut options = wharf::RunOptions::default();
/// options.labels.insert("task".into(), "42".into());
/// options.variables.insert("ANTHROPIC_API_KEY".into(), "this tenant's".into());
/// options.state_dir = Some("/srv/tenants/7/claude".into());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Names and values by which the run and its session can be found.
    pub labels: Labels,
    /// The timeouts, instead of the configured ones.
    pub timeouts: Option<Timeouts>,
    /// Which asks are answered without a person.
    pub rules: AskRules,
    /// Environment variables for this run only, over those of the host: the agent gets them, and the adapter can read
    /// those that were granted to it. Their values are removed from everything that is recorded, unless they are
    /// obviously not secret, or you say so: [`Variable::plain`].
    pub variables: BTreeMap<String, Variable>,
    /// The agent's home folder, instead of the user's.
    pub home: Option<PathBuf>,
    /// A folder in which the agent keeps its state (logins, sessions, settings), instead of its usual one. It is
    /// created if it is missing. Runs with different folders do not see each other's state.
    pub state_dir: Option<PathBuf>,
    /// What happens if as many runs are live as the configuration allows.
    pub when_busy: WhenBusy,
    /// What happens if another live run uses the session that this one resumes.
    pub session_busy: SessionBusy,
    /// Do not record this run.
    pub unrecorded: bool,
    /// Give events as lines of JSON only: for a caller that passes them on unchanged.
    /// [`Run::next_batch`](crate::Run::next_batch) gives them; the only event beside them is the report.
    pub lines_only: bool,
    /// The size limit of a frame, instead of the configured one.
    pub frame_limit: Option<usize>,
    /// Keep the agent's process after its turn, for [`Run::next_turn`](crate::Run::next_turn), until
    /// [`Run::finish_after_turn`](crate::Run::finish_after_turn). Only if its stdin stays open, as with
    /// [`Turn::messages`](crate::Turn::messages).
    pub keep_alive: bool,
}

/// What happens if as many runs are live as allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// The start waits until a run ends.
    #[default]
    Wait,
    /// The start fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Refuse,
}

/// What happens if another live run uses the session. Unrecorded runs are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionBusy {
    /// The start fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy): the other run may be waiting for a person.
    #[default]
    Refuse,
    /// The start waits until the other run has ended.
    Wait,
}

//! The configuration: the user's own file, and the project's, which may set less.
//!
//! A project's file comes with the repository, so the author of the repository wrote it: it may choose an adapter and a
//! model, and may not grant anything, name programs or loosen approvals.

mod agent;
mod file;
mod models;
mod passed_variable;
mod sections;

pub use agent::AgentConfig;
pub use models::{ModelChoice, Models};
pub use passed_variable::PassedVariable;
pub use sections::{LimitsConfig, RecordingConfig, TimeoutsConfig};

use crate::disk::Links;
use crate::error::{Error, ErrorKind, Result};
use crate::project::project_file;
use file::read;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wharf_core::model::{Access, Approvals, Effort, Prices};

/// The largest project's file: it has three settings.
const PROJECT_LIMIT: u64 = 64 << 10;

/// The largest file of the user.
const USER_LIMIT: u64 = 1 << 20;

/// What the user's file may set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// The adapter if none is named.
    pub adapter: Option<String>,
    /// The model if none is named.
    pub model: Option<String>,
    /// The effort if none is named.
    pub effort: Option<Effort>,
    /// What happens when an agent requests to use a tool, unless the turn says otherwise.
    pub approvals: Option<Approvals>,
    /// Adapters from the folder that may replace bundled ones, by id.
    pub shadow: Vec<String>,
    /// Variables that every agent gets beside the base set.
    pub environment: Vec<PassedVariable>,
    /// Programs by adapter, instead of what the adapter would find. The keys of this map and of the next two are ids of
    /// bundled and installed adapters. A file that is named by its path is `sha256:DIGEST`, or its absolute path.
    pub programs: BTreeMap<String, PathBuf>,
    /// What is granted to each adapter, beyond what is granted to the bundled ones.
    pub grants: BTreeMap<String, Access>,
    /// Adapters whose callers may add raw arguments to the agent's command line.
    pub extra_args: Vec<String>,
    /// Options by adapter.
    pub options: BTreeMap<String, BTreeMap<String, Value>>,
    /// Which version of an agent is used, and agents of the user's own, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Shorthands for models.
    pub models: Models,
    /// When a turn times out.
    pub timeouts: TimeoutsConfig,
    /// What models cost, for costs that their agents do not report.
    pub prices: Prices,
    /// How large and how many.
    pub limits: LimitsConfig,
    /// What is kept of runs.
    pub recording: RecordingConfig,
}

/// What a project's file may set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ProjectConfig {
    /// The adapter if none is named: an id, never a path.
    pub adapter: Option<String>,
    /// The model if none is named.
    pub model: Option<String>,
    /// The effort if none is named.
    pub effort: Option<Effort>,
}

/// Keys that only the user's own file may contain.
const USER_ONLY: [&str; 13] = [
    "extra_args",
    "approvals",
    "shadow",
    "environment",
    "programs",
    "grants",
    "options",
    "agents",
    "models",
    "timeouts",
    "prices",
    "limits",
    "recording",
];

impl Config {
    /// Reads the user's file, for something that concerns no project. A missing file sets nothing.
    pub fn load_user(user: &Path) -> Result<Config> {
        // Many people keep their configuration elsewhere, and link to it.
        let config: Config = read(user, Links::Follow, USER_LIMIT, |_| None)?.unwrap_or_default();
        for (name, agent) in &config.agents {
            agent::check(user, name, agent, config.programs.contains_key(name))?;
        }
        Ok(config)
    }

    /// Reads the user's file and then the project's, which overrides it. Missing files set nothing. The project's file
    /// is in the workspace, or in the nearest folder above it that belongs to the same repository.
    pub fn load(user: &Path, workspace: &Path) -> Result<Config> {
        let mut config = Config::load_user(user)?;
        let file = project_file(workspace);
        let project: Option<ProjectConfig> = read(&file, Links::Refuse, PROJECT_LIMIT, |message| {
            USER_ONLY.iter().find(|key| message.contains(&format!("unknown key `{key}`"))).map(|key| {
                format!(
                    "`{key}` may only be in your own file ({}), because a project's file comes with the project",
                    user.display()
                )
            })
        })?;
        if let Some(project) = project {
            if let Some(adapter) = project.adapter.as_deref().filter(|adapter| adapter.contains(['/', '\\', '.'])) {
                let message = format!("the configuration {} names the adapter {adapter:?} by a path", file.display());
                return Err(Error::new(ErrorKind::Config, message).with_hint(
                    "a project's file comes with the project, and so would the adapter: name it with --adapter, or by its id",
                ));
            }
            config.adapter = project.adapter.or(config.adapter);
            config.model = project.model.or(config.model);
            config.effort = project.effort.or(config.effort);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests;

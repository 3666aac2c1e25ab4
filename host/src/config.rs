//! The configuration: the user's own file, and the project's, which may say less.
//!
//! A project's file comes with the repository, so whoever wrote the repository wrote it: it may choose an adapter and a
//! model, and may not grant anything, name programs or loosen approvals.

use crate::error::{Error, ErrorKind, Result};
use crate::info::Needs;
use crate::turn::Approvals;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the project's file, in the workspace.
pub const PROJECT_FILE: &str = ".wharf.toml";

/// What the user's file may say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The adapter when none is named.
    pub adapter: Option<String>,
    /// The model when none is named.
    pub model: Option<String>,
    /// The effort when none is named.
    pub effort: Option<String>,
    /// What happens when an agent wants to use a tool and nothing else is said.
    pub approvals: Option<Approvals>,
    /// Adapters from the folder that may take the place of bundled ones, by id.
    pub shadow: Vec<String>,
    /// Names of variables that every agent gets beside the base set.
    pub environment: Vec<String>,
    /// Programs by adapter, instead of what the adapter would find.
    pub programs: BTreeMap<String, PathBuf>,
    /// What each adapter may do, beyond what the bundled ones may.
    pub grants: BTreeMap<String, Needs>,
    /// Options by adapter.
    pub options: BTreeMap<String, BTreeMap<String, Value>>,
    /// Clocks and caps.
    pub limits: LimitsConfig,
    /// What is kept of runs.
    pub recording: RecordingConfig,
}

/// The clocks and caps of a turn. Times are in seconds; absent means no limit but where a default is named.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Until the first output.
    pub first_output: Option<f64>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<f64>,
    /// All of it.
    pub total: Option<f64>,
    /// Until an ask counts as refused; 300 by default.
    pub ask: Option<f64>,
    /// Between asking an agent to stop and killing it; 5 by default.
    pub grace: Option<f64>,
    /// Bytes of the longest frame; 16 MiB by default.
    pub frame_bytes: Option<usize>,
}

/// What is kept of runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordingConfig {
    /// Whether runs are recorded.
    pub enabled: bool,
    /// Bytes of one recording, beyond which it is cut off.
    pub run_bytes: u64,
    /// How many runs are kept.
    pub keep_runs: usize,
    /// Bytes of all runs together; the oldest go first.
    pub keep_bytes: u64,
}

impl Default for RecordingConfig {
    fn default() -> RecordingConfig {
        RecordingConfig { enabled: true, run_bytes: 1 << 30, keep_runs: 1000, keep_bytes: 4 << 30 }
    }
}

/// What a project's file may say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProjectConfig {
    adapter: Option<String>,
    model: Option<String>,
    effort: Option<String>,
}

/// Keys that only the user's own file may have.
const USER_ONLY: [&str; 8] =
    ["approvals", "shadow", "environment", "programs", "grants", "options", "limits", "recording"];

impl Config {
    /// The user's file, with the project's over it. Files that are not there say nothing.
    pub fn load(user: &Path, workspace: &Path) -> Result<Config> {
        let mut config: Config = read(user, |_| None)?.unwrap_or_default();
        let project: Option<ProjectConfig> = read(&workspace.join(PROJECT_FILE), |message| {
            USER_ONLY.iter().find(|key| message.contains(&format!("unknown field `{key}`"))).map(|key| {
                format!(
                    "`{key}` may only stand in your own file ({}), because a project's file comes with the project",
                    user.display()
                )
            })
        })?;
        if let Some(project) = project {
            if let Some(adapter) = project.adapter.as_deref().filter(|adapter| adapter.contains(['/', '\\', '.'])) {
                let file = workspace.join(PROJECT_FILE);
                let message = format!("the configuration {} names the adapter {adapter:?} by a path", file.display());
                return Err(Error::new(ErrorKind::Config, message).hint(
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

/// Longer than any turn: what is beyond it would overflow a clock.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A number of seconds that makes sense as a time.
pub(crate) fn seconds(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(|time| time.min(LONGEST))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path, hint: impl Fn(&str) -> Option<String>) -> Result<Option<T>> {
    let shown = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // Where the workspace is no folder, the turn says so better than a file that cannot be in it.
        Err(why) if matches!(why.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(why) => {
            return Err(Error::new(ErrorKind::Config, format!("the configuration {shown} cannot be read: {why}")));
        }
    };
    toml::from_str(&text).map(Some).map_err(|why| {
        let line = why.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = why.message().trim().replace('\n', "; ");
        let error = Error::new(ErrorKind::Config, format!("the configuration {shown}, line {line}: {message}"));
        match hint(&message) {
            Some(hint) => error.hint(hint),
            None => error.hint("docs/configuration.md lists what may stand there"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(user: &str, project: &str) -> Result<Config> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("config.toml"), user).expect("written");
        std::fs::write(folder.path().join(PROJECT_FILE), project).expect("written");
        Config::load(&folder.path().join("config.toml"), folder.path())
    }

    #[test]
    fn the_projects_file_goes_over_the_users() {
        let config =
            load("adapter = \"claude\"\nmodel = \"opus\"\n[limits]\nidle = 30\n", "model = \"haiku\"\n").expect("good");
        assert_eq!((config.adapter.as_deref(), config.model.as_deref()), (Some("claude"), Some("haiku")));
        assert_eq!(seconds(config.limits.idle), Some(Duration::from_secs(30)));
        assert!(config.recording.enabled);
    }

    #[test]
    fn unknown_keys_are_errors_that_name_the_file_and_the_line() {
        let error = load("adapter = \"x\"\n\n[limits]\nidel = 3\n", "").expect_err("refused").to_string();
        assert!(error.contains("config.toml, line 4") && error.contains("idel"), "{error}");
        let error = load("", "modle = \"x\"\n").expect_err("refused").to_string();
        assert!(error.contains(".wharf.toml, line 1"), "{error}");
        let error = load("adapter = [", "").expect_err("refused").to_string();
        assert!(error.contains("line 1"), "{error}");
    }

    #[test]
    fn a_project_cannot_grant_anything() {
        for (key, content) in [
            ("grants", "[grants.x]\nprograms = [\"sh\"]\n"),
            ("programs", "[programs]\nclaude = \"/tmp/evil\"\n"),
            ("approvals", "approvals = \"allow-all\"\n"),
            ("environment", "environment = [\"AWS_SECRET_ACCESS_KEY\"]\n"),
            ("options", "[options.x]\na = 1\n"),
        ] {
            let error = load("", content).expect_err("refused");
            assert!(error.to_do().is_some_and(|hint| hint.contains("own file")), "{key}: {error}");
        }
    }

    #[test]
    fn a_project_cannot_bring_its_own_adapter() {
        for adapter in ["./evil.wasm", "evil.wasm", "/tmp/evil"] {
            let error = load("", &format!("adapter = {adapter:?}\n")).expect_err("refused");
            assert!(error.to_string().contains("by a path"), "{error}");
        }
        assert_eq!(seconds(Some(1.8e19)), Some(LONGEST));
    }

    #[test]
    fn nothing_there_is_nothing_said() {
        let config = Config::load(Path::new("/no/such/file"), Path::new("/no/such/folder")).expect("defaults");
        assert_eq!(config.adapter, None);
    }
}

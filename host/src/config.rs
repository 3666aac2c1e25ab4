//! The configuration: the user's own file, and the project's, which may set less.
//!
//! A project's file comes with the repository, so the author of the repository wrote it: it may choose an adapter and a
//! model, and may not grant anything, name programs or loosen approvals.

mod passed_variable;

pub use passed_variable::PassedVariable;

use crate::disk::{Links, read_plain_file};
use crate::error::{Error, ErrorKind, Result};
use crate::project::project_file;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wharf_core::model::time::Span;
use wharf_core::model::{Access, Approvals, Effort, Prices};
use wharf_core::turn::timeouts::deserialize_span;
use wharf_core::turn::{TimeoutSetting, Timeouts};

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
    /// Options by adapter.
    pub options: BTreeMap<String, BTreeMap<String, Value>>,
    /// When a turn times out.
    pub timeouts: TimeoutsConfig,
    /// What models cost, for costs that their agents do not report.
    pub prices: Prices,
    /// How large and how many.
    pub limits: LimitsConfig,
    /// What is kept of runs.
    pub recording: RecordingConfig,
}

/// The timeouts of a turn: durations, or `none` where a timeout can be off. See [`Timeouts`] for the defaults.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TimeoutsConfig {
    /// From the start to the first output.
    pub first_output: Option<TimeoutSetting>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<TimeoutSetting>,
    /// For the whole run.
    pub total: Option<TimeoutSetting>,
    /// Until an ask counts as denied.
    pub ask: Option<TimeoutSetting>,
    /// Between asking an agent to stop and killing it.
    #[serde(deserialize_with = "deserialize_span")]
    #[schemars(with = "Option<Span>")]
    pub grace: Option<Duration>,
}

impl TimeoutsConfig {
    /// The timeouts, with the defaults filled in.
    pub fn timeouts(&self) -> Timeouts {
        let mut timeouts = Timeouts::default();
        let set = |setting: Option<TimeoutSetting>, default| setting.map_or(default, Into::into);
        timeouts.first_output = set(self.first_output, timeouts.first_output);
        timeouts.idle = set(self.idle, timeouts.idle);
        timeouts.total = set(self.total, timeouts.total);
        timeouts.ask = set(self.ask, timeouts.ask);
        timeouts.grace = self.grace.unwrap_or(timeouts.grace);
        timeouts
    }
}

/// The limits of a host and its runs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The size limit of a frame in bytes; 16 MiB by default.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub frame_bytes: Option<usize>,
    /// How many runs of one host may be live at once; no limit by default.
    #[serde(deserialize_with = "at_least_one")]
    #[schemars(range(min = 1))]
    pub runs: Option<usize>,
    /// The processor time in seconds that compiling an adapter may take in a child process; 120 by default. See
    /// [`compile_in_child`](crate::compile_in_child).
    #[serde(deserialize_with = "at_least_one")]
    pub compile_seconds: Option<u64>,
    /// The memory in bytes that compiling an adapter may take in a child process; 2 GiB by default.
    #[serde(deserialize_with = "at_least_one")]
    pub compile_bytes: Option<u64>,
}

fn at_least_one<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: Deserialize<'de> + Default + PartialEq,
{
    let number = N::deserialize(deserializer)?;
    if number == N::default() {
        return Err(D::Error::custom("0 is not allowed: it must be at least 1"));
    }
    Ok(Some(number))
}

/// What is kept of runs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RecordingConfig {
    /// Whether runs are recorded.
    pub enabled: bool,
    /// The size limit of one recording, in bytes. Beyond it, the streams are not kept.
    pub run_bytes: u64,
    /// How many runs are kept.
    pub keep_runs: usize,
    /// The size limit of all runs together, in bytes; the oldest are removed first.
    pub keep_bytes: u64,
}

impl Default for RecordingConfig {
    fn default() -> RecordingConfig {
        RecordingConfig { enabled: true, run_bytes: 1 << 30, keep_runs: 1000, keep_bytes: 4 << 30 }
    }
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
const USER_ONLY: [&str; 10] = [
    "approvals",
    "shadow",
    "environment",
    "programs",
    "grants",
    "options",
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
        if let Some((model, _)) = config.prices.0.iter().find(|(_, price)| !price.is_valid()) {
            let message = format!("the configuration {}: a price of {model:?} is not an amount", user.display());
            return Err(Error::new(ErrorKind::Config, message).with_hint("write US dollars for a million tokens"));
        }
        Ok(config)
    }

    /// Reads the user's file and then the project's, which overrides it. Missing files set nothing. The project's file
    /// is in the workspace, or in the nearest folder above it that belongs to the same repository.
    pub fn load(user: &Path, workspace: &Path) -> Result<Config> {
        let mut config = Config::load_user(user)?;
        let file = project_file(workspace);
        let project: Option<ProjectConfig> = read(&file, Links::Refuse, PROJECT_LIMIT, |message| {
            USER_ONLY.iter().find(|key| message.contains(&format!("unknown field `{key}`"))).map(|key| {
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

fn read<T: for<'a> Deserialize<'a>>(
    path: &Path,
    links: Links,
    limit: u64,
    hint: impl Fn(&str) -> Option<String>,
) -> Result<Option<T>> {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, NotADirectory, NotFound};
    let shown = path.display();
    let text = read_plain_file(path, links, limit).and_then(|content| {
        String::from_utf8(content).map_err(|_| std::io::Error::new(InvalidData, "it is not UTF-8"))
    });
    let text = match text {
        Ok(text) => text,
        // That the workspace is not a folder is reported by the turn.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(error) if matches!(error.kind(), InvalidInput | InvalidData | FileTooLarge) => {
            return Err(Error::new(ErrorKind::Config, format!("the configuration {shown} cannot be read: {error}")));
        }
        Err(error) => return Err(Error::system(format!("reading the configuration {shown}"), error)),
    };
    toml::from_str(&text).map(Some).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = error.message().trim().replace('\n', "; ");
        let error = Error::new(ErrorKind::Config, format!("the configuration {shown}, line {line}: {message}"));
        match hint(&message) {
            Some(hint) => error.with_hint(hint),
            None => error.with_hint("docs/configuration.md lists the settings"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::PROJECT_FILE;

    fn load(user: &str, project: &str) -> Result<Config> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("config.toml"), user).expect("written");
        std::fs::write(folder.path().join(PROJECT_FILE), project).expect("written");
        Config::load(&folder.path().join("config.toml"), folder.path())
    }

    #[test]
    fn the_projects_file_overrides_the_users() {
        let config = load("adapter = \"claude\"\nmodel = \"opus\"\n[timeouts]\nidle = 30\n", "model = \"haiku\"\n")
            .expect("good");
        assert_eq!((config.adapter.as_deref(), config.model.as_deref()), (Some("claude"), Some("haiku")));
        assert_eq!(config.timeouts.timeouts().idle, Some(Duration::from_secs(30)));
        assert!(config.recording.enabled);
    }

    #[test]
    fn unknown_keys_are_errors_that_name_the_file_and_the_line() {
        let error = load("adapter = \"x\"\n\n[timeouts]\nidel = 3\n", "").expect_err("refused").to_string();
        assert!(error.contains("config.toml, line 4") && error.contains("idel"), "{error}");
        let error = load("", "modle = \"x\"\n").expect_err("refused").to_string();
        assert!(error.contains(".wharf.toml, line 1"), "{error}");
        let error = load("adapter = [", "").expect_err("refused").to_string();
        assert!(error.contains("line 1"), "{error}");
    }

    #[test]
    fn a_variable_can_be_marked_as_secret_or_not() {
        let config = load(
            "environment = [\n  \"A\",\n  { name = \"TASK_ID\", secret = false },\n  { name = \"B\", secret = true },\n  { name = \"C\" },\n]\n",
            "",
        );
        let environment = config.expect("good").environment;
        let found: Vec<(&str, Option<bool>)> = environment.iter().map(|one| (one.name.as_str(), one.secret)).collect();
        assert_eq!(found, [("A", None), ("TASK_ID", Some(false)), ("B", Some(true)), ("C", None)]);
    }

    #[test]
    fn a_malformed_variable_is_an_error_that_names_the_file_and_the_line() {
        for (entry, reason) in [
            ("\"A=1\"", "not a variable's name"),
            ("\"\"", "not a variable's name"),
            ("7", "a variable's name"),
            ("{ secret = false }", "missing field `name`"),
            ("{ name = \"A\", secret = \"no\" }", "expected a boolean"),
            ("{ name = \"A\", value = \"1\" }", "unknown field `value`"),
            ("{ name = \"A=1\", secret = false }", "not a variable's name"),
        ] {
            let error = load(&format!("environment = [\n  \"GOOD\",\n  {entry},\n]\n"), "").expect_err(entry);
            let text = error.to_string();
            assert!(text.contains("config.toml, line 3") && text.contains(reason), "{entry}: {text}");
        }
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
            assert!(error.hint().is_some_and(|hint| hint.contains("own file")), "{key}: {error}");
        }
    }

    #[test]
    fn a_project_cannot_bring_its_own_adapter() {
        for adapter in ["./evil.wasm", "evil.wasm", "/tmp/evil"] {
            let error = load("", &format!("adapter = {adapter:?}\n")).expect_err("refused");
            assert!(error.to_string().contains("by a path"), "{error}");
        }
    }

    #[test]
    fn an_invalid_value_is_an_error_and_not_the_default() {
        for (section, key, value) in [
            ("timeouts", "idle", "-1"),
            ("timeouts", "total", "nan"),
            ("timeouts", "ask", "-0.5"),
            ("timeouts", "grace", "-inf"),
            ("limits", "runs", "0"),
            ("limits", "runs", "-1"),
            ("limits", "compile_seconds", "0"),
            ("limits", "compile_bytes", "-1"),
        ] {
            let error = load(&format!("[{section}]\n{key} = {value}\n"), "").expect_err("refused").to_string();
            assert!(error.contains("config.toml, line 2"), "{key} = {value}: {error}");
        }
        let error = load("effort = \"huge\"\n", "").expect_err("refused").to_string();
        assert!(error.contains("line 1") && error.contains("xhigh"), "{error}");
    }

    #[test]
    fn a_timeout_is_a_number_of_seconds_a_duration_or_none() {
        let user =
            "[timeouts]\nfirst_output = \"none\"\nidle = \"1h30m\"\ntotal = 0.5\nask = \"none\"\ngrace = \"2s\"\n";
        let timeouts = load(user, "").expect("valid").timeouts.timeouts();
        assert_eq!((timeouts.first_output, timeouts.ask), (None, None));
        assert_eq!((timeouts.idle, timeouts.total), (Some(Duration::from_mins(90)), Some(Duration::from_millis(500))));
        assert_eq!(timeouts.grace, Duration::from_secs(2));
        let defaults = load("", "").expect("valid").timeouts.timeouts();
        assert_eq!(defaults, Timeouts::default());
        let error = load("[timeouts]\nask = \"soon\"\n", "").expect_err("refused").to_string();
        assert!(error.contains("line 2") && error.contains("\"soon\"") && error.contains("1h30m"), "{error}");
        assert!(load("[timeouts]\ngrace = \"none\"\n", "").is_err(), "an agent has to end at some time");
    }

    #[test]
    fn prices_are_amounts_of_the_users_own_file() {
        let config = load("[prices.\"m-*\"]\ninput = 3\noutput = 15.5\ncached = 0.3\n", "").expect("valid");
        assert_eq!(config.prices.of("m-1").map(|price| price.output), Some(15.5));
        for invalid in
            ["input = -1\noutput = 1", "input = 1", "input = 1\noutput = nan", "input = 1\noutput = 1\nx = 1"]
        {
            assert!(load(&format!("[prices.m]\n{invalid}\n"), "").is_err(), "{invalid}");
        }
        assert!(load("", "[prices.m]\ninput = 1\noutput = 1\n").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_projects_file_that_is_a_link_a_pipe_or_too_large_is_refused_at_once() {
        let refusal = |make: &dyn Fn(&Path)| {
            let folder = tempfile::tempdir().expect("a folder");
            make(&folder.path().join(PROJECT_FILE));
            let error = Config::load(Path::new("/no/such/file"), folder.path()).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Config);
            error.to_string()
        };
        let link = |target: &'static str| move |path: &Path| std::os::unix::fs::symlink(target, path).expect("a link");
        assert!(refusal(&link("/dev/zero")).contains("a link"));
        assert!(refusal(&link("/dev/stdin")).contains("a link"));
        assert!(refusal(&link("/etc/passwd")).contains("a link"));
        let pipe = |path: &Path| {
            let status = std::process::Command::new("mkfifo").arg(path).status();
            assert!(status.expect("every system has mkfifo").success());
        };
        assert!(refusal(&pipe).contains("not a plain file"));
        let large = |path: &Path| {
            std::fs::write(path, format!("model = [{}]", "\"x\",".repeat(1 << 20))).expect("written");
        };
        assert!(refusal(&large).contains("more than 65536 bytes"));
    }

    #[test]
    fn missing_files_set_nothing() {
        let config = Config::load(Path::new("/no/such/file"), Path::new("/no/such/folder")).expect("defaults");
        assert_eq!(config.adapter, None);
    }
}

//! What the host does on an adapter's behalf. Every function checks the grants first, and its answer is recorded; in
//! a replay nothing is done, and the recorded answer is returned.
//!
//! Only this room connects to servers and runs probes for adapters.

mod files;
mod http;
mod log;
mod probes;
mod program;
mod recorded;
mod types;
mod variables;

pub(crate) use http::HttpClient;
pub use probes::Waiting;
pub(crate) use program::is_probe_id;
pub use variables::BASE as BASE_ENVIRONMENT;
pub(crate) use variables::Environment;
pub use variables::Variable;

use log::Log;
use probes::Probes;
use recorded::Answers;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::Result;
pub(crate) use types::{Command, Content, FoundProgram, HostError, Output, Request, Response};
use url::Url;
use wharf_core::model::{LogLevel, Probe};
use wharf_core::policy::{DenialReason, Grants};
use wharf_core::stream::{Secrets, has_login, is_secret};

/// What an adapter may reach, and how.
pub(crate) struct Imports {
    probes: Probes,
    /// Whether a program was looked for that the adapter requests and the user has not granted.
    denied: bool,
    grants: Grants,
    environment: Environment,
    /// The values of variables that may not be logged or recorded.
    secrets: Secrets,
    http: HttpClient,
    /// Where the run's launch files are.
    launch_folder: Option<PathBuf>,
    /// Where the processes of probes are noted while they run.
    live_runs: Option<PathBuf>,
    answers: Answers,
    log: Log,
}

impl Imports {
    pub(crate) fn new(grants: Grants, environment: Environment, http: HttpClient) -> Imports {
        Imports {
            probes: Probes::default(),
            denied: false,
            secrets: environment.secrets(&grants),
            grants,
            environment,
            http,
            launch_folder: None,
            live_runs: None,
            answers: Answers::default(),
            log: Log::default(),
        }
    }

    /// The values that nothing the adapter says may contain.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// With a folder in which the processes of probes are noted, so that they can be killed after this host was.
    pub(crate) fn with_live_runs(self, folder: PathBuf) -> Imports {
        Imports { live_runs: Some(folder), ..self }
    }

    /// The same, but no program is run and no request is sent; [`Imports::take_probes`] says which would have been.
    pub(crate) fn without_probes(self) -> Imports {
        Imports { probes: Probes::refusing(), ..self }
    }

    /// What was not done: `run: claude --version`.
    pub(crate) fn take_probes(&mut self) -> Vec<String> {
        self.probes.take_refused()
    }

    /// The same, but all probes together may take only this long. `waiting` shows which one runs.
    pub(crate) fn with_probe_limit(self, limit: Duration, waiting: Waiting) -> Imports {
        Imports { probes: Probes::limited(limit, waiting), ..self }
    }

    /// What was run, and how it ended.
    pub(crate) fn take_probes_made(&mut self) -> Vec<Probe> {
        self.probes.take_made()
    }

    /// Whether a program was looked for that the adapter requests and the user has not granted.
    pub(crate) fn was_denied(&self) -> bool {
        self.denied
    }

    /// Imports that only repeat recorded answers.
    pub(crate) fn replaying() -> Imports {
        let nothing = Imports::new(Grants::default(), Environment::empty(), HttpClient::default());
        Imports { answers: Answers::replaying(), ..nothing }
    }

    /// In a replay: the next answer of the recording.
    pub(crate) fn replay(&mut self, answer: String) {
        self.answers.replay(answer);
    }

    pub(crate) fn set_launch_folder(&mut self, folder: &Path) {
        self.launch_folder = Some(folder.to_owned());
    }

    /// From now on answers are kept for a recording.
    pub(crate) fn keep_answers(&mut self) {
        self.answers.keep();
    }

    /// The answers since the last time, for the recording.
    pub(crate) fn take_answers(&mut self) -> Vec<String> {
        self.answers.take()
    }

    pub(crate) fn find_program(&mut self, name: &str) -> Result<FoundProgram> {
        if let Some(recorded) = self.answers.recorded("find-program") {
            return recorded;
        }
        let found = check_length("a program's name", name).and_then(|()| {
            self.grants.program(name).inspect_err(|denial| {
                self.denied |= denial.reason == DenialReason::NotGranted;
            })?;
            let path = self.environment.find_program(name).ok_or_else(|| HostError::NotFound(name.to_owned()))?;
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            let text = |path: &Path| path.to_string_lossy().into_owned();
            Ok(FoundProgram { path: text(&path), real_path: text(&real) })
        });
        self.answers.record("find-program", found)
    }

    pub(crate) async fn run(&mut self, command: &Command) -> Result<Output> {
        if let Some(recorded) = self.answers.recorded("run") {
            return recorded;
        }
        let granted = check_length("a program's path", &command.program)
            .and_then(|()| {
                let path = |name: &str| self.environment.program_path(name);
                self.grants.run_program(&command.program, path).map_err(HostError::from)
            })
            .and_then(|()| self.probes.check(|| format!("run: {} {}", command.program, command.args.join(" "))));
        let output = match granted {
            Ok(()) => {
                let variables = self.environment.for_agent(&self.grants);
                let secrets = self.secrets.clone();
                let command = self.with_path(command).into_owned();
                self.probes.run(&command, &variables, self.live_runs.as_deref(), &secrets).await
            }
            Err(error) => Err(error),
        };
        self.answers.record("run", output)
    }

    /// The command with the path of its program, which may be granted and named without one.
    fn with_path<'a>(&self, command: &'a Command) -> Cow<'a, Command> {
        match self.environment.program_path(&command.program).filter(|path| *path != command.program) {
            Some(program) => Cow::Owned(Command { program, ..command.clone() }),
            None => Cow::Borrowed(command),
        }
    }

    pub(crate) async fn fetch(&mut self, request: Request) -> Result<Response> {
        if let Some(recorded) = self.answers.recorded("fetch") {
            return recorded;
        }
        let response = match self.check_url(&request.url) {
            Ok(url) => match self.probes.check(|| format!("fetch: {} {url}", request.method)) {
                Ok(()) => self.http.fetch(url, request).await,
                Err(closed) => Err(closed),
            },
            Err(error) => Err(error),
        };
        self.answers.record("fetch", response)
    }

    fn check_url(&self, text: &str) -> Result<Url> {
        check_length("a URL", text)?;
        let url = Url::parse(text).map_err(|error| HostError::Failed(format!("{text} is not a URL: {error}")))?;
        let granted = |name: &str| self.grants.variable(name).ok().and_then(|()| self.environment.get(name));
        self.grants.origin(&url, granted)?;
        Ok(url)
    }

    pub(crate) fn read_file(&mut self, path: &str) -> Result<Content> {
        if let Some(recorded) = self.answers.recorded("read-file") {
            return recorded;
        }
        let content =
            check_length("a path", path).and_then(|()| files::read_granted(path, &self.grants, &self.environment));
        self.answers.record("read-file", content)
    }

    pub(crate) fn read_launch_file(&mut self, name: &str) -> Result<Content> {
        if let Some(recorded) = self.answers.recorded("read-launch-file") {
            return recorded;
        }
        let content = check_length("a file's name", name)
            .and_then(|()| files::read_launch_file(name, self.launch_folder.as_deref()));
        self.answers.record("read-launch-file", content)
    }

    pub(crate) fn variable(&mut self, name: &str) -> Result<Option<String>> {
        if let Some(recorded) = self.answers.recorded("variable") {
            return recorded;
        }
        let value = check_length("a variable's name", name).and_then(|()| {
            self.grants.variable(name)?;
            Ok(self.environment.get(name))
        });
        let shown = value.as_ref().map(|value| value.as_deref().map(|value| recorded_value(name, value)));
        let shown = shown.map_err(Clone::clone);
        let _ = self.answers.record("variable", shown);
        value
    }

    /// A log line of the adapter.
    pub(crate) fn log(&mut self, level: LogLevel, message: &str) {
        self.log.line(level, &self.secrets.redact(message));
    }

    /// A call of the adapter has ended.
    pub(crate) fn end_call(&mut self) {
        self.log.end_call();
    }
}

/// A variable's value in a recording: itself if it is a setting by its name, such as a model, because an event may have
/// it; nothing of any other, however short. That it was set is enough for a replay then.
fn recorded_value(name: &str, value: &str) -> String {
    let is_setting = !is_secret(name, "any value of it") && !has_login(value);
    if is_setting { value.to_owned() } else { "[redacted]".to_owned() }
}

/// The longest name, path or URL. Answers name what they are about, and answers are kept.
const NAME_LIMIT: usize = 8 << 10;

fn check_length(what: &str, name: &str) -> Result<()> {
    if name.len() <= NAME_LIMIT {
        return Ok(());
    }
    Err(HostError::Denied(format!("{what} has {} bytes, and may have at most {NAME_LIMIT}", name.len())))
}

impl Default for Imports {
    /// Imports that reach nothing.
    fn default() -> Imports {
        Imports::new(Grants::default(), Environment::empty(), HttpClient::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fmt::{Debug, Write as _};
    use std::sync::{Arc, Mutex, PoisonError};
    use tracing::field::{Field, Visit};
    use tracing::{Event, Metadata, Subscriber, span};

    /// Collects the text of log lines.
    #[derive(Clone, Default)]
    struct Collected(Arc<Mutex<String>>);

    impl Subscriber for Collected {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    impl Visit for Collected {
        fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
            let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writeln!(text, "{value:?}").expect("a String takes everything");
        }
    }

    #[test]
    fn a_log_line_of_an_adapter_contains_no_secret_also_where_it_is_cut_off() {
        let secret = "hunter2-hunter2";
        let environment = Environment::empty().with(BTreeMap::from([("KEY".to_owned(), Variable::from(secret))]));
        let mut imports = Imports::new(Grants::default(), environment, HttpClient::default());
        let collected = Collected::default();
        tracing::subscriber::with_default(collected.clone(), || {
            imports.log(LogLevel::Info, &format!("the key is {secret}"));
            // The longest line has 8 KiB: the secret would be cut in half.
            imports.log(LogLevel::Warn, &format!("{}{secret}", "x".repeat((8 << 10) - 7)));
        });
        let text = collected.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(text.contains("the key is [redacted:KEY]") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_replay_sees_the_model_that_a_variable_named_and_no_key() {
        for (name, value, recorded) in [
            ("COPILOT_MODEL", "mock-model", "mock-model"),
            ("COPILOT_PROVIDER_BASE_URL", "http://u:p@h", "[redacted]"),
            ("GH_TOKEN", "gho_x", "[redacted]"),
            ("SHORT", "k", "[redacted]"),
        ] {
            assert_eq!(recorded_value(name, value), recorded, "{name}");
        }
    }
}

//! What the host does on an adapter's behalf. Every function checks the grants first, and its answer is recorded; in
//! a replay nothing is done, and the recorded answer is returned.
//!
//! Only this room connects to servers and runs probes for adapters.

mod files;
mod http;
mod log;
mod program;
mod recorded;
mod types;
mod variables;

pub(crate) use http::HttpClient;
pub(crate) use program::is_probe_id;
pub use variables::BASE as BASE_ENVIRONMENT;
pub(crate) use variables::Environment;

use log::Log;
use recorded::Answers;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use types::Result;
pub(crate) use types::{Command, Content, FoundProgram, HostError, Output, Request, Response};
use url::Url;
use wharf_core::model::LogLevel;
use wharf_core::policy::Grants;

/// How many probes are listed that were not made, and how much of each is shown.
const PROBES_LISTED: usize = 64;
const PROBE_SHOWN: usize = 1 << 10;

/// What an adapter may reach, and how.
pub(crate) struct Imports {
    /// Set if nothing may be started and no request sent: what would have been done instead.
    probes: Option<Vec<String>>,
    grants: Grants,
    environment: Environment,
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
            probes: None,
            grants,
            environment,
            http,
            launch_folder: None,
            live_runs: None,
            answers: Answers::default(),
            log: Log::default(),
        }
    }

    /// With a folder in which the processes of probes are noted, so that they can be killed after this host was.
    pub(crate) fn with_live_runs(self, folder: PathBuf) -> Imports {
        Imports { live_runs: Some(folder), ..self }
    }

    /// The same, but no program is run and no request is sent; [`Imports::take_probes`] says which would have been.
    pub(crate) fn without_probes(self) -> Imports {
        Imports { probes: Some(Vec::new()), ..self }
    }

    /// What was not done: `run: claude --version`.
    pub(crate) fn take_probes(&mut self) -> Vec<String> {
        self.probes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Refuses a probe if none may be made.
    fn probe(&mut self, what: impl FnOnce() -> String) -> Result<()> {
        let Some(probes) = &mut self.probes else { return Ok(()) };
        if probes.len() < PROBES_LISTED {
            probes.push(what().chars().take(PROBE_SHOWN).collect());
        }
        Err(HostError::Denied("nothing is started while a turn is explained".to_owned()))
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
            self.grants.program(name)?;
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
            .and_then(|()| self.probe(|| format!("run: {} {}", command.program, command.args.join(" "))));
        let output = match granted {
            Ok(()) => {
                let variables = self.environment.for_agent(&self.grants);
                program::run(&self.with_path(command), &variables, self.live_runs.as_deref()).await
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
            Ok(url) => match self.probe(|| format!("fetch: {} {url}", request.method)) {
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
        // The value of a variable never reaches a file; that it was set is enough for a replay.
        let shown = value.as_ref().map(|value| value.as_ref().map(|_| "[redacted]".to_owned())).map_err(Clone::clone);
        let _ = self.answers.record("variable", shown);
        value
    }

    /// A log line of the adapter.
    pub(crate) fn log(&mut self, level: LogLevel, message: &str) {
        self.log.line(level, message);
    }

    /// A call of the adapter has ended.
    pub(crate) fn end_call(&mut self) {
        self.log.end_call();
    }
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

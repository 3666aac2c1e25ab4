//! What the host does on an adapter's behalf. Every function checks the grants first, and its answer is recorded; in
//! a replay nothing is done, and the recorded answer is returned.
//!
//! Only this room connects to servers and runs probes for adapters.

mod files;
mod http;
mod program;
mod recorded;
mod types;
mod variables;

pub(crate) use http::HttpClient;
pub use variables::BASE as BASE_ENVIRONMENT;
pub(crate) use variables::Environment;

use recorded::Answers;
use std::path::{Path, PathBuf};
use types::Result;
pub(crate) use types::{Command, Content, FoundProgram, HostError, Output, Request, Response};
use url::Url;
use wharf_core::model::LogLevel;
use wharf_core::policy::Grants;

/// What an adapter may reach, and how.
pub(crate) struct Imports {
    grants: Grants,
    environment: Environment,
    http: HttpClient,
    /// Where the run's launch files are.
    launch_folder: Option<PathBuf>,
    answers: Answers,
}

impl Imports {
    pub(crate) fn new(grants: Grants, environment: Environment, http: HttpClient) -> Imports {
        Imports { grants, environment, http, launch_folder: None, answers: Answers::default() }
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

    /// The answers since the last time, for the recording.
    pub(crate) fn take_answers(&mut self) -> Vec<String> {
        self.answers.take()
    }

    pub(crate) fn find_program(&mut self, name: &str) -> Result<FoundProgram> {
        if let Some(recorded) = self.answers.recorded("find-program") {
            return recorded;
        }
        let found = self.grants.program(name).map_err(HostError::from).and_then(|()| {
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
        let output = match self.grants.run_program(&command.program, |name| self.environment.program_path(name)) {
            Ok(()) => program::run(command, &self.environment.for_agent(&self.grants)).await,
            Err(denial) => Err(denial.into()),
        };
        self.answers.record("run", output)
    }

    pub(crate) async fn fetch(&mut self, request: Request) -> Result<Response> {
        if let Some(recorded) = self.answers.recorded("fetch") {
            return recorded;
        }
        let response = match self.check_url(&request.url) {
            Ok(url) => self.http.fetch(url, request).await,
            Err(error) => Err(error),
        };
        self.answers.record("fetch", response)
    }

    fn check_url(&self, text: &str) -> Result<Url> {
        let url = Url::parse(text).map_err(|error| HostError::Failed(format!("{text} is not a URL: {error}")))?;
        let granted = |name: &str| self.grants.variable(name).ok().and_then(|()| self.environment.get(name));
        self.grants.origin(&url, granted)?;
        Ok(url)
    }

    pub(crate) fn read_file(&mut self, path: &str) -> Result<Content> {
        if let Some(recorded) = self.answers.recorded("read-file") {
            return recorded;
        }
        let content = files::read_granted(path, &self.grants, &self.environment);
        self.answers.record("read-file", content)
    }

    pub(crate) fn read_launch_file(&mut self, name: &str) -> Result<Content> {
        if let Some(recorded) = self.answers.recorded("read-launch-file") {
            return recorded;
        }
        let content = files::read_launch_file(name, self.launch_folder.as_deref());
        self.answers.record("read-launch-file", content)
    }

    pub(crate) fn variable(&mut self, name: &str) -> Result<Option<String>> {
        if let Some(recorded) = self.answers.recorded("variable") {
            return recorded;
        }
        let value = self.grants.variable(name).map(|()| self.environment.get(name)).map_err(HostError::from);
        // The value of a variable never reaches a file; that it was set is enough for a replay.
        let shown = value.as_ref().map(|value| value.as_ref().map(|_| "[redacted]".to_owned())).map_err(Clone::clone);
        let _ = self.answers.record("variable", shown);
        value
    }

    /// A log line of the adapter.
    #[expect(clippy::unused_self, reason = "only an adapter that has imports may log")]
    pub(crate) fn log(&self, level: LogLevel, message: &str) {
        match level {
            LogLevel::Debug => tracing::debug!(target: "wharf::adapter", "{message}"),
            LogLevel::Info => tracing::info!(target: "wharf::adapter", "{message}"),
            LogLevel::Warn => tracing::warn!(target: "wharf::adapter", "{message}"),
            LogLevel::Error => tracing::error!(target: "wharf::adapter", "{message}"),
        }
    }
}

impl Default for Imports {
    /// Imports that reach nothing.
    fn default() -> Imports {
        Imports::new(Grants::default(), Environment::empty(), HttpClient::default())
    }
}

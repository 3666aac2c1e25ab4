//! What the host does on an adapter's behalf.

use crate::bindings::wharf::runtime::host as imported;
use crate::{Command, FoundProgram, HostError, LogLevel, Output, Request, Response};

/// The host, callable during `resolve_binary`, `finish` and `list_models`. A trait, so that tests can use
/// [`crate::testing::FakeHost`].
pub trait Host {
    /// Looks a name up in PATH, or checks that an absolute path is a program.
    fn find_program(&self, name: &str) -> Result<FoundProgram, HostError>;
    /// Runs a program that `find_program` gave. Never through a shell.
    fn run(&self, command: &Command) -> Result<Output, HostError>;
    /// Sends one HTTP request. Redirects are not followed.
    fn fetch(&self, request: &Request) -> Result<Response, HostError>;
    /// Reads a file that matches a granted pattern.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, HostError>;
    /// Reads one of the run's own launch files, as the agent left it.
    fn read_launch_file(&self, name: &str) -> Result<Vec<u8>, HostError>;
    /// An environment variable; empty counts as unset. One that was not granted is denied, not absent.
    fn variable(&self, name: &str) -> Result<Option<String>, HostError>;
    /// Writes a line to the host's log.
    fn log(&self, level: LogLevel, message: &str);

    /// An environment variable, if it is granted, set and not empty.
    fn set_variable(&self, name: &str) -> Option<String> {
        self.variable(name).ok().flatten()
    }
}

/// The real host: the component's imports.
pub(crate) struct Imported;

impl Host for Imported {
    fn find_program(&self, name: &str) -> Result<FoundProgram, HostError> {
        imported::find_program(name)
    }
    fn run(&self, command: &Command) -> Result<Output, HostError> {
        imported::run(command)
    }
    fn fetch(&self, request: &Request) -> Result<Response, HostError> {
        imported::fetch(request)
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, HostError> {
        imported::read_file(path)
    }
    fn read_launch_file(&self, name: &str) -> Result<Vec<u8>, HostError> {
        imported::read_launch_file(name)
    }
    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        imported::variable(name)
    }
    fn log(&self, level: LogLevel, message: &str) {
        imported::log(level, message);
    }
}

/// What an error of the host means, for people.
pub(crate) fn error_text(error: &HostError) -> String {
    match error {
        HostError::Denied(reason) => format!("denied: {reason}"),
        HostError::NotFound(_) => "not found".to_owned(),
        HostError::TimedOut => "timed out".to_owned(),
        HostError::TooLarge => "too large".to_owned(),
        HostError::Failed(reason) => reason.clone(),
    }
}

//! What the host does on an adapter's behalf.

use crate::bindings::wharf::runtime::host as imported;
use crate::{Command, FoundProgram, HostError, LogLevel, Output, Request, Response};

/// The host, during `resolve_binary`, `finish` and `list_models`. A trait, so that tests bring their own:
/// [`crate::testing::FakeHost`].
pub trait Host {
    /// Look a name up in PATH, or check that an absolute path is a program.
    fn find_program(&self, name: &str) -> Result<FoundProgram, HostError>;
    /// Run a program that was found. Never through a shell.
    fn run(&self, command: &Command) -> Result<Output, HostError>;
    /// One HTTP request. Redirects are not followed.
    fn fetch(&self, request: &Request) -> Result<Response, HostError>;
    /// A file among the granted patterns.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, HostError>;
    /// One of the run's own launch files, as the agent left it.
    fn read_launch_file(&self, name: &str) -> Result<Vec<u8>, HostError>;
    /// An environment variable; empty counts as unset.
    fn variable(&self, name: &str) -> Result<Option<String>, HostError>;
    /// A line in the host's log.
    fn log(&self, level: LogLevel, message: &str);

    /// An environment variable that is set, granted and not empty.
    fn set_variable(&self, name: &str) -> Option<String> {
        self.variable(name).ok().flatten()
    }
}

/// The real one: the component's imports.
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

//! The interface `host`, as a guest calls it: refused during calls that must not use the host, else done by
//! [`imports`](crate::guest::imports).

use super::bindings::host::{Command, FoundProgram, Host, HostError, Output, Request, Response};
use super::bindings::types;
use super::lift;
use crate::guest::imports;
use crate::guest::state::State;

type Answer<T> = wasmtime::Result<Result<T, HostError>>;

fn host_error(error: imports::HostError) -> HostError {
    match error {
        imports::HostError::Denied(reason) => HostError::Denied(reason),
        imports::HostError::NotFound(what) => HostError::NotFound(what),
        imports::HostError::TimedOut => HostError::TimedOut,
        imports::HostError::TooLarge => HostError::TooLarge,
        imports::HostError::Failed(reason) => HostError::Failed(reason),
    }
}

impl types::Host for State {}

impl Host for State {
    async fn find_program(&mut self, name: String) -> Answer<FoundProgram> {
        let found = self.open_imports("find-program")?.find_program(&name);
        Ok(found.map(|found| FoundProgram { path: found.path, real_path: found.real_path }).map_err(host_error))
    }

    async fn run(&mut self, command: Command) -> Answer<Output> {
        let Command { program, args, stdin, timeout_ms } = command;
        let command = imports::Command { program, args, stdin, timeout_ms };
        let output = self.open_imports("run")?.run(&command).await;
        let lower = |output: imports::Output| Output {
            code: output.code,
            stdout: output.stdout,
            stderr: output.stderr,
            timed_out: output.timed_out,
        };
        Ok(output.map(lower).map_err(host_error))
    }

    async fn fetch(&mut self, request: Request) -> Answer<Response> {
        let Request { method, url, headers, body, timeout_ms } = request;
        let request = imports::Request { method, url, headers, body, timeout_ms };
        let response = self.open_imports("fetch")?.fetch(request).await;
        let lower = |response: imports::Response| Response {
            status: response.status,
            headers: response.headers,
            body: response.body,
        };
        Ok(response.map(lower).map_err(host_error))
    }

    async fn read_file(&mut self, path: String) -> Answer<Vec<u8>> {
        let content = self.open_imports("read-file")?.read_file(&path);
        Ok(content.map(|content| content.0).map_err(host_error))
    }

    async fn read_launch_file(&mut self, name: String) -> Answer<Vec<u8>> {
        let content = self.open_imports("read-launch-file")?.read_launch_file(&name);
        Ok(content.map(|content| content.0).map_err(host_error))
    }

    async fn variable(&mut self, name: String) -> Answer<Option<String>> {
        Ok(self.open_imports("variable")?.variable(&name).map_err(host_error))
    }

    async fn log(&mut self, level: types::LogLevel, message: String) -> wasmtime::Result<()> {
        self.open_imports("log")?.log(lift::log_level(level), &message);
        Ok(())
    }
}

//! The adapter for `OpenAI` Codex.
//!
//! There are two transports: `app-server` (`server`), which streams, asks, and takes messages and further turns, and
//! `exec --json` (`exec`), one process per turn. Both report the same items, which `items` reads. Measurements are in
//! docs/adapters/codex.md. Output is read by what a line contains, never by what a version should print.

mod asks;
mod attachments;
mod binary;
mod changes;
mod exec;
mod failure;
mod ignored;
mod info;
mod items;
mod launch;
mod login;
mod models;
mod outage;
mod permissions;
mod request;
mod server;
mod shell;
mod toml;
mod transport;
mod usage;

use transport::Transport;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Evidence, ExitStatus, Failure, Host, Input, Json, Launch,
    Malformed, ModelList, PromptDelivery, Settings, Turn,
};

/// One run of Codex.
#[derive(Default)]
pub struct Codex {
    /// Reads the lines of `exec`.
    exec: exec::Exec,
    /// Our side of `app-server`.
    server: server::Server,
    /// Whether inputs are for `exec`, which takes none but timers.
    is_exec: bool,
}

impl Adapter for Codex {
    fn describe() -> AdapterInfo {
        info::describe()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        let transport = Transport::named(settings.transport());
        let launch = launch::build(settings, transport, binary)?;
        let version = binary.version.as_deref();
        self.is_exec = transport == Transport::Exec;
        self.exec.prepare(settings.turn(), launch::forks(settings.turn(), binary), version);
        if !self.is_exec {
            self.server.prepare(settings, version);
        }
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(match Transport::named(transport) {
            Transport::AppServer => PromptDelivery::InProtocol,
            Transport::Exec => PromptDelivery::Stdin(turn.prompt.clone().into_bytes()),
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        match line.get("type").name() {
            Some(kind) => self.exec.line(kind, line, out),
            None => self.server.line(line, out),
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        if !self.is_exec {
            self.server.next_turn(turn, out);
        }
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Timer(number) if self.is_exec => self.exec.timer(number, out),
            _ if self.is_exec => {}
            input => self.server.handle(input, out),
        }
    }

    fn finish(&mut self, host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.exec.finish(host, out);
        self.server.finish(out);
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        let last = self.exec.last_failure().or_else(|| self.server.last_failure());
        last.cloned().or_else(|| failure::from_evidence(evidence))
    }

    fn list_models(&mut self, host: &dyn Host, binary: Option<&Binary>) -> ModelList {
        models::list(host, binary)
    }
}

wharf_adapter::export!(Codex);

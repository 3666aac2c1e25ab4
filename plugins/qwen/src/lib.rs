//! The adapter for Qwen Code.
//!
//! There are two transports: JSON lines with one process per turn (`lines`), and the Agent Client Protocol (`dialect`), which
//! can ask. The lines look like those of Claude Code, but their messages, figures and errors differ, so that little code
//! could be shared. Output is read by what a line contains, never by what a version should print; measurements are in
//! docs/adapters/qwen.md.

mod binary;
mod blocks;
mod command;
mod dialect;
mod failure;
mod features;
mod info;
mod lines;
mod login;
mod messages;
mod models;
mod outcome;
mod prompt;
mod result;
mod shell;
mod tools;
mod transport;

use failure::Stderr;
use features::Features;
use lines::LineParser;
use transport::Transport;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Evidence, ExitStatus, Failure, Host, Input, Json, Launch,
    Malformed, ModelList, PromptDelivery, Settings, Turn, acp,
};

/// One run of Qwen Code.
#[derive(Default)]
pub struct Qwen {
    /// Reads the JSON lines.
    lines: LineParser,
    /// The Agent Client Protocol, if the turn uses it.
    acp: acp::Session<dialect::Acp>,
    /// What stderr said that decides the outcome.
    stderr: Stderr,
}

impl Adapter for Qwen {
    fn describe() -> AdapterInfo {
        info::describe()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        let features = Features::of(binary);
        self.lines.set_session(&settings.turn().session, features.fork);
        command::build(settings, binary, features)
    }

    fn build_prompt(&mut self, turn: &Turn, binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(match Transport::named(transport) {
            Transport::Lines => PromptDelivery::Stdin(prompt::with_files(turn)?.into_bytes()),
            Transport::Acp => {
                self.acp.prepare(turn, binary.version.as_deref())?;
                PromptDelivery::InProtocol
            }
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // By the line itself, not by the transport: a recording can be read without its turn.
        let [protocol, kind, event, parent] = line.pick(["jsonrpc", "type", "event", "parent_tool_use_id"])?;
        match kind.name() {
            _ if !protocol.is_missing() => self.acp.line(line, out),
            Some("stream_event") => self.lines.stream_event(event, parent, out),
            Some(kind) => self.lines.line(kind, line, out),
            None => Err(Malformed),
        }
    }

    fn stderr_line(&mut self, line: &str, _out: &mut Effects) {
        self.stderr.line(line);
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        self.acp.next_turn(turn, out);
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        self.acp.handle(input, out);
    }

    fn finish(&mut self, _host: &dyn Host, exit: ExitStatus, out: &mut Effects) {
        self.acp.finish(out);
        self.lines.finish(exit, &self.stderr, out);
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        self.stderr.failure(evidence)
    }

    fn list_models(&mut self, host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        models::list(host)
    }
}

wharf_adapter::export!(Qwen);

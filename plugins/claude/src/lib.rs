//! The adapter for Claude Code.
//!
//! There are two modes. In one-shot mode the prompt goes to stdin and JSON lines come back. In duplex mode the control
//! protocol also runs over stdin and stdout: permissions as asks, messages during a turn, and an interrupt that still
//! gives a result. Both modes print the same lines, and the adapter reads them in the same way.
//!
//! Differences between versions are in `docs/adapters/claude.md`. Output is read by what a line contains, never by what
//! a version should print.

mod binary;
mod blocks;
mod control;
mod describe;
mod failure;
mod ignored;
mod instructions;
mod launch;
mod lines;
mod messages;
mod models;
mod result;
mod usage;

use control::Control;
use instructions::Instructions;
use lines::LineParser;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Evidence, ExitStatus, Failure, Host, Input, Json, Launch,
    LogLevel, Malformed, ModelList, PromptDelivery, Settings, Turn,
};

/// One run of Claude Code.
#[derive(Default)]
pub struct Claude {
    /// Reads the lines of stdout.
    lines: LineParser,
    /// Our side of the control protocol.
    control: Control,
    /// Whether the workspace's CLAUDE.md is not read, although the caller did not exclude it.
    unread: bool,
}

/// Versions before 2.1.197 read CLAUDE.md only together with the settings of the workspace, whose hooks would run.
const NOT_READ: &str = "this version does not read CLAUDE.md of the workspace by itself; the option project-settings \
                        reads it, together with the workspace's settings and hooks";

impl Adapter for Claude {
    fn describe() -> AdapterInfo {
        describe::info()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        self.lines.set_session(settings.session());
        self.unread = instructions::of(settings.turn(), binary) == Instructions::Impossible;
        launch::build(settings, binary)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        let prompt = launch::prompt(turn)?;
        Ok(if launch::is_duplex(turn, transport) {
            self.control.prepare(turn, prompt);
            PromptDelivery::InProtocol
        } else {
            PromptDelivery::Stdin(prompt.into_bytes())
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // `--output-format json --verbose` prints all lines as one array.
        if line.is_array() {
            return line.items().try_for_each(|item| self.object(item, out));
        }
        self.object(line, out)
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Answer(answer) => {
                if let Some(tool) = self.control.answer(&answer, out) {
                    self.lines.deny(&tool);
                }
            }
            input => {
                if matches!(input, Input::Start) && self.unread {
                    out.notice(LogLevel::Info, NOT_READ);
                }
                self.control.handle(input, out);
            }
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        self.lines.next_turn();
        self.control.next_turn(turn, out);
    }

    fn finish(&mut self, _host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.control.withdraw_all(out);
        self.lines.finish(out);
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure::from_evidence(evidence, self.lines.last_error())
    }

    fn list_models(&mut self, host: &dyn Host, binary: Option<&Binary>) -> ModelList {
        models::list(host, binary)
    }
}

impl Claude {
    /// One object of the output.
    fn object(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // The fields of the most frequent lines, in one pass.
        let [kind, event, parent, abandoned] =
            line.pick(["type", "event", "parent_tool_use_id", "abandoned_blocks"])?;
        match kind.name().ok_or(Malformed)? {
            "stream_event" => self.lines.stream_event(event, parent, abandoned, out),
            "control_request" => self.control.request(line, out),
            "control_response" => self.control.response(line, out),
            "control_cancel_request" => self.control.withdraw(line, out),
            // Before the turn ends: an ask that is still open then would look unanswered.
            "result" if line.get("subtype").is_string() => {
                self.control.withdraw_all(out);
                self.lines.line("result", line, out)
            }
            kind => self.lines.line(kind, line, out),
        }
    }
}

wharf_adapter::export!(Claude);

//! The adapter of Claude Code.
//!
//! Two ways to run it: one-shot, where the prompt goes to stdin and the stream of JSON lines comes back, and duplex,
//! where the control protocol runs over stdin and stdout beside it: permissions as asks, messages in mid-turn, an
//! interrupt that still gives a result. Both print the same lines; the adapter reads them alike whichever it started.
//!
//! What the versions do differently is in `docs/adapters/claude.md`. Where a version is not known the adapter goes by
//! what a line has, never by what it should have.

mod binary;
mod blocks;
mod control;
mod describe;
mod failure;
mod launch;
mod models;
mod result;
mod silent;
mod stream;
mod usage;

use control::Control;
use stream::Stream;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Evidence, ExitStatus, Failure, Host, Input, Json, Launch,
    Malformed, ModelList, PromptDelivery, Turn,
};

/// One run of Claude Code.
#[derive(Default)]
pub struct Claude {
    /// What the lines of stdout have told so far.
    stream: Stream,
    /// Our side of the control protocol.
    control: Control,
}

impl Adapter for Claude {
    fn describe() -> AdapterInfo {
        describe::info()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn build_args(&mut self, turn: &Turn, binary: &Binary) -> Result<Launch, Failure> {
        self.stream.expect(&turn.session);
        launch::build(turn, binary)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary) -> Result<PromptDelivery, Failure> {
        let prompt = launch::prompt(turn)?;
        Ok(if launch::is_duplex(turn) {
            self.control.prepare(turn, prompt);
            PromptDelivery::InProtocol
        } else {
            PromptDelivery::Stdin(prompt.into_bytes())
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // `--output-format json --verbose` prints all its lines as one array.
        if line.is_array() {
            return line.items().try_for_each(|item| self.object(item, out));
        }
        self.object(line, out)
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Answer(answer) => {
                if let Some(tool) = self.control.answer(&answer, out) {
                    self.stream.deny(&tool);
                }
            }
            input => {
                if let Input::NextTurn(_) = &input {
                    self.stream.next_turn();
                }
                self.control.handle(input, out);
            }
        }
    }

    fn finish(&mut self, _host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.control.withdraw_all(out);
        self.stream.finish(out);
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure::from_evidence(evidence, self.stream.last_trouble())
    }

    fn list_models(&mut self, host: &dyn Host, binary: Option<&Binary>) -> ModelList {
        models::list(host, binary)
    }
}

impl Claude {
    /// One object of the stream.
    fn object(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // What the lines need that come by the thousand, in one go.
        let [kind, event, parent, abandoned] =
            line.pick(["type", "event", "parent_tool_use_id", "abandoned_blocks"])?;
        match kind.name().ok_or(Malformed)? {
            "stream_event" => self.stream.stream_event(event, parent, abandoned, out),
            "control_request" => self.control.request(line, out),
            "control_response" => self.control.response(line, out),
            "control_cancel_request" => self.control.withdraw(line, out),
            // Before the turn ends: an ask that is still open then would look like one that nobody answered.
            "result" if line.get("subtype").is_string() => {
                self.control.withdraw_all(out);
                self.stream.line("result", line, out)
            }
            kind => self.stream.line(kind, line, out),
        }
    }
}

wharf_adapter::export!(Claude);

//! The adapter for `OpenCode`, and for Kilo, a fork of it.
//!
//! There are two transports: the Agent Client Protocol (`dialect`), which streams and can ask, and JSON lines with one process
//! per turn (`run`). What the output of either lacks is looked up in the session (`export`). Measurements are in
//! docs/adapters/opencode.md.

mod binary;
mod command;
mod config;
mod dialect;
mod export;
mod failure;
mod info;
mod log;
mod login;
mod models;
mod options;
mod permissions;
mod product;
mod retries;
mod run;
mod tool;
mod usage;

use export::Export;
use failure::Moment;
use options::{Limits, Transport};
use run::TurnSettings;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effect, Effects, Environment, Event, Evidence, ExitStatus, Failure, Host, Input,
    Json, Launch, Malformed, ModelList, Outcome, PromptDelivery, SessionChoice, Settings, Turn, Usage, UsageScope, acp,
};

/// The timer that must expire before a turn counts as stopped although the agent does not answer.
const STOP_TIMER: u32 = 1_000;
/// How long it has for the answer.
const STOP_MILLIS: u32 = 10_000;

/// One run of `OpenCode`.
#[derive(Default)]
pub struct OpenCode {
    /// Reads the JSON lines.
    run: run::RunParser,
    /// The Agent Client Protocol, if the turn uses it.
    acp: acp::Session<dialect::Acp>,
    /// Whether the process speaks it.
    speaks_acp: bool,
    /// The program, to look up what the output lacked; none if the user does not want that.
    program: Option<String>,
}

impl Adapter for OpenCode {
    fn describe() -> AdapterInfo {
        info::describe()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        let turn = settings.turn();
        let launch = command::build(settings, binary)?;
        let looks_up = turn.option("usage-lookup").bool() != Some(false);
        self.program = Some(binary.program.clone()).filter(|_| looks_up);
        let limits = Limits::of(turn);
        let resume = if let SessionChoice::Resume(id) = &turn.session { Some(id.clone()) } else { None };
        self.run.settings = TurnSettings {
            continues: matches!(turn.session, SessionChoice::Fork(_) | SessionChoice::MostRecent),
            resume,
            model: turn.model.clone(),
            version: binary.version.clone(),
            limits,
        };
        let dialect = &mut self.acp.dialect;
        dialect.limits = limits;
        dialect.system = turn
            .system_prompt
            .clone()
            .filter(|_| !launch.unsupported.iter().any(|setting| setting.name == "system-prompt"));
        // Over ACP only a session that is resumed has cost something before.
        if matches!(turn.session, SessionChoice::Fresh(_) | SessionChoice::MostRecent) {
            dialect.starts_fresh();
        }
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(match Transport::named(transport) {
            Transport::Run => PromptDelivery::Stdin(turn.prompt.clone().into_bytes()),
            Transport::Acp => {
                self.acp.prepare(turn, binary.version.as_deref())?;
                PromptDelivery::InProtocol
            }
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // By the line itself, not by the transport: a recording can be read without its turn.
        let [protocol, kind, method] = line.pick(["jsonrpc", "type", "method"])?;
        if protocol.is_missing() {
            return self.run.line(line, kind, out);
        }
        self.speaks_acp = true;
        if method.is_missing() {
            self.response(line, out)?;
        } else {
            self.acp.line(line, out)?;
        }
        self.stop_if_due(out);
        Ok(())
    }

    fn stderr_line(&mut self, line: &str, out: &mut Effects) {
        if !self.speaks_acp {
            return self.run.stderr_line(line, out);
        }
        let Some(entry) = log::Entry::read(line) else { return };
        // A sub-agent has its own session.
        if entry.starts_call() && entry.session() == self.acp.id() {
            self.acp.dialect.call_started(out);
        } else if let Some(failure) = entry.failure().filter(|_| entry.is_model_call()) {
            self.acp.dialect.call_failed(failure, out);
        }
        self.stop_if_due(out);
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Timer(STOP_TIMER) => {
                if let Some(failure) = self.acp.dialect.stopped() {
                    out.failed(failure);
                }
            }
            Input::Timer(number) if !self.speaks_acp => self.run.timer(number, out),
            input => self.acp.handle(input, out),
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        self.acp.next_turn(turn, out);
    }

    fn finish(&mut self, host: &dyn Host, exit: ExitStatus, out: &mut Effects) {
        let lookup = |session: &str| export::fetch(host, self.program.as_deref()?, session);
        if !self.speaks_acp {
            return self.run.finish(exit, lookup, out);
        }
        self.acp.finish(out);
        let missing = self.acp.dialect.missing;
        if missing == dialect::Missing::default() {
            return;
        }
        match self.acp.id().and_then(lookup) {
            Some(found) => self.complete(&Export::read(&found), missing, out),
            None if missing.usage => {
                let text = "over ACP OpenCode reports the tokens of the last model call only, and there were several";
                out.emit(Event::UsageUnavailable(text.to_owned()));
            }
            None => {}
        }
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure::from_evidence(evidence)
    }

    fn list_models(&mut self, host: &dyn Host, binary: Option<&Binary>) -> ModelList {
        models::list(host, binary)
    }
}

impl OpenCode {
    /// A response over ACP. The session reads it in the usual way; what is different about `OpenCode` is changed after that.
    fn response(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let mut usual = Effects::default();
        self.acp.line(line, &mut usual)?;
        for effect in usual.into_vec() {
            match effect {
                Effect::Emit(Event::Usage(usage)) => {
                    if let Some(usage) = self.acp.dialect.usage_of_turn(usage) {
                        out.usage(usage);
                    }
                }
                Effect::Emit(Event::TurnEnded(mut end)) => {
                    if let Some(failure) = self.acp.dialect.stopped() {
                        end.outcome = Outcome::Failed(failure);
                    }
                    // The protocol has the text of a provider's error, but not its status.
                    if matches!(&end.outcome, Outcome::Failed(failure) if failure.code.as_deref() == Some("APIError")) {
                        self.acp.dialect.missing.reason = true;
                    }
                    // A turn that was cancelled is over at once: nothing is looked up.
                    if end.outcome == Outcome::Cancelled {
                        self.acp.dialect.missing = dialect::Missing::default();
                    }
                    out.emit(Event::TurnEnded(end));
                }
                Effect::Emit(event) => out.emit(event),
                Effect::Write(bytes) => out.write(bytes),
                Effect::CloseStdin => out.close_stdin(),
                Effect::TransportFailed(failure) => out.transport_failed(failure),
                Effect::SetTimer(timer) => out.set_timer(timer.number, timer.milliseconds),
            }
        }
        Ok(())
    }

    /// Tells the agent to stop a turn that it would never end.
    fn stop_if_due(&mut self, out: &mut Effects) {
        if self.acp.dialect.must_stop() {
            self.acp.handle(Input::Cancel, out);
            out.set_timer(STOP_TIMER, STOP_MILLIS);
        }
    }

    /// Reports what the session has and the protocol had not.
    fn complete(&mut self, export: &Export<'_>, missing: dialect::Missing, out: &mut Effects) {
        let messages = export.turn(self.acp.dialect.last_message());
        if missing.usage {
            let model = self.acp.model();
            let mut total =
                Usage { model: model.map(str::to_owned), ..Usage::new(UsageScope::TurnTotal, "acp", false) };
            messages.iter().filter_map(|message| message.usage(None)).for_each(|usage| usage::add(&mut total, &usage));
            if !usage::is_empty(&total) {
                out.usage(total);
            }
        }
        if let Some(error) = messages.iter().rev().find_map(export::Message::error).filter(|_| missing.reason) {
            out.failed(failure::read(error, Moment { answered: true, at: None }));
        }
    }
}

wharf_adapter::export!(OpenCode);

//! The adapter for the GitHub Copilot CLI.
//!
//! There are two transports: JSON lines with one process per turn (`lines`), and the Agent Client Protocol (`dialect`), which
//! can ask. Differences between versions are in `features`; measurements and sources are in docs/adapters/copilot.md.

mod agent_error;
mod binary;
mod command;
mod dialect;
mod failure;
mod features;
mod ignored;
mod info;
mod lines;
mod login;
mod models;
mod notices;
mod outcome;
mod permissions;
mod prompt;
mod subagents;
mod tools;
mod transport;
mod usage;

use features::Features;
use lines::TurnSettings;
use transport::Transport;
use usage::Counted;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Event, Evidence, ExitStatus, Failure, Host, Input, Json,
    Launch, Malformed, ModelList, PromptDelivery, SessionChoice, Settings, Turn, UsageScope, acp,
};

/// One run of Copilot.
#[derive(Default)]
pub struct Copilot {
    /// Reads the JSON lines.
    lines: lines::LineParser,
    /// The Agent Client Protocol, if the turn uses it.
    acp: acp::Session<dialect::Acp>,
    /// Whether the CLI was given a usage file.
    usage_file: bool,
}

impl Adapter for Copilot {
    fn describe() -> AdapterInfo {
        info::describe()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        let (turn, features) = (settings.turn(), Features::of(binary));
        let launch = command::build(settings, features)?;
        self.usage_file = launch.files.iter().any(|file| file.name == usage::FILE);
        let (chosen, resume) = match &turn.session {
            SessionChoice::Fresh(Some(id)) if features.session_id && command::is_uuid(id) => (Some(id.clone()), None),
            SessionChoice::Resume(id) => (None, Some(id.clone())),
            _ => (None, None),
        };
        self.lines.settings = TurnSettings {
            chosen,
            resume,
            starts_over: matches!(turn.session, SessionChoice::Fork(_)),
            continues: matches!(turn.session, SessionChoice::Resume(_) | SessionChoice::MostRecent),
            resume_is_strict: features.strict_resume,
            version: binary.version.clone(),
        };
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        Ok(match Transport::named(transport) {
            Transport::Lines => PromptDelivery::Stdin(prompt::text(turn)?.into_bytes()),
            Transport::Acp => {
                self.acp.prepare(turn, binary.version.as_deref())?;
                PromptDelivery::InProtocol
            }
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // By the line itself, not by the transport: a recording can be read without its turn.
        let [protocol, kind, data, agent, timestamp] =
            line.pick(["jsonrpc", "type", "data", "agentId", "timestamp"])?;
        if protocol.is_missing() {
            self.lines.line(line, [kind, data, agent, timestamp], out)
        } else {
            self.acp.line(line, out)
        }
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        self.acp.handle(input, out);
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        self.acp.next_turn(turn, out);
    }

    fn finish(&mut self, host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.acp.finish(out);
        // With a custom provider the protocol does not name the model.
        let unnamed = self.acp.id().is_some() && self.acp.model().is_none();
        if let Some(model) = host.set_variable("COPILOT_MODEL").filter(|_| unnamed) {
            self.acp.set_model(model, out);
        }
        self.lines.finish(out);
        let lines = &mut self.lines;
        let Some(since) = lines.since.clone() else { return };
        let history = lines.doubtful().and_then(|id| usage::has_history(host, home(host).as_deref(), id, &since));
        if let Some(has_history) = history {
            lines.report_history(has_history, out);
        }
        if self.usage_file && usage::from_file(host, out) {
            lines.counted = Counted::All;
        }
        // Also if messages were counted: in 1.0.35 messages have output tokens only, and the journal has the rest.
        if let (Counted::Nothing | Counted::Output, Some(session)) = (lines.counted, lines.session())
            && let journal = (usage::Journal { session, since: &since, scope: lines.scope() })
            && usage::from_journal(host, home(host).as_deref(), journal, out)
        {
            lines.counted = Counted::All;
        }
        if let (true, UsageScope::SessionTotal, Some(session)) =
            (lines.settings.continues, lines.scope(), lines.session())
        {
            let journal = usage::Journal { session, since: &since, scope: UsageScope::TurnTotal };
            usage::added(host, home(host).as_deref(), journal, out);
        }
        if lines.counted == Counted::Nothing {
            out.emit(Event::UsageUnavailable("this version and provider do not report tokens".to_owned()));
        }
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        failure::from_evidence(evidence)
    }

    fn list_models(&mut self, host: &dyn Host, _binary: Option<&Binary>) -> ModelList {
        models::list(host)
    }
}

/// The user's home folder: `finish` does not get the environment.
fn home(host: &dyn Host) -> Option<String> {
    host.set_variable("HOME").or_else(|| host.set_variable("USERPROFILE"))
}

wharf_adapter::export!(Copilot);

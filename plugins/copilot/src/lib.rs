//! The adapter for the GitHub Copilot CLI.
//!
//! It speaks to the CLI in two ways: JSON lines of one process a turn (`stream`), and the Agent Client Protocol
//! (`acp`), which can ask. What differs between versions is in `features`; what was measured, and where the facts
//! come from, is in docs/adapters/copilot.md.

mod acp;
mod binary;
mod clock;
mod command;
mod complaint;
mod failure;
mod features;
mod info;
mod kinds;
mod login;
mod models;
mod notices;
mod permissions;
mod prompt;
mod speakers;
mod stream;
mod tools;
mod usage;
mod verdict;

use command::Transport;
use features::Features;
use usage::Counted;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, Event, Evidence, ExitStatus, Failure, Host, Input, Json,
    Launch, Malformed, ModelList, PromptDelivery, SessionChoice, Turn, UsageScope,
};

/// The adapter's state: one run.
#[derive(Default)]
pub struct Copilot {
    /// The JSON lines.
    stream: stream::Stream,
    /// The protocol, where the turn is held over it.
    acp: acp::Acp,
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

    fn build_args(&mut self, turn: &Turn, binary: &Binary) -> Result<Launch, Failure> {
        let features = Features::of(binary);
        let launch = command::build(turn, features)?;
        self.usage_file = launch.files.iter().any(|file| file.name == usage::FILE);
        let (chosen, resume) = match &turn.session {
            SessionChoice::Fresh(Some(id)) if features.session_id && command::is_uuid(id) => (Some(id.clone()), None),
            SessionChoice::Resume(id) => (None, Some(id.clone())),
            _ => (None, None),
        };
        self.stream.wishes = stream::Wishes {
            chosen,
            resume,
            goes_on: matches!(turn.session, SessionChoice::Resume(_) | SessionChoice::MostRecent),
            resume_is_strict: features.strict_resume,
            version: binary.version.clone(),
        };
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, _binary: &Binary) -> Result<PromptDelivery, Failure> {
        let prompt = prompt::text(turn)?;
        Ok(match Transport::of(turn) {
            Transport::Lines => PromptDelivery::Stdin(prompt.into_bytes()),
            Transport::Acp => {
                self.acp.prepare(turn, prompt);
                PromptDelivery::InProtocol
            }
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // Told apart by what a line is, not by what was asked for: a recording is read the same without its turn.
        let [protocol, kind, data, agent, stamp] = line.pick(["jsonrpc", "type", "data", "agentId", "timestamp"])?;
        if protocol.is_missing() {
            self.stream.line(line, [kind, data, agent, stamp], out)
        } else {
            self.acp.line(line, out)
        }
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        self.acp.handle(input, out);
    }

    fn finish(&mut self, host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.stream.finish(out);
        let stream = &mut self.stream;
        let Some(since) = stream.since.clone() else { return };
        if self.usage_file && usage::from_file(host, out) {
            stream.counted = Counted::All;
        }
        // Also where messages were counted: 1.0.35 counts there what was written, and only here what was sent.
        if let (Counted::Nothing | Counted::Written, Some(session)) = (stream.counted, stream.session())
            && let journal = (usage::Journal { session, since: &since, scope: stream.scope() })
            && usage::from_journal(host, home(host).as_deref(), journal, out)
        {
            stream.counted = Counted::All;
        }
        if let (true, UsageScope::SessionTotal, Some(session)) =
            (stream.wishes.goes_on, stream.scope(), stream.session())
        {
            let journal = usage::Journal { session, since: &since, scope: UsageScope::TurnTotal };
            usage::added(host, home(host).as_deref(), journal, out);
        }
        if stream.counted == Counted::Nothing {
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

/// The user's home: `finish` knows no environment.
fn home(host: &dyn Host) -> Option<String> {
    host.set_variable("HOME").or_else(|| host.set_variable("USERPROFILE"))
}

wharf_adapter::export!(Copilot);

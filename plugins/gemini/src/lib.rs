//! The adapter for Gemini CLI.
//!
//! There are two transports: stream-json with one process per turn (`lines`), and the Agent Client Protocol (`dialect`),
//! which can ask. Differences between versions are in `features`; measurements are in docs/adapters/gemini.md.

mod binary;
mod command;
mod dialect;
mod evidence;
mod failure;
mod features;
mod info;
mod lines;
mod login;
mod models;
mod policy;
mod prompt;
mod reply;
mod stderr;
mod tools;
mod transport;
mod usage;

use features::Features;
use lines::TurnSettings;
use transport::Transport;
use wharf_adapter::{
    Adapter, AdapterInfo, Approvals, Binary, Effects, Environment, Evidence, ExitStatus, Failure, Host, Input, Json,
    Launch, Malformed, ModelList, PromptDelivery, SessionChoice, Settings, Turn, acp,
};

/// One run of Gemini CLI.
#[derive(Default)]
pub struct Gemini {
    /// Reads stream-json.
    lines: lines::Lines,
    /// The Agent Client Protocol, if the turn uses it.
    acp: acp::Session<dialect::Acp>,
    /// Whether it does.
    is_acp: bool,
    stderr: stderr::Stderr,
}

impl Adapter for Gemini {
    fn describe() -> AdapterInfo {
        info::describe()
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        binary::resolve(host, environment)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        let (turn, features) = (settings.turn(), Features::of(binary));
        let launch = command::build(settings, features)?;
        let resumes = features.resume;
        self.lines.settings = TurnSettings {
            resume: match &turn.session {
                SessionChoice::Resume(id) if resumes => Some(id.clone()),
                _ => None,
            },
            continues: resumes && turn.session == SessionChoice::MostRecent,
            starts_over: match turn.session {
                SessionChoice::Fork(_) => true,
                SessionChoice::Resume(_) | SessionChoice::MostRecent => !resumes,
                SessionChoice::Fresh(_) => false,
            },
            version: binary.version.clone(),
            withholds: turn.approvals != Approvals::AllowAll,
        };
        self.lines.reply.is_quiet = !turn.stream_text;
        Ok(launch)
    }

    fn build_prompt(&mut self, turn: &Turn, binary: &Binary, transport: &str) -> Result<PromptDelivery, Failure> {
        self.is_acp = Transport::named(transport) == Transport::Acp;
        // Also for the other transport: a recording over ACP may be read without its turn.
        self.acp.prepare(turn, binary.version.as_deref())?;
        Ok(if self.is_acp {
            PromptDelivery::InProtocol
        } else {
            PromptDelivery::Stdin(prompt::text(turn)?.into_bytes())
        })
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        // By the line itself, not by the transport: a recording can be read without its turn.
        if line.get("jsonrpc").is_missing() {
            self.lines.line(line, &self.stderr, out)
        } else {
            self.acp.line(line, out)
        }
    }

    fn stderr_line(&mut self, line: &str, out: &mut Effects) {
        self.stderr.line(line, out);
        if self.stderr.starts_over {
            self.lines.starts_over(out);
        }
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            input if self.is_acp => self.acp.handle(input, out),
            Input::Timer(number) => self.lines.timer(number, &self.stderr, out),
            _ => {}
        }
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        if self.is_acp {
            self.acp.next_turn(turn, out);
        }
    }

    fn finish(&mut self, _host: &dyn Host, exit: ExitStatus, out: &mut Effects) {
        self.acp.finish(out);
        self.lines.finish(&self.stderr, exit.code, out);
    }

    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        evidence::failure(evidence)
    }

    fn list_models(&mut self, host: &dyn Host, binary: Option<&Binary>) -> ModelList {
        models::list(host, binary)
    }
}

wharf_adapter::export!(Gemini);

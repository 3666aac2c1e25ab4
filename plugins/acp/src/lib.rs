//! The adapter for any agent that speaks the Agent Client Protocol. The user names its program and its arguments.
//!
//! It knows no agent in particular until one has introduced itself. What some agents do differently is in `agent`, `tool`,
//! `remarks` and `session_totals`; the protocol itself is in the SDK. Measurements are in docs/adapters/acp.md.

mod agent;
mod dialect;
mod remarks;
mod session_totals;
mod tool;

use agent::Agent;
use dialect::AnyAgent;
use wharf_adapter::acp::{self, Session};
use wharf_adapter::failure::Phrases;
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Capabilities, Effects, Environment, ErrorClass, Evidence, ExitStatus, Failure, Host,
    Input, Json, Launch, Malformed, OptionKind, PromptDelivery, Retry, Settings, Turn, locate,
};

/// What to do if no program is named.
const INSTALL: &str = "name the agent's ACP command in the configuration: [agents.NAME] command = [\"goose\", \"acp\"]";

/// One run of an agent.
#[derive(Default)]
pub struct Acp(Session<AnyAgent>);

impl Adapter for Acp {
    fn describe() -> AdapterInfo {
        let info = AdapterInfo::new("acp", "Any agent over ACP", env!("CARGO_PKG_VERSION"))
            .option("arguments", OptionKind::List, None, "the arguments that start the agent's ACP mode")
            .option("auth-method", OptionKind::Text, None, "the id of the agent's login method to use")
            .option("mode", OptionKind::Text, None, "the mode of the session, by the agent's own id");
        AdapterInfo { tested_with: String::new(), install_hint: INSTALL.to_owned(), ..info }
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        if environment.program.is_none() {
            let retry = Retry::AfterUserAction(INSTALL.to_owned());
            return Err(Failure::new(ErrorClass::NotFound, "no program is configured").retry(retry));
        }
        let mut binary = Binary::at(locate(host, environment, &[], INSTALL)?);
        // What the protocol has; the agent says only in its handshake what it offers.
        let capabilities = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::EFFORT_LEVELS
            | Capabilities::DUPLEX
            | Capabilities::ASKS
            | Capabilities::INTERRUPT
            | Capabilities::MCP_SERVERS
            | Capabilities::ATTACHMENTS;
        binary.transport("acp", capabilities);
        Ok(binary)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, binary: &Binary) -> Result<Launch, Failure> {
        settings.extra_dirs();
        let given = settings.extra_args().iter().cloned();
        let arguments = settings.option("arguments").items().filter_map(Json::string);
        let arguments: Vec<String> = arguments.chain(given).collect();
        let named = [&binary.program].into_iter().chain(&binary.leading_args).chain(&arguments);
        self.0.dialect.agent = named.into_iter().find_map(|name| Agent::named(name)).unwrap_or_default();
        self.0.dialect.login = settings.option("auth-method").filled().map(std::borrow::Cow::into_owned);
        Ok(acp::launch(settings, arguments))
    }

    fn build_prompt(&mut self, turn: &Turn, binary: &Binary, _transport: &str) -> Result<PromptDelivery, Failure> {
        self.0.prepare(turn, binary.version.as_deref())?;
        Ok(PromptDelivery::InProtocol)
    }

    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        self.0.line(line, out)
    }

    fn handle(&mut self, input: Input, out: &mut Effects) {
        self.0.handle(input, out);
    }

    fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        self.0.next_turn(turn, out);
    }

    fn finish(&mut self, _host: &dyn Host, _exit: ExitStatus, out: &mut Effects) {
        self.0.finish(out);
    }

    /// Agents log to stderr: a line without a known phrase counts only if the exit is an error too.
    fn parse_error(&mut self, evidence: &Evidence) -> Option<Failure> {
        let lines = || evidence.stderr_tail.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let known = lines().find_map(|line| Some((Phrases::COMMON.class_of(line)?, line)));
        let last = || lines().next().filter(|_| evidence.exit.code != Some(0));
        if self.0.is_shaking_hands() {
            let line = known.map(|(_, line)| line).or_else(last).unwrap_or("it said nothing on stderr");
            let class = known.map_or(ErrorClass::Protocol, |(class, _)| class);
            let fix = "check the command and its arguments: do they start the agent's ACP mode?";
            let message = format!("the program exited before it answered the ACP handshake: {line}");
            return Some(Failure::new(class, message).retry(Retry::AfterUserAction(fix.to_owned())));
        }
        let known = known.map(|(class, line)| Failure::new(class, line));
        known.or_else(|| last().map(|line| Failure::new(ErrorClass::Other, line)))
    }
}

wharf_adapter::export!(Acp);

//! A whole adapter for an agent that speaks the Agent Client Protocol and has no quirks: `plain acp`. An agent with quirks
//! replaces `Standard` by its own `Dialect`. In a package of its own, the file is `src/lib.rs`, and `main` is not needed.

use wharf_adapter::acp::{self, Session, Standard};
use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Capabilities, Effects, Environment, ExitStatus, Failure, Host, Input, Json, Launch,
    Malformed, Probe, PromptDelivery, Settings, Tested, Turn, Version, locate,
};

const INSTALL: &str = "npm install -g plain";
const TESTED: Tested = Tested(&[Version(1, 0, 0)]);

/// One run of the agent.
#[derive(Default)]
pub struct Plain(Session<Standard>);

impl Adapter for Plain {
    fn describe() -> AdapterInfo {
        let info = AdapterInfo::new("plain", "Plain", env!("CARGO_PKG_VERSION"));
        AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
            .program("plain")
            .variables(&["PLAIN_API_KEY"])
    }

    fn resolve_binary(&mut self, host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
        let mut binary = Binary::at(locate(host, environment, &["plain"], INSTALL)?);
        let version = Probe::new(host, &binary).version();
        binary.set_version(version, TESTED, &[], INSTALL);
        let capabilities = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::DUPLEX
            | Capabilities::ASKS
            | Capabilities::INTERRUPT
            | Capabilities::MCP_SERVERS;
        binary.transport("acp", capabilities);
        Ok(binary)
    }

    fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        Ok(acp::launch(settings, ["acp"]))
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
}

wharf_adapter::export!(Plain);

fn main() {}

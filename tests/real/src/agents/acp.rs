//! Agents that the adapter `acp` runs by their command line: each is an entry `[agents.NAME]` in wharf's configuration.
//!
//! They differ only in data, one file each. What they offer is in their own `initialize` answer.

mod claude_agent_acp;
mod cline;
mod codex_acp;
mod goose;
mod grok;
mod kilo;
mod kimi;
mod pi;

use crate::agent::{Agent, Api, ByHand, Call, Package, Place, environment};
use serde_json::json;

pub(super) use claude_agent_acp::CLAUDE_AGENT_ACP;
pub(super) use cline::CLINE;
pub(super) use codex_acp::CODEX_ACP;
pub(super) use goose::GOOSE;
pub(super) use grok::GROK;
pub(super) use kilo::KILO;
pub(super) use kimi::KIMI;
pub(super) use pi::PI;

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug)]
pub(crate) struct AcpAgent {
    id: &'static str,
    name: &'static str,
    versions: &'static [&'static str],
    packages: fn(&str) -> Vec<Package>,
    program: &'static str,
    natives: &'static [&'static str],
    /// The program's arguments for the protocol.
    args: &'static [&'static str],
    api: Api,
    variables: fn(&Place<'_>) -> Vec<(&'static str, String)>,
    files: fn(&Place<'_>) -> Vec<(&'static str, String)>,
    side_texts: &'static [&'static str],
    shell: fn(&str) -> Call,
}

impl Agent for AcpAgent {
    fn id(&self) -> &'static str {
        self.id
    }

    fn adapter(&self) -> &'static str {
        "acp"
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn cannot(&self, scenario: &str, _version: &str, _transport: &str) -> Option<&'static str> {
        match (self.id, scenario) {
            ("grok", _) => Some("it calls the model beside the turn, which takes answers out of the mock's script"),
            ("pi", "short reply") => Some("`pi-acp` gives its own version, not that of pi"),
            ("pi", "tools, then an answer") => Some("`pi-acp` does not pass on the input of tools"),
            _ => None,
        }
    }

    fn versions(&self) -> &'static [&'static str] {
        self.versions
    }

    fn transports(&self) -> &'static [&'static str] {
        &["acp"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        (self.packages)(version)
    }

    fn program(&self) -> &'static str {
        self.program
    }

    fn natives(&self) -> &'static [&'static str] {
        self.natives
    }

    fn api(&self) -> Api {
        self.api
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        (self.variables)(at)
    }

    fn files(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        (self.files)(at)
    }

    fn side_texts(&self) -> &'static [&'static str] {
        self.side_texts
    }

    fn config(&self, at: &Place<'_>) -> String {
        let program = at.program.to_string_lossy().into_owned();
        let command: Vec<String> = [program].into_iter().chain(self.args.iter().map(|arg| (*arg).to_owned())).collect();
        format!("{}\n[agents.{}]\ncommand = {}\n", environment(&self.variables(at)), self.id, json!(command))
    }

    fn by_hand(&self, _transport: &str, _prompt: &str) -> ByHand {
        ByHand::acp(self.args)
    }

    fn shell(&self, command: &str) -> Call {
        (self.shell)(command)
    }

    fn shell_tool(&self) -> &'static str {
        (self.shell)("").name
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("{server}_{tool}")
    }
}

fn no_files(_at: &Place<'_>) -> Vec<(&'static str, String)> {
    vec![]
}

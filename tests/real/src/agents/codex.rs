//! `OpenAI`'s Codex.

use crate::agent::{Agent, Api, ByHand, Call, Login, Models, Package, Place, Quirks, environment, pairs};
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Codex;

impl Agent for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn name(&self) -> &'static str {
        "Codex"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["0.169.0", "0.142.0"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["app-server", "exec"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        vec![Package::Npm(format!("@openai/codex@{version}"))]
    }

    fn api(&self) -> Api {
        Api::Responses
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        match at.login {
            Login::None => vec![],
            _ => pairs(&[("CODEX_API_KEY", "sk-fake-key-of-the-suite")]),
        }
    }

    /// Its own provider has no setting for the address that also works without a login, so there is one for the mock.
    fn files(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let config = format!(
            "model = \"mock-model\"\nmodel_provider = \"mock\"\n\n[analytics]\nenabled = false\n\n\
             [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}/v1\"\nenv_key = \"CODEX_API_KEY\"\n\
             wire_api = \"responses\"\n",
            at.url
        );
        vec![(".codex/config.toml", config)]
    }

    fn config(&self, at: &Place<'_>) -> String {
        environment(&self.variables(at))
    }

    /// Those that each version contains: it does not ask the mock.
    fn models(&self) -> Models {
        Models { login: Login::Key, listed: &["gpt-5.5"], hidden: &["codex-auto-review"] }
    }

    fn model(&self) -> &'static str {
        "gpt-5.5"
    }

    fn without_instructions(&self) -> Option<[&'static str; 2]> {
        Some(["--option", "no-custom-instructions=true"])
    }

    fn cannot(&self, scenario: &str, version: &str, transport: &str) -> Option<&'static str> {
        Some(match (scenario, version) {
            ("parallel tools", "0.142.0") if transport == "exec" => "it does not report the end of every command",
            ("nobody approves", _) => "its commands run in a read-only sandbox, and fail there",
            ("429, then an answer", "0.142.0") => "it does not retry after a 429",
            ("effort", "0.142.0") => "it sends an effort only to models that it knows",
            _ => return None,
        })
    }

    fn by_hand(&self, _transport: &str, prompt: &str) -> ByHand {
        ByHand::once(&["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt])
    }

    fn shell(&self, command: &str) -> Call {
        Call { name: "exec_command", input: json!({ "cmd": command }) }
    }

    fn shell_tool(&self) -> &'static str {
        "command_execution"
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("mcp__{server}__{tool}")
    }

    /// A command that its sandbox stops is sometimes no item at all.
    fn quirks(&self, _version: &str, _transport: &str) -> Quirks {
        Quirks { has_sandbox: true, ..Quirks::default() }
    }
}

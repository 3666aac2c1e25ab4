//! GitHub's Copilot CLI.

use crate::agent::{Agent, Api, ByHand, Call, Login, Models, Package, Place, Quirks, numbers, pairs};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Copilot;

impl Agent for Copilot {
    fn id(&self) -> &'static str {
        "copilot"
    }

    fn name(&self) -> &'static str {
        "Copilot CLI"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["1.0.102", "1.0.35"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["json-lines", "acp"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        let mut packages = vec![Package::Npm(format!("@github/copilot@{version}"))];
        // Up to 1.0.59 or so it is a bundle that needs a new Node; 1.0.60 is a native program.
        if numbers(version) < vec![1, 0, 60] {
            packages.push(Package::Node);
        }
        packages
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn shares_home(&self) -> bool {
        true
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        match at.login {
            Login::Key => pairs(&[
                ("COPILOT_PROVIDER_BASE_URL", &format!("{}/v1", at.url)),
                ("COPILOT_PROVIDER_API_KEY", "fake-key-of-the-suite"),
                ("COPILOT_MODEL", "mock-model"),
                ("COPILOT_OFFLINE", "true"),
            ]),
            Login::Token => pairs(&[
                ("COPILOT_DEBUG_GITHUB_API_URL", at.url),
                ("COPILOT_API_URL", at.url),
                ("COPILOT_GITHUB_TOKEN", "github_pat_fake_token_of_the_suite"),
            ]),
            Login::None => vec![],
        }
    }

    fn models(&self) -> Models {
        Models { login: Login::Token, listed: &["gpt-mock", "claude-mock"], hidden: &["gpt-hidden", "embedding-mock"] }
    }

    fn without_instructions(&self) -> Option<[&'static str; 2]> {
        Some(["--option", "no-custom-instructions=true"])
    }

    fn instructions(&self) -> &'static str {
        "CLAUDE.md"
    }

    fn by_hand(&self, transport: &str, prompt: &str) -> ByHand {
        match transport {
            "acp" => ByHand::acp(&["--acp", "--no-auto-update"]),
            _ => ByHand::once(&["--no-auto-update", "--output-format", "json", "--allow-all-tools", "-p", prompt]),
        }
    }

    fn shell(&self, command: &str) -> Call {
        Call { name: "bash", input: json!({ "command": command, "description": "a command of the suite" }) }
    }

    fn shell_tool(&self) -> &'static str {
        "bash"
    }

    fn delegate(&self, prompt: &str, _tools: &[String]) -> Option<Call> {
        let input = json!({
            "agent_type": "general-purpose", "name": "diver", "description": "dive", "prompt": prompt, "mode": "sync",
        });
        Some(Call { name: "task", input })
    }

    fn command_rule(&self, program: &str) -> Option<String> {
        Some(format!("shell({program})"))
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("{server}-{tool}")
    }

    fn mcp_server(&self, mut server: Value) -> Value {
        server["type"] = json!("local");
        server["tools"] = json!(["*"]);
        server
    }

    fn quirks(&self, _version: &str, _transport: &str) -> Quirks {
        Quirks { cap_is_on_autopilot: true, ..Quirks::default() }
    }
}

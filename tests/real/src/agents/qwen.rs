//! Qwen Code.

use crate::agent::{Agent, Api, ByHand, Call, Login, Package, Place, pairs};
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Qwen;

impl Agent for Qwen {
    fn id(&self) -> &'static str {
        "qwen"
    }

    fn name(&self) -> &'static str {
        "Qwen Code"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["0.24.4", "0.15.10"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["stream-json", "acp"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        vec![Package::Npm(format!("@qwen-code/qwen-code@{version}")), Package::Node]
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let mut all = pairs(&[("OPENAI_BASE_URL", &format!("{}/v1", at.url)), ("OPENAI_MODEL", "mock-model")]);
        if at.login != Login::None {
            all.push(("OPENAI_API_KEY", "sk-fake-key-of-the-suite".to_owned()));
        }
        all
    }

    fn files(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let mut settings = json!({
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
        });
        if at.login != Login::None {
            settings["security"] = json!({ "auth": { "selectedType": "openai" } });
        }
        vec![(".qwen/settings.json", settings.to_string())]
    }

    /// It extracts memories, classifies commands and suggests what to ask next.
    fn side_texts(&self) -> &'static [&'static str] {
        &["memory extraction subagent", "security classifier for an AI coding agent", "[SUGGESTION MODE:"]
    }

    fn instructions(&self) -> &'static str {
        "QWEN.md"
    }

    fn without_instructions(&self) -> Option<[&'static str; 2]> {
        Some(["--option", "bare=true"])
    }

    fn by_hand(&self, transport: &str, prompt: &str) -> ByHand {
        match transport {
            "acp" => ByHand::acp(&["--acp"]),
            _ => ByHand::once(&["--output-format", "stream-json", "--auth-type", "openai", "--yolo", prompt]),
        }
    }

    fn shell(&self, command: &str) -> Call {
        let input = json!({ "command": command, "description": "a command of the suite", "is_background": false });
        Call { name: "run_shell_command", input }
    }

    fn shell_tool(&self) -> &'static str {
        "run_shell_command"
    }

    /// Newer versions start it in the background unless the model says otherwise.
    fn delegate(&self, prompt: &str, _tools: &[String]) -> Option<Call> {
        let input = json!({
            "description": "dive", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false,
        });
        Some(Call { name: "agent", input })
    }

    fn command_rule(&self, program: &str) -> Option<String> {
        Some(format!("run_shell_command({program} *)"))
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("mcp__{server}__{tool}")
    }

    fn cannot(&self, scenario: &str, _version: &str, transport: &str) -> Option<&'static str> {
        match (scenario, transport) {
            ("image arrives", _) => Some("it shows images only to models that it knows to see"),
            ("tool rule allows", "stream-json") => Some("a command that writes a file needs a rule for edits too"),
            ("dropped stream, then an answer", _) => {
                Some("it keeps the text of the failed call, and the answer continues it")
            }
            _ => None,
        }
    }
}

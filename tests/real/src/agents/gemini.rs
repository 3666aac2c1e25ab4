//! Google's Gemini CLI.

use crate::agent::{Agent, Api, ByHand, Call, Login, Package, Place, pairs};
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Agent for Gemini {
    fn id(&self) -> &'static str {
        "gemini"
    }

    fn name(&self) -> &'static str {
        "Gemini CLI"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["0.61.0", "0.45.2"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["acp", "stream-json"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        vec![Package::Npm(format!("@google/gemini-cli@{version}"))]
    }

    fn api(&self) -> Api {
        Api::Gemini
    }

    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let mut all = pairs(&[
            ("GOOGLE_GEMINI_BASE_URL", at.url),
            // Without a model it first asks one which model to use.
            ("GEMINI_MODEL", "mock-model"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
        ]);
        if at.login != Login::None {
            all.push(("GEMINI_API_KEY", "fake-key-of-the-suite".to_owned()));
        }
        all
    }

    /// With another address it needs to be told that the key is its login.
    fn files(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        let mut settings =
            json!({ "general": { "disableAutoUpdate": true }, "privacy": { "usageStatisticsEnabled": false } });
        if at.login != Login::None {
            settings["security"] = json!({ "auth": { "selectedType": "gemini-api-key" } });
        }
        vec![(".gemini/settings.json", settings.to_string())]
    }

    fn instructions(&self) -> &'static str {
        "GEMINI.md"
    }

    fn by_hand(&self, transport: &str, prompt: &str) -> ByHand {
        match transport {
            "acp" => ByHand::acp(&["--acp", "--skip-trust"]),
            _ => ByHand::once(&[
                "--output-format",
                "stream-json",
                "--skip-trust",
                "--approval-mode",
                "yolo",
                "-p",
                prompt,
            ]),
        }
    }

    fn shell(&self, command: &str) -> Call {
        let input = json!({ "command": command, "description": "a command of the suite" });
        Call { name: "run_shell_command", input }
    }

    fn shell_tool(&self) -> &'static str {
        "run_shell_command"
    }

    fn cannot(&self, scenario: &str, _version: &str, transport: &str) -> Option<&'static str> {
        match (scenario, transport) {
            ("ask allowed", "acp") => Some("over ACP it asks without the tool's input, which rules are about"),
            ("long unicode reply", _) => Some("it stops a reply that repeats itself"),
            _ => None,
        }
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("mcp_{server}_{tool}")
    }
}

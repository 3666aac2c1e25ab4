//! `OpenCode`.

use crate::agent::{Agent, Api, ByHand, Call, Login, Models, Package, Place, environment, pairs};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct OpenCode;

/// The configuration with the mock as its only provider, for this agent and those made from it.
pub(super) fn config(at: &Place<'_>) -> Value {
    let model = |name: &str| {
        json!({
            "name": name, "limit": { "context": 200_000, "output": 8192 },
            "cost": { "input": 1, "output": 2, "cache_read": 0.1 }, "reasoning": true, "tool_call": true,
            "attachment": true, "modalities": { "input": ["text", "image"], "output": ["text"] },
        })
    };
    let models = json!({
        "mock-model": model("Mock Model"), "mock-model-mini": model("Mock Model Mini"),
        "no-such-model": model("No Such Model"),
    });
    let mut options = json!({ "baseURL": format!("{}/v1", at.url) });
    if at.login != Login::None {
        options["apiKey"] = json!("sk-fake-key-of-the-suite");
    }
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": options, "models": models });
    json!({
        "autoupdate": false, "share": "disabled", "provider": { "mock": provider }, "model": "mock/mock-model",
        "small_model": "mock/mock-model",
    })
}

impl Agent for OpenCode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn name(&self) -> &'static str {
        "OpenCode"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["1.18.33", "1.15.4"]
    }

    fn transports(&self) -> &'static [&'static str] {
        &["acp", "run"]
    }

    fn packages(&self, version: &str) -> Vec<Package> {
        vec![Package::Npm(format!("opencode-ai@{version}"))]
    }

    fn natives(&self) -> &'static [&'static str] {
        &["opencode-{os}-{arch}/bin/opencode", "opencode-{os}-{arch}-baseline/bin/opencode"]
    }

    fn api(&self) -> Api {
        Api::Chat
    }

    fn variables(&self, _at: &Place<'_>) -> Vec<(&'static str, String)> {
        pairs(&[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")])
    }

    fn files(&self, at: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![(".config/opencode/opencode.json", config(at).to_string())]
    }

    fn model(&self) -> &'static str {
        "mock/mock-model"
    }

    fn models(&self) -> Models {
        Models { login: Login::Key, listed: &["mock/mock-model", "mock/mock-model-mini"], hidden: &[] }
    }

    fn config(&self, at: &Place<'_>) -> String {
        environment(&self.variables(at))
    }

    fn by_hand(&self, transport: &str, prompt: &str) -> ByHand {
        match transport {
            "acp" => ByHand::acp(&["acp"]),
            _ => ByHand::once(&["run", "--format", "json", prompt]),
        }
    }

    fn shell(&self, command: &str) -> Call {
        Call { name: "bash", input: json!({ "command": command, "description": "a command of the suite" }) }
    }

    fn shell_tool(&self) -> &'static str {
        "bash"
    }

    fn server_tool(&self, server: &str, tool: &str) -> String {
        format!("{server}_{tool}")
    }
}

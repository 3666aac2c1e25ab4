//! pi, over `pi-acp`.

use super::AcpAgent;
use crate::agent::{Api, Call, Login, Package, Place, pairs};
use serde_json::json;

pub(in crate::agents) const PI: AcpAgent = AcpAgent {
    id: "pi",
    name: "pi",
    versions: &["0.87.1"],
    packages: |version| {
        let names = [format!("@earendil-works/pi-coding-agent@{version}"), "pi-acp@0.0.34".to_owned()];
        names.map(Package::Npm).into_iter().chain([Package::Node]).collect()
    },
    program: "pi-acp",
    natives: &[],
    args: &[],
    api: Api::Chat,
    variables: |_| pairs(&[("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")]),
    files,
    side_texts: &[],
    shell: |command| Call { name: "bash", input: json!({ "command": command }) },
};

fn files(at: &Place<'_>) -> Vec<(&'static str, String)> {
    let mut provider = json!({
        "baseUrl": format!("{}/v1", at.url), "api": "openai-completions",
        "models": [{ "id": "mock-model", "name": "Mock Model", "reasoning": true, "input": ["text", "image"] }],
    });
    if at.login != Login::None {
        provider["apiKey"] = json!("sk-fake-key-of-the-suite");
    }
    let settings = json!({ "defaultProvider": "mock", "defaultModel": "mock-model" });
    vec![
        (".pi/agent/models.json", json!({ "providers": { "mock": provider } }).to_string()),
        (".pi/agent/settings.json", settings.to_string()),
    ]
}

//! Kimi Code.

use super::{AcpAgent, no_files};
use crate::agent::{Api, Call, Login, Package, pairs};
use serde_json::json;

pub(in crate::agents) const KIMI: AcpAgent = AcpAgent {
    id: "kimi",
    name: "Kimi Code",
    versions: &["2.1.0"],
    packages: |version| vec![Package::Npm(format!("@moonshot-ai/kimi-code@{version}")), Package::Node],
    program: "kimi",
    natives: &[],
    args: &["acp"],
    api: Api::Chat,
    variables: |at| {
        let mut all = pairs(&[
            ("KIMI_MODEL_NAME", "mock-model"),
            ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
            ("KIMI_MODEL_BASE_URL", &format!("{}/v1", at.url)),
            ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
            ("KIMI_DISABLE_TELEMETRY", "1"),
        ]);
        if at.login != Login::None {
            all.push(("KIMI_MODEL_API_KEY", "sk-fake-key-of-the-suite".to_owned()));
        }
        all
    },
    files: no_files,
    side_texts: &[],
    shell: |command| Call { name: "Bash", input: json!({ "command": command }) },
};

//! Grok.

use super::{AcpAgent, no_files};
use crate::agent::{Api, Call, Login, Package, pairs};
use serde_json::json;

pub(in crate::agents) const GROK: AcpAgent = AcpAgent {
    id: "grok",
    name: "Grok",
    versions: &["1.0.41"],
    packages: |version| vec![Package::Npm(format!("@xai-official/grok@{version}"))],
    program: "grok",
    natives: &[],
    args: &["agent", "--no-leader", "stdio"],
    api: Api::Chat,
    variables: |at| {
        let base = format!("{}/v1", at.url);
        let mut all = pairs(&[
            ("GROK_XAI_API_BASE_URL", &base),
            ("GROK_MODELS_BASE_URL", &base),
            ("GROK_DISABLE_AUTOUPDATER", "1"),
            ("GROK_TELEMETRY_ENABLED", "false"),
        ]);
        if at.login != Login::None {
            all.push(("XAI_API_KEY", "xai-fake-key-of-the-suite".to_owned()));
        }
        all
    },
    files: no_files,
    // It asks for a title by a tool call.
    side_texts: &["session_title"],
    shell: |command| Call {
        name: "run_terminal_command",
        input: json!({ "command": command, "is_background": false }),
    },
};

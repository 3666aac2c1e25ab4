//! goose.

use super::{AcpAgent, no_files};
use crate::agent::{Api, Call, Login, Package, pairs};
use serde_json::json;

pub(in crate::agents) const GOOSE: AcpAgent = AcpAgent {
    id: "goose",
    name: "goose",
    versions: &["1.52.0"],
    packages: |version| vec![Package::Npm(format!("@aaif/goose-binary-{{os}}-{{arch}}@{version}"))],
    program: "goose",
    natives: &["@aaif/goose-binary-{os}-{arch}/bin/goose"],
    args: &["acp", "--with-builtin", "developer"],
    api: Api::Chat,
    variables: |at| {
        let mut all = pairs(&[
            ("GOOSE_PROVIDER", "openai"),
            ("GOOSE_MODEL", "mock-model"),
            ("OPENAI_HOST", at.url),
            ("OPENAI_BASE_PATH", "v1/chat/completions"),
            ("GOOSE_DISABLE_KEYRING", "1"),
            ("GOOSE_TELEMETRY_ENABLED", "false"),
            ("GOOSE_CONTEXT_LIMIT", "200000"),
            ("GOOSE_MODE", "approve"),
        ]);
        if at.login != Login::None {
            all.push(("OPENAI_API_KEY", "sk-fake-key-of-the-suite".to_owned()));
        }
        all
    },
    files: no_files,
    side_texts: &[],
    shell: |command| Call { name: "shell", input: json!({ "command": command }) },
};

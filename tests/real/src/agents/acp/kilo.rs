//! Kilo Code, which is made from `OpenCode`.

use super::AcpAgent;
use crate::agent::{Api, Call, Package, pairs};
use crate::agents::opencode;
use serde_json::json;

pub(in crate::agents) const KILO: AcpAgent = AcpAgent {
    id: "kilo",
    name: "Kilo Code",
    versions: &["7.7.7"],
    packages: |version| {
        let names = [format!("@kilocode/cli@{version}"), format!("@kilocode/cli-{{os}}-{{arch}}@{version}")];
        names.map(Package::Npm).to_vec()
    },
    program: "kilo",
    natives: &["@kilocode/cli-{os}-{arch}/bin/kilo"],
    args: &["acp"],
    api: Api::Chat,
    variables: |_| {
        pairs(&[
            ("KILO_DISABLE_AUTOUPDATE", "1"),
            ("KILO_DISABLE_MODELS_FETCH", "1"),
            ("KILO_TELEMETRY_LEVEL", "off"),
            ("KILO_DISABLE_SHARE", "1"),
            ("KILO_DISABLE_SESSION_INGEST", "1"),
        ])
    },
    files: |at| vec![(".config/kilo/kilo.json", opencode::config(at).to_string())],
    side_texts: &[],
    shell: |command| Call {
        name: "bash",
        input: json!({ "command": command, "description": "a command of the suite" }),
    },
};

//! Cline.

use super::{AcpAgent, no_files};
use crate::agent::{Api, Call, Login, Package, pairs};
use serde_json::json;

pub(in crate::agents) const CLINE: AcpAgent = AcpAgent {
    id: "cline",
    name: "Cline",
    versions: &["3.0.65"],
    packages: |version| vec![Package::Npm(format!("cline@{version}")), Package::Node],
    program: "cline",
    natives: &["@cline/cli-{os}-{arch}/bin/cline"],
    args: &["--acp"],
    api: Api::Chat,
    variables: |at| {
        let mut all =
            pairs(&[("CLINE_API_BASE_URL", at.url), ("CLINE_DISABLE_AUTO_UPDATE", "1"), ("CLINE_NO_AUTO_UPDATE", "1")]);
        if at.login != Login::None {
            all.push(("CLINE_API_KEY", "sk-fake-key-of-the-suite".to_owned()));
        }
        all
    },
    files: no_files,
    side_texts: &[],
    shell: |command| Call { name: "run_commands", input: json!({ "commands": [command] }) },
};

//! Codex over the adapter of the protocol's authors.

use super::AcpAgent;
use crate::agent::{Agent, Api, Package};
use crate::agents::codex::Codex;

pub(in crate::agents) const CODEX_ACP: AcpAgent = AcpAgent {
    id: "codex-acp",
    name: "codex-acp",
    versions: &["2.6.0"],
    packages: |version| vec![Package::Npm(format!("@agentclientprotocol/codex-acp@{version}")), Package::Node],
    program: "codex-acp",
    natives: &[],
    args: &[],
    api: Api::Responses,
    variables: |at| {
        let mut all = Codex.variables(at);
        all.push(("NO_BROWSER", "1".to_owned()));
        all
    },
    files: |at| Codex.files(at),
    side_texts: &[],
    shell: |command| Codex.shell(command),
};

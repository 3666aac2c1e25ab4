//! Claude Code over the adapter of the protocol's authors.

use super::{AcpAgent, no_files};
use crate::agent::{Agent, Api, Package};
use crate::agents::claude::Claude;

pub(in crate::agents) const CLAUDE_AGENT_ACP: AcpAgent = AcpAgent {
    id: "claude-agent-acp",
    name: "claude-agent-acp",
    versions: &["0.99.1"],
    packages: |version| vec![Package::Npm(format!("@agentclientprotocol/claude-agent-acp@{version}")), Package::Node],
    program: "claude-agent-acp",
    natives: &[],
    args: &[],
    api: Api::Messages,
    variables: |at| Claude.variables(at),
    files: no_files,
    side_texts: &[],
    shell: |command| Claude.shell(command),
};

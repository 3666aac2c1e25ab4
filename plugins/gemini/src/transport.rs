//! How the adapter talks to the CLI.

use wharf_adapter::{Approvals, Turn};

/// How the adapter talks to the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process per turn, events on stdout. Shows the input of tools and counts cached tokens.
    StreamJson,
    /// The Agent Client Protocol on stdin and stdout: the only one that can ask and that takes MCP servers.
    Acp,
}

impl Transport {
    /// The transport that the turn names, or else the one that it needs.
    pub(crate) fn of(turn: &Turn) -> Transport {
        match turn.option("transport").name() {
            Some("acp") => Transport::Acp,
            Some("stream-json") => Transport::StreamJson,
            _ if turn.approvals == Approvals::Ask || turn.mcp_servers.is_some() => Transport::Acp,
            _ => Transport::StreamJson,
        }
    }
}

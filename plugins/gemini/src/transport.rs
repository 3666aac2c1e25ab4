//! How the adapter talks to the CLI.

/// How the adapter talks to the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process per turn, events on stdout. Shows the input of tools and counts cached tokens.
    StreamJson,
    /// The Agent Client Protocol on stdin and stdout: the only one that can ask and that takes MCP servers.
    Acp,
}

impl Transport {
    /// The transport with this name; without one, stream-json.
    pub(crate) fn named(name: &str) -> Transport {
        if name == Transport::Acp.name() { Transport::Acp } else { Transport::StreamJson }
    }

    /// The name by which a user chooses it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::StreamJson => "stream-json",
            Transport::Acp => "acp",
        }
    }
}

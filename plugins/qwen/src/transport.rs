//! How the adapter talks to Qwen Code.

/// How the adapter talks to Qwen Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process per turn, events on stdout.
    Lines,
    /// The Agent Client Protocol on stdin and stdout: the only one that can ask.
    Acp,
}

impl Transport {
    /// The transport with this name; without one, lines.
    pub(crate) fn named(name: &str) -> Transport {
        if name == Transport::Acp.name() { Transport::Acp } else { Transport::Lines }
    }

    /// The name by which a user chooses it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Lines => "stream-json",
            Transport::Acp => "acp",
        }
    }
}

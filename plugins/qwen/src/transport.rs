//! How the adapter talks to Qwen Code.

use wharf_adapter::{Approvals, Turn};

/// How the adapter talks to Qwen Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One process per turn, events on stdout.
    Lines,
    /// The Agent Client Protocol on stdin and stdout: the only one that can ask.
    Acp,
}

impl Transport {
    /// The transport that the turn names, or else the one that its approvals need.
    pub(crate) fn of(turn: &Turn) -> Transport {
        match turn.option("transport").name() {
            Some("acp") => Transport::Acp,
            Some("stream-json") => Transport::Lines,
            _ if turn.approvals == Approvals::Ask => Transport::Acp,
            _ => Transport::Lines,
        }
    }
}

//! How the adapter talks to Codex.

use wharf_adapter::Turn;

/// The option that names a transport.
pub(crate) const OPTION: &str = "transport";

/// How the adapter talks to Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// `codex app-server`: JSON-RPC on stdin and stdout. The only one that streams, asks and takes messages.
    AppServer,
    /// `codex exec --json`: one process per turn, events on stdout.
    Exec,
}

impl Transport {
    /// The transport that the turn names, else the better one.
    pub(crate) fn of(turn: &Turn) -> Transport {
        if turn.option(OPTION).is("exec") { Transport::Exec } else { Transport::AppServer }
    }
}

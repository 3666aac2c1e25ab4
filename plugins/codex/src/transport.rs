//! How the adapter talks to Codex.

/// How the adapter talks to Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// `codex app-server`: JSON-RPC on stdin and stdout. The only one that streams, asks and takes messages.
    AppServer,
    /// `codex exec --json`: one process per turn, events on stdout.
    Exec,
}

impl Transport {
    /// The transport with this name; without one, the better one.
    pub(crate) fn named(name: &str) -> Transport {
        if name == Transport::Exec.name() { Transport::Exec } else { Transport::AppServer }
    }

    /// The name by which a user chooses it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::AppServer => "app-server",
            Transport::Exec => "exec",
        }
    }
}

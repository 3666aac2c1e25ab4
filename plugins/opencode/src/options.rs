//! The adapter's own options, as a turn has them.

use wharf_adapter::Turn;

/// Over which protocol a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transport {
    /// The Agent Client Protocol.
    #[default]
    Acp,
    /// JSON lines, one process for each turn.
    Run,
}

impl Transport {
    /// The transport with this name; without one, the best.
    pub(crate) fn named(name: &str) -> Transport {
        if name == Transport::Run.name() { Transport::Run } else { Transport::Acp }
    }

    /// The name by which a user chooses it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Acp => "acp",
            Transport::Run => "run",
        }
    }
}

/// What ends a turn that `OpenCode` would never end itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How many failed model calls in a row are retried. 0: any number.
    pub(crate) retries: u64,
    /// How many answers in a row may end without a reason. 0: any number.
    pub(crate) unfinished: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { retries: 5, unfinished: 3 }
    }
}

impl Limits {
    pub(crate) fn of(turn: &Turn) -> Limits {
        let usual = Limits::default();
        let number = |name: &str, usual: u64| turn.option(name).u64().unwrap_or(usual);
        Limits {
            retries: number("max-retries", usual.retries),
            unfinished: number("max-unfinished-steps", usual.unfinished),
        }
    }
}

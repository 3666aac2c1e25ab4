//! Token counts. The agent reports the total over all turns of its process; a turn used the difference to the previous
//! total. In a new process a loaded session starts at zero.

use crate::usage::INPUT_INCLUDES_CACHED;
use wharf_adapter::{Json, Usage, UsageScope};

/// The totals that the agent reports.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
}

impl Tokens {
    /// Reads the `usage` of the answer to a prompt.
    pub(super) fn read(usage: Json<'_>) -> Tokens {
        let figure = |key: &str| usage.get(key).u64();
        Tokens {
            input: figure("inputTokens"),
            output: figure("outputTokens"),
            cache_read: figure("cachedReadTokens"),
            cache_write: figure("cachedWriteTokens"),
            reasoning: figure("thoughtTokens"),
        }
    }

    /// The difference to an earlier total.
    pub(super) fn since(self, before: Tokens) -> Tokens {
        let difference = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        Tokens {
            input: difference(self.input, before.input),
            output: difference(self.output, before.output),
            cache_read: difference(self.cache_read, before.cache_read),
            cache_write: difference(self.cache_write, before.cache_write),
            reasoning: difference(self.reasoning, before.reasoning),
        }
    }

    /// Whether the model wrote anything.
    pub(super) fn has_output(self) -> bool {
        self.output.is_some_and(|output| output > 0)
    }

    /// As the usage of a turn.
    pub(super) fn into_usage(self, model: Option<String>) -> Usage {
        Usage {
            model,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
            ..Usage::new(UsageScope::TurnTotal, "acp", INPUT_INCLUDES_CACHED)
        }
    }
}

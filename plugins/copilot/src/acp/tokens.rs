//! Tokens. The agent tells what all turns of its process have used: a turn has used what that grew by. A session that is
//! loaded by another process begins at zero there.

use crate::usage::INPUT_INCLUDES_CACHED;
use wharf_adapter::{Json, Usage, UsageScope};

/// What the agent told last.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
}

impl Tokens {
    /// The `usage` of an answer to a prompt.
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

    /// What came since.
    pub(super) fn since(self, before: Tokens) -> Tokens {
        let grown = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        Tokens {
            input: grown(self.input, before.input),
            output: grown(self.output, before.output),
            cache_read: grown(self.cache_read, before.cache_read),
            cache_write: grown(self.cache_write, before.cache_write),
            reasoning: grown(self.reasoning, before.reasoning),
        }
    }

    /// Whether the model wrote anything.
    pub(super) fn has_output(self) -> bool {
        self.output.is_some_and(|output| output > 0)
    }

    /// As figures of a turn.
    pub(super) fn of_turn(self, model: Option<String>) -> Usage {
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

//! Counts tokens.
//!
//! Codex counts for a thread, over all its turns; a resumed thread continues the count, a fork inherits it, and a context
//! overflow resets it. `exec` reports only that count, so the host has to subtract what it knew before the turn.
//! `app-server` reports it after every call of the model, with the figures of the last call. These are repeated if a turn is
//! interrupted before its first call has ended: so a turn is what the count grew by, and the last call's figures are used
//! only where the count shrank or its beginning is unknown.

use wharf_adapter::{ContextUsage, Effects, Event, Json, Usage, UsageScope};

/// The figures of a thread or a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tokens {
    input: u64,
    cache_read: u64,
    /// Absent in 0.142.0.
    cache_write: Option<u64>,
    output: u64,
    reasoning: u64,
}

impl Tokens {
    /// The fields of either transport.
    fn read(figures: Json<'_>) -> Option<Tokens> {
        let figure = |names: &[&str]| figures.first_of(names).u64();
        Some(Tokens {
            input: figure(&["inputTokens", "input_tokens"])?,
            cache_read: figure(&["cachedInputTokens", "cached_input_tokens"]).unwrap_or(0),
            cache_write: figure(&["cacheWriteInputTokens", "cache_write_input_tokens"]),
            output: figure(&["outputTokens", "output_tokens"])?,
            reasoning: figure(&["reasoningOutputTokens", "reasoning_output_tokens"]).unwrap_or(0),
        })
    }

    /// What the count grew by; none if it shrank.
    fn since(self, before: Tokens) -> Option<Tokens> {
        Some(Tokens {
            input: self.input.checked_sub(before.input)?,
            cache_read: self.cache_read.checked_sub(before.cache_read)?,
            cache_write: match (self.cache_write, before.cache_write) {
                (Some(now), before) => Some(now.checked_sub(before.unwrap_or(0))?),
                (None, _) => None,
            },
            output: self.output.checked_sub(before.output)?,
            reasoning: self.reasoning.checked_sub(before.reasoning)?,
        })
    }

    fn plus(self, more: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(more.input),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            cache_write: match (self.cache_write, more.cache_write) {
                (Some(one), Some(other)) => Some(one.saturating_add(other)),
                (one, other) => one.or(other),
            },
            output: self.output.saturating_add(more.output),
            reasoning: self.reasoning.saturating_add(more.reasoning),
        }
    }

    fn usage(self, scope: UsageScope, model: Option<&str>) -> Usage {
        let source = if scope == UsageScope::SessionTotal { "thread" } else { "turn" };
        Usage {
            model: model.map(str::to_owned),
            input: Some(self.input),
            cache_read: Some(self.cache_read),
            cache_write: self.cache_write,
            output: Some(self.output),
            reasoning: Some(self.reasoning),
            ..Usage::new(scope, source, true)
        }
    }
}

/// The count of a thread that `exec` reports at the end of a turn.
pub(crate) fn of_thread(figures: Json<'_>, out: &mut Effects) {
    if let Some(tokens) = Tokens::read(figures) {
        out.usage(tokens.usage(UsageScope::SessionTotal, None));
    }
}

/// The count of the thread of an `app-server`.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// The calls of the turn.
    rounds: u32,
    /// The last count. Unknown before the first one of a thread that is not new.
    thread: Option<Tokens>,
    turn: Tokens,
}

impl Count {
    /// A new thread starts.
    pub(crate) fn new_thread(&mut self) {
        self.thread = Some(Tokens::default());
    }

    /// A turn starts.
    pub(crate) fn new_turn(&mut self) {
        self.turn = Tokens::default();
        self.rounds = 0;
    }

    /// The count has changed, or is repeated. `of_turn` is false for the count of a resumed thread before its turn.
    pub(crate) fn update(&mut self, usage: Json<'_>, of_turn: bool, model: Option<&str>, out: &mut Effects) {
        let Some(total) = Tokens::read(usage.get("total")) else { return };
        let grown = self.thread.and_then(|before| total.since(before));
        self.thread = Some(total);
        if !of_turn {
            return;
        }
        let last = usage.get("last");
        let grown = grown.or_else(|| Tokens::read(last)).unwrap_or_default();
        self.turn = self.turn.plus(grown);
        self.rounds += u32::from(grown.input > 0 || grown.output > 0);
        // Before its first call has ended, what a turn uses is unknown, and not nothing.
        if self.turn.input > 0 || self.turn.output > 0 {
            let turn = self.turn.usage(UsageScope::TurnTotal, model);
            out.usage(Usage { rounds: Some(self.rounds), ..turn });
            out.usage(total.usage(UsageScope::SessionTotal, model));
        }
        if let (Some(used), Some(window)) = (last.get("totalTokens").u64(), usage.get("modelContextWindow").u64()) {
            out.emit(Event::Context(ContextUsage { used, window }));
        }
    }
}

//! Tokens: `OpenCode`'s input has no cached tokens, and its output no reasoning. Wharf's output has the reasoning in it.

use wharf_adapter::{Json, Usage, UsageScope};

/// The figures of one model call: `{input, output, reasoning, cache: {read, write}}`, and what it cost.
pub(crate) fn of_step(tokens: Json<'_>, cost: Json<'_>, model: Option<&str>) -> Option<Usage> {
    let [input, output, reasoning, cache] = tokens.pick(["input", "output", "reasoning", "cache"]).ok()?;
    let reasoning = reasoning.u64();
    Some(Usage {
        model: model.map(str::to_owned),
        input: input.u64(),
        output: output.u64().map(|output| output + reasoning.unwrap_or(0)),
        reasoning,
        cache_read: cache.get("read").u64(),
        cache_write: cache.get("write").u64(),
        cost_micros: cost.micros(),
        rounds: Some(1),
        ..Usage::new(UsageScope::Delta, "steps", false)
    })
}

/// Whether nothing was counted, which is how `OpenCode` reports a call without figures.
pub(crate) fn is_empty(usage: &Usage) -> bool {
    let figures = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    figures.into_iter().all(|figure| figure.unwrap_or(0) == 0)
}

/// Adds the figures of another call.
pub(crate) fn add(total: &mut Usage, more: &Usage) {
    let pairs = [
        (&mut total.input, more.input),
        (&mut total.output, more.output),
        (&mut total.reasoning, more.reasoning),
        (&mut total.cache_read, more.cache_read),
        (&mut total.cache_write, more.cache_write),
        (&mut total.cost_micros, more.cost_micros),
    ];
    total.rounds = Some(total.rounds.unwrap_or(0) + more.rounds.unwrap_or(0));
    for (sum, figure) in pairs {
        if let Some(figure) = figure {
            *sum = Some(sum.unwrap_or(0) + figure);
        }
    }
}

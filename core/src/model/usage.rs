//! Figures of usage. Null is unknown, never zero.

use super::money::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one source for one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct UsageFigures {
    /// What the figures cover.
    pub scope: UsageScope,
    /// Where they come from: "result", "usage-file".
    pub source: String,
    /// The model that they are for; null if they are for all.
    pub model: Option<String>,
    /// Whether the agent's own count of input tokens includes cached ones. `input` and `input_uncached` are computed
    /// from it, and mean the same for every agent.
    pub input_includes_cached: bool,
    /// The figures themselves.
    #[serde(flatten)]
    pub usage: Usage,
}

impl UsageFigures {
    /// Figures as an agent counts them: `agent_input` is its own number of input tokens, which `usage.input` and
    /// `usage.input_uncached` are computed from.
    pub fn new(
        scope: UsageScope,
        source: impl Into<String>,
        agent_input: Option<u64>,
        input_includes_cached: bool,
        usage: Usage,
    ) -> UsageFigures {
        let mut usage = usage;
        let cached = match (usage.cache_read, usage.cache_write) {
            (None, None) => None,
            (read, write) => Some(read.unwrap_or(0).saturating_add(write.unwrap_or(0))),
        };
        if input_includes_cached {
            usage.input = agent_input;
            usage.input_uncached = agent_input.zip(cached).map(|(input, cached)| input.saturating_sub(cached));
        } else {
            usage.input_uncached = agent_input;
            usage.input = agent_input.zip(cached).map(|(input, cached)| input.saturating_add(cached));
        }
        UsageFigures { scope, source: source.into(), model: None, input_includes_cached, usage }
    }
}

/// What figures of usage cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UsageScope {
    /// They add to the earlier figures of the same source.
    Delta,
    /// All of the session so far.
    SessionTotal,
    /// All of this turn so far.
    TurnTotal,
}

/// What a turn used. Null is unknown, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
#[serde(default)]
pub struct Usage {
    /// All input tokens, those read from and written to a cache included.
    pub input: Option<u64>,
    /// Input tokens that were neither read from nor written to a cache.
    pub input_uncached: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_write: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
    /// What it cost.
    pub cost: Option<Money>,
    /// Where the cost comes from, in a report and in a sum; null in the figures of an agent, and without a cost.
    pub cost_source: Option<CostSource>,
    /// What the vendor counts beside tokens, by name.
    pub units: BTreeMap<String, f64>,
    /// The time spent waiting for the model's API, in milliseconds.
    pub api_ms: Option<u64>,
    /// Calls of the model.
    pub rounds: Option<u64>,
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CostSource {
    /// The agent reported it.
    Agent,
    /// At least a part of it was computed from the user's prices: an estimate.
    Prices,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_figures_of_input_mean_the_same_for_every_agent() {
        let cached = |read, write| Usage { cache_read: read, cache_write: write, ..Usage::default() };
        for (agent_input, includes, read, write, input, uncached) in [
            (Some(100), true, Some(60), Some(10), Some(100), Some(30)),
            (Some(30), false, Some(60), Some(10), Some(100), Some(30)),
            (Some(100), true, Some(60), None, Some(100), Some(40)),
            // The agent does not say what was cached: the other figure is unknown.
            (Some(100), true, None, None, Some(100), None),
            (Some(30), false, None, None, None, Some(30)),
            (None, true, Some(60), None, None, None),
            // More cached than there was: an agent is wrong, and nothing underflows.
            (Some(5), true, Some(60), None, Some(5), Some(0)),
        ] {
            let figures = UsageFigures::new(UsageScope::Delta, "x", agent_input, includes, cached(read, write));
            assert_eq!((figures.usage.input, figures.usage.input_uncached), (input, uncached), "{figures:?}");
        }
    }
}

//! Token counts of an ACP agent.
//!
//! The response to a prompt has them, under one of several names. They cover the turn, the process or the session; and the
//! input includes the cached tokens or not, which the agent's own total shows.

use super::Dialect;
use crate::{Json, Usage, UsageScope};

/// The figures that an agent reports.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    total: Option<u64>,
}

impl Tokens {
    /// Reads the response to a prompt.
    pub(super) fn read(result: Json<'_>) -> Option<Tokens> {
        let [usage, meta] = ["usage", "_meta"].map(|key| result.get(key));
        let usage = if usage.is_object() { usage } else { meta.get("usage") };
        let usage = if usage.is_object() { usage } else { meta.at(&["quota", "token_count"]) };
        if !usage.is_object() {
            return None;
        }
        let figure = |keys: &[&str]| usage.first_of(keys).u64();
        Some(Tokens {
            input: figure(&["inputTokens", "input_tokens"]),
            output: figure(&["outputTokens", "output_tokens"]),
            cache_read: figure(&["cachedReadTokens"]),
            cache_write: figure(&["cachedWriteTokens", "cacheCreationTokens"]),
            reasoning: figure(&["thoughtTokens", "reasoningTokens"]),
            total: figure(&["totalTokens"]),
        })
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
            total: difference(self.total, before.total),
        }
    }

    /// Whether the model wrote anything.
    pub(super) fn has_output(self) -> bool {
        self.output.is_some_and(|output| output > 0)
    }

    /// Whether the input includes the cached tokens: not if the total needs them beside it.
    fn includes_cached(self) -> bool {
        let cached = self.cache_read.unwrap_or(0) + self.cache_write.unwrap_or(0);
        let (Some(input), Some(output), Some(total)) = (self.input, self.output, self.total) else { return true };
        total < input + output + cached
    }

    /// As an event, for the usage of this dialect.
    pub(super) fn into_usage<D: Dialect>(self, model: Option<String>) -> Usage {
        let scope = if D::USAGE == UsageScope::SessionTotal { D::USAGE } else { UsageScope::TurnTotal };
        let includes_cached = D::INPUT_INCLUDES_CACHED.unwrap_or_else(|| self.includes_cached());
        Usage {
            model,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
            ..Usage::new(scope, "acp", includes_cached)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::Standard;

    /// Captured from claude-agent-acp, kilo, vibe, gemini, grok, goose.
    #[test]
    fn figures_are_found_and_say_whether_cached_tokens_are_included() {
        for (result, input, cached, included) in [
            (
                r#"{"usage":{"inputTokens":200,"outputTokens":34,"cachedReadTokens":1000,"cachedWriteTokens":0,"totalTokens":1234}}"#,
                200,
                Some(1000),
                false,
            ),
            (
                r#"{"usage":{"inputTokens":200,"outputTokens":27,"totalTokens":1234,"thoughtTokens":7,"cachedReadTokens":1000}}"#,
                200,
                Some(1000),
                false,
            ),
            (
                r#"{"usage":{"totalTokens":1234,"inputTokens":1200,"outputTokens":34,"cachedReadTokens":1000}}"#,
                1200,
                Some(1000),
                true,
            ),
            (r#"{"_meta":{"quota":{"token_count":{"input_tokens":1200,"output_tokens":34}}}}"#, 1200, None, true),
            (
                r#"{"_meta":{"usage":{"inputTokens":1200,"outputTokens":34,"totalTokens":1234,"cachedReadTokens":1000,"cacheCreationTokens":0}}}"#,
                1200,
                Some(1000),
                true,
            ),
        ] {
            let usage = Tokens::read(Json::parse(result)).expect("figures").into_usage::<Standard>(None);
            assert_eq!((usage.input, usage.cache_read), (Some(input), cached), "{result}");
            assert_eq!(usage.input_includes_cached, included, "{result}");
        }
        assert_eq!(Tokens::read(Json::parse(r#"{"usage":null,"_meta":{"quota":{"token_count":null}}}"#)), None);
    }
}

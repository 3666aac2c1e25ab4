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
        Tokens::of(usage)
    }

    /// Reads an object of figures.
    fn of(usage: Json<'_>) -> Option<Tokens> {
        if !usage.is_object() {
            return None;
        }
        let figure = |keys: &[&str]| usage.first_of(keys).u64();
        let tokens = Tokens {
            input: figure(&["inputTokens", "input_tokens"]),
            output: figure(&["outputTokens", "output_tokens"]),
            cache_read: figure(&["cachedReadTokens"]),
            cache_write: figure(&["cachedWriteTokens", "cacheCreationTokens"]),
            reasoning: figure(&["thoughtTokens", "reasoningTokens"]),
            total: figure(&["totalTokens"]),
        };
        Some(tokens.with_reasoning())
    }

    /// These figures for each model, if the response to a prompt has them and their sums are the same. Otherwise for the
    /// one model that it names, or for the session's.
    pub(super) fn by_model(self, result: Json<'_>, model: Option<String>) -> Vec<(Option<String>, Tokens)> {
        let models = result.at(&["_meta", "quota", "model_usage"]).items();
        let entry = |entry: Json<'_>| Some((Some(entry.get("model").string()?), Tokens::of(entry.get("token_count"))?));
        let mut found: Vec<(Option<String>, Tokens)> = models.filter_map(entry).collect();
        let sum =
            |figure: fn(&Tokens) -> Option<u64>| found.iter().filter_map(|(_, tokens)| figure(tokens)).sum::<u64>();
        let is_sum = self.input == Some(sum(|tokens| tokens.input)) && self.output == Some(sum(|tokens| tokens.output));
        if found.len() > 1 && is_sum {
            return found;
        }
        let named = if found.len() == 1 { found.pop().and_then(|(model, _)| model) } else { None };
        vec![(named.or(model), self)]
    }

    /// Whether all figures are zero, as agents report them for a turn that was cancelled or has failed: nothing is known
    /// then.
    pub(super) fn is_zero(self) -> bool {
        let Tokens { input, output, cache_read, cache_write, reasoning, total } = self;
        [input, output, cache_read, cache_write, reasoning, total].into_iter().flatten().all(|figure| figure == 0)
    }

    /// Output tokens include those of reasoning. Where the agent's own total needs both, they did not.
    fn with_reasoning(mut self) -> Tokens {
        let (Some(output), Some(reasoning), Some(total)) = (self.output, self.reasoning, self.total) else {
            return self;
        };
        let (input, both) = (self.input.unwrap_or(0), output.saturating_add(reasoning));
        let is_sum = |input: u64| reasoning > 0 && input.saturating_add(both) == total;
        if is_sum(input) || is_sum(input.saturating_add(self.cached())) {
            self.output = Some(both);
        }
        self
    }

    fn cached(self) -> u64 {
        self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0))
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
        let (Some(input), Some(output), Some(total)) = (self.input, self.output, self.total) else { return true };
        self.cached() == 0 || total < input.saturating_add(output).saturating_add(self.cached())
    }

    /// As an event, for the usage of this dialect.
    pub(super) fn into_usage<D: Dialect>(self, scope: UsageScope, model: Option<String>) -> Usage {
        let scope = if scope == UsageScope::SessionTotal { scope } else { UsageScope::TurnTotal };
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

/// The figures of one model call, for a dialect whose agent reports each; none if there are none.
pub fn model_call(usage: Json<'_>) -> Option<Usage> {
    let tokens = Tokens::of(usage)?;
    let usage = tokens.into_usage::<super::Standard>(UsageScope::TurnTotal, None);
    Some(Usage { scope: UsageScope::Delta, source: "acp-calls".to_owned(), ..usage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::Standard;

    /// Captured from gemini: a turn of two models.
    #[test]
    fn figures_of_several_models_are_kept_apart() {
        let result = r#"{"_meta":{"quota":{"token_count":{"input_tokens":2500,"output_tokens":69},"model_usage":[
            {"model":"a","token_count":{"input_tokens":1200,"output_tokens":34}},
            {"model":"b","token_count":{"input_tokens":1300,"output_tokens":35}}]}}}"#;
        let result = Json::parse(result);
        let all = Tokens::read(result).expect("figures");
        let figures = |all: Tokens| -> Vec<_> {
            let by_model = all.by_model(result, Some("c".to_owned())).into_iter();
            by_model.map(|(model, tokens)| (model.unwrap_or_default(), tokens.input, tokens.output)).collect()
        };
        assert_eq!(figures(all), [("a".to_owned(), Some(1200), Some(34)), ("b".to_owned(), Some(1300), Some(35))]);
        let other = Tokens { input: Some(9), ..all };
        assert_eq!(figures(other), [("c".to_owned(), Some(9), Some(69))], "they are about something else");
    }

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
            // Nothing was cached: the input is all input.
            (r#"{"usage":{"totalTokens":1234,"inputTokens":1200,"outputTokens":34}}"#, 1200, None, true),
            (r#"{"_meta":{"quota":{"token_count":{"input_tokens":1200,"output_tokens":34}}}}"#, 1200, None, true),
            (
                r#"{"_meta":{"usage":{"inputTokens":1200,"outputTokens":34,"totalTokens":1234,"cachedReadTokens":1000,"cacheCreationTokens":0}}}"#,
                1200,
                Some(1000),
                true,
            ),
        ] {
            let usage =
                Tokens::read(Json::parse(result)).expect("figures").into_usage::<Standard>(UsageScope::TurnTotal, None);
            assert_eq!((usage.input, usage.cache_read), (Some(input), cached), "{result}");
            assert_eq!(usage.input_includes_cached, included, "{result}");
        }
        // Kilo's output is 34 tokens, 7 of them reasoning; codex-acp's figure includes them.
        for (usage, output) in [
            (
                r#"{"inputTokens":200,"outputTokens":27,"totalTokens":1234,"thoughtTokens":7,"cachedReadTokens":1000}"#,
                34,
            ),
            (
                r#"{"inputTokens":200,"outputTokens":34,"totalTokens":1234,"thoughtTokens":7,"cachedReadTokens":1000}"#,
                34,
            ),
            (r#"{"inputTokens":1200,"outputTokens":27,"totalTokens":1234,"thoughtTokens":7}"#, 34),
            (
                r#"{"outputTokens":27,"totalTokens":18446744073709551615,"thoughtTokens":18446744073709551615}"#,
                u64::MAX,
            ),
        ] {
            let result = format!("{{\"usage\":{usage}}}");
            assert_eq!(Tokens::read(Json::parse(&result)).and_then(|tokens| tokens.output), Some(output), "{usage}");
        }
        assert_eq!(Tokens::read(Json::parse(r#"{"usage":null,"_meta":{"quota":{"token_count":null}}}"#)), None);
    }
}

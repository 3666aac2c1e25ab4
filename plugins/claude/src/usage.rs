//! Tokens and cost of a turn, per model, each counted once.
//!
//! Newer versions report in each result what was used since the previous one (`model_usage_since_last_result`), while
//! their totals cover the whole session. Older versions have totals only, which start at zero in each process. `usage` of
//! the result does not include sub-agents and helper calls, so it is used only if no model is named.

use wharf_adapter::{Effects, Json, Usage, UsageScope};

/// The Messages API counts cache reads and cache writes separately from the input, and so does Claude Code.
pub(crate) const INPUT_INCLUDES_CACHED: bool = false;

/// Figures of one model.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// Not reported by old versions.
    reasoning: Option<u64>,
    searches: u64,
    /// In dollars, not rounded: rounded costs of the models would not add up to the rounded total.
    cost: f64,
}

/// Figures by model. Figures without a model have an empty name.
type Models = Vec<(String, Figures)>;

/// The usage of the turn and of the process.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// This turn so far, over all its results.
    turn: Models,
    /// The totals of the last result.
    totals: Models,
}

impl Ledger {
    /// Another turn starts in the same process.
    pub(crate) fn next_turn(&mut self) {
        self.turn.clear();
    }

    /// Adds a result, and reports the figures of the turn so far.
    pub(crate) fn add(&mut self, result: Json<'_>, out: &mut Effects) {
        let Ok([usage, totals, since, cost]) =
            result.pick(["usage", "modelUsage", "model_usage_since_last_result", "total_cost_usd"])
        else {
            return;
        };
        let mut used: Models = if since.is_object() { read(since) } else { self.differences(read(totals)) };
        if used.is_empty() {
            // No model was used, or this version does not name models.
            let known_total = if since.is_object() { None } else { cost.f64() };
            let mut figures = main_loop(usage);
            figures.cost =
                known_total.map_or(0.0, |total| self.difference("", Figures { cost: total, ..figures }).cost);
            if usage.is_object() || known_total.is_some() {
                used.push((String::new(), figures));
            }
        }
        for (model, figures) in used {
            let sum = entry(&mut self.turn, &model);
            *sum = sum.plus(&figures);
        }
        self.emit(out);
    }

    fn differences(&mut self, totals: Models) -> Models {
        totals
            .into_iter()
            .map(|(model, total)| {
                let difference = self.difference(&model, total);
                (model, difference)
            })
            .collect()
    }

    fn difference(&mut self, model: &str, total: Figures) -> Figures {
        let before = std::mem::replace(entry(&mut self.totals, model), total);
        total.minus(&before)
    }

    fn emit(&self, out: &mut Effects) {
        let mut dollars = 0.0;
        let mut reported = 0;
        for (model, figures) in &self.turn {
            dollars += figures.cost;
            let so_far = micros(dollars);
            out.usage(Usage {
                model: Some(model.clone()).filter(|model| !model.is_empty()),
                input: Some(figures.input),
                output: Some(figures.output),
                cache_read: Some(figures.cache_read),
                cache_write: Some(figures.cache_write),
                reasoning: figures.reasoning,
                cost_micros: Some(so_far - reported),
                units: web_searches(figures.searches),
                ..Usage::new(UsageScope::TurnTotal, "result", INPUT_INCLUDES_CACHED)
            });
            reported = so_far;
        }
    }
}

impl Figures {
    fn plus(&self, more: &Figures) -> Figures {
        Figures {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            reasoning: match (self.reasoning, more.reasoning) {
                (Some(some), Some(more)) => Some(some.saturating_add(more)),
                (some, more) => some.or(more),
            },
            searches: self.searches.saturating_add(more.searches),
            cost: self.cost + more.cost,
        }
    }

    fn minus(&self, before: &Figures) -> Figures {
        Figures {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            reasoning: self.reasoning.map(|now| now.saturating_sub(before.reasoning.unwrap_or_default())),
            searches: self.searches.saturating_sub(before.searches),
            cost: (self.cost - before.cost).max(0.0),
        }
    }
}

fn entry<'a>(models: &'a mut Models, model: &str) -> &'a mut Figures {
    let place = models.iter().position(|(name, _)| name == model).unwrap_or_else(|| {
        models.push((model.to_owned(), Figures::default()));
        models.len() - 1
    });
    &mut models[place].1
}

fn read(models: Json<'_>) -> Models {
    models.fields().filter_map(|(model, figures)| Some((model.to_owned(), read_model(figures)?))).collect()
}

fn read_model(figures: Json<'_>) -> Option<Figures> {
    let keys = [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
        "thinkingTokens",
        "webSearchRequests",
        "costUSD",
    ];
    let [input, output, cache_read, cache_write, reasoning, searches, cost] = figures.pick(keys).ok()?;
    Some(Figures {
        input: input.u64().unwrap_or_default(),
        output: output.u64().unwrap_or_default(),
        cache_read: cache_read.u64().unwrap_or_default(),
        cache_write: cache_write.u64().unwrap_or_default(),
        reasoning: reasoning.u64(),
        searches: searches.u64().unwrap_or_default(),
        cost: cost.f64().filter(|cost| (0.0..1e9).contains(cost)).unwrap_or_default(),
    })
}

/// `usage` of a result: the requests of the agent itself in this turn.
fn main_loop(usage: Json<'_>) -> Figures {
    let figures = api_figures(usage, Usage::new(UsageScope::TurnTotal, "", INPUT_INCLUDES_CACHED));
    Figures {
        input: figures.input.unwrap_or_default(),
        output: figures.output.unwrap_or_default(),
        cache_read: figures.cache_read.unwrap_or_default(),
        cache_write: figures.cache_write.unwrap_or_default(),
        reasoning: figures.reasoning,
        ..Figures::default()
    }
}

/// Reads figures with the field names of the Messages API.
pub(crate) fn api_figures(usage: Json<'_>, mut figures: Usage) -> Usage {
    let keys = [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens_details",
    ];
    if let Ok([input, output, cache_read, cache_write, details]) = usage.pick(keys) {
        figures.input = input.u64();
        figures.output = output.u64();
        figures.cache_read = cache_read.u64();
        figures.cache_write = cache_write.u64();
        figures.reasoning = details.get("thinking_tokens").u64();
    }
    figures
}

fn web_searches(count: u64) -> Vec<(String, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    if count > 0 { vec![("web-search-requests".to_owned(), count as f64)] } else { vec![] }
}

fn micros(dollars: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; a cast saturates")]
    {
        (dollars.max(0.0) * 1e6).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::{Effect, Event};

    fn added(ledger: &mut Ledger, result: &str) -> Vec<(String, u64, u64)> {
        let mut out = Effects::default();
        ledger.add(Json::parse(result), &mut out);
        let reported = out.into_vec().into_iter().map(|effect| {
            let Effect::Emit(Event::Usage(usage)) = effect else { panic!("not usage: {effect:?}") };
            assert_eq!(usage.scope, UsageScope::TurnTotal);
            assert!(!usage.input_includes_cached);
            let cost = usage.cost_micros.expect("a cost");
            (usage.model.unwrap_or_default(), usage.input.expect("input"), cost)
        });
        reported.collect()
    }

    #[test]
    fn old_totals_cover_a_process_and_are_reported_per_turn() {
        let mut ledger = Ledger::default();
        let result = |input: u64, cost: f64| {
            format!(r#"{{"total_cost_usd":{cost},"modelUsage":{{"m":{{"inputTokens":{input},"costUSD":{cost}}}}}}}"#)
        };
        assert_eq!(added(&mut ledger, &result(100, 0.001)), [("m".to_owned(), 100, 1000)]);
        assert_eq!(added(&mut ledger, &result(300, 0.003)), [("m".to_owned(), 300, 3000)]);
        ledger.next_turn();
        assert_eq!(added(&mut ledger, &result(350, 0.004)), [("m".to_owned(), 50, 1000)]);
    }

    #[test]
    fn new_results_report_the_usage_since_the_last_one() {
        let mut ledger = Ledger::default();
        let result = r#"{"total_cost_usd":9.0,"modelUsage":{"m":{"inputTokens":9000,"costUSD":9.0}},
            "model_usage_since_last_result":{"m":{"inputTokens":100,"costUSD":0.001}}}"#;
        assert_eq!(added(&mut ledger, result), [("m".to_owned(), 100, 1000)]);
        assert_eq!(added(&mut ledger, result), [("m".to_owned(), 200, 2000)]);
        // Nothing was used, whatever the session cost before.
        ledger.next_turn();
        let idle = r#"{"total_cost_usd":9.0,"usage":{"input_tokens":0},"modelUsage":{"m":{"inputTokens":9000}},
            "model_usage_since_last_result":{}}"#;
        assert_eq!(added(&mut ledger, idle), [(String::new(), 0, 0)]);
    }

    #[test]
    fn rounding_never_changes_the_sum() {
        let model = r#"{"inputTokens":1,"costUSD":0.0000004}"#;
        let result = format!(r#"{{"modelUsage":{{"a":{model},"b":{model},"c":{model}}}}}"#);
        let reported = added(&mut Ledger::default(), &result);
        assert_eq!(reported.iter().map(|(_, _, cost)| cost).sum::<u64>(), 1);
    }

    #[test]
    fn without_models_the_main_loop_is_reported() {
        let result = r#"{"usage":{"input_tokens":7},"total_cost_usd":0.002}"#;
        assert_eq!(added(&mut Ledger::default(), result), [(String::new(), 7, 2000)]);
        assert_eq!(added(&mut Ledger::default(), "{}"), []);
    }
}

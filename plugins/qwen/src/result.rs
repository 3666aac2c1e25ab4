//! The result line: outcome, answer and usage of the turn.
//!
//! Its figures are those of the session: a resumed session starts with what it used before. They include the requests that
//! Qwen Code makes besides the turn, such as those for its memory.

use crate::lines::LineParser;
use crate::{failure, outcome};
use wharf_adapter::{Effects, Event, Json, Malformed, Outcome, ToolCall, ToolStatus, TurnEnd, Usage, UsageScope};

/// The input figure includes the cached tokens: input and output add up to the total.
pub(crate) const INPUT_INCLUDES_CACHED: bool = true;

impl LineParser {
    /// Handles the line that ends a turn. A sub-agent that fails prints one too; the last one counts.
    pub(crate) fn result(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let keys = ["subtype", "is_error", "result", "error", "usage", "permission_denials", "structured_result"];
        let [subtype, is_error, text, error, usage, denials, structured] = line.pick(keys)?;
        subtype.name().ok_or(Malformed)?;
        for denial in denials.items() {
            if let Some(id) = denial.get("tool_use_id").string()
                && self.denied.insert(id.clone())
            {
                out.tool(ToolCall { name: denial.get("tool_name").string(), ..ToolCall::new(&id, ToolStatus::Denied) });
            }
        }
        self.tools.cancel(out);
        self.blocks.keep();
        // Without this figure nothing was measured: the turn failed before it started.
        let is_measured = !usage.get("cache_read_input_tokens").is_missing();
        if is_measured && !self.has_unknown_past() {
            out.usage(figures(usage, UsageScope::SessionTotal, "result", None));
        }
        let held = self.held_failure(out);
        let outcome = match (is_error.is_true(), held) {
            (true, _) => outcome::of_error(&failure::message_of(error)),
            (false, Some(failure)) => Outcome::Failed(failure),
            (false, None) => Outcome::Completed,
        };
        let answer = if outcome == Outcome::Completed { text.text() } else { None };
        let structured_output =
            Some(structured).filter(|value| !value.is_missing()).map(|value| value.raw().to_owned());
        out.emit(Event::TurnEnded(TurnEnd { outcome, answer, structured_output }));
        self.declared = true;
        Ok(())
    }
}

/// The figures of a line.
pub(crate) fn figures(usage: Json<'_>, scope: UsageScope, source: &str, model: Option<String>) -> Usage {
    // A message with figures is one call; the total of a session has none.
    let rounds = if scope == UsageScope::Delta { Some(1) } else { None };
    let mut figures = Usage { model, rounds, ..Usage::new(scope, source, INPUT_INCLUDES_CACHED) };
    if let Ok([input, output, cached]) = usage.pick(["input_tokens", "output_tokens", "cache_read_input_tokens"]) {
        figures.input = input.u64();
        figures.output = output.u64();
        figures.cache_read = cached.u64();
    }
    figures
}

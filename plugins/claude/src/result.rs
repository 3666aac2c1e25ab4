//! The result line: how the turn ended, what it answered, what it cost.
//!
//! A process may print several: background work takes the turn up again, and in duplex every message ends with one.

use crate::blocks::Partial;
use crate::failure::Trouble;
use crate::stream::Stream;
use wharf_adapter::{ContextUsage, Effects, Event, Json, Malformed, Outcome, ToolCall, ToolStatus, TurnEnd};

/// What decides the outcome.
#[derive(Debug, Default)]
struct Ending<'a> {
    subtype: &'a str,
    is_error: bool,
    /// `terminal_reason`; old versions have none.
    reason: &'a str,
    stop_reason: &'a str,
    /// The CLI told that the user interrupted it.
    interrupted: bool,
}

impl Stream {
    /// The end of a turn.
    pub(crate) fn result(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let keys = [
            "subtype",
            "is_error",
            "terminal_reason",
            "stop_reason",
            "result",
            "errors",
            "permission_denials",
            "structured_output",
        ];
        let [subtype, is_error, reason, stop_reason, text, errors, denials, structured] = line.pick(keys)?;
        let subtype = subtype.name().ok_or(Malformed)?;
        for denial in denials.items() {
            if let Some(id) = denial.get("tool_use_id").filled() {
                self.tools.close(&id);
                out.tool(ToolCall { name: denial.get("tool_name").string(), ..ToolCall::new(&id, ToolStatus::Denied) });
            }
        }
        self.tools.cancel_own(out);
        // What was being said stays said: the next message must not discard it.
        self.partial = Partial::default();
        self.ledger.book(line, out);
        self.tell_context(line.get("modelUsage"), out);

        let ending = Ending {
            subtype,
            is_error: is_error.is_true(),
            reason: reason.name().unwrap_or_default(),
            stop_reason: stop_reason.name().unwrap_or_default(),
            interrupted: std::mem::take(&mut self.interrupted),
        };
        let mut trouble = self.trouble.take().unwrap_or_default();
        trouble.read(line);
        trouble.reason = reason.string();
        trouble.resets_at = trouble.resets_at.or(self.resets_at());
        let told = text.filled().or_else(|| errors.items().find_map(Json::filled)).map(Into::into);
        trouble.text = told.unwrap_or(trouble.text);
        let outcome = decide(&ending, &trouble);
        let answer = if outcome == Outcome::Completed { text.text() } else { None };
        let structured_output = Some(structured).filter(|value| !value.is_null()).map(|value| value.raw().to_owned());
        out.emit(Event::TurnEnded(TurnEnd { outcome, answer, structured_output }));
        Ok(())
    }

    fn tell_context(&mut self, models: Json<'_>, out: &mut Effects) {
        let Some((used, model)) = &self.context else { return };
        // "claude-opus-4-8[1m]" in the figures is "claude-opus-4-8" in its messages.
        let figures = models.fields().find(|(name, _)| name.split('[').next() == Some(model));
        if let Some(window) = figures.and_then(|(_, figures)| figures.get("contextWindow").u64()) {
            out.emit(Event::Context(ContextUsage { used: *used, window }));
        }
    }
}

fn decide(ending: &Ending<'_>, trouble: &Trouble) -> Outcome {
    match ending.subtype {
        "error_max_turns" => Outcome::Limit("max-turns".to_owned()),
        "error_max_budget_usd" => Outcome::Limit("budget".to_owned()),
        "error_max_structured_output_retries" => Outcome::Limit("structured-output-retries".to_owned()),
        _ if ending.reason.starts_with("aborted") => Outcome::Cancelled,
        // 2.0 gives no reason, and calls it no error.
        "error_during_execution" if ending.interrupted => Outcome::Cancelled,
        _ if ending.stop_reason == "refusal" => Outcome::Refused(trouble.text.clone()),
        "success" if !ending.is_error => Outcome::Completed,
        _ => Outcome::Failed(trouble.failure()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ErrorClass;

    #[test]
    fn the_outcome_follows_from_the_result() {
        let failed = |class| Outcome::Failed(wharf_adapter::Failure::new(class, ""));
        for (subtype, is_error, reason, stop_reason, interrupted, outcome) in [
            ("success", false, "completed", "end_turn", false, Outcome::Completed),
            ("success", false, "", "", false, Outcome::Completed),
            ("success", true, "api_error", "stop_sequence", false, failed(ErrorClass::Other)),
            ("success", true, "api_error", "refusal", false, Outcome::Refused(String::new())),
            ("error_during_execution", true, "aborted_tools", "tool_use", false, Outcome::Cancelled),
            ("error_during_execution", true, "aborted_streaming", "", false, Outcome::Cancelled),
            ("error_during_execution", false, "", "", true, Outcome::Cancelled),
            ("error_during_execution", true, "", "", false, failed(ErrorClass::Other)),
            ("error_during_execution", false, "", "", false, failed(ErrorClass::Other)),
            ("error_max_turns", true, "max_turns", "tool_use", false, Outcome::Limit("max-turns".to_owned())),
            ("error_max_turns", false, "", "", false, Outcome::Limit("max-turns".to_owned())),
            ("error_max_budget_usd", true, "budget_exhausted", "", false, Outcome::Limit("budget".to_owned())),
            ("error_of_tomorrow", true, "", "", false, failed(ErrorClass::Other)),
        ] {
            let ending = Ending { subtype, is_error, reason, stop_reason, interrupted };
            assert_eq!(decide(&ending, &Trouble::default()), outcome, "{ending:?}");
        }
    }
}

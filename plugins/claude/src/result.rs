//! The result line: outcome, answer and cost of the turn.
//!
//! A process may print several: background work continues a turn that has ended, and in duplex every turn ends with one.

use crate::blocks::Partial;
use crate::failure::AgentError;
use crate::lines::LineParser;
use wharf_adapter::{ContextUsage, Effects, Event, Json, Malformed, Outcome, ToolCall, ToolStatus, TurnEnd};

/// The fields that decide the outcome.
#[derive(Debug, Default)]
struct ResultFields<'a> {
    subtype: &'a str,
    is_error: bool,
    /// `terminal_reason`; empty in old versions.
    reason: &'a str,
    stop_reason: &'a str,
    /// An earlier line said that the user interrupted the turn.
    interrupted: bool,
}

impl LineParser {
    /// Handles the line that ends a turn.
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
                // Only what no earlier line said: results of old versions do not always show that a tool was denied.
                if self.tools.denied(&id) {
                    let denied = ToolCall::new(&id, ToolStatus::Denied);
                    out.tool(ToolCall { name: denial.get("tool_name").string(), ..denied });
                }
            }
        }
        self.tools.cancel_own(out);
        // Streamed text without its whole message stays: the next message must not discard it.
        self.partial = Partial::default();
        self.ledger.add(line, out);
        self.emit_context(line.get("modelUsage"), out);

        let fields = ResultFields {
            subtype,
            is_error: is_error.is_true(),
            reason: reason.name().unwrap_or_default(),
            stop_reason: stop_reason.name().unwrap_or_default(),
            interrupted: std::mem::take(&mut self.interrupted),
        };
        let mut error = self.error.take().unwrap_or_default();
        error.read(line);
        error.reason = reason.string();
        error.resets_at = error.resets_at.or(self.resets_at());
        let message = text.filled().or_else(|| errors.items().find_map(Json::filled)).map(Into::into);
        error.text = message.unwrap_or(error.text);
        let outcome = decide(&fields, &error);
        let answer = if outcome == Outcome::Completed { text.text() } else { None };
        let structured_output = Some(structured).filter(|value| !value.is_null()).map(|value| value.raw().to_owned());
        out.emit(Event::TurnEnded(TurnEnd { outcome, answer, structured_output }));
        Ok(())
    }

    fn emit_context(&mut self, models: Json<'_>, out: &mut Effects) {
        let Some((used, model)) = &self.context else { return };
        // "claude-opus-4-8[1m]" in the figures is "claude-opus-4-8" in messages.
        let figures = models.fields().find(|(name, _)| name.split('[').next() == Some(model));
        if let Some(window) = figures.and_then(|(_, figures)| figures.get("contextWindow").u64()) {
            out.emit(Event::Context(ContextUsage { used: *used, window }));
        }
    }
}

fn decide(fields: &ResultFields<'_>, error: &AgentError) -> Outcome {
    match fields.subtype {
        "error_max_turns" => Outcome::Limit("max-turns".to_owned()),
        "error_max_budget_usd" => Outcome::Limit("budget".to_owned()),
        "error_max_structured_output_retries" => Outcome::Limit("structured-output-retries".to_owned()),
        _ if fields.reason.starts_with("aborted") => Outcome::Cancelled,
        // 2.0 gives no reason, and `is_error` is false.
        "error_during_execution" if fields.interrupted => Outcome::Cancelled,
        _ if fields.stop_reason == "refusal" => Outcome::Refused(error.text.clone()),
        "success" if !fields.is_error => Outcome::Completed,
        _ => Outcome::Failed(error.failure()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ErrorClass;

    #[test]
    fn the_result_line_decides_the_outcome() {
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
            let fields = ResultFields { subtype, is_error, reason, stop_reason, interrupted };
            assert_eq!(decide(&fields, &AgentError::default()), outcome, "{fields:?}");
        }
    }
}

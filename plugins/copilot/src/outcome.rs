//! Decides the outcome of a turn from the exit code and the events before it.
//!
//! Copilot exits with 0 after success, after a signal, and after autopilot has reached its limit, so the exit code alone
//! is not enough.

use crate::agent_error::AgentError;
use std::borrow::Cow;
use wharf_adapter::{ErrorClass, Failure, Json, Outcome};

/// The facts from events that decide the outcome.
#[derive(Debug, Default)]
pub(crate) struct OutcomeFacts {
    /// The last error of the agent itself that can fail a run.
    pub(crate) error: Option<AgentError>,
    /// Why the run was aborted.
    pub(crate) aborted: Option<String>,
    /// Why autopilot stopped. The CLI does not always report it.
    pub(crate) stopped: Option<String>,
    /// How often autopilot continued by itself.
    pub(crate) continuations: u32,
    /// Whether the agent reported that its task is done.
    pub(crate) task_done: bool,
    /// The summary in that report.
    pub(crate) summary: Option<String>,
    /// Whether any message of the agent itself had text.
    pub(crate) has_text: bool,
}

impl OutcomeFacts {
    /// The outcome for an exit code.
    pub(crate) fn outcome(&self, code: i32) -> Outcome {
        let capped = match self.stopped.as_deref() {
            Some(reason) => reason == "cap_reached",
            None => self.continuations > 0 && !self.task_done,
        };
        match (&self.error, self.aborted.as_deref()) {
            (Some(error), _) if code != 0 => Outcome::Failed(error.failure()),
            (_, Some("autopilot_credit_limit")) => Outcome::Limit("budget".to_owned()),
            (_, Some(_)) => Outcome::Cancelled,
            (_, None) if code != 0 => {
                let message = format!("Copilot exited with code {code} and gave no reason");
                Outcome::Failed(Failure::new(ErrorClass::Other, message))
            }
            (_, None) if capped => Outcome::Limit("autopilot-continues".to_owned()),
            (_, None) => Outcome::Completed,
        }
    }

    /// The outcome of a run without a `result` line, if the events say it.
    pub(crate) fn without_result(&self) -> Option<Outcome> {
        match (&self.error, &self.aborted) {
            (Some(error), _) => Some(Outcome::Failed(error.failure())),
            (None, Some(_)) => Some(Outcome::Cancelled),
            (None, None) => None,
        }
    }

    /// The answer, if it is not the last message.
    pub(crate) fn answer(&self) -> Option<String> {
        self.summary.clone().filter(|_| !self.has_text)
    }
}

/// The reason why the agent is blocked: a text, or a text inside an object.
pub(crate) fn blocked_reason(blocker: Json<'_>) -> Option<String> {
    let text = |key| blocker.get(key).filled().map(Cow::into_owned);
    blocker
        .filled()
        .map(Cow::into_owned)
        .or_else(|| ["message", "reason", "description", "summary"].into_iter().find_map(text))
        .or_else(|| (!blocker.is_null()).then(|| blocker.raw().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aborted(reason: &str) -> OutcomeFacts {
        OutcomeFacts { aborted: Some(reason.to_owned()), ..OutcomeFacts::default() }
    }

    fn stopped(reason: &str, continuations: u32) -> OutcomeFacts {
        OutcomeFacts { stopped: Some(reason.to_owned()), continuations, ..OutcomeFacts::default() }
    }

    #[test]
    fn the_exit_code_and_the_events_decide_the_outcome() {
        let error = Some(AgentError { kind: "quota".into(), ..AgentError::default() });
        let cases: [(&str, OutcomeFacts, i32); 11] = [
            ("completed", OutcomeFacts::default(), 0),
            ("completed", OutcomeFacts { error: error.clone(), ..OutcomeFacts::default() }, 0),
            ("failed", OutcomeFacts { error: error.clone(), ..OutcomeFacts::default() }, 1),
            ("failed", OutcomeFacts { error, ..aborted("user_abort") }, 1),
            ("failed", OutcomeFacts::default(), 1),
            ("cancelled", aborted("user initiated"), 0),
            ("budget", aborted("autopilot_credit_limit"), 0),
            ("autopilot-continues", stopped("cap_reached", 0), 0),
            ("autopilot-continues", OutcomeFacts { continuations: 3, ..OutcomeFacts::default() }, 0),
            ("completed", OutcomeFacts { continuations: 3, task_done: true, ..OutcomeFacts::default() }, 0),
            ("completed", stopped("background_timeout", 3), 0),
        ];
        for (expected, facts, code) in cases {
            let actual = match facts.outcome(code) {
                Outcome::Completed => "completed".to_owned(),
                Outcome::Cancelled => "cancelled".to_owned(),
                Outcome::Failed(_) => "failed".to_owned(),
                Outcome::Limit(which) | Outcome::Refused(which) | Outcome::Blocked(which) => which,
            };
            assert_eq!(actual, expected, "{facts:?}");
        }
    }

    #[test]
    fn without_a_result_line_the_events_decide() {
        assert_eq!(OutcomeFacts::default().without_result(), None);
        let done = OutcomeFacts { task_done: true, ..OutcomeFacts::default() };
        assert_eq!(done.without_result(), None, "exit code 0 alone is not a success");
        assert_eq!(aborted("user_abort").without_result(), Some(Outcome::Cancelled));
    }

    #[test]
    fn the_summary_is_the_answer_only_without_messages() {
        let facts = OutcomeFacts { summary: Some("done".to_owned()), ..OutcomeFacts::default() };
        assert_eq!(facts.answer().as_deref(), Some("done"));
        assert_eq!(OutcomeFacts { has_text: true, ..facts }.answer(), None);
    }
}

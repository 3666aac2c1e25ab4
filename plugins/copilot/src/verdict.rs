//! How the turn went, gathered from all that was said about it.
//!
//! Copilot's exit code 0 is shared by success, by a run that a signal stopped and by autopilot that reached its cap, so
//! it is read in the light of the events before it.

use crate::complaint::Complaint;
use std::borrow::Cow;
use wharf_adapter::{ErrorClass, Failure, Json, Outcome};

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// The last error of the agent itself that fails a run.
    pub(crate) error: Option<Complaint>,
    /// Why the run was aborted.
    pub(crate) aborted: Option<String>,
    /// Why autopilot stopped. The CLI does not always get to say it.
    pub(crate) stopped: Option<String>,
    /// How often autopilot went on by itself.
    pub(crate) continuations: u32,
    /// Whether the agent declared its task done.
    pub(crate) task_done: bool,
    /// The summary that came with it.
    pub(crate) summary: Option<String>,
    /// Whether a message of the agent itself had any text.
    pub(crate) spoke: bool,
}

impl Verdict {
    /// What an exit code means.
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
                let message = format!("Copilot ended with exit code {code} and did not say why");
                Outcome::Failed(Failure::new(ErrorClass::Other, message))
            }
            (_, None) if capped => Outcome::Limit("autopilot-continues".to_owned()),
            (_, None) => Outcome::Completed,
        }
    }

    /// What is known where the run ended without a word about its end.
    pub(crate) fn without_result(&self) -> Option<Outcome> {
        match (&self.error, &self.aborted) {
            (Some(error), _) => Some(Outcome::Failed(error.failure())),
            (None, Some(_)) => Some(Outcome::Cancelled),
            (None, None) => None,
        }
    }

    /// The answer, where it is not the last message.
    pub(crate) fn answer(&self) -> Option<String> {
        self.summary.clone().filter(|_| !self.spoke)
    }
}

/// What stands in the way: a text, or an object that has one.
pub(crate) fn reason(blocker: Json<'_>) -> Option<String> {
    let said = |key| blocker.get(key).filled().map(Cow::into_owned);
    blocker
        .filled()
        .map(Cow::into_owned)
        .or_else(|| ["message", "reason", "description", "summary"].into_iter().find_map(said))
        .or_else(|| (!blocker.is_null()).then(|| blocker.raw().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aborted(reason: &str) -> Verdict {
        Verdict { aborted: Some(reason.to_owned()), ..Verdict::default() }
    }

    fn stopped(reason: &str, continuations: u32) -> Verdict {
        Verdict { stopped: Some(reason.to_owned()), continuations, ..Verdict::default() }
    }

    #[test]
    fn an_exit_code_is_read_in_the_light_of_the_events() {
        let error = Some(Complaint { kind: "quota".into(), ..Complaint::default() });
        let cases: [(&str, Verdict, i32); 11] = [
            ("completed", Verdict::default(), 0),
            ("completed", Verdict { error: error.clone(), ..Verdict::default() }, 0),
            ("failed", Verdict { error: error.clone(), ..Verdict::default() }, 1),
            ("failed", Verdict { error, ..aborted("user_abort") }, 1),
            ("failed", Verdict::default(), 1),
            ("cancelled", aborted("user initiated"), 0),
            ("budget", aborted("autopilot_credit_limit"), 0),
            ("autopilot-continues", stopped("cap_reached", 0), 0),
            ("autopilot-continues", Verdict { continuations: 3, ..Verdict::default() }, 0),
            ("completed", Verdict { continuations: 3, task_done: true, ..Verdict::default() }, 0),
            ("completed", stopped("background_timeout", 3), 0),
        ];
        for (expected, verdict, code) in cases {
            let actual = match verdict.outcome(code) {
                Outcome::Completed => "completed".to_owned(),
                Outcome::Cancelled => "cancelled".to_owned(),
                Outcome::Failed(_) => "failed".to_owned(),
                Outcome::Limit(which) | Outcome::Refused(which) | Outcome::Blocked(which) => which,
            };
            assert_eq!(actual, expected, "{verdict:?}");
        }
    }

    #[test]
    fn without_a_result_line_only_what_was_said_counts() {
        assert_eq!(Verdict::default().without_result(), None);
        let done = Verdict { task_done: true, ..Verdict::default() };
        assert_eq!(done.without_result(), None, "exit 0 is never success by itself");
        assert_eq!(aborted("user_abort").without_result(), Some(Outcome::Cancelled));
    }

    #[test]
    fn the_summary_is_the_answer_only_where_nothing_else_was_said() {
        let verdict = Verdict { summary: Some("done".to_owned()), ..Verdict::default() };
        assert_eq!(verdict.answer().as_deref(), Some("done"));
        assert_eq!(Verdict { spoke: true, ..verdict }.answer(), None);
    }
}

//! The outcome table: the only place that decides how a turn ended. The first row that applies decides.

use super::timeouts::Timeout;
use crate::model::{ErrorClass, Exit, Failure, Outcome, Report};
use serde::{Deserialize, Serialize};

/// Everything that is known about a turn when its process has exited.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What the host did to the turn.
    pub end: EndFacts,
    /// What the agent declared last.
    pub declared: Option<Verdict>,
    /// The last tool of the turn that was denied, by its name or id.
    pub denied: Option<String>,
    /// The adapter trapped or violated the interface, twice in the same place.
    pub adapter_fault: Option<String>,
    /// The process could not be started.
    pub not_started: Option<Failure>,
    /// What the adapter concluded from the exit and from stderr.
    pub parsed: Option<Failure>,
    /// How the process exited.
    pub exit: Option<Exit>,
}

/// What the host did to a turn. A replay cannot see it in the agent's output, so a recording keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndFacts {
    /// The host stopped it on request.
    pub cancelled: bool,
    /// The host stopped it because of a timeout.
    pub timeout: Option<Timeout>,
    /// The title of an ask that nobody answered.
    pub unanswered: Option<String>,
}

/// How a turn ended, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How it ended.
    pub outcome: Outcome,
    /// Which limit or timeout, what is needed, why it was refused.
    pub detail: Option<String>,
    /// What failed.
    pub error: Option<Failure>,
}

/// One row: its name, and its verdict if it applies.
type Row = (&'static str, fn(&Facts) -> Option<Verdict>);

/// The table, strongest row first.
const TABLE: [Row; 13] = [
    ("cancelled", |facts| facts.end.cancelled.then(|| verdict(Outcome::Cancelled, None))),
    ("timeout", |facts| facts.end.timeout.map(|timeout| verdict(Outcome::Limit, Some(timeout.to_string())))),
    ("unanswered ask", |facts| {
        facts.end.unanswered.as_ref().map(|ask| verdict(Outcome::Blocked, Some(format!("nobody answered: {ask}"))))
    }),
    ("failure declared", |facts| facts.declared.clone().filter(|declared| declared.outcome == Outcome::Failed)),
    ("cancelled by the agent", |facts| {
        let declared = facts.declared.as_ref()?;
        let unexplained = declared.outcome == Outcome::Cancelled && declared.detail.is_none();
        let detail = match &facts.denied {
            Some(tool) => format!("the agent ended the turn because a tool was denied: {tool}"),
            None => "the agent ended the turn; the caller did not cancel it".to_owned(),
        };
        unexplained.then(|| verdict(Outcome::Cancelled, Some(detail)))
    }),
    ("outcome declared", |facts| facts.declared.clone()),
    ("adapter failed", |facts| facts.adapter_fault.as_ref().map(|fault| failed(ErrorClass::Protocol, fault.clone()))),
    ("not started", |facts| facts.not_started.clone().map(failed_with)),
    ("exit and stderr", |facts| facts.parsed.clone().map(failed_with)),
    ("exit 127", |facts| {
        let message = "the agent's program, or one that it starts, was not found (exit 127)";
        (facts.exit?.code == Some(127)).then(|| failed(ErrorClass::NotFound, message))
    }),
    ("killed by a signal", |facts| {
        Some(failed(ErrorClass::Crash, format!("the agent was killed by signal {}", facts.exit?.signal?)))
    }),
    ("bad exit", |facts| {
        let code = facts.exit?.code.filter(|code| *code != 0)?;
        Some(failed(ErrorClass::Crash, format!("the agent exited with code {code} and did not say why")))
    }),
    ("silent exit", |_| Some(failed(ErrorClass::Protocol, "the agent exited without saying how the turn ended"))),
];

/// How the turn ended, and the name of the row that decided.
pub fn decide(facts: &Facts) -> (Verdict, &'static str) {
    TABLE
        .iter()
        .find_map(|(name, row)| row(facts).map(|verdict| (verdict, *name)))
        .expect("the last row always applies")
}

fn verdict(outcome: Outcome, detail: Option<String>) -> Verdict {
    Verdict { outcome, detail, error: None }
}

fn failed(class: ErrorClass, message: impl Into<String>) -> Verdict {
    failed_with(Failure::new(class, message))
}

fn failed_with(failure: Failure) -> Verdict {
    Verdict { outcome: Outcome::Failed, detail: None, error: Some(failure) }
}

/// The report of a turn that could not be started.
pub fn not_started(failure: Failure) -> Report {
    let (verdict, _) = decide(&Facts { not_started: Some(failure), ..Facts::default() });
    let mut report = Report::new(verdict.outcome);
    (report.detail, report.error) = (verdict.detail, verdict.error);
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Retry;

    #[expect(clippy::unnecessary_wraps, reason = "the facts have an option")]
    fn exit(code: i32) -> Option<Exit> {
        Some(Exit { code: Some(code), signal: None })
    }

    #[expect(clippy::unnecessary_wraps, reason = "the facts have an option")]
    fn declared(outcome: Outcome) -> Option<Verdict> {
        let error = (outcome == Outcome::Failed).then(|| failure("declared"));
        Some(Verdict { outcome, detail: None, error })
    }

    fn failure(message: &str) -> Failure {
        Failure { retry: Retry::Never, ..Failure::new(ErrorClass::Auth, message) }
    }

    #[test]
    fn a_turn_that_a_denied_tool_ended_is_told_from_one_that_the_caller_cancelled() {
        let by_agent = Facts { declared: declared(Outcome::Cancelled), ..Facts::default() };
        let by_denial = Facts { denied: Some("bash".to_owned()), ..by_agent.clone() };
        let by_caller = Facts { end: EndFacts { cancelled: true, ..EndFacts::default() }, ..by_denial.clone() };
        let detail = |facts: &Facts| decide(facts).0.detail;
        assert_eq!(detail(&by_caller), None);
        assert!(detail(&by_denial).is_some_and(|detail| detail.ends_with("a tool was denied: bash")));
        assert!(detail(&by_agent).is_some_and(|detail| detail.contains("the caller did not cancel it")));
    }

    /// Facts, the outcome, the row that decides. Each row occurs at least once.
    #[test]
    fn every_row_decides_where_it_should() {
        let end = |cancelled, timeout, unanswered: Option<&str>| EndFacts {
            cancelled,
            timeout,
            unanswered: unanswered.map(Into::into),
        };
        let cancelled_late = Facts {
            end: end(true, None, None),
            declared: declared(Outcome::Completed),
            exit: exit(0),
            ..Facts::default()
        };
        let timeout = Facts {
            end: end(false, Some(Timeout::Idle), None),
            declared: declared(Outcome::Failed),
            ..Facts::default()
        };
        let unanswered = Facts {
            end: end(false, None, Some("may I?")),
            declared: declared(Outcome::Completed),
            exit: exit(0),
            ..Facts::default()
        };
        let failed = Facts { declared: declared(Outcome::Failed), exit: exit(0), ..Facts::default() };
        let success_bad_exit = Facts {
            declared: declared(Outcome::Completed),
            exit: exit(1),
            parsed: Some(failure("stderr")),
            ..Facts::default()
        };
        let success_then_trap =
            Facts { declared: declared(Outcome::Completed), adapter_fault: Some("trap".into()), ..Facts::default() };
        let trapped = Facts { adapter_fault: Some("trap".into()), exit: exit(0), ..Facts::default() };
        let not_started = Facts { not_started: Some(failure("no such file")), ..Facts::default() };
        let parsed = Facts { parsed: Some(failure("stderr")), exit: exit(127), ..Facts::default() };
        let missing = Facts { exit: exit(127), ..Facts::default() };
        let signalled = Facts { exit: Some(Exit { code: None, signal: Some(9) }), ..Facts::default() };
        let bad = Facts { exit: exit(3), ..Facts::default() };
        let silent = Facts { exit: exit(0), ..Facts::default() };
        let denied = Facts {
            declared: declared(Outcome::Cancelled),
            denied: Some("bash".to_owned()),
            exit: exit(0),
            ..Facts::default()
        };
        let limit = Facts { declared: declared(Outcome::Limit), exit: exit(1), ..Facts::default() };
        for (facts, outcome, row) in [
            (cancelled_late, Outcome::Cancelled, "cancelled"),
            (timeout, Outcome::Limit, "timeout"),
            (unanswered, Outcome::Blocked, "unanswered ask"),
            (failed, Outcome::Failed, "failure declared"),
            (success_bad_exit, Outcome::Completed, "outcome declared"),
            (success_then_trap, Outcome::Completed, "outcome declared"),
            (limit, Outcome::Limit, "outcome declared"),
            (denied, Outcome::Cancelled, "cancelled by the agent"),
            (trapped, Outcome::Failed, "adapter failed"),
            (not_started, Outcome::Failed, "not started"),
            (parsed, Outcome::Failed, "exit and stderr"),
            (missing, Outcome::Failed, "exit 127"),
            (signalled, Outcome::Failed, "killed by a signal"),
            (bad, Outcome::Failed, "bad exit"),
            (silent, Outcome::Failed, "silent exit"),
        ] {
            let (verdict, decided_by) = decide(&facts);
            assert_eq!((verdict.outcome, decided_by), (outcome, row), "{facts:?}");
            assert_eq!(verdict.error.is_some(), verdict.outcome == Outcome::Failed);
        }
    }
}

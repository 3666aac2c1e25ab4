//! The outcome table: the one place that says how a turn ended. The first row that applies decides.

use crate::event::{ErrorClass, Exit, Failure, Outcome, Retry};

/// All that is known of a turn when its process is gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// We stopped it because somebody asked for that.
    pub cancelled: bool,
    /// We stopped it because this clock ran out.
    pub clock: Option<Clock>,
    /// An ask that nobody answered.
    pub unanswered: Option<String>,
    /// What the runtime declared last.
    pub declared: Option<Verdict>,
    /// The adapter trapped or broke the interface, twice in the same place.
    pub adapter_fault: Option<String>,
    /// The process could not be started.
    pub not_started: Option<Failure>,
    /// What the adapter made of the exit and of stderr.
    pub parsed: Option<Failure>,
    /// How the process ended.
    pub exit: Option<Exit>,
}

/// The clocks that may end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Nothing was said within its time.
    FirstOutput,
    /// Nothing was said for its time, while no tool ran and no ask was open.
    Idle,
    /// The turn took longer than its time.
    Total,
}

impl Clock {
    /// As the report names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::FirstOutput => "first-output",
            Clock::Idle => "idle",
            Clock::Total => "total",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// Which cap or clock, what is needed, why it was refused.
    pub detail: Option<String>,
    /// What went wrong.
    pub error: Option<Failure>,
}

/// One row: what it is called, and what it says where it applies.
type Row = (&'static str, fn(&Facts) -> Option<Verdict>);

/// The table, strongest row first.
const TABLE: [Row; 12] = [
    ("cancelled by us", |facts| facts.cancelled.then(|| verdict(Outcome::Cancelled, None))),
    ("a clock ran out", |facts| {
        facts.clock.map(|clock| verdict(Outcome::Limit, Some(format!("the {} clock ran out", clock.name()))))
    }),
    ("ask left unanswered", |facts| {
        facts.unanswered.as_ref().map(|ask| verdict(Outcome::Blocked, Some(format!("nobody answered: {ask}"))))
    }),
    ("failure declared", |facts| facts.declared.clone().filter(|declared| declared.outcome == Outcome::Failed)),
    ("success declared", |facts| facts.declared.clone()),
    ("adapter trapped", |facts| facts.adapter_fault.as_ref().map(|fault| failed(ErrorClass::Protocol, fault.clone()))),
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
        Some(failed(ErrorClass::Crash, format!("the agent ended with exit code {code} and did not say why")))
    }),
    ("ended without a word", |_| {
        Some(failed(ErrorClass::Protocol, "the agent ended without saying how the turn went"))
    }),
];

/// How the turn ended, and the name of the row that says so.
pub(crate) fn decide(facts: &Facts) -> (Verdict, &'static str) {
    TABLE
        .iter()
        .find_map(|(name, row)| row(facts).map(|verdict| (verdict, *name)))
        .expect("the last row always applies")
}

fn verdict(outcome: Outcome, detail: Option<String>) -> Verdict {
    Verdict { outcome, detail, error: None }
}

fn failed(class: ErrorClass, message: impl Into<String>) -> Verdict {
    failed_with(Failure { class, message: message.into(), code: None, http_status: None, retry: Retry::Unknown })
}

fn failed_with(failure: Failure) -> Verdict {
    Verdict { outcome: Outcome::Failed, detail: None, error: Some(failure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as the facts have it")]
    fn exit(code: i32) -> Option<Exit> {
        Some(Exit { code: Some(code), signal: None })
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the facts have it")]
    fn declared(outcome: Outcome) -> Option<Verdict> {
        let error = (outcome == Outcome::Failed).then(|| failure("declared"));
        Some(Verdict { outcome, detail: None, error })
    }

    fn failure(message: &str) -> Failure {
        Failure { class: ErrorClass::Auth, message: message.into(), code: None, http_status: None, retry: Retry::Never }
    }

    /// Facts, the outcome, the row that decides. Each row stands here once at least.
    #[test]
    fn every_row_decides_where_it_should() {
        let cancelled_late =
            Facts { cancelled: true, declared: declared(Outcome::Completed), exit: exit(0), ..Facts::default() };
        let clock = Facts { clock: Some(Clock::Idle), declared: declared(Outcome::Failed), ..Facts::default() };
        let unanswered = Facts {
            unanswered: Some("may I?".into()),
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
        let limit = Facts { declared: declared(Outcome::Limit), exit: exit(1), ..Facts::default() };
        for (facts, outcome, row) in [
            (cancelled_late, Outcome::Cancelled, "cancelled by us"),
            (clock, Outcome::Limit, "a clock ran out"),
            (unanswered, Outcome::Blocked, "ask left unanswered"),
            (failed, Outcome::Failed, "failure declared"),
            (success_bad_exit, Outcome::Completed, "success declared"),
            (success_then_trap, Outcome::Completed, "success declared"),
            (limit, Outcome::Limit, "success declared"),
            (trapped, Outcome::Failed, "adapter trapped"),
            (not_started, Outcome::Failed, "not started"),
            (parsed, Outcome::Failed, "exit and stderr"),
            (missing, Outcome::Failed, "exit 127"),
            (signalled, Outcome::Failed, "killed by a signal"),
            (bad, Outcome::Failed, "bad exit"),
            (silent, Outcome::Failed, "ended without a word"),
        ] {
            let (verdict, decided_by) = decide(&facts);
            assert_eq!((verdict.outcome, decided_by), (outcome, row), "{facts:?}");
            assert_eq!(verdict.error.is_some(), verdict.outcome == Outcome::Failed);
        }
    }
}

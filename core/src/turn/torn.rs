//! What is known of a run whose host was killed: its events, collected as the host would have collected them.

use super::config::TurnResult;
use super::outcome::{EndFacts, Verdict};
use super::summary::Summary;
use crate::model::{ErrorClass, EventKind, Failure, Outcome, Prices, Retry, SessionChoice, Usage};
use crate::stream::StreamedEvent;

/// The result of a run that ends with its last event. If that is a report, the host was killed after the run.
pub fn torn(
    events: impl IntoIterator<Item = EventKind>,
    chosen: SessionChoice,
    used_before: Usage,
    prices: Prices,
) -> TurnResult {
    let mut summary = Summary::new(chosen, vec![], used_before).with_prices(prices);
    let mut reported = None;
    for event in events {
        match event {
            EventKind::Report(report) => reported = Some(*report),
            EventKind::TurnStarted { .. } => summary.next_turn(),
            event => summary.observe(&mut StreamedEvent::borrowed(&event), None),
        }
    }
    let mut failure = Failure::new(ErrorClass::Crash, "wharf was killed during the turn");
    failure.retry = Retry::SameSession;
    let verdict = Verdict { outcome: Outcome::Failed, detail: None, error: Some(failure) };
    TurnResult {
        report: reported.unwrap_or_else(|| summary.report(verdict, None)),
        session_usage: summary.session_usage(),
        end: EndFacts::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Report, SessionInfo, UsageFigures, UsageScope};

    fn session(id: &str) -> EventKind {
        EventKind::Session(SessionInfo { id: Some(id.to_owned()), ..SessionInfo::default() })
    }

    fn usage(output: u64) -> EventKind {
        let usage = Usage { output: Some(output), ..Usage::default() };
        EventKind::Usage(UsageFigures::new(UsageScope::Delta, "test", None, false, usage))
    }

    fn collect(events: &[EventKind]) -> TurnResult {
        torn(events.to_vec(), SessionChoice::Fresh(None), Usage::default(), Prices::default())
    }

    #[test]
    fn a_torn_run_has_its_last_session_and_what_it_had_used() {
        let result = collect(&[session("a"), usage(3), session("b"), usage(4)]);
        assert_eq!(result.report.outcome, Outcome::Failed);
        assert_eq!(result.report.session.map(|session| session.id).as_deref(), Some("b"));
        assert_eq!(result.report.usage.and_then(|usage| usage.output), Some(7));
        assert_eq!(result.report.error.map(|error| error.retry), Some(Retry::SameSession));
    }

    #[test]
    fn a_run_that_was_reported_keeps_its_outcome() {
        let report = EventKind::Report(Box::new(Report::new(Outcome::Completed)));
        assert_eq!(collect(&[session("a"), report]).report.outcome, Outcome::Completed);
    }
}

//! Collects the content of the report from the events.

use super::files::Files;
use super::ledger::Ledger;
use super::notices::other_session;
use super::outcome::Verdict;
use super::room::ID_LIMIT;
use super::tools::Tools;
use crate::model::{
    CostSource, Drift, EventKind, Exit, Outcome, Prices, Report, ReportSession, SessionChoice, TurnEnd,
    UnsupportedSetting, Usage, time,
};
use crate::stream::{Part, PartKind, StreamedEvent};
use serde_json::Value;
use std::time::Duration;

/// How many bytes of deltas are kept, for an agent that never sends the complete message.
const TEXT_LIMIT: usize = 1 << 20;

/// How many different unknown types are counted.
const TYPES_LIMIT: usize = 1000;

/// The detail of a completed turn that lacks its structured output.
const NO_STRUCTURED_OUTPUT: &str = "the agent gave no structured output, although it was given a schema for its answer";

/// Collects what the report contains.
#[derive(Debug)]
pub(super) struct Summary {
    chosen: SessionChoice,
    ledger: Ledger,
    session: Option<ReportSession>,
    model: Option<String>,
    /// The last whole message of the agent itself.
    message: Option<String>,
    /// Deltas of the agent itself since then.
    deltas: Option<Deltas>,
    declared_answer: Option<String>,
    structured_output: Option<Value>,
    tools: Tools,
    files: Files,
    unsupported: Vec<UnsupportedSetting>,
    drift: Drift,
    prices: Prices,
    expects_structured_output: bool,
    /// How many messages of unknown types were not counted by their type.
    types_omitted: u64,
}

/// The deltas of a message that is being written.
#[derive(Debug)]
struct Deltas {
    message: String,
    text: String,
    /// Whether some of the text was not kept.
    truncated: bool,
}

impl Summary {
    pub(super) fn new(chosen: SessionChoice, unsupported: Vec<UnsupportedSetting>, used_before: Usage) -> Summary {
        Summary {
            chosen,
            ledger: Ledger::resuming(used_before),
            session: None,
            model: None,
            message: None,
            deltas: None,
            declared_answer: None,
            structured_output: None,
            tools: Tools::default(),
            files: Files::default(),
            unsupported,
            drift: Drift::default(),
            prices: Prices::default(),
            expects_structured_output: false,
            types_omitted: 0,
        }
    }

    /// With prices, for a cost that the agent does not report.
    pub(super) fn with_prices(self, prices: Prices) -> Summary {
        Summary { prices, ..self }
    }

    /// Whether the agent was given a schema for its answer, and can apply it.
    pub(super) fn expecting_structured_output(self, expects_structured_output: bool) -> Summary {
        Summary { expects_structured_output, ..self }
    }

    /// Another turn starts in the same process. It has its own answer; usage and tools add up.
    pub(super) fn next_turn(&mut self) {
        self.ledger.next_turn();
        self.message = None;
        self.deltas = None;
        self.declared_answer = None;
        self.structured_output = None;
        self.tools.next_turn();
    }

    /// Takes note of an event. A tool call that ends gets its duration, unless times are unknown.
    pub(super) fn observe(&mut self, event: &mut StreamedEvent<'_>, now: Option<Duration>) {
        match event {
            StreamedEvent::Part(Part { parent: Some(_), .. }) => {}
            StreamedEvent::Part(part) => self.part(part),
            StreamedEvent::Tool(call, _) => {
                let duration = self.tools.update(call, now.unwrap_or_default());
                if let (Some(duration), Some(_)) = (duration, now) {
                    let millis = time::millis(duration);
                    self.tools.set_duration(&call.id, millis);
                    call.to_mut().duration_ms = Some(millis);
                }
            }
            StreamedEvent::Other(event) => self.other(event),
        }
    }

    fn part(&mut self, part: &Part<'_>) {
        match part.kind {
            PartKind::TextDelta => self.delta(part),
            PartKind::Message => {
                if !part.text.is_empty() {
                    self.message = Some(part.text.clone().into_string());
                }
                self.deltas = None;
            }
            PartKind::ThinkingDelta | PartKind::Thinking | PartKind::ToolOutput => {}
        }
    }

    fn delta(&mut self, part: &Part<'_>) {
        match &mut self.deltas {
            Some(Deltas { message, text, truncated }) if *message == *part.id => {
                // Nothing is kept after the first piece beyond the limit: later text must not hide the gap.
                let before = text.len();
                if !*truncated {
                    part.text.push_to(text);
                }
                if text.len() > TEXT_LIMIT {
                    text.truncate(before);
                    *truncated = true;
                }
            }
            deltas => {
                let text = part.text.clone().into_string();
                *deltas = Some(Deltas { message: part.id.clone().into_owned(), text, truncated: false });
            }
        }
    }

    fn other(&mut self, event: &EventKind) {
        match event {
            EventKind::Session(session) => {
                if let Some(id) = &session.id {
                    let known = self.session.as_ref().filter(|known| known.id == *id);
                    let resumed = session.resumed.or(known.and_then(|known| known.resumed));
                    self.session = Some(ReportSession::new(id.clone(), resumed));
                }
                self.model = session.model.clone().or(self.model.take());
            }
            EventKind::Discard { id } => {
                self.deltas.take_if(|deltas| deltas.message == *id);
            }
            EventKind::FileChange(change) => self.files.add(change),
            EventKind::Usage(figures) => self.ledger.enter(figures),
            EventKind::TurnEnded(TurnEnd { answer, structured_output, .. }) => {
                self.declared_answer.clone_from(answer);
                self.structured_output = structured_output.clone().or(self.structured_output.take());
            }
            EventKind::Unknown { native } => self.unknown(native),
            EventKind::Malformed { .. } | EventKind::Oversized { .. } => self.drift.malformed += 1,
            _ => {}
        }
    }

    fn unknown(&mut self, native: &str) {
        if let Some(count) = self.drift.unknown.get_mut(native) {
            *count += 1;
        } else if self.drift.unknown.len() < TYPES_LIMIT && native.len() <= ID_LIMIT {
            self.drift.unknown.insert(native.to_owned(), 1);
        } else {
            self.types_omitted += 1;
        }
    }

    pub(super) fn any_tool_running(&self) -> bool {
        self.tools.any_running()
    }

    /// The last tool of this turn that was denied, by its name if that is known.
    pub(super) fn denied_tool(&self) -> Option<String> {
        self.tools.denied()
    }

    pub(super) fn session_usage(&self) -> Option<Usage> {
        self.ledger.session()
    }

    /// How the session differs from the chosen one, unless that is explained: by the adapter, or by a turn that failed
    /// before it had a session.
    pub(super) fn session_warning(&self, declared: Option<&Verdict>) -> Option<String> {
        let completed = declared.is_some_and(|verdict| verdict.outcome == Outcome::Completed);
        let explained = self.unsupported.iter().any(|setting| setting.name == "session");
        if explained || (self.session.is_none() && !completed) {
            return None;
        }
        other_session(&self.chosen, self.session.as_ref())
    }

    /// The session that the agent named last.
    pub(super) fn session(&self) -> Option<&ReportSession> {
        self.session.as_ref()
    }

    /// What the run used, with where its cost comes from.
    fn usage(&self) -> Option<Usage> {
        let mut usage = self.ledger.total()?;
        usage.cost_source = usage.cost.map(|_| CostSource::Agent);
        self.prices.estimate(self.model.as_deref(), &mut usage);
        Some(usage)
    }

    pub(super) fn report(&self, verdict: Verdict, exit: Option<Exit>) -> Report {
        // Deltas of a message that was never sent in full are an answer only if the agent declares the turn completed.
        let written = self.deltas.as_ref().map(|deltas| deltas.text.clone()).filter(|text| !text.is_empty());
        let deltas = written.filter(|_| verdict.outcome == Outcome::Completed);
        let message = || self.message.clone().or(deltas);
        let missing = self.expects_structured_output && self.structured_output.is_none();
        let missing = (missing && verdict.outcome == Outcome::Completed).then(|| NO_STRUCTURED_OUTPUT.to_owned());
        let mut report = Report::new(verdict.outcome);
        report.detail = verdict.detail.or(missing);
        report.answer = self.declared_answer.clone().or_else(message);
        report.structured_output.clone_from(&self.structured_output);
        report.session.clone_from(&self.session);
        report.model.clone_from(&self.model);
        report.usage = self.usage();
        report.error = verdict.error;
        report.tools = self.tools.calls().to_vec();
        report.files = self.files.list();
        report.unsupported.clone_from(&self.unsupported);
        report.drift = self.drift.clone();
        report.omitted.tools = self.tools.omitted();
        report.omitted.files = self.files.omitted();
        report.omitted.types = self.types_omitted;
        report.omitted.usage = self.ledger.omitted();
        report.exit = exit;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ToolCall, ToolStatus};
    use crate::stream::{Text, Whole};

    fn part(kind: PartKind, id: &'static str, parent: Option<&'static str>, text: &str) -> StreamedEvent<'static> {
        let text = Text::Plain(text.to_owned().into());
        StreamedEvent::Part(Part { kind, id: id.into(), parent: parent.map(Into::into), text })
    }

    fn message(id: &'static str, parent: Option<&'static str>, text: &str) -> StreamedEvent<'static> {
        part(PartKind::Message, id, parent, text)
    }

    fn delta(id: &'static str, parent: Option<&'static str>, text: &str) -> StreamedEvent<'static> {
        part(PartKind::TextDelta, id, parent, text)
    }

    fn call(id: &str, status: ToolStatus, name: Option<&str>) -> StreamedEvent<'static> {
        let mut call = ToolCall::new(id, status);
        call.name = name.map(Into::into);
        StreamedEvent::Tool(Whole::Owned(Box::new(call)), None)
    }

    fn summary() -> Summary {
        Summary::new(SessionChoice::Fresh(None), vec![], Usage::default())
    }

    fn see(summary: &mut Summary, seconds: u64, mut event: StreamedEvent<'static>) -> EventKind {
        summary.observe(&mut event, Some(Duration::from_secs(seconds)));
        event.into_kind()
    }

    fn report(events: &[StreamedEvent<'static>]) -> Report {
        let mut summary = summary();
        for event in events {
            see(&mut summary, 0, event.clone());
        }
        ended(&summary)
    }

    fn ended(summary: &Summary) -> Report {
        summary.report(Verdict { outcome: Outcome::Completed, detail: None, error: None }, None)
    }

    #[test]
    fn the_answer_is_the_last_message_of_the_agent_itself() {
        let events = [
            message("1", None, "first"),
            message("2", None, "last"),
            message("3", None, ""),
            message("4", Some("t"), "a sub-agent's"),
            delta("5", Some("t"), "a sub-agent's"),
        ];
        assert_eq!(report(&events).answer.as_deref(), Some("last"));
    }

    #[test]
    fn deltas_count_if_there_is_no_message_and_discarded_ones_never() {
        let deltas = [delta("1", None, "a"), delta("1", None, "b")];
        assert_eq!(report(&deltas).answer.as_deref(), Some("ab"));
        let retried = [delta("1", None, "a"), EventKind::Discard { id: "1".into() }.into(), delta("2", None, "b")];
        assert_eq!(report(&retried).answer.as_deref(), Some("b"));
    }

    #[test]
    fn another_turn_has_its_own_answer_and_adds_to_the_tools() {
        let mut summary = summary();
        see(&mut summary, 0, message("1", None, "first"));
        see(&mut summary, 0, call("t", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        summary.next_turn();
        assert!(!summary.any_tool_running(), "it belongs to the turn before");
        see(&mut summary, 0, call("u", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        let report = ended(&summary);
        assert_eq!((report.answer, report.tools.len()), (None, 2));
    }

    #[test]
    fn a_later_event_of_a_tool_call_changes_only_what_it_contains() {
        let tools = report(&[call("t", ToolStatus::Running, Some("Bash")), call("t", ToolStatus::Failed, None)]).tools;
        assert_eq!(tools.len(), 1);
        assert_eq!((tools[0].name.as_deref(), tools[0].status), (Some("Bash"), ToolStatus::Failed));
    }

    #[test]
    fn a_tool_that_ends_has_a_duration() {
        let mut summary = summary();
        let duration = |event| if let EventKind::Tool(call) = event { call.duration_ms } else { None };
        assert_eq!(duration(see(&mut summary, 1, call("t", ToolStatus::Running, None))), None);
        assert_eq!(duration(see(&mut summary, 4, call("t", ToolStatus::Succeeded, None))), Some(3000));
        assert_eq!(duration(see(&mut summary, 9, call("t", ToolStatus::Succeeded, None))), None, "it had ended");
        assert_eq!(duration(see(&mut summary, 9, call("u", ToolStatus::Denied, None))), Some(0), "it never ran");
        assert_eq!(ended(&summary).tools[0].duration_ms, Some(3000));
        let mut event = call("v", ToolStatus::Succeeded, None);
        summary.observe(&mut event, None);
        assert_eq!(duration(event.into_kind()), None, "a capture has no times");
    }

    #[test]
    fn an_id_that_is_used_again_in_a_later_turn_is_another_call() {
        let mut summary = summary();
        see(&mut summary, 0, call("t", ToolStatus::Running, None));
        summary.next_turn();
        assert!(!summary.any_tool_running(), "what is left of an earlier turn does not hold the idle timeout");
        see(&mut summary, 0, call("t", ToolStatus::Succeeded, None));
        assert_eq!(summary.tools.calls().len(), 1, "the late end of the first");
        see(&mut summary, 0, call("t", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        see(&mut summary, 0, call("t", ToolStatus::Failed, None));
        assert!(!summary.any_tool_running());
        let statuses: Vec<_> = summary.tools.calls().iter().map(|tool| tool.status).collect();
        assert_eq!(statuses, [ToolStatus::Succeeded, ToolStatus::Failed]);
    }

    #[test]
    fn a_completed_turn_without_the_requested_structured_output_says_so() {
        let detail = |summary: Summary| ended(&summary).detail;
        assert_eq!(detail(summary()), None);
        assert!(detail(summary().expecting_structured_output(true)).is_some_and(|detail| detail.contains("schema")));
        let mut given = summary().expecting_structured_output(true);
        let mut end = TurnEnd::new(Outcome::Completed);
        end.structured_output = Some(Value::Null);
        see(&mut given, 0, EventKind::TurnEnded(end).into());
        assert_eq!(detail(given), None);
    }

    #[test]
    fn no_text_is_kept_after_a_piece_beyond_the_limit() {
        let long = "a".repeat(TEXT_LIMIT);
        let deltas = ["begin ", &long, "end"].map(|text| delta("1", None, text));
        assert_eq!(report(&deltas).answer.as_deref(), Some("begin "));
    }
    #[test]
    fn unknown_types_without_end_are_counted_and_not_kept() {
        let types = (0..5000).map(|number| number.to_string()).chain(["x".repeat(ID_LIMIT + 1)]);
        let unknown: Vec<_> = types.map(|native| EventKind::Unknown { native }.into()).collect();
        let report = report(&unknown);
        assert_eq!((report.drift.unknown.len(), report.omitted.types), (TYPES_LIMIT, 4001));
    }
}

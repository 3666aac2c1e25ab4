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
#[path = "summary_tests.rs"]
mod tests;

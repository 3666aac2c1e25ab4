//! What a turn came to: the report's raw material, gathered from the events as they pass.

use crate::event::{
    Drift, Event, Exit, FileChange, IgnoredWish, Outcome, Report, ReportSession, ReportTool, ToolCall, Usage,
};
use crate::lift::{Part, PartKind, Said};
use crate::outcome::Verdict;
use crate::usage::Ledger;
use serde_json::Value;
use std::collections::HashMap;

/// How much text of deltas is kept, for a runtime that never sends the whole message.
const KEPT_TEXT: usize = 1 << 20;

/// How many native types are told apart.
const KEPT_TYPES: usize = 1000;

/// Gathers what the report says.
#[derive(Debug)]
pub(crate) struct Summary {
    ledger: Ledger,
    session: Option<ReportSession>,
    model: Option<String>,
    /// The last whole message of the agent itself.
    message: Option<String>,
    /// Deltas of the agent itself since then: the message's id, its text, and whether some of it was not kept.
    deltas: Option<(String, String, bool)>,
    declared_answer: Option<String>,
    structured_output: Option<Value>,
    tools: Vec<ReportTool>,
    /// Where each tool call stands in there.
    tool_places: HashMap<String, usize>,
    /// How many of them are of turns before this one.
    earlier_tools: usize,
    /// How many of this turn's are under way.
    tools_running: usize,
    files: Vec<FileChange>,
    ignored: Vec<IgnoredWish>,
    drift: Drift,
}

impl Summary {
    pub(crate) fn new(ignored: Vec<IgnoredWish>, before: Usage) -> Summary {
        Summary {
            ledger: Ledger::resuming(before),
            session: None,
            model: None,
            message: None,
            deltas: None,
            declared_answer: None,
            structured_output: None,
            tools: vec![],
            tool_places: HashMap::new(),
            tools_running: 0,
            earlier_tools: 0,
            files: vec![],
            ignored,
            drift: Drift::default(),
        }
    }

    /// Another turn begins in the same process. The answer is its own; what was used and done adds up.
    pub(crate) fn next_turn(&mut self) {
        self.ledger.next_turn();
        self.message = None;
        self.deltas = None;
        self.declared_answer = None;
        self.structured_output = None;
        self.earlier_tools = self.tools.len();
        self.tools_running = 0;
    }

    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Session(session) => {
                if let Some(id) = &session.id {
                    let known = self.session.as_ref().filter(|known| known.id == *id);
                    let resumed = session.resumed.or(known.and_then(|known| known.resumed));
                    self.session = Some(ReportSession { id: id.clone(), resumed });
                }
                self.model = session.model.clone().or(self.model.take());
            }
            Event::Discard { id } => {
                self.deltas.take_if(|(current, ..)| current == id);
            }
            Event::FileChange(change) => {
                self.files.retain(|known| known.path != change.path);
                self.files.push(change.clone());
            }
            Event::Usage(figures) => self.ledger.enter(figures),
            Event::TurnEnd { answer, structured_output, .. } => {
                self.declared_answer.clone_from(answer);
                self.structured_output = structured_output.clone().or(self.structured_output.take());
            }
            Event::Unknown { native }
                if (self.drift.unknown.len() < KEPT_TYPES || self.drift.unknown.contains_key(native)) =>
            {
                *self.drift.unknown.entry(native.clone()).or_insert(0) += 1;
            }
            Event::Malformed { .. } | Event::Oversized { .. } => self.drift.malformed += 1,
            _ => {}
        }
    }

    /// The same, of the events that come by the thousand.
    pub(crate) fn note_said(&mut self, said: &Said<'_>) {
        match said {
            Said::Tool(call, _) => self.tool(call),
            Said::Part(Part { parent: Some(_), .. }) => {}
            Said::Part(part) => match part.kind {
                PartKind::TextDelta => self.delta(part),
                PartKind::Message => {
                    if !part.text.is_empty() {
                        self.message = Some(part.text.clone().into_string());
                    }
                    self.deltas = None;
                }
                PartKind::ThinkingDelta | PartKind::Thinking | PartKind::ToolOutput => {}
            },
        }
    }

    fn delta(&mut self, part: &Part<'_>) {
        match &mut self.deltas {
            Some((id, text, full)) if *id == part.id => {
                // Up to the first piece that is too much: a later one would stand where it does not belong.
                let before = text.len();
                if !*full {
                    part.text.push_to(text);
                }
                if text.len() > KEPT_TEXT {
                    text.truncate(before);
                    *full = true;
                }
            }
            deltas => *deltas = Some((part.id.clone(), part.text.clone().into_string(), false)),
        }
    }

    fn tool(&mut self, call: &ToolCall) {
        // An id that comes again in a later turn is another call, unless it is the late end of one that still ran.
        let ended_late = |place: usize| call.status.is_final() && !self.tools[place].status.is_final();
        let known = self.tool_places.get(&call.id).copied();
        let known = known.filter(|place| *place >= self.earlier_tools || ended_late(*place));
        let place = known.unwrap_or(self.tools.len());
        if known.is_none() {
            self.tool_places.insert(call.id.clone(), place);
        }
        let mut ran = false;
        if let Some(known) = self.tools.get_mut(place) {
            ran = !known.status.is_final();
            known.parent = call.parent.clone().or(known.parent.take());
            known.name = call.name.clone().or(known.name.take());
            known.exit_code = call.exit_code.or(known.exit_code);
            known.status = call.status;
        } else {
            self.tools.push(ReportTool {
                id: call.id.clone(),
                parent: call.parent.clone(),
                name: call.name.clone(),
                status: call.status,
                exit_code: call.exit_code,
            });
        }
        if place >= self.earlier_tools {
            self.tools_running = self.tools_running + usize::from(!call.status.is_final()) - usize::from(ran);
        }
    }

    pub(crate) fn any_tool_running(&self) -> bool {
        self.tools_running > 0
    }

    pub(crate) fn session_usage(&self) -> Option<Usage> {
        self.ledger.session()
    }

    pub(crate) fn report(&self, verdict: Verdict, exit: Option<Exit>) -> Report {
        // Pieces of a message that never came to its end are an answer only where the runtime calls the turn done.
        let written = self.deltas.as_ref().map(|(_, text, _)| text.clone()).filter(|text| !text.is_empty());
        let deltas = written.filter(|_| verdict.outcome == Outcome::Completed);
        let message = || self.message.clone().or(deltas);
        Report {
            outcome: verdict.outcome,
            detail: verdict.detail,
            answer: self.declared_answer.clone().or_else(message),
            structured_output: self.structured_output.clone(),
            session: self.session.clone(),
            model: self.model.clone(),
            usage: self.ledger.total(),
            error: verdict.error,
            tools: self.tools.clone(),
            files: self.files.clone(),
            ignored: self.ignored.clone(),
            drift: self.drift.clone(),
            exit,
            killed: vec![],
            run: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolStatus;
    use crate::text::Text;

    fn part(kind: PartKind, id: &str, parent: Option<&str>, text: &str) -> Said<'static> {
        let text = Text::Plain(text.to_owned().into());
        Said::Part(Part { kind, id: id.into(), parent: parent.map(Into::into), text })
    }

    fn message(id: &str, parent: Option<&str>, text: &str) -> Said<'static> {
        part(PartKind::Message, id, parent, text)
    }

    fn delta(id: &str, parent: Option<&str>, text: &str) -> Said<'static> {
        part(PartKind::TextDelta, id, parent, text)
    }

    fn call(id: &str, status: ToolStatus, name: Option<&str>) -> Said<'static> {
        let name = name.map(Into::into);
        let call = ToolCall {
            id: id.into(),
            parent: None,
            name,
            title: None,
            status,
            input: None,
            output: None,
            exit_code: None,
        };
        Said::Tool(Box::new(call), None)
    }

    fn report(said: &[Said<'_>]) -> Report {
        let mut summary = Summary::new(vec![], Usage::default());
        for said in said {
            summary.note_said(said);
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
    fn deltas_count_where_there_is_no_message_and_discarded_ones_never() {
        let deltas = [delta("1", None, "a"), delta("1", None, "b")];
        assert_eq!(report(&deltas).answer.as_deref(), Some("ab"));
        let mut retried = Summary::new(vec![], Usage::default());
        retried.note_said(&delta("1", None, "a"));
        retried.note(&Event::Discard { id: "1".into() });
        retried.note_said(&delta("2", None, "b"));
        assert_eq!(ended(&retried).answer.as_deref(), Some("b"));
    }

    #[test]
    fn another_turn_has_an_answer_of_its_own_and_adds_to_what_was_done() {
        let mut summary = Summary::new(vec![], Usage::default());
        summary.note_said(&message("1", None, "first"));
        summary.note_said(&call("t", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        summary.next_turn();
        assert!(!summary.any_tool_running(), "it is of the turn before");
        summary.note_said(&call("u", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        let report = ended(&summary);
        assert_eq!((report.answer, report.tools.len()), (None, 2));
    }

    #[test]
    fn tools_are_upserts() {
        let tools = report(&[call("t", ToolStatus::Running, Some("Bash")), call("t", ToolStatus::Failed, None)]).tools;
        assert_eq!(tools.len(), 1);
        assert_eq!((tools[0].name.as_deref(), tools[0].status), (Some("Bash"), ToolStatus::Failed));
    }

    #[test]
    fn an_id_that_comes_again_in_a_later_turn_is_another_call() {
        let mut summary = Summary::new(vec![], Usage::default());
        summary.note_said(&call("t", ToolStatus::Running, None));
        summary.next_turn();
        assert!(!summary.any_tool_running(), "what was left of an earlier turn holds nothing");
        summary.note_said(&call("t", ToolStatus::Succeeded, None));
        assert_eq!(summary.tools.len(), 1, "the late end of the first");
        summary.note_said(&call("t", ToolStatus::Running, None));
        assert!(summary.any_tool_running());
        summary.note_said(&call("t", ToolStatus::Failed, None));
        assert!(!summary.any_tool_running());
        let statuses: Vec<_> = summary.tools.iter().map(|tool| tool.status).collect();
        assert_eq!(statuses, [ToolStatus::Succeeded, ToolStatus::Failed]);
    }

    #[test]
    fn nothing_is_kept_of_a_message_behind_what_was_too_much() {
        let long = "a".repeat(KEPT_TEXT);
        let deltas = ["begin ", &long, "end"].map(|text| delta("1", None, text));
        assert_eq!(report(&deltas).answer.as_deref(), Some("begin "));
    }
}

//! What a run comes to, from its events.

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

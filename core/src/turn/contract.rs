//! What an agent may not do whatever its adapter makes of it. An event that breaks this is replaced by
//! [`EventKind::Malformed`], which is counted as drift; the run goes on.

use super::room::ID_LIMIT;
use crate::model::{Ask, EventKind, Question};
use crate::stream::StreamedEvent;

/// How many bytes of an id that is too long are shown.
const SHOWN: usize = 200;

/// The violation, if the event is one: an id beyond the limit.
pub(super) fn violation(event: &StreamedEvent<'_>) -> Option<EventKind> {
    let found = match event {
        StreamedEvent::Part(part) => long([Some(&*part.id), part.parent.as_deref()]),
        StreamedEvent::Tool(call, _) => long([Some(call.id.as_str()), call.parent.as_deref()]),
        StreamedEvent::Other(event) => match &**event {
            EventKind::Session(session) => long([session.id.as_deref()]),
            EventKind::Discard { id } | EventKind::AskWithdrawn { id, .. } => long([Some(id.as_str())]),
            EventKind::Prompt(part) => long([Some(part.id.as_str()), part.parent.as_deref()]),
            EventKind::Round(round) => long([round.parent.as_deref()]),
            EventKind::Subagent(subagent) => long([Some(subagent.id.as_str())]),
            EventKind::Ask(Ask { id, tool_id, choices, form, .. }) => long([Some(id.as_str()), tool_id.as_deref()])
                .or_else(|| long(choices.iter().map(|choice| Some(choice.id.as_str()))))
                .or_else(|| form.iter().find_map(long_in_question)),
            _ => None,
        },
    };
    found.map(|id| {
        let shown = &id[..id.floor_char_boundary(SHOWN)];
        EventKind::Malformed { head: format!("an id of {} bytes, more than {ID_LIMIT}: {shown}", id.len()) }
    })
}

fn long_in_question(question: &Question) -> Option<&str> {
    let choices = question.choices.iter().map(|choice| Some(choice.id.as_str()));
    long(choices.chain([Some(question.id.as_str())]))
}

/// The first id that is too long.
fn long<'i>(ids: impl IntoIterator<Item = Option<&'i str>>) -> Option<&'i str> {
    ids.into_iter().flatten().find(|id| id.len() > ID_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        AskKind, Choice, ChoiceKind, Phase, Round, SessionInfo, Subagent, TextPart, ToolCall, ToolStatus,
    };

    #[test]
    fn an_id_beyond_the_limit_is_a_violation_wherever_it_is() {
        let events = |id: &str| {
            let id = || id.to_owned();
            let mut child = ToolCall::new("t", ToolStatus::Running);
            child.parent = Some(id());
            let mut offered = Ask::new("a", AskKind::Permission, "may I?");
            offered.choices = vec![Choice { id: id(), kind: ChoiceKind::Other, label: String::new() }];
            let mut questions = Ask::new("a", AskKind::Question, "which?");
            questions.form = vec![Question::new(id(), "which?")];
            let mut round = Round::new(Phase::Ended);
            round.parent = Some(id());
            [
                EventKind::TextDelta(TextPart { id: id(), parent: None, text: "x".into() }),
                EventKind::Tool(ToolCall::new(id(), ToolStatus::Running)),
                EventKind::Tool(child),
                EventKind::Session(SessionInfo { id: Some(id()), ..SessionInfo::default() }),
                EventKind::Discard { id: id() },
                EventKind::AskWithdrawn { id: id(), number: None },
                EventKind::Ask(Ask::new(id(), AskKind::Permission, "may I?")),
                EventKind::Ask(offered),
                EventKind::Ask(questions),
                EventKind::Subagent(Subagent::new(id(), Phase::Begun)),
                EventKind::Round(round),
                EventKind::Prompt(TextPart { id: id(), parent: None, text: "x".into() }),
            ]
        };
        for event in events(&"é".repeat(ID_LIMIT / 2)) {
            assert_eq!(violation(&StreamedEvent::borrowed(&event)), None, "{event:?}");
        }
        for event in events(&format!("{}x", "é".repeat(ID_LIMIT / 2))) {
            let Some(EventKind::Malformed { head }) = violation(&StreamedEvent::borrowed(&event)) else {
                panic!("{event:?}");
            };
            assert!(head.contains("1025 bytes") && head.len() < 300, "{head}");
        }
    }
}

//! Permission requests and the answers to them.

use crate::json::Object;
use crate::{Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, Json, Malformed};

/// A permission request that is not answered yet.
#[derive(Debug)]
pub(super) struct OpenAsk {
    /// The request's id as JSON, which is also the id of the ask.
    pub(super) id: String,
    /// The tool call that it is about.
    pub(super) tool_id: Option<String>,
    pub(super) choices: Vec<Choice>,
}

impl OpenAsk {
    /// Whether this choice rejects. So does a request that is cancelled.
    pub(super) fn rejects(&self, choice: Option<&str>) -> bool {
        let chosen = self.choices.iter().find(|known| choice == Some(known.id.as_str()));
        chosen.is_none_or(|chosen| is_rejection(chosen.kind))
    }
}

/// Turns a request into an ask.
pub(super) fn permission(id: &str, params: Json<'_>, tool: Option<String>) -> Result<Ask, Malformed> {
    let [call, options] = params.select(["toolCall", "options"])?;
    let [tool_id, title, input] = call.select(["toolCallId", "title", "rawInput"])?;
    let choices = options.items().filter_map(|option| {
        let [id, kind, label] = option.select(["optionId", "kind", "name"]).ok()?;
        Some(Choice { id: id.string()?, kind: choice_kind(kind.name()), label: label.string().unwrap_or_default() })
    });
    let mut ask = Ask::new(id, AskKind::Permission, title.string().unwrap_or_default());
    (ask.tool, ask.tool_id, ask.choices) = (tool, tool_id.string(), choices.collect());
    if !input.is_missing() {
        input.raw().clone_into(&mut ask.detail);
    }
    Ok(ask)
}

fn choice_kind(kind: Option<&str>) -> ChoiceKind {
    match kind {
        Some("allow_once") => ChoiceKind::AllowOnce,
        Some("allow_always") => ChoiceKind::AllowAlways,
        Some("reject_once") => ChoiceKind::RejectOnce,
        Some("reject_always") => ChoiceKind::RejectAlways,
        _ => ChoiceKind::Other,
    }
}

fn is_rejection(kind: ChoiceKind) -> bool {
    matches!(kind, ChoiceKind::RejectOnce | ChoiceKind::RejectAlways | ChoiceKind::RejectAndStop)
}

/// The answer that the turn's approvals give, if they give one. A no without such a choice cancels the request. A yes is for
/// once: a yes for ever may end up in the user's own configuration.
pub(super) fn decided(ask: &Ask, approvals: Approvals) -> Option<Answer> {
    let first = |wanted: &[ChoiceKind]| {
        let choice = wanted.iter().find_map(|kind| ask.choices.iter().find(|choice| choice.kind == *kind));
        choice.map(|choice| choice.id.clone())
    };
    let choice = match approvals {
        Approvals::Ask => return None,
        Approvals::Deny => first(&[ChoiceKind::RejectOnce, ChoiceKind::RejectAlways]),
        Approvals::AllowAll => Some(first(&[ChoiceKind::AllowOnce, ChoiceKind::AllowAlways])?),
    };
    Some(Answer::new(&ask.id, choice.as_deref()))
}

/// The result with the choice. Without a choice the agent treats it as a no.
pub(super) fn answer(choice: Option<&str>) -> Object {
    let outcome = match choice {
        Some(choice) => Object::new().str("outcome", "selected").str("optionId", choice),
        None => Object::new().str("outcome", "cancelled"),
    };
    Object::new().object("outcome", outcome)
}

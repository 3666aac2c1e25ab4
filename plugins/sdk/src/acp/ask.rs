//! Permission requests and the answers to them.

use super::{Dialect, Session, ToolFields, elicitation};
use crate::json::Object;
use crate::{Answer, Approvals, Ask, AskKind, Choice, ChoiceKind, Effects, Event, Json, Malformed};

/// A permission request that is not answered yet.
#[derive(Debug)]
pub(super) struct OpenAsk {
    /// The request's id as JSON, which is also the id of the ask.
    pub(super) id: String,
    /// The tool call that it is about.
    pub(super) tool_id: Option<String>,
    pub(super) choices: Vec<Choice>,
    /// Whether it is an elicitation, which has other answers.
    pub(super) is_form: bool,
}

impl OpenAsk {
    /// Whether this choice rejects. So does a request that is cancelled.
    pub(super) fn rejects(&self, choice: Option<&str>) -> bool {
        let chosen = self.choices.iter().find(|known| choice == Some(known.id.as_str()));
        chosen.is_none_or(|chosen| is_rejection(chosen.kind))
    }
}

impl<D: Dialect> Session<D> {
    pub(super) fn permission(&mut self, id: Json<'_>, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let tool = ToolFields::read(params.get("toolCall"))?;
        let known = tool.id.str().and_then(|call| self.transcript.name_of(&call));
        let name = known.or_else(|| self.dialect.tool_name(&tool));
        let mut ask = permission(id.raw(), params, name)?;
        ask.actions = tool.actions(ask.tool.as_deref(), self.transcript.call(tool.id));
        self.transcript.announce(&tool, ask.tool.as_deref(), out);
        let approvals = self.turn.as_ref().map_or(Approvals::Ask, |(turn, _)| self.dialect.approvals(turn));
        self.asks.push(OpenAsk {
            id: ask.id.clone(),
            tool_id: ask.tool_id.clone(),
            choices: ask.choices.clone(),
            is_form: false,
        });
        match decided(&ask, approvals) {
            Some(answer) => self.answer(&answer, out),
            None => out.emit(Event::Ask(ask)),
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, answer: &Answer, out: &mut Effects) {
        let Some(at) = self.asks.iter().position(|ask| ask.id == answer.ask) else { return };
        let ask = self.asks.swap_remove(at);
        if ask.is_form {
            return self.rpc.respond(&ask.id, elicitation::response(Some(answer)), out);
        }
        let choice = answer.choice.as_deref();
        if let Some(call) = ask.tool_id.as_deref().filter(|_| ask.rejects(choice)) {
            self.transcript.deny(call, answer.text.clone());
        }
        self.rpc.respond(&ask.id, outcome(choice), out);
    }

    /// No answers are needed any more. The agent is told, as it waits for them.
    pub(super) fn withdraw(&mut self, out: &mut Effects) {
        for ask in std::mem::take(&mut self.asks) {
            let response = if ask.is_form { elicitation::response(None) } else { outcome(None) };
            self.rpc.respond(&ask.id, response, out);
            out.emit(Event::AskWithdrawn(ask.id));
        }
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
pub(super) fn outcome(choice: Option<&str>) -> Object {
    let outcome = match choice {
        Some(choice) => Object::new().str("outcome", "selected").str("optionId", choice),
        None => Object::new().str("outcome", "cancelled"),
    };
    Object::new().object("outcome", outcome)
}

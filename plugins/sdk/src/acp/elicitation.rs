//! Questions of the agent that are no permissions: a form, by its JSON Schema.

use super::ask::OpenAsk;
use super::{Dialect, Session};
use crate::json::Object;
use crate::{Answer, Ask, AskKind, Choice, ChoiceKind, Effects, Event, Json};

/// The choice that sends the form, and its name in the protocol.
const ACCEPT: &str = "accept";

impl<D: Dialect> Session<D> {
    /// Asks for what a form has. A form that is a web page is declined: nobody may be there to open it.
    pub(super) fn elicit(&mut self, id: Json<'_>, params: Json<'_>, out: &mut Effects) {
        let schema = params.get("requestedSchema");
        let is_asking =
            self.turn.as_ref().is_some_and(|(turn, _)| self.dialect.approvals(turn) == crate::Approvals::Ask);
        if !is_asking || !schema.is_object() {
            return self.rpc.respond(id.raw(), response(None), out);
        }
        let mut ask = Ask::new(id.raw(), AskKind::Question, params.get("message").string().unwrap_or_default());
        ask.schema = Some(schema.raw().to_owned());
        ask.choices = vec![Choice { id: ACCEPT.to_owned(), kind: ChoiceKind::Other, label: "Send".to_owned() }];
        schema.raw().clone_into(&mut ask.detail);
        self.asks.push(OpenAsk { id: ask.id.clone(), tool_id: None, choices: vec![], is_form: true });
        out.emit(Event::Ask(ask));
    }
}

/// The response to an answer; without one the agent gets a no.
pub(super) fn response(answer: Option<&Answer>) -> Object {
    let value = answer.and_then(|answer| answer.value.as_deref()).filter(|value| Json::parse(value).is_object());
    match value {
        Some(value) => Object::new().str("action", ACCEPT).raw("content", value),
        None => Object::new().str("action", "decline"),
    }
}

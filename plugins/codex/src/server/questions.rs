//! The requests of `app-server`, which it waits for: asks, and what only other clients can do.

use super::Server;
use crate::asks;
use crate::ignored::REQUESTS;
use wharf_adapter::json::Object;
use wharf_adapter::rpc::METHOD_NOT_FOUND;
use wharf_adapter::{Answer, Effects, Event, Json, Malformed};

impl Server {
    pub(super) fn ask(&mut self, id: &str, method: &str, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let Some(asked) = asks::read(id, method, params, &self.items)? else {
            if let Some(no) = asks::refusal(method) {
                respond(id, no, out);
            } else {
                if !REQUESTS.contains(method) {
                    out.unknown(method);
                }
                self.rpc.refuse(id, METHOD_NOT_FOUND, "the client does not offer this", out);
            }
            return Ok(());
        };
        if let Some(result) = asked.open.decided(asked.ask.kind, self.approvals) {
            respond(id, &result, out);
        } else {
            self.asks.push(asked.open);
            out.emit(Event::Ask(asked.ask));
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, answer: &Answer, out: &mut Effects) {
        let Some(at) = self.asks.iter().position(|ask| ask.id == answer.ask) else { return };
        let ask = self.asks.swap_remove(at);
        respond(&ask.id, &ask.result(answer), out);
    }

    /// No answers are needed any more. Codex is told, as it waits for them.
    pub(super) fn withdraw(&mut self, out: &mut Effects) {
        for ask in std::mem::take(&mut self.asks) {
            respond(&ask.id, ask.no(), out);
            out.emit(Event::AskWithdrawn(ask.id));
        }
    }
}

/// Answers a request; both are JSON.
pub(super) fn respond(id: &str, result: &str, out: &mut Effects) {
    out.write_line(Object::new().raw("id", id).raw("result", result).finish());
}

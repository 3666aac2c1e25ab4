//! How an input gets to the adapter: it waits its turn, is recorded, handled, and reported to the driver and the caller.

use super::control;
use super::exchange::{Exchange, Io};
use super::queue::{Reply, Seen, Sending, Waiting, Watching};
use crate::record::Kind;
use wharf_core::turn::{Action, AdapterInput, Delivery, Input};

impl Exchange {
    /// Keeps what must be sent to the adapter, and returns the other actions.
    pub(super) fn enqueue(&mut self, mut actions: Vec<Action>, reply: Option<Reply>, seen: Seen) -> Vec<Action> {
        let mut reply = reply;
        // Most output requires no input to the adapter.
        if actions.iter().any(|action| matches!(action, Action::Send(_))) {
            for action in std::mem::take(&mut actions) {
                match action {
                    Action::Send(input) => self.queue.push(Waiting { input, reply: reply.take() }),
                    action => actions.push(action),
                }
            }
        }
        if let Some(reply) = reply {
            // The caller may have dropped the ticket.
            let _ = reply.send(seen.delivery());
        }
        actions
    }

    /// Sends an input to the adapter, and reports the result to the driver.
    pub(super) async fn send(&mut self, waiting: Waiting, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        let unwanted = match &waiting.input {
            _ if self.driver.is_stopping() => Some("the agent is being stopped".to_owned()),
            AdapterInput::Answer(answered) if !self.driver.awaits(answered) => {
                Some(format!("the ask `{}` was withdrawn before the answer was sent", answered.id))
            }
            _ => None,
        };
        if let Some(reason) = unwanted {
            actions.extend(self.decide(Input::NotSent { input: waiting.input, reason: reason.clone() }, io));
            let _ = waiting.reply.map(|reply| reply.send(control::Delivery::Refused(reason)));
            return;
        }
        self.at = io.now;
        let mut seen = Seen::default();
        if let AdapterInput::Answer(answered) = &waiting.input {
            seen.done = true;
            actions.extend(self.decide(Input::Answered(answered.clone()), io));
        }
        let mut effects = None;
        if let Some(guest) = &mut self.guest {
            io.journal.record_text(Kind::Input, io.now, &serde_json::json!(waiting.input).to_string());
            effects = Some(guest.handle(&waiting.input).await);
        }
        self.sending = Some(Sending { waiting, seen });
        match effects.map(|effects| effects.and_then(|effects| self.apply_all(effects, io, actions))) {
            Some(Err(fault)) => self.recover(fault, io, actions),
            Some(Ok(())) | None => self.sent(io, actions),
        }
    }

    /// The adapter has handled an input, perhaps after a restart.
    pub(super) fn sent(&mut self, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        let Some(Sending { waiting: Waiting { input, reply }, mut seen }) = self.sending.take() else { return };
        let counted = self.chain.count(&input, seen.bytes);
        let explained = seen.notice.is_some() || (seen.turn_ended && matches!(input, AdapterInput::NextTurn(_)));
        let delivery = Delivery { input, wrote: seen.wrote, explained };
        let mut sink = Watching { sink: io.sink, seen: &mut seen };
        let mut watched = Io { now: io.now, journal: io.journal, sink: &mut sink };
        actions.extend(self.decide(Input::Delivered(delivery), &mut watched));
        let _ = reply.map(|reply| reply.send(seen.delivery()));
        if let Err(fault) = counted {
            self.give_up(&fault, io, actions);
        }
    }
}

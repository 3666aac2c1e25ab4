//! What a caller can do to a live run.

use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};
use wharf_core::model::{Answer, InputRejected, NextTurn};

/// Controls a run. Cheap to clone, and may outlive the run.
///
/// Every call takes effect whether its [`Ticket`] is awaited or not.
#[derive(Debug, Clone)]
pub struct Controller(pub(super) mpsc::UnboundedSender<Command>);

/// The result of a control.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// It was carried out: the answer, the message, the turn or the request to stop was sent to the agent.
    Done,
    /// It was not carried out, for this reason.
    Refused(String),
    /// The run had ended before.
    RunEnded,
}

/// Resolves to the result of a control. It need not be awaited.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<Delivery>);

impl Future for Ticket {
    type Output = Delivery;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Delivery> {
        Pin::new(&mut self.0).poll(context).map(|delivery| delivery.unwrap_or(Delivery::RunEnded))
    }
}

impl Controller {
    fn send(&self, request: Request) -> Ticket {
        let (reply, ticket) = oneshot::channel();
        // A run that has ended drops the other end, which the ticket reports.
        let _ = self.0.send(Command { request, reply });
        Ticket(ticket)
    }

    /// Answers an ask.
    pub fn answer(&self, answer: Answer) -> Ticket {
        self.send(Request::Answer(answer))
    }

    /// Sends a message to the agent in the middle of its turn. Only if the turn was started with
    /// [`Turn::messages`](crate::Turn::messages).
    pub fn message(&self, text: impl Into<String>) -> Ticket {
        self.send(Request::Message(text.into()))
    }

    /// Starts another turn in the same process, after the last one has ended
    /// ([`EventKind::TurnEnded`](crate::event::EventKind::TurnEnded)). Only if the run was started with
    /// [`RunOptions::keep_alive`](crate::RunOptions::keep_alive). The report at the end is of the whole run: outcome
    /// and answer are the last turn's, usage and tools those of all.
    pub fn next_turn(&self, turn: NextTurn) -> Ticket {
        self.send(Request::NextTurn(turn))
    }

    /// Reports something that was sent for this run and is none of these calls, as an
    /// [`InputRejected`](crate::event::EventKind::InputRejected) event. For a program that takes controls from others:
    /// they learn from the events what came of them.
    pub fn reject(&self, rejected: InputRejected) -> Ticket {
        self.send(Request::Reject(rejected))
    }

    /// Ends the run after the current turn: the agent exits.
    pub fn finish_after_turn(&self) -> Ticket {
        self.send(Request::FinishAfterTurn)
    }

    /// Stops the run: by a request to the agent the first time, by killing it the second time.
    pub fn cancel(&self) -> Ticket {
        self.send(Request::Cancel)
    }
}

/// What a caller does to a run, and where the result goes.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Delivery>,
}

/// What a caller does to a run.
#[derive(Debug)]
pub(super) enum Request {
    Answer(Answer),
    Message(String),
    NextTurn(NextTurn),
    Reject(InputRejected),
    FinishAfterTurn,
    Cancel,
}

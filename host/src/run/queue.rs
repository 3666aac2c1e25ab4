//! Inputs on their way to the adapter: those that wait, and the one that is being handled. The loop sends one at a time,
//! so that an adapter that is slow, or causes ever more of them, holds up neither a timeout nor a cancel.

use super::control::Delivery;
use crate::guest::Fault;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::oneshot;
use wharf_core::model::{AnsweredBy, EventKind};
use wharf_core::stream::{Lines, StreamedEvent};
use wharf_core::turn::{AdapterInput, EventSink};

/// How many inputs an adapter may cause by itself before it waits for the agent, the caller or a timer. All asks in one
/// read of the agent's output are fewer.
const CALLS: u32 = 10_000;

/// How many bytes of events and writes it may produce in the same time.
const BYTES: usize = 128 << 20;

/// Where the result of a control goes.
pub(super) type Reply = oneshot::Sender<Delivery>;

/// An input, and who waits for what comes of it.
pub(super) struct Waiting {
    pub(super) input: AdapterInput,
    pub(super) reply: Option<Reply>,
}

/// Inputs that wait to be sent.
#[derive(Default)]
pub(super) struct Queue {
    /// These do not wait for the reader of the events, who may be waiting for them.
    urgent: VecDeque<Waiting>,
    others: VecDeque<Waiting>,
}

impl Queue {
    pub(super) fn push(&mut self, waiting: Waiting) {
        match &waiting.input {
            AdapterInput::Cancel => self.urgent.push_front(waiting),
            AdapterInput::Answer(answered) if answered.by == AnsweredBy::Timeout => self.urgent.push_back(waiting),
            _ if waiting.reply.is_some() => self.urgent.push_back(waiting),
            _ => self.others.push_back(waiting),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        self.urgent.pop_front().or_else(|| self.others.pop_front())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.others.is_empty()
    }

    pub(super) fn is_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.urgent.clear();
        self.others.clear();
    }
}

/// The input that the adapter is handling. It may trap and be restarted meanwhile.
pub(super) struct Sending {
    pub(super) waiting: Waiting,
    pub(super) seen: Seen,
}

/// What was observed while an input was handled.
#[derive(Default)]
pub(super) struct Seen {
    /// The input has taken effect, by an event that says so.
    pub(super) done: bool,
    /// Why it was rejected, or what the adapter said.
    pub(super) notice: Option<String>,
    pub(super) turn_ended: bool,
    /// Whether the adapter wrote anything to the agent.
    pub(super) wrote: bool,
    /// How many bytes of events and writes came.
    pub(super) bytes: usize,
}

impl Seen {
    /// The result for the caller.
    pub(super) fn delivery(self) -> Delivery {
        match self.notice {
            Some(reason) if !self.done => Delivery::Refused(reason),
            _ => Delivery::Done,
        }
    }
}

/// Observes events on their way.
pub(super) struct Watching<'a> {
    pub(super) sink: &'a mut (dyn EventSink + Send),
    pub(super) seen: &'a mut Seen,
}

impl EventSink for Watching<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        if let StreamedEvent::Other(event) = &event {
            match &**event {
                EventKind::Notice { text, .. } => self.seen.notice = Some(text.clone()),
                EventKind::InputRejected(rejected) => self.seen.notice = Some(rejected.reason.clone()),
                EventKind::TurnEnded(_) => self.seen.turn_ended = true,
                EventKind::AskAnswered(_) | EventKind::MessageSent { .. } | EventKind::TurnStarted { .. } => {
                    self.seen.done = true;
                }
                _ => {}
            }
        }
        self.seen.bytes += size(&event, at);
        self.sink.emit(event, at);
    }
}

/// The bytes of an event as its readers get it.
pub(super) fn size(event: &StreamedEvent<'_>, at: Duration) -> usize {
    let mut line = Lines::default();
    line.push(0, at, event);
    line.bytes.len()
}

/// What an adapter has caused by itself since it last waited.
#[derive(Default)]
pub(super) struct Chain {
    calls: u32,
    bytes: usize,
}

impl Chain {
    /// Counts an input that the adapter was sent and what came of it. An answer of a rule was caused by the adapter's own
    /// ask; any other input has a cause outside.
    pub(super) fn count(&mut self, input: &AdapterInput, bytes: usize) -> Result<(), Fault> {
        let own = |by| matches!(by, AnsweredBy::Rule | AnsweredBy::Limit);
        if !matches!(input, AdapterInput::Answer(answered) if own(answered.by)) {
            return Ok(());
        }
        self.calls += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.calls <= CALLS && self.bytes <= BYTES {
            return Ok(());
        }
        let Chain { calls, bytes } = self;
        let reason = format!(
            "it asked again at each answer, without waiting for the agent: {calls} answers and {bytes} bytes in a row, \
             and at most {CALLS} and {BYTES} are allowed"
        );
        Err(Fault::new("handle", reason))
    }
}

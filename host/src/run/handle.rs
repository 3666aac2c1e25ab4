//! A live run as its caller sees it: its events, and the controls.

use super::batch::Batch;
use super::control::{Controller, Ticket};
use super::event_loop::{EventLoop, Parts};
use crate::error::{Error, Result};
use crate::record::Ended;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tracing::Instrument as _;
use wharf_core::model::{Answer, Event, EventKind, InputRejected, NextTurn, Report};

/// How many batches of events wait for their reader before the agent's pipes are no longer read.
const WAITING: usize = 4;

/// A live run: a stream of events, the last of which is the report.
///
/// # Theory of operation
///
/// A separate task moves the bytes: secrets are removed from the agent's output, which is recorded, split into frames
/// and given to the adapter; the resulting events are written to disk and then handed over here. The task waits while a
/// few batches of events are unread, and then the agent waits too: read the events, or drop the run.
///
/// A run that is dropped before its report is killed with every process that it started.
#[derive(Debug)]
pub struct Run {
    id: String,
    events: mpsc::Receiver<Batch>,
    waiting: VecDeque<Event>,
    control: Controller,
}

impl Run {
    /// The run's id, under which its recording is kept.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The controls, for another task.
    pub fn controller(&self) -> Controller {
        self.control.clone()
    }

    /// See [`Controller::answer`].
    pub fn answer(&self, answer: Answer) -> Ticket {
        self.control.answer(answer)
    }

    /// See [`Controller::message`].
    pub fn message(&self, text: impl Into<String>) -> Ticket {
        self.control.message(text)
    }

    /// See [`Controller::next_turn`].
    pub fn next_turn(&self, turn: NextTurn) -> Ticket {
        self.control.next_turn(turn)
    }

    /// See [`Controller::reject`].
    pub fn reject(&self, rejected: InputRejected) -> Ticket {
        self.control.reject(rejected)
    }

    /// See [`Controller::finish_after_turn`].
    pub fn finish_after_turn(&self) -> Ticket {
        self.control.finish_after_turn()
    }

    /// See [`Controller::cancel`].
    pub fn cancel(&self) -> Ticket {
        self.control.cancel()
    }

    /// The next event. After the report there is none.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// The available events, one or more. After the report there are none.
    pub async fn next_batch(&mut self) -> Option<Batch> {
        if !self.waiting.is_empty() {
            return Some(Batch::from_events(std::mem::take(&mut self.waiting).into(), None));
        }
        self.events.recv().await
    }

    /// Skips the other events and returns the report.
    pub async fn finish(mut self) -> Result<Report> {
        drop(self.finish_after_turn());
        while let Some(event) = self.next().await {
            if let EventKind::Report(report) = event.kind {
                return Ok(*report);
            }
        }
        Err(Error::system(format!("waiting for the run {}", self.id), "it ended without a report"))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Poll::Ready(Some(event));
            }
            match self.events.poll_recv(context) {
                Poll::Ready(Some(batch)) => self.waiting = batch.events.into(),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.get_mut().poll_event(context)
    }
}

/// Starts the loop, and what follows it, as a task. `then` returns the last event.
pub(crate) fn start(
    id: String,
    adapter: &str,
    parts: Parts,
    then: impl FnOnce(Ended) -> Event + Send + 'static,
) -> Run {
    let (sender, events) = mpsc::channel(WAITING);
    let (control, commands) = mpsc::unbounded_channel();
    let work = EventLoop::new(parts, sender.clone(), commands);
    let span = tracing::info_span!(target: "wharf", "run", id = %id, adapter);
    let task = async move {
        let report = then(work.run().await);
        let _ = sender.send(Batch::from_events(vec![report], None)).await;
    };
    tokio::spawn(task.instrument(span));
    Run { id, events, waiting: VecDeque::new(), control: Controller(control) }
}

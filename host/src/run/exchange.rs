//! An adapter in a turn: the agent's output goes in, actions come out, events go to a sink. A run and a replay both go
//! through here, which is why they give the same events.
//!
//! Nothing here calls the adapter more than once: output and inputs wait until [`Exchange::step`] is called for each of
//! them, and the loop of a run looks at its timeouts and its caller in between.

use super::queue::{Chain, Queue, Reply, Seen, Sending, Watching};
use super::recovery::Recovery;
use crate::guest::{Adapter, Chunk, Effects, Fault, Imports, Instance};
use crate::record::{Journal, Kind, NoteRecord};
use std::time::Duration;
use wharf_core::model::{Binary, EventKind, Exit, Framing, NextTurn, OutputStream, Turn};
use wharf_core::stream::frame::{Framer, Item};
use wharf_core::stream::{StreamedEvent, Tail};
use wharf_core::turn::{Action, AdapterInput, Driver, Effect, EndFacts, EventSink, Input, TurnResult};

/// How many bytes of the end of each stream are kept as evidence.
const TAIL: usize = 16 << 10;

/// Everything that is needed to create a fresh instance for the same turn.
pub(crate) struct TurnContext {
    pub(crate) adapter: Adapter,
    pub(crate) turn: Turn,
    pub(crate) binary: Binary,
    pub(crate) transport: String,
    pub(crate) framing: Framing,
    pub(crate) frame_limit: usize,
}

impl TurnContext {
    /// A fresh instance that has built its arguments and its prompt, as the first one had.
    pub(super) async fn instance(&self, imports: Option<Imports>) -> Result<Instance, Fault> {
        let mut instance = Instance::start(self.adapter.component(), imports).await?;
        let _ = instance.build_args(&self.turn, &self.binary, &self.transport).await?;
        let _ = instance.build_prompt().await?;
        Ok(instance)
    }

    pub(super) fn framers(&self) -> [Framer; 2] {
        [Framer::new(self.framing, self.frame_limit), Framer::new(Framing::Lines, self.frame_limit)]
    }
}

/// What an exchange works with: the time, the journal, and where events go.
pub(crate) struct Io<'a> {
    pub(crate) now: Duration,
    pub(crate) journal: &'a mut Journal,
    pub(crate) sink: &'a mut (dyn EventSink + Send),
}

/// An adapter in a turn.
pub(crate) struct Exchange {
    pub(super) context: TurnContext,
    /// None after the adapter failed for good.
    pub(super) guest: Option<Instance>,
    /// For stdout and stderr. Their items wait here.
    pub(super) framers: [Framer; 2],
    tails: [Tail; 2],
    pub(super) driver: Driver,
    /// Inputs that wait for the output before them.
    pub(super) queue: Queue,
    /// The input that the adapter is handling.
    pub(super) sending: Option<Sending>,
    /// While the adapter is being restarted.
    pub(super) recovery: Option<Box<Recovery>>,
    pub(super) chain: Chain,
    /// The time of what the adapter is given, as it is recorded: a replay has no other.
    pub(super) at: Duration,
    /// Both streams have ended.
    pub(super) ended: bool,
    /// How many effects have been applied.
    pub(super) applied: u64,
    /// How many of the next effects were applied before, by the instance that trapped.
    pub(super) skip: u64,
}

impl Exchange {
    /// With an instance that has built its arguments and its prompt.
    pub(crate) fn new(context: TurnContext, guest: Instance, driver: Driver) -> Exchange {
        Exchange {
            guest: Some(guest),
            framers: context.framers(),
            tails: [Tail::new(TAIL), Tail::new(TAIL)],
            context,
            driver,
            queue: Queue::default(),
            sending: None,
            recovery: None,
            chain: Chain::default(),
            at: Duration::ZERO,
            ended: false,
            applied: 0,
            skip: 0,
        }
    }

    /// The turn that the process was started for, with the changes of another one.
    pub(crate) fn next_turn(&self, next: NextTurn) -> Turn {
        self.context.turn.followed_by(next)
    }

    /// The session that the agent named last.
    pub(crate) fn session_id(&self) -> Option<&str> {
        self.driver.session_id()
    }

    /// When the driver needs a tick.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.driver.deadline()
    }

    /// The agent wrote something, from which secrets were removed. The adapter gets it by the next steps.
    pub(crate) fn output(&mut self, stderr: bool, bytes: &[u8], io: &mut Io<'_>) {
        io.journal.record(if stderr { Kind::Stderr } else { Kind::Stdout }, io.now, bytes);
        self.at = io.now;
        let actions = self.decide(Input::Output, io);
        debug_assert!(actions.is_empty(), "output by itself requires nothing");
        let stream = usize::from(stderr);
        self.tails[stream].push(bytes);
        self.framers[stream].push(bytes);
    }

    /// Something happened to the turn. What the adapter must know of it is sent by the next steps, and the reply is given
    /// then; what must be done at once is returned.
    pub(crate) fn input(&mut self, input: Input, reply: Option<Reply>, io: &mut Io<'_>) -> Vec<Action> {
        let mut seen = Seen::default();
        let mut sink = Watching { sink: io.sink, seen: &mut seen };
        let mut watched = Io { now: io.now, journal: io.journal, sink: &mut sink };
        let actions = self.decide(input, &mut watched);
        self.enqueue(actions, reply, seen)
    }

    /// Whether there is anything to do by [`step`](Exchange::step).
    pub(crate) fn has_work(&self) -> bool {
        self.is_parsing() || !self.queue.is_empty()
    }

    /// Whether the host has told the process to exit.
    pub(super) fn is_stopping(&self) -> bool {
        self.driver.is_stopping()
    }

    /// Whether some of it must not wait for the reader of the events.
    pub(super) fn is_urgent(&self) -> bool {
        self.queue.is_urgent()
    }

    /// Whether output that was recorded was not handled yet. Events of the host must come after its events, as they do in
    /// a replay.
    pub(super) fn is_parsing(&self) -> bool {
        self.recovery.is_some() || self.framers.iter().any(Framer::has_item)
    }

    /// Does the next thing, with at most one call of the adapter. Inputs are sent after all output was handled, and rules
    /// answer after all inputs, so that the order of events does not depend on how the output was cut.
    pub(crate) async fn step(&mut self, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(recovery) = self.recovery.take() {
            self.continue_recovery(recovery, io, &mut actions).await;
        } else if let Some((stderr, item)) = self.next_item() {
            // An adapter that failed gets nothing more.
            if let Some(mut guest) = self.guest.take() {
                let fed = self.feed(&mut guest, stderr, item, io, &mut actions).await;
                self.guest = Some(guest);
                if let Err(fault) = fed {
                    self.recover(fault, io, &mut actions);
                }
            }
        } else if let Some(waiting) = self.queue.pop() {
            self.send(waiting, io, &mut actions).await;
        }
        if !self.has_work() {
            if self.driver.has_answers() {
                actions.extend(self.decide(Input::Flush, io));
            } else {
                self.chain = Chain::default();
            }
        }
        self.enqueue(actions, None, Seen::default())
    }

    /// Does everything that there is to do.
    pub(crate) async fn settle(&mut self, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        while self.has_work() {
            actions.extend(self.step(io).await);
            tokio::task::yield_now().await;
        }
        actions
    }

    /// The process has exited: the rest of its output becomes the last items. Has no effect the second time.
    pub(crate) fn end_of_output(&mut self, exit: Exit, io: &mut Io<'_>) {
        if self.ended {
            return;
        }
        io.journal.record_text(Kind::Exit, io.now, &serde_json::json!(exit).to_string());
        self.at = io.now;
        self.ended = true;
        self.driver.exited(exit);
        self.framers.iter_mut().for_each(Framer::finish);
    }

    /// After [`end_of_output`](Exchange::end_of_output): the adapter's last chance to report something.
    pub(crate) async fn finish(&mut self, exit: Exit, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = self.settle(io).await;
        let open = self.driver.exited(exit);
        if let Some(guest) = &mut self.guest {
            let result = guest.finish(exit).await;
            for answer in guest.take_answers() {
                io.journal.record_text(Kind::HostAnswer, io.now, &answer);
            }
            if let Err(fault) = result.and_then(|effects| self.apply_all(effects, io, &mut actions)) {
                self.give_up(&fault, io, &mut actions);
            }
        }
        if open && let Some(guest) = &mut self.guest {
            let [stdout, stderr] = &self.tails;
            match guest.parse_error(exit, stdout.text(), stderr.text()).await {
                Ok(failure) => self.driver.concluded(failure),
                Err(fault) => self.give_up(&fault, io, &mut actions),
            }
        }
        actions
    }

    /// At the end of a run. Not recorded: a replay comes to the same conclusion.
    pub(crate) fn check_session(&self, io: &mut Io<'_>) {
        self.driver.check_session(io.now, io.sink);
    }

    /// The result of the turn.
    pub(crate) fn result(&self) -> TurnResult {
        self.driver.result()
    }

    /// Whether the adapter has not failed.
    pub(crate) fn has_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// In a replay: what the host had done to the turn.
    pub(crate) fn assume(&mut self, end: EndFacts) {
        self.driver.assume(end);
    }

    /// In a replay: an input of the recording, sent to the adapter again without asking the driver.
    pub(crate) async fn replay_input(&mut self, input: &AdapterInput, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        self.at = io.now;
        if let AdapterInput::Answer(answered) = input {
            actions.extend(self.decide(Input::Answered(answered.clone()), io));
        }
        if let Some(guest) = &mut self.guest {
            let effects = guest.handle(input).await;
            if let Err(fault) = effects.and_then(|effects| self.apply_all(effects, io, &mut actions)) {
                self.give_up(&fault, io, &mut actions);
            }
        }
        actions
    }

    /// In a replay: what the host answered the adapter.
    pub(crate) fn replay_host_answer(&mut self, answer: String) {
        if let Some(imports) = self.guest.as_mut().and_then(Instance::imports) {
            imports.replay(answer);
        }
    }

    /// Lets the driver decide. The host's own events are recorded: a replay cannot derive them from the agent's output.
    pub(super) fn decide(&mut self, input: Input, io: &mut Io<'_>) -> Vec<Action> {
        let mut sink = Noting { journal: io.journal, sink: io.sink };
        self.driver.handle(input, io.now, &mut sink)
    }

    pub(super) fn next_item(&mut self) -> Option<(bool, Item)> {
        let [stdout, stderr] = &mut self.framers;
        stdout.take().map(|item| (false, item)).or_else(|| stderr.take().map(|item| (true, item)))
    }

    /// Passes one item to the adapter, and its effects to the driver.
    pub(super) async fn feed(
        &mut self,
        guest: &mut Instance,
        stderr: bool,
        item: Item,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let effects = match item {
            Item::Batch(batch) => guest.parse_chunk(Chunk { stderr, offset: batch.offset, frames: batch.data }).await?,
            Item::Oversized { length, head, .. } => {
                let stream = if stderr { OutputStream::Stderr } else { OutputStream::Stdout };
                let event = EventKind::Oversized { stream, length, head: head.clone() };
                let effects = guest.oversized(stderr, length, head).await?;
                self.apply(Effect::Emit(event.into()), io, actions);
                effects
            }
            Item::Broken { head, .. } => {
                self.apply(Effect::Emit(EventKind::Malformed { head }.into()), io, actions);
                return Ok(());
            }
        };
        self.apply_all(effects, io, actions)
    }

    /// Passes the effects to the driver, except those that were applied before.
    pub(super) fn apply_all(
        &mut self,
        effects: Effects,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        effects.try_each(|effect| self.apply(effect, io, actions))
    }

    fn apply(&mut self, effect: Effect<'_>, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.applied += 1;
        let Some(Sending { seen, .. }) = &mut self.sending else {
            return self.driver.apply(effect, self.at, actions, io.sink);
        };
        let before = actions.len();
        self.driver.apply(effect, self.at, actions, &mut Watching { sink: io.sink, seen });
        for action in &actions[before..] {
            seen.wrote |= matches!(action, Action::Write(_) | Action::CloseStdin);
            seen.bytes += if let Action::Write(bytes) = action { bytes.len() } else { 0 };
        }
    }

    /// The adapter failed for good. What it should still have done does not happen.
    pub(super) fn give_up(&mut self, fault: &Fault, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        self.guest = None;
        self.recovery = None;
        actions.extend(self.decide(Input::AdapterFailed(format!("the adapter failed {fault}")), io));
    }

    /// The same, because the host does not wait for it any longer.
    pub(super) fn abandon(&mut self, reason: &str, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        self.give_up(&Fault::new("finish", reason), io, &mut actions);
        self.queue.clear();
        self.sending = None;
        self.framers = self.context.framers();
        actions
    }
}

/// Records the host's own events, for a replay. An answer is recorded as an input, and the start as the launch.
struct Noting<'a> {
    journal: &'a mut Journal,
    sink: &'a mut (dyn EventSink + Send),
}

impl EventSink for Noting<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        let event = event.into_kind();
        if !matches!(event, EventKind::AskAnswered(_) | EventKind::RunStarted(_)) {
            note_event(&event, self.journal, at);
        }
        self.sink.emit(event.into(), at);
    }
}

pub(super) fn note_event(event: &EventKind, journal: &mut Journal, now: Duration) {
    let note = NoteRecord::Event(Box::new(event.clone()));
    journal.record_text(Kind::Note, now, &serde_json::json!(note).to_string());
}

#[cfg(all(test, feature = "bundled"))]
#[path = "exchange_tests.rs"]
mod tests;

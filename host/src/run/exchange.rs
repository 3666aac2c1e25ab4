//! An adapter in a turn: the agent's output goes in, actions come out, events go to a sink. A run and a replay both go
//! through here, which is why they give the same events.

use crate::guest::{Adapter, Chunk, Effects, Fault, Imports, Instance};
use crate::record::{Journal, Kind, NoteRecord};
use std::collections::VecDeque;
use std::time::Duration;
use wharf_core::model::{Binary, EventKind, Exit, Framing, NextTurn, OutputStream, Turn};
use wharf_core::stream::frame::{Framer, Item};
use wharf_core::stream::{StreamedEvent, Tail};
use wharf_core::turn::{Action, AdapterInput, Delivery, Driver, Effect, EndFacts, EventSink, Input, TurnResult};

/// How many bytes of the end of each stream are kept as evidence.
const TAIL: usize = 16 << 10;

/// Everything that is needed to create a fresh instance for the same turn.
pub(crate) struct TurnContext {
    pub(crate) adapter: Adapter,
    pub(crate) turn: Turn,
    pub(crate) binary: Binary,
    pub(crate) framing: Framing,
    pub(crate) frame_limit: usize,
}

impl TurnContext {
    /// A fresh instance that has built its arguments and its prompt, as the first one had.
    pub(super) async fn instance(&self, imports: Option<Imports>) -> Result<Instance, Fault> {
        let mut instance = Instance::start(self.adapter.component(), imports).await?;
        let _ = instance.build_args(&self.turn, &self.binary).await?;
        let _ = instance.build_prompt(&self.turn, &self.binary).await?;
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
    /// For stdout and stderr.
    pub(super) framers: [Framer; 2],
    tails: [Tail; 2],
    driver: Driver,
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
        let framers = context.framers();
        let tails = [Tail::new(TAIL), Tail::new(TAIL)];
        Exchange { context, guest: Some(guest), framers, tails, driver, ended: false, applied: 0, skip: 0 }
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

    /// The agent wrote something, from which secrets were removed.
    pub(crate) async fn output(&mut self, stderr: bool, bytes: &[u8], io: &mut Io<'_>) -> Vec<Action> {
        io.journal.record(if stderr { Kind::Stderr } else { Kind::Stdout }, io.now, bytes);
        let mut actions = self.decide(Input::Output, io);
        let stream = usize::from(stderr);
        self.tails[stream].push(bytes);
        self.framers[stream].push(bytes);
        self.parse(stderr, io, &mut actions).await;
        self.flush(actions, io).await
    }

    /// Both streams have ended.
    pub(crate) async fn end_of_output(&mut self, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        self.ended = true;
        for stderr in [false, true] {
            self.framers[usize::from(stderr)].finish();
            self.parse(stderr, io, &mut actions).await;
        }
        self.flush(actions, io).await
    }

    /// Something happened to the turn.
    pub(crate) async fn input(&mut self, input: Input, io: &mut Io<'_>) -> Vec<Action> {
        let actions = self.decide(input, io);
        self.flush(actions, io).await
    }

    /// The process has exited: the adapter's last chance to report something.
    pub(crate) async fn finish(&mut self, exit: Exit, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = self.end_of_output(io).await;
        io.journal.record_text(Kind::Exit, io.now, &serde_json::json!(exit).to_string());
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
        let actions = self.flush(actions, io).await;
        // Not recorded: a replay comes to the same conclusion.
        self.driver.check_session(io.now, io.sink);
        actions
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
        if let AdapterInput::Answer(answered) = input {
            let event = EventKind::AskAnswered(answered.clone());
            actions.extend(self.decide(Input::Recorded(Box::new(event)), io));
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

    /// Passes the complete frames of a stream to the adapter.
    async fn parse(&mut self, stderr: bool, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        while let Some(item) = self.framers[usize::from(stderr)].take() {
            let Some(mut guest) = self.guest.take() else { continue };
            let fed = self.feed(&mut guest, stderr, item, io, actions).await;
            self.guest = Some(guest);
            if let Err(fault) = fed {
                self.recover(fault, io, actions).await;
            }
        }
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
        self.driver.apply(effect, io.now, actions, io.sink);
    }

    /// Sends the driver's inputs to the adapter until there are no more. Returns the other actions.
    async fn flush(&mut self, actions: Vec<Action>, io: &mut Io<'_>) -> Vec<Action> {
        // Most output requires no input to the adapter.
        let sends = actions.iter().any(|action| matches!(action, Action::Send(_)));
        let (pending, mut done) = if sends { (actions, vec![]) } else { (vec![], actions) };
        let mut pending = VecDeque::from(pending);
        loop {
            let Some(action) = pending.pop_front() else {
                // Everything available was handled: now rules answer what they can, which may cause more inputs.
                pending.extend(self.decide(Input::Flush, io));
                if pending.is_empty() {
                    return done;
                }
                continue;
            };
            if let Action::Send(input) = action {
                let more = self.send(input, io).await;
                more.into_iter().rev().for_each(|action| pending.push_front(action));
            } else {
                done.push(action);
            }
        }
    }

    /// Sends an input to the adapter, and reports the result to the driver.
    async fn send(&mut self, input: AdapterInput, io: &mut Io<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        io.journal.record_text(Kind::Input, io.now, &serde_json::json!(input).to_string());
        let mut sink = Watching { sink: io.sink, notice: false, turn_ended: false };
        let mut watched = Io { now: io.now, journal: io.journal, sink: &mut sink };
        if let Some(guest) = &mut self.guest {
            let effects = guest.handle(&input).await;
            if let Err(fault) = effects.and_then(|effects| self.apply_all(effects, &mut watched, &mut actions)) {
                self.recover(fault, &mut watched, &mut actions).await;
            }
        }
        let explained = sink.notice || (sink.turn_ended && matches!(input, AdapterInput::NextTurn(_)));
        let wrote = actions.iter().any(|action| matches!(action, Action::Write(_) | Action::CloseStdin));
        actions.extend(self.decide(Input::Delivered(Delivery { input, wrote, explained }), io));
        actions
    }

    pub(super) fn give_up(&mut self, fault: &Fault, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        self.guest = None;
        actions.extend(self.decide(Input::AdapterFailed(format!("the adapter failed {fault}")), io));
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

/// Observes whether the adapter explained what it did with an input.
struct Watching<'a> {
    sink: &'a mut (dyn EventSink + Send),
    notice: bool,
    turn_ended: bool,
}

impl EventSink for Watching<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        if let StreamedEvent::Other(event) = &event {
            self.notice |= matches!(**event, EventKind::Notice { .. });
            self.turn_ended |= matches!(**event, EventKind::TurnEnded(_));
        }
        self.sink.emit(event, at);
    }
}

pub(super) fn note_event(event: &EventKind, journal: &mut Journal, now: Duration) {
    let note = NoteRecord::Event(Box::new(event.clone()));
    journal.record_text(Kind::Note, now, &serde_json::json!(note).to_string());
}

#[cfg(all(test, feature = "bundled"))]
#[path = "exchange_tests.rs"]
mod tests;

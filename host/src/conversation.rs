//! An adapter in a turn: what the agent wrote goes in, what shall be done comes out. A run and a replay both go through
//! here, which is why they give the same events.
//!
//! When the adapter traps, a fresh instance is fed everything from the recording, what it wants to happen a second time
//! is dropped, and the turn goes on. When that traps too, the adapter is at its end; the agent is told to stop. The
//! fresh instance is fed one frame at a time: what an adapter says of the frames before the one that it traps at does
//! not depend on how many of them came together.

use crate::adapter::Adapter;
use crate::bindings::types;
use crate::driver::{Action, Driver, Input, Reply};
use crate::event::{Event, Exit};
use crate::frame::{Framer, Frames, Framing, Item};
use crate::info::{Binary, Level};
use crate::instance::{Effects, Fault, Instance};
use crate::journal::Journal;
use crate::lift::Effect;
use crate::recording::{Kind, RecordingReader};
use crate::replay::NoteRecord;
use crate::services::Services;
use crate::turn::{NextTurn, Turn};
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

/// How much of each stream's end is kept as evidence.
const TAIL: usize = 16 << 10;

/// Where bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Stdout,
    Stderr,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Origin::Stdout => "stdout",
            Origin::Stderr => "stderr",
        }
    }

    fn wit(self) -> types::Origin {
        match self {
            Origin::Stdout => types::Origin::Stdout,
            Origin::Stderr => types::Origin::Stderr,
        }
    }
}

/// What makes a fresh instance for the same turn.
pub(crate) struct Opening {
    pub(crate) adapter: Adapter,
    pub(crate) turn: Turn,
    pub(crate) binary: Binary,
    pub(crate) framing: Framing,
    pub(crate) frame_limit: usize,
}

impl Opening {
    /// A fresh instance that has built its arguments and its prompt, as the first one had.
    async fn instance(&self, services: Option<Services>) -> Result<Instance, Fault> {
        let mut instance = Instance::start(&self.adapter, services).await?;
        let _ = instance.build_args(&self.turn, &self.binary).await?;
        let _ = instance.build_prompt(&self.turn, &self.binary).await?;
        Ok(instance)
    }

    fn framers(&self) -> [Framer; 2] {
        [Framer::new(self.framing, self.frame_limit), Framer::new(Framing::Lines, self.frame_limit)]
    }
}

/// An adapter in a turn.
pub(crate) struct Conversation {
    opening: Opening,
    /// Gone when the adapter is at its end.
    instance: Option<Instance>,
    /// Of stdout and stderr.
    framers: [Framer; 2],
    tails: [VecDeque<u8>; 2],
    driver: Driver,
    /// Both streams have ended.
    ended: bool,
    /// How many effects have been carried out.
    done: u64,
    /// How many of the next effects have been carried out before, by the instance that trapped.
    skip: u64,
}

impl Conversation {
    /// With an instance that has built its arguments and its prompt.
    pub(crate) fn new(opening: Opening, instance: Instance, driver: Driver) -> Conversation {
        let framers = opening.framers();
        Conversation {
            opening,
            instance: Some(instance),
            framers,
            tails: Default::default(),
            driver,
            ended: false,
            done: 0,
            skip: 0,
        }
    }

    pub(crate) fn driver(&mut self) -> &mut Driver {
        &mut self.driver
    }

    /// The turn that the process was started for, with a caller's changes.
    pub(crate) fn changed(&self, change: NextTurn) -> Turn {
        let turn = &self.opening.turn;
        Turn {
            prompt: change.prompt,
            model: change.model.or_else(|| turn.model.clone()),
            approvals: change.approvals.unwrap_or(turn.approvals),
            ..turn.clone()
        }
    }

    /// The agent wrote something, from which secrets are gone.
    pub(crate) async fn output(&mut self, origin: Origin, bytes: &[u8], journal: &mut Journal) -> Vec<Action> {
        journal.record(if origin == Origin::Stdout { Kind::Stdout } else { Kind::Stderr }, bytes);
        let mut actions = self.driver.handle(Input::Output, journal.now());
        self.keep_tail(origin, bytes);
        self.framers[origin as usize].push(bytes);
        self.parse(origin, journal, &mut actions).await;
        self.settle(actions, journal).await
    }

    /// Both streams have ended.
    pub(crate) async fn end_of_output(&mut self, journal: &mut Journal) -> Vec<Action> {
        let mut actions = Vec::new();
        self.ended = true;
        for origin in [Origin::Stdout, Origin::Stderr] {
            self.framers[origin as usize].finish();
            self.parse(origin, journal, &mut actions).await;
        }
        self.settle(actions, journal).await
    }

    /// Something happened to the turn.
    pub(crate) async fn input(&mut self, input: Input, journal: &mut Journal) -> Vec<Action> {
        let actions = self.driver.handle(input, journal.now());
        // A replay gives the events that come from the agent by itself; those that come from here it must be told.
        for action in &actions {
            if let Action::Emit(event) = action
                && !matches!(event, Event::AskAnswered { .. })
            {
                note_event(event, journal);
            }
        }
        self.settle(actions, journal).await
    }

    /// A reply of a recording: it is said again, and the driver is not asked.
    pub(crate) async fn replay_reply(&mut self, reply: &Reply, journal: &mut Journal) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Reply::Answer { ask, choice, by, .. } = reply {
            let event = Event::AskAnswered { id: ask.clone(), choice: choice.clone(), by: by.clone() };
            actions.push(Action::Emit(event));
        }
        if let Some(instance) = &mut self.instance {
            let effects = instance.respond(&wit_reply(reply)).await;
            if let Err(fault) = effects.and_then(|effects| self.take(effects, journal, &mut actions)) {
                self.give_up(&fault, journal, &mut actions);
            }
        }
        actions
    }

    /// The process is gone: the adapter's last words.
    pub(crate) async fn finish(&mut self, exit: Exit, journal: &mut Journal) -> Vec<Action> {
        let mut actions = self.end_of_output(journal).await;
        journal.record_text(Kind::Exit, &serde_json::json!(exit).to_string());
        self.driver.exited(exit);
        if let Some(instance) = &mut self.instance {
            let result = instance.finish(exit).await;
            for answer in instance.take_answers() {
                journal.record_text(Kind::HostAnswer, &answer);
            }
            if let Err(fault) = result.and_then(|effects| self.take(effects, journal, &mut actions)) {
                self.give_up(&fault, journal, &mut actions);
            }
        }
        if self.driver.needs_parse_error()
            && let Some(instance) = &mut self.instance
        {
            let evidence = types::Evidence {
                exit: types::ExitStatus { code: exit.code, signal: exit.signal },
                stdout_tail: text_of(&mut self.tails[0]),
                stderr_tail: text_of(&mut self.tails[1]),
            };
            match instance.parse_error(&evidence).await {
                Ok(failure) => self.driver.facts_mut().parsed = failure,
                Err(fault) => self.give_up(&fault, journal, &mut actions),
            }
        }
        self.settle(actions, journal).await
    }

    fn keep_tail(&mut self, origin: Origin, bytes: &[u8]) {
        let tail = &mut self.tails[origin as usize];
        let bytes = &bytes[bytes.len().saturating_sub(TAIL)..];
        let over = (tail.len() + bytes.len()).saturating_sub(TAIL);
        tail.drain(..over.min(tail.len()));
        tail.extend(bytes);
    }

    /// What is whole of a stream goes to the adapter.
    async fn parse(&mut self, origin: Origin, journal: &mut Journal, actions: &mut Vec<Action>) {
        while let Some(item) = self.framers[origin as usize].take() {
            let Some(mut instance) = self.instance.take() else { continue };
            let fed = self.feed(&mut instance, origin, item, journal, actions).await;
            self.instance = Some(instance);
            if let Err(fault) = fed {
                self.recover(fault, journal, actions).await;
            }
        }
    }

    /// One item goes to the adapter, and what it makes of it to the driver.
    async fn feed(
        &mut self,
        instance: &mut Instance,
        origin: Origin,
        item: Item,
        journal: &Journal,
        actions: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let effects = match item {
            Item::Batch(batch) => {
                let data = match batch.data {
                    Frames::Text(text) => types::Frames::Text(text),
                    Frames::Bytes(bytes) => types::Frames::Bytes(bytes),
                };
                instance.parse_chunk(types::Chunk { origin: origin.wit(), offset: batch.offset, data }).await?
            }
            Item::Oversized { length, head, .. } => {
                let event = Event::Oversized { origin: origin.name().to_owned(), length, head: head.clone() };
                let reply = types::Reply::Oversized(types::Oversized { origin: origin.wit(), length, head });
                let effects = instance.respond(&reply).await?;
                self.take_one(Effect::Emit(Box::new(event)), journal.now(), actions);
                effects
            }
            Item::Broken { head, .. } => {
                self.take_one(Effect::Emit(Box::new(Event::Malformed { head })), journal.now(), actions);
                return Ok(());
            }
        };
        self.take(effects, journal, actions)
    }

    /// Effects that were not carried out before go to the driver.
    fn take(&mut self, effects: Effects, journal: &Journal, actions: &mut Vec<Action>) -> Result<(), Fault> {
        let now = journal.now();
        effects.try_each(|effect| self.take_one(effect, now, actions))
    }

    fn take_one(&mut self, effect: Effect<'_>, now: Duration, actions: &mut Vec<Action>) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.done += 1;
        self.driver.effect(effect, now, actions);
    }

    /// Say to the adapter what the driver wants said, until there is nothing more to say.
    async fn settle(&mut self, actions: Vec<Action>, journal: &mut Journal) -> Vec<Action> {
        // Most of what an agent writes needs no word to the adapter, and goes on as it is.
        let told = actions.iter().any(|action| matches!(action, Action::Tell(_)));
        let (pending, mut settled) = if told { (actions, vec![]) } else { (vec![], actions) };
        let mut pending = VecDeque::from(pending);
        loop {
            let Some(action) = pending.pop_front() else {
                // All that was there has been taken in: now rules answer what they can, which may bring more.
                pending.extend(self.driver.handle(Input::Settle, journal.now()));
                if pending.is_empty() {
                    break;
                }
                continue;
            };
            let Action::Tell(reply) = action else {
                settled.push(action);
                continue;
            };
            let mut more = Vec::new();
            journal.record_text(Kind::Reply, &serde_json::json!(reply).to_string());
            if let Some(instance) = &mut self.instance {
                let effects = instance.respond(&wit_reply(&reply)).await;
                if let Err(fault) = effects.and_then(|effects| self.take(effects, journal, &mut more)) {
                    self.recover(fault, journal, &mut more).await;
                }
            }
            self.delivered(reply, journal, &mut more);
            more.into_iter().rev().for_each(|action| pending.push_front(action));
        }
        settled
    }

    /// What the adapter made of a reply decides whether it counts as passed on.
    fn delivered(&mut self, reply: Reply, journal: &mut Journal, actions: &mut Vec<Action>) {
        let wrote = actions.iter().any(|action| matches!(action, Action::Write(_) | Action::CloseStdin));
        let input = match reply {
            Reply::Cancel => Input::CancelDelivered { wrote },
            Reply::Message(text) => {
                let explained = actions.iter().any(|action| matches!(action, Action::Emit(Event::Notice { .. })));
                Input::MessageDelivered { text, wrote, explained }
            }
            Reply::NextTurn(turn) => {
                let explains = |event: &Event| matches!(event, Event::Notice { .. } | Event::TurnEnd { .. });
                let explained = actions.iter().any(|action| matches!(action, Action::Emit(event) if explains(event)));
                Input::NextTurnDelivered { prompt: turn.prompt, wrote, explained }
            }
            Reply::Start | Reply::Answer { .. } | Reply::Timer(_) => return,
        };
        for action in self.driver.handle(input, journal.now()) {
            if let Action::Emit(event) = &action {
                note_event(event, journal);
            }
            actions.push(action);
        }
    }

    /// A fresh instance, fed from the recording up to here.
    async fn recover(&mut self, fault: Fault, journal: &mut Journal, actions: &mut Vec<Action>) {
        let Some(path) = journal.path().map(Path::to_owned) else {
            return self.give_up(&fault, journal, actions);
        };
        journal.record_text(Kind::Restart, &fault.to_string());
        let services = self.instance.take().and_then(|mut broken| broken.services().map(std::mem::take));
        match self.refeed(&path, services, journal, actions).await {
            Ok(instance) => {
                self.instance = Some(instance);
                let text = format!("the adapter was started again after a fault: {fault}");
                let event = Event::Notice { level: Level::Warn, text };
                note_event(&event, journal);
                actions.push(Action::Emit(event));
            }
            Err(again) => self.give_up(&again, journal, actions),
        }
    }

    async fn refeed(
        &mut self,
        path: &Path,
        services: Option<Services>,
        journal: &mut Journal,
        actions: &mut Vec<Action>,
    ) -> Result<Instance, Fault> {
        let unreadable = |why: String| Fault { call: "recovery", why, stderr: String::new() };
        let mut instance = self.opening.instance(services).await?;
        let mut framers = self.opening.framers();
        self.skip = self.done;
        let reader = RecordingReader::open(path).map_err(|why| unreadable(why.to_string()))?;
        for record in reader {
            let record = record.map_err(|why| unreadable(why.to_string()))?;
            let origin = match record.kind {
                Kind::Stdout => Origin::Stdout,
                Kind::Stderr => Origin::Stderr,
                Kind::Reply => {
                    if let Ok(reply) = serde_json::from_slice::<Reply>(&record.payload) {
                        let effects = instance.respond(&wit_reply(&reply)).await?;
                        self.take(effects, journal, actions)?;
                    }
                    continue;
                }
                Kind::Truncated => return Err(unreadable("the recording has not kept everything".to_owned())),
                _ => continue,
            };
            for piece in pieces(&record.payload) {
                framers[origin as usize].push(piece);
                while let Some(item) = framers[origin as usize].take() {
                    self.feed(&mut instance, origin, item, journal, actions).await?;
                }
            }
        }
        if self.ended {
            for origin in [Origin::Stdout, Origin::Stderr] {
                framers[origin as usize].finish();
                while let Some(item) = framers[origin as usize].take() {
                    self.feed(&mut instance, origin, item, journal, actions).await?;
                }
            }
        }
        self.framers = framers;
        Ok(instance)
    }

    fn give_up(&mut self, fault: &Fault, journal: &Journal, actions: &mut Vec<Action>) {
        self.instance = None;
        actions.extend(self.driver.handle(Input::Fault(format!("the adapter failed {fault}")), journal.now()));
    }
}

/// Pieces of a stream that end at most one frame each, whatever the framing.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn note_event(event: &Event, journal: &mut Journal) {
    let note = NoteRecord::Event(Box::new(event.clone()));
    journal.record_text(Kind::Note, &serde_json::json!(note).to_string());
}

fn wit_reply(reply: &Reply) -> types::Reply {
    match reply {
        Reply::Start => types::Reply::Start,
        Reply::Answer { ask, choice, text, input, by: _ } => types::Reply::Answer(types::Answer {
            ask: ask.clone(),
            choice: choice.clone(),
            text: text.clone(),
            input: input.as_ref().map(serde_json::Value::to_string),
        }),
        Reply::Message(text) => types::Reply::Message(text.clone()),
        Reply::NextTurn(turn) => types::Reply::NextTurn((&**turn).into()),
        Reply::Timer(number) => types::Reply::Timer(*number),
        Reply::Cancel => types::Reply::Cancel,
    }
}

/// A tail from its first whole line on, where it was cut.
fn text_of(tail: &mut VecDeque<u8>) -> String {
    let cut = tail.len() >= TAIL;
    let bytes = tail.make_contiguous();
    let bytes = if cut { memchr::memchr(b'\n', bytes).map_or(&*bytes, |at| &bytes[at + 1..]) } else { bytes };
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;

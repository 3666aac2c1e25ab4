//! Recovery from a trap: the recording is replayed into a fresh instance, effects that were applied before are skipped,
//! and the turn continues. If that traps too, the adapter has failed, and the agent is stopped.
//!
//! The fresh instance gets one frame at a time: what an adapter reports about the frames before the one at which it
//! traps does not depend on how many of them came together.

use super::exchange::{Exchange, Io, note_event};
use crate::guest::{Fault, Imports, Instance};
use crate::record::{Kind, Playback, Step, single_frames};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use wharf_core::model::{EventKind, LogLevel};
use wharf_core::stream::{Lines, StreamedEvent};
use wharf_core::turn::{Action, EventSink};

/// How many bytes of new events and writes a recovery may produce, beside what the largest frames need. What came before
/// the trap is skipped, so they belong to the few frames at which the adapter trapped. Nothing is handed over before the
/// recovery is over.
const NEW_BYTES: usize = 64 << 20;

impl Exchange {
    /// Replaces the adapter by a fresh instance that is fed from the recording so far.
    pub(super) async fn recover(&mut self, fault: Fault, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        let Some(path) = io.journal.path().map(Path::to_owned) else {
            return self.give_up(&fault, io, actions);
        };
        io.journal.record_text(Kind::Restart, io.now, &fault.to_string());
        let imports = self.guest.take().and_then(|mut broken| broken.imports().map(std::mem::take));
        match self.replay_into_fresh(&path, imports, io, actions).await {
            Ok(instance) => {
                self.guest = Some(instance);
                let text = format!("the adapter was restarted after a fault: {fault}");
                let event = EventKind::notice(LogLevel::Warn, text);
                note_event(&event, io.journal, io.now);
                io.sink.emit(event.into(), io.now);
            }
            Err(again) => self.give_up(&again, io, actions),
        }
    }

    async fn replay_into_fresh(
        &mut self,
        path: &Path,
        imports: Option<Imports>,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Instance, Fault> {
        let events = AtomicUsize::new(0);
        let mut limit = NewBytes { limit: self.new_bytes_limit(), events: &events, writes: 0, seen: actions.len() };
        let mut sink = Counting { sink: io.sink, bytes: &events };
        let io = &mut Io { now: io.now, journal: io.journal, sink: &mut sink };
        let unreadable = |error: crate::error::Error| Fault::new("recovery", error.to_string());
        let mut guest = self.context.instance(imports).await?;
        self.framers = self.context.framers();
        self.skip = self.applied;
        let mut playback = Playback::open(path).map_err(unreadable)?;
        while let Some((_, step)) = playback.next().map_err(unreadable)? {
            match step {
                Step::Output { stderr, bytes } => {
                    for piece in single_frames(&bytes) {
                        self.framers[usize::from(stderr)].push(piece);
                        self.feed_frames(&mut guest, stderr, io, actions).await?;
                        limit.check(actions)?;
                    }
                }
                Step::Input(input) => {
                    let effects = guest.handle(&input).await?;
                    self.apply_all(effects, io, actions)?;
                    limit.check(actions)?;
                }
                Step::Truncated => return Err(Fault::new("recovery", "the recording is truncated")),
                Step::HostAnswer(_) | Step::Note(_) | Step::Exit(_) => {}
            }
        }
        if self.ended {
            for stderr in [false, true] {
                self.framers[usize::from(stderr)].finish();
                self.feed_frames(&mut guest, stderr, io, actions).await?;
                limit.check(actions)?;
            }
        }
        Ok(guest)
    }

    fn new_bytes_limit(&self) -> usize {
        NEW_BYTES.saturating_add(self.context.frame_limit.saturating_mul(4))
    }

    async fn feed_frames(
        &mut self,
        guest: &mut Instance,
        stderr: bool,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        while let Some(item) = self.framers[usize::from(stderr)].take() {
            self.feed(guest, stderr, item, io, actions).await?;
        }
        Ok(())
    }
}

/// What a recovery has produced so far.
struct NewBytes<'a> {
    limit: usize,
    events: &'a AtomicUsize,
    writes: usize,
    /// How many of the actions were counted.
    seen: usize,
}

impl NewBytes<'_> {
    fn check(&mut self, actions: &[Action]) -> Result<(), Fault> {
        let length = |action: &Action| if let Action::Write(bytes) = action { bytes.len() } else { 0 };
        self.writes += actions.iter().skip(self.seen).map(length).sum::<usize>();
        self.seen = actions.len();
        if self.events.load(Ordering::Relaxed).saturating_add(self.writes) <= self.limit {
            return Ok(());
        }
        let reason = format!("the restarted adapter produced more than {} bytes of new events and writes", self.limit);
        Err(Fault::new("recovery", reason))
    }
}

/// Counts the bytes of the events that pass.
struct Counting<'a> {
    sink: &'a mut (dyn EventSink + Send),
    bytes: &'a AtomicUsize,
}

impl EventSink for Counting<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        let mut line = Lines::default();
        line.push(0, at, &event);
        self.bytes.fetch_add(line.bytes.len(), Ordering::Relaxed);
        self.sink.emit(event, at);
    }
}

//! Recovery from a trap: the recording is replayed into a fresh instance, effects that were applied before are skipped,
//! and the turn continues. If that traps too, the adapter has failed, and the agent is stopped.
//!
//! The fresh instance gets one frame at a time: what an adapter reports about the frames before the one at which it
//! traps does not depend on how many of them came together. Each frame is a step of its own, like everything that the
//! adapter is called for.

use super::exchange::{Exchange, Io, note_event};
use super::queue::size;
use super::recovery::{Output, Recovery};
use crate::guest::Fault;
use crate::record::{Kind, Playback, Step};
use std::path::Path;
use std::time::Duration;
use wharf_core::model::{EventKind, LogLevel};
use wharf_core::stream::StreamedEvent;
use wharf_core::stream::frame::Framer;
use wharf_core::turn::{Action, EventSink};

impl Exchange {
    /// Begins to replace the adapter by a fresh instance that is fed from the recording so far.
    pub(super) fn recover(&mut self, fault: Fault, io: &mut Io<'_>, actions: &mut Vec<Action>) {
        let Some(path) = io.journal.path().map(Path::to_owned) else {
            self.give_up(&fault, io, actions);
            return self.sent(io, actions);
        };
        io.journal.record_text(Kind::Restart, io.now, &fault.to_string());
        let imports = self.guest.take().and_then(|mut broken| broken.imports().map(std::mem::take));
        self.recovery = Some(Box::new(Recovery::new(fault, path, imports, self.context.frame_limit)));
    }

    /// Feeds the fresh instance once.
    pub(super) async fn continue_recovery(
        &mut self,
        mut recovery: Box<Recovery>,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) {
        match self.feed_fresh(&mut recovery, io, actions).await {
            Ok(true) => {
                self.recovery = Some(recovery);
                return;
            }
            Ok(false) => {
                self.guest = recovery.fresh.map(|(instance, _)| instance);
                let text = format!("the adapter was restarted after a fault: {}", recovery.fault);
                let event = EventKind::notice(LogLevel::Warn, text);
                note_event(&event, io.journal, io.now);
                io.sink.emit(event.into(), io.now);
            }
            Err(again) => self.give_up(&again, io, actions),
        }
        self.sent(io, actions);
    }

    /// Returns whether there is more to feed.
    async fn feed_fresh(
        &mut self,
        recovery: &mut Recovery,
        io: &mut Io<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<bool, Fault> {
        let unreadable = |error: crate::error::Error| Fault::new("recovery", error.to_string());
        let Recovery { fresh, output, ended, bytes, limit, .. } = recovery;
        let Some((guest, playback)) = fresh else {
            let instance = self.context.instance(recovery.imports.take()).await?;
            *fresh = Some((instance, Playback::open(&recovery.path).map_err(unreadable)?));
            self.framers = self.context.framers();
            self.skip = self.applied;
            return Ok(true);
        };
        let mut sink = Counting { sink: io.sink, bytes };
        let io = &mut Io { now: io.now, journal: io.journal, sink: &mut sink };
        loop {
            if let Some((stderr, item)) = self.next_item() {
                self.feed(guest, stderr, item, io, actions).await?;
                break;
            }
            let framer = &mut self.framers[usize::from(output.stderr)];
            if let Some(piece) = output.next_piece() {
                framer.push(piece);
                continue;
            }
            match playback.next().map_err(unreadable)? {
                Some((_, Step::Output { stderr, bytes })) => *output = Output::new(stderr, bytes),
                Some((_, Step::Input(input))) => {
                    let effects = guest.handle(&input).await?;
                    self.apply_all(effects, io, actions)?;
                    break;
                }
                Some((_, Step::Truncated)) => return Err(Fault::new("recovery", "the recording is truncated")),
                Some((_, Step::HostAnswer(_) | Step::Note(_) | Step::Exit(_))) => {}
                None if self.ended && !*ended => {
                    *ended = true;
                    self.framers.iter_mut().for_each(Framer::finish);
                }
                None => return Ok(false),
            }
        }
        let written = |action: &Action| if let Action::Write(bytes) = action { bytes.len() } else { 0 };
        *bytes += actions.iter().map(written).sum::<usize>();
        if *bytes > *limit {
            let reason = format!("the restarted adapter produced more than {limit} bytes of new events and writes");
            return Err(Fault::new("recovery", reason));
        }
        Ok(true)
    }
}

/// Counts the bytes of the events that pass.
struct Counting<'a> {
    sink: &'a mut (dyn EventSink + Send),
    bytes: &'a mut usize,
}

impl EventSink for Counting<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        *self.bytes += size(&event, at);
        self.sink.emit(event, at);
    }
}

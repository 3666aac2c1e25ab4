//! Plays a recording to an adapter and collects what comes out.

use crate::error::Result;
use crate::guest::{Adapter, Imports, Instance};
use crate::launch::plan_unchecked;
use crate::record::{EndRecord, Journal, LaunchRecord, NoteRecord, Playback, Step, single_frames};
use crate::run::{Exchange, Io, TurnContext};
use std::path::Path;
use std::time::Duration;
use wharf_core::model::{Event, EventKind, Exit, Report};
use wharf_core::stream::{Secrets, StreamedEvent};
use wharf_core::turn::{Action, AdapterInput, Driver, DriverConfig, EventSink, Input, Timeouts};

/// What was replayed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The events, the last of which is the report.
    pub events: Vec<Event>,
    /// What the adapter wrote to the agent.
    pub written: Vec<u8>,
    /// Whether the recording is incomplete.
    pub torn: bool,
}

impl Replayed {
    /// How it ended.
    pub fn report(&self) -> Option<&Report> {
        match self.events.last().map(|event| &event.kind) {
            Some(EventKind::Report(report)) => Some(report),
            _ => None,
        }
    }
}

/// Plays a recording to an adapter, so many bytes at once.
pub(crate) async fn recording(adapter: &Adapter, path: &Path, chunk: Option<usize>) -> Result<Replayed> {
    let (replayed, faulty) = play(adapter, path, chunk, false).await?;
    // As in a run: what is reported before the frame at which an adapter traps does not depend on the chunks.
    if faulty { Ok(play(adapter, path, chunk, true).await?.0) } else { Ok(replayed) }
}

async fn play(adapter: &Adapter, path: &Path, chunk: Option<usize>, single: bool) -> Result<(Replayed, bool)> {
    let launch = LaunchRecord::read(path)?;
    let mut player = Player::open(adapter, &launch, chunk, single, true).await?;
    let mut playback = Playback::open(path)?;
    let mut exit = (Exit::default(), Duration::ZERO);
    let mut end = EndRecord::default();
    while let Some((now, step)) = playback.next()? {
        player.now = now;
        match step {
            Step::Output { stderr, bytes } => player.output(stderr, &bytes).await,
            Step::Input(input) => player.input(&input).await,
            Step::HostAnswer(answer) => player.exchange.replay_host_answer(answer),
            Step::Note(NoteRecord::Event(event)) => player.recorded(event),
            Step::Note(NoteRecord::End(record)) => end = record,
            Step::Exit(code) => {
                exit = (code, now);
                player.end_of_output(code).await;
            }
            Step::Truncated => {}
        }
    }
    let (mut replayed, faulty) = player.end(exit.0, exit.1, &end).await;
    replayed.torn = playback.is_torn();
    if let Some(Event { kind: EventKind::Report(report), .. }) = replayed.events.last_mut() {
        report.run = Some(launch.started.run);
    }
    Ok((replayed, faulty))
}

/// Collects events, numbered.
#[derive(Default)]
struct Events(Vec<Event>);

impl EventSink for Events {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        self.0.push(Event::new(self.0.len() as u64 + 1, at, event.into_kind()));
    }
}

/// Plays to an adapter.
pub(super) struct Player {
    exchange: Exchange,
    journal: Journal,
    events: Events,
    written: Vec<u8>,
    /// The time of the current step.
    now: Duration,
    chunk: Option<usize>,
    /// One frame at a time.
    single: bool,
}

impl Player {
    pub(super) async fn open(
        adapter: &Adapter,
        launch: &LaunchRecord,
        chunk: Option<usize>,
        single: bool,
        timed: bool,
    ) -> Result<Player> {
        let mut instance = Instance::start(adapter.component(), Some(Imports::replaying())).await?;
        let transport = launch.transport();
        let _ = plan_unchecked(&adapter.info().id, &mut instance, &launch.turn, &launch.binary, &transport).await?;
        let driver = Driver::new(DriverConfig {
            // Timeouts do not expire in a replay: what they did is in the recording.
            timeouts: Timeouts::none(),
            exit_behavior: launch.exit_behavior,
            // Whether another turn came is in the recording too.
            keep_alive: true,
            session: launch.turn.session.clone(),
            structured_output: launch.turn.expects_structured_output(&launch.started.unsupported),
            unsupported: launch.started.unsupported.clone(),
            used_before: launch.used_before.clone(),
            prices: launch.prices.clone(),
            timed,
            replay: true,
            ..DriverConfig::default()
        });
        let context = TurnContext {
            transport: launch.started.agent.transport.clone(),
            adapter: adapter.clone(),
            turn: launch.turn.clone(),
            binary: launch.binary.clone(),
            framing: launch.framing,
            frame_limit: launch.frame_limit,
        };
        let mut player = Player {
            exchange: Exchange::new(context, instance, driver),
            journal: Journal::new(None, Secrets::default()),
            events: Events::default(),
            written: vec![],
            now: Duration::ZERO,
            chunk,
            single,
        };
        player.recorded(Box::new(EventKind::RunStarted(Box::new(launch.started.clone()))));
        Ok(player)
    }

    pub(super) async fn output(&mut self, stderr: bool, bytes: &[u8]) {
        for chunk in bytes.chunks(self.chunk.unwrap_or(usize::MAX).max(1)) {
            let pieces: Vec<&[u8]> = if self.single { single_frames(chunk).collect() } else { vec![chunk] };
            for piece in pieces {
                let Player { exchange, journal, events, now, .. } = self;
                let mut io = Io { now: *now, journal, sink: events };
                exchange.output(stderr, piece, &mut io);
                let actions = exchange.settle(&mut io).await;
                self.collect(actions);
            }
        }
    }

    pub(super) async fn input(&mut self, input: &AdapterInput) {
        let Player { exchange, journal, events, now, .. } = self;
        let actions = exchange.replay_input(input, &mut Io { now: *now, journal, sink: events }).await;
        self.collect(actions);
    }

    /// Replays an event that the host had added.
    fn recorded(&mut self, event: Box<EventKind>) {
        let Player { exchange, journal, events, now, .. } = self;
        let mut io = Io { now: *now, journal, sink: events };
        let actions = exchange.input(Input::Recorded(event), None, &mut io);
        self.collect(actions);
    }

    /// The agent has exited: what was incomplete until then is handled before whatever followed.
    async fn end_of_output(&mut self, exit: Exit) {
        let Player { exchange, journal, events, now, .. } = self;
        let mut io = Io { now: *now, journal, sink: events };
        exchange.end_of_output(exit, &mut io);
        let actions = exchange.settle(&mut io).await;
        self.collect(actions);
    }

    fn collect(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::Write(bytes) = action {
                self.written.extend(bytes);
            }
        }
    }

    /// The result, and whether the adapter failed.
    pub(super) async fn end(mut self, exit: Exit, at: Duration, end: &EndRecord) -> (Replayed, bool) {
        self.now = at;
        self.exchange.assume(end.facts.clone());
        // A capture, and the recording of a killed host, have no exit.
        self.end_of_output(exit).await;
        let Player { exchange, journal, events, now, .. } = &mut self;
        let mut io = Io { now: *now, journal, sink: events };
        let actions = exchange.finish(exit, &mut io).await;
        exchange.check_session(&mut io);
        self.collect(actions);
        let faulty = !self.exchange.has_guest();
        let mut report = self.exchange.result().report;
        report.killed.clone_from(&end.killed);
        self.events.emit(EventKind::Report(Box::new(report)).into(), at);
        (Replayed { events: self.events.0, written: self.written, torn: false }, faulty)
    }
}

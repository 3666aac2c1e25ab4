//! The loop of a run: waits for whatever happens next, lets the exchange handle it, and carries the actions out.
//!
//! A turn of the loop calls the adapter at most once. Whatever the adapter still has to do is work for later turns, and
//! before each of them the loop looks at the timeouts, the caller, the reader and the process.

use super::alarm::Alarm;
use super::batch::Batch;
use super::buffer::EventBuffer;
use super::clock::RunClock;
use super::control::{Command, Delivery, Request};
use super::exchange::{Exchange, Io};
use super::model_names::ModelNames;
use super::pipe::Pipe;
use super::stdin::Stdin;
use crate::record::{Ended, Journal, Kind};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wharf_core::model::{Exit, RunStarted, StopSignal};
use wharf_core::turn::{Action, Input};
use wharf_supervisor::{Cleanup, Process};

/// How long the pipes of an exited process are still read: something else may hold them open.
const DRAIN: Duration = Duration::from_secs(1);

/// How long the adapter may keep the host busy after the process has exited. It may have to be restarted then, from a
/// long recording.
const WORK_AFTER_EXIT: Duration = Duration::from_mins(1);

/// The same after the host has stopped the process.
const WORK_AFTER_STOP: Duration = Duration::from_secs(10);

/// What woke the loop.
enum Wake {
    Command(Command),
    /// All controllers were dropped.
    NoController,
    /// A batch was handed over, or nothing happened.
    Nothing,
    /// The reader of the events was dropped.
    Abandoned,
    Exited(Exit),
    Output {
        stderr: bool,
        bytes: Vec<u8>,
    },
    /// The adapter has something to do.
    Work,
    Alarm,
}

/// What the loop works with.
pub(crate) struct Parts {
    pub(crate) exchange: Exchange,
    pub(crate) journal: Journal,
    pub(crate) process: Process,
    pub(crate) clock: RunClock,
    pub(crate) started: Box<RunStarted>,
    /// What is written to the agent's stdin at the start.
    pub(crate) prompt: Vec<u8>,
    /// Whether stdin stays open after that.
    pub(crate) stdin_open: bool,
    /// The signal that stops the agent best.
    pub(crate) stop_signal: Option<StopSignal>,
    /// Whether the reader wants lines of JSON only.
    pub(crate) lines_only: bool,
    /// Called with the id of the session when the agent has named it.
    pub(crate) on_session: OnSession,
    pub(crate) model_names: ModelNames,
}

pub(crate) type OnSession = Box<dyn Fn(&str) + Send>;

/// A run that is set up.
pub(crate) struct EventLoop {
    pub(super) exchange: Exchange,
    pub(super) journal: Journal,
    pub(super) process: Process,
    pub(super) clock: RunClock,
    started: Option<Box<RunStarted>>,
    stop_signal: Option<StopSignal>,
    pub(super) stdin: Stdin,
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    alarm: Alarm,
    pub(super) buffer: EventBuffer,
    /// Batches that wait for space in the channel.
    pub(super) outbox: VecDeque<Batch>,
    on_session: OnSession,
    pub(super) model_names: ModelNames,
    /// The session that was named last.
    session: Option<String>,
    pub(super) events: mpsc::Sender<Batch>,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    pub(super) exit: Option<Exit>,
    /// After the exit: until when the pipes are read.
    drain_until: Option<Instant>,
    pub(super) cleanup: Option<Cleanup>,
    /// Whether there is a controller. One may outlive the reader of the events.
    pub(super) controlled: bool,
    /// Whether anybody reads the events.
    pub(super) read: bool,
    /// Commands that wait until the output before them was handled.
    pub(super) held: VecDeque<Command>,
    /// How long the adapter has worked since the process exited.
    busy: Duration,
    /// Whether something happened since the timeouts were last checked. An agent or an adapter that never
    /// pauses must not outrun them.
    active: bool,
}

impl EventLoop {
    pub(super) fn new(
        parts: Parts,
        events: mpsc::Sender<Batch>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> EventLoop {
        let Parts { exchange, mut journal, mut process, clock, started, prompt, stdin_open, lines_only, .. } = parts;
        let stdout = Pipe::new(process.take_stdout(), journal.secrets());
        let stderr = Pipe::new(process.take_stderr(), journal.secrets());
        let mut stdin = Stdin::new(process.take_stdin(), prompt.len());
        if !prompt.is_empty() {
            journal.record_bytes(Kind::Stdin, clock.now(), &prompt);
            stdin.write(prompt);
        }
        if !stdin_open {
            stdin.close();
        }
        EventLoop {
            exchange,
            journal,
            process,
            clock,
            started: Some(started),
            stop_signal: parts.stop_signal,
            stdin,
            stdout,
            stderr,
            alarm: Alarm::new(),
            buffer: EventBuffer::new(lines_only),
            outbox: VecDeque::new(),
            on_session: parts.on_session,
            model_names: parts.model_names,
            session: None,
            events,
            commands,
            exit: None,
            drain_until: None,
            cleanup: None,
            controlled: true,
            read: true,
            held: VecDeque::new(),
            busy: Duration::ZERO,
            active: false,
        }
    }

    /// Runs until the process has exited, its pipes are closed, and everything was handled.
    pub(super) async fn run(mut self) -> Ended {
        if let Some(started) = self.started.take() {
            self.input(Input::Started(started));
            self.work().await;
            self.report_models();
        }
        while self.is_live() {
            self.report_truncation();
            let deadline = self.deadline();
            if std::mem::take(&mut self.active) && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.tick();
                continue;
            }
            if !self.exchange.is_parsing()
                && let Some(command) = self.held.pop_front()
            {
                self.command(command);
                continue;
            }
            match self.wait(deadline).await {
                Wake::Nothing => {}
                Wake::NoController => self.controlled = false,
                Wake::Command(command) => self.take_command(command),
                Wake::Abandoned => {
                    self.read = false;
                    self.outbox.clear();
                    self.input(Input::Abandoned);
                }
                Wake::Exited(exit) => {
                    self.exit = Some(exit);
                    self.drain_until = Some(Instant::now() + DRAIN);
                }
                Wake::Output { stderr, bytes } => self.output(stderr, bytes).await,
                Wake::Work => {
                    // Work is always ready. The caller and the reader may be tasks of the same thread.
                    tokio::task::yield_now().await;
                    self.work().await;
                }
                Wake::Alarm => {
                    if self.ring().await {
                        break;
                    }
                }
            }
        }
        self.wrap_up().await
    }

    fn is_live(&self) -> bool {
        let process = self.stdout.is_open() || self.stderr.is_open() || self.exit.is_none();
        process || self.exchange.has_work() || !self.held.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.exchange.deadline().filter(|_| self.exit.is_none()).map(|at| self.clock.instant(at))
    }

    /// Waits for whatever happens next.
    async fn wait(&mut self, deadline: Option<Instant>) -> Wake {
        let room = self.outbox.is_empty();
        let work = self.exchange.has_work();
        // The reader may be waiting for what came of a command, instead of reading.
        let may_work = work && (room || self.exchange.is_urgent() || !self.held.is_empty());
        // Output may have to be answered: none is read while the agent leaves its earlier input unread.
        let read_output = room && !work && (self.stdin.has_room() || self.exit.is_some());
        // While nobody reads the events, the pipes are not read either, and what they contain is not given up. The
        // cleanup of leftover processes does not wait for that.
        let drained = self.drain_until.filter(|_| (room && !work) || self.cleanup.is_none());
        let wake = [deadline, drained].into_iter().flatten().min();
        self.alarm.set(wake);
        tokio::select! {
            biased;
            command = self.commands.recv(), if self.controlled => command.map_or(Wake::NoController, Wake::Command),
            permit = self.events.reserve(), if !room => match (permit, self.outbox.pop_front()) {
                (Ok(permit), Some(batch)) => {
                    permit.send(batch);
                    Wake::Nothing
                }
                (Ok(_), None) => Wake::Nothing,
                (Err(_), _) => Wake::Abandoned,
            },
            () = self.events.closed(), if room && self.exit.is_none() && self.read => Wake::Abandoned,
            status = self.process.wait(), if self.exit.is_none() => {
                Wake::Exited(Exit { code: status.code, signal: status.signal })
            }
            () = std::future::ready(()), if may_work => Wake::Work,
            () = self.stdin.room(), if room && !work && !read_output => Wake::Nothing,
            bytes = self.stdout.read(), if read_output && self.stdout.is_open() => Wake::Output { stderr: false, bytes },
            bytes = self.stderr.read(), if read_output && self.stderr.is_open() => Wake::Output { stderr: true, bytes },
            () = self.alarm.ring(), if wake.is_some() => {
                if wake.is_some_and(|wake| Instant::now() < wake) { Wake::Nothing } else { Wake::Alarm }
            }
        }
    }

    async fn output(&mut self, stderr: bool, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        exchange.output(stderr, &bytes, &mut Io { now: clock.now(), journal, sink: buffer });
        if !stderr {
            self.stdout.reuse(bytes);
        }
        self.work().await;
    }

    /// Lets the adapter do one thing.
    async fn work(&mut self) {
        self.active = true;
        let start = self.exit.map(|_| Instant::now());
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let actions = exchange.step(&mut Io { now: clock.now(), journal, sink: buffer }).await;
        self.carry_out(actions);
        self.busy += start.map_or(Duration::ZERO, |start| start.elapsed());
        let limit = if self.exchange.is_stopping() { WORK_AFTER_STOP } else { WORK_AFTER_EXIT };
        if self.busy > limit && self.exchange.has_work() {
            let reason = format!("it was still busy {} s after the agent had exited", limit.as_secs());
            self.abandon_adapter(&reason);
        }
    }

    /// The host does not wait any longer for what the adapter still has to do.
    pub(super) fn abandon_adapter(&mut self, reason: &str) {
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let actions = exchange.abandon(reason, &mut Io { now: clock.now(), journal, sink: buffer });
        self.carry_out(actions);
    }

    fn input(&mut self, input: Input) {
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let actions = exchange.input(input, None, &mut Io { now: clock.now(), journal, sink: buffer });
        self.carry_out(actions);
    }

    /// A cancel counts at once. Anything else follows the output that came before it.
    fn take_command(&mut self, command: Command) {
        // Endless commands must not outrun the timeouts either.
        self.active = true;
        let waits = self.exchange.is_parsing() || !self.held.is_empty();
        if waits && !matches!(command.request, Request::Cancel) {
            self.held.push_back(command);
        } else {
            self.command(command);
        }
    }

    /// Handles a caller's request. The result is reported when it is known.
    fn command(&mut self, Command { request, reply }: Command) {
        if !self.stdin.is_open() {
            self.input(Input::StdinClosed);
        }
        let input = match request {
            Request::Answer(answer) => Input::Answer(answer),
            Request::Message(text) if self.stdin.has_room() => Input::Message(text),
            Request::Message(text) => Input::MessageUnread(text),
            Request::Reject(rejected) => Input::Rejected(rejected),
            Request::NextTurn(next) => self.next_turn(next),
            // These two are always carried out.
            Request::FinishAfterTurn | Request::Cancel => {
                let cancel = matches!(request, Request::Cancel);
                self.input(if cancel { Input::Cancel } else { Input::FinishAfterTurn });
                // The caller may have dropped the ticket.
                let _ = reply.send(Delivery::Done);
                return;
            }
        };
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let actions = exchange.input(input, Some(reply), &mut Io { now: clock.now(), journal, sink: buffer });
        self.carry_out(actions);
    }

    fn tick(&mut self) {
        // The reader is slow: the silence is not the agent's.
        if !self.outbox.is_empty() {
            self.input(Input::Stalled);
        }
        self.input(Input::Tick);
    }

    /// A deadline has passed. Returns whether the loop is over.
    async fn ring(&mut self) -> bool {
        if self.drain_until.is_some_and(|until| Instant::now() >= until) {
            if self.cleanup.is_some() {
                return true;
            }
            // A leftover process holds the agent's pipes open: it is killed now.
            self.cleanup = Some(self.process.clean_up(Duration::ZERO).await);
            self.drain_until = Some(Instant::now() + DRAIN);
            return false;
        }
        self.tick();
        false
    }

    pub(super) fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                // What cannot reach the agent is not sent, and not recorded as if it were.
                Action::Write(bytes) if self.stdin.is_open() => {
                    self.journal.record_bytes(Kind::Stdin, self.clock.now(), &bytes);
                    self.stdin.write(bytes);
                }
                Action::CloseStdin => self.stdin.close(),
                // A process that has exited already needs no signal.
                Action::Terminate if self.stop_signal == Some(StopSignal::Interrupt) => drop(self.process.interrupt()),
                Action::Terminate => drop(self.process.terminate()),
                Action::Kill => drop(self.process.kill()),
                Action::Write(_) | Action::Send(_) => {}
            }
        }
        self.hand_over();
    }

    /// Hands over the events, which are on disk before anyone sees them. If there is space in the channel, they are
    /// sent at once; only the others wait for another round of the loop.
    pub(super) fn hand_over(&mut self) {
        self.outbox.extend(self.buffer.take(&mut self.journal));
        if let Some(id) = self.exchange.session_id().filter(|id| self.session.as_deref() != Some(*id)) {
            (self.on_session)(id);
            self.session = Some(id.to_owned());
        }
        while !self.outbox.is_empty()
            && let Ok(permit) = self.events.try_reserve()
            && let Some(batch) = self.outbox.pop_front()
        {
            permit.send(batch);
        }
    }
}

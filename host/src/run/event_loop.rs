//! The loop of a run: waits for whatever happens next, lets the exchange handle it, and carries the actions out.

use super::alarm::Alarm;
use super::batch::Batch;
use super::buffer::EventBuffer;
use super::clock::RunClock;
use super::control::{Command, Delivery, Request};
use super::exchange::{Exchange, Io, note_event};
use super::pipe::Pipe;
use super::stdin::Stdin;
use crate::record::{Ended, Journal, Kind};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wharf_core::model::{EventKind, Exit, LogLevel, RunStarted};
use wharf_core::stream::StreamedEvent;
use wharf_core::turn::{Action, EventSink, Input};
use wharf_supervisor::{Cleanup, Process};

/// How long the pipes of an exited process are still read: something else may hold them open.
const DRAIN: Duration = Duration::from_secs(1);

/// How long leftover processes may take to exit by themselves, before they are killed.
const CLEANUP_GRACE: Duration = Duration::from_millis(200);

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
    /// Whether the reader wants lines of JSON only.
    pub(crate) lines_only: bool,
    /// Called with the id of the session when the agent has named it.
    pub(crate) on_session: OnSession,
}

pub(crate) type OnSession = Box<dyn Fn(&str) + Send>;

/// A run that is set up.
pub(crate) struct EventLoop {
    exchange: Exchange,
    journal: Journal,
    process: Process,
    clock: RunClock,
    started: Option<Box<RunStarted>>,
    stdin: Stdin,
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    alarm: Alarm,
    buffer: EventBuffer,
    /// Batches that wait for space in the channel.
    outbox: VecDeque<Batch>,
    on_session: OnSession,
    /// The session that was named last.
    session: Option<String>,
    events: mpsc::Sender<Batch>,
    commands: mpsc::UnboundedReceiver<Command>,
    exit: Option<Exit>,
    /// After the exit: until when the pipes are read.
    drain_until: Option<Instant>,
    cleanup: Option<Cleanup>,
    /// Whether there is a controller. One may outlive the reader of the events.
    controlled: bool,
    /// Whether anybody reads the events.
    read: bool,
    /// Whether something happened since the timeouts were last checked. An agent that never pauses must not outrun
    /// them.
    active: bool,
}

impl EventLoop {
    pub(super) fn new(
        parts: Parts,
        events: mpsc::Sender<Batch>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> EventLoop {
        let Parts { exchange, mut journal, mut process, clock, started, prompt, stdin_open, lines_only, on_session } =
            parts;
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
            stdin,
            stdout,
            stderr,
            alarm: Alarm::new(),
            buffer: EventBuffer::new(lines_only),
            outbox: VecDeque::new(),
            on_session,
            session: None,
            events,
            commands,
            exit: None,
            drain_until: None,
            cleanup: None,
            controlled: true,
            read: true,
            active: false,
        }
    }

    /// Runs until the process has exited and its pipes are closed.
    pub(super) async fn run(mut self) -> Ended {
        if let Some(started) = self.started.take() {
            self.input(Input::Started(started)).await;
        }
        while self.stdout.is_open() || self.stderr.is_open() || self.exit.is_none() {
            let deadline = self.deadline();
            if std::mem::take(&mut self.active) && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.input(Input::Tick).await;
                continue;
            }
            match self.wait(deadline).await {
                Wake::Nothing => {}
                Wake::NoController => self.controlled = false,
                Wake::Command(command) => self.command(command).await,
                Wake::Abandoned => {
                    self.read = false;
                    self.outbox.clear();
                    self.input(Input::Abandoned).await;
                }
                Wake::Exited(exit) => {
                    self.exit = Some(exit);
                    self.drain_until = Some(Instant::now() + DRAIN);
                }
                Wake::Output { stderr, bytes } => self.output(stderr, bytes).await,
                Wake::Alarm => {
                    if self.ring().await {
                        break;
                    }
                }
            }
        }
        self.finish().await
    }

    fn deadline(&self) -> Option<Instant> {
        self.exchange.deadline().filter(|_| self.exit.is_none()).map(|at| self.clock.instant(at))
    }

    /// Waits for whatever happens next.
    async fn wait(&mut self, deadline: Option<Instant>) -> Wake {
        let room = self.outbox.is_empty();
        // Output may have to be answered: none is read while the agent leaves its earlier input unread.
        let read_output = room && (self.stdin.has_room() || self.exit.is_some());
        // While nobody reads the events, the pipes are not read either, and what they contain is not given up. The
        // cleanup of leftover processes does not wait for that.
        let drained = self.drain_until.filter(|_| room || self.cleanup.is_none());
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
            () = self.stdin.room(), if room && !read_output => Wake::Nothing,
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
        self.active = true;
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let mut io = Io { now: clock.now(), journal, sink: buffer };
        let actions = exchange.output(stderr, &bytes, &mut io).await;
        if !stderr {
            self.stdout.reuse(bytes);
        }
        self.carry_out(actions);
    }

    async fn input(&mut self, input: Input) {
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let mut io = Io { now: clock.now(), journal, sink: buffer };
        let actions = exchange.input(input, &mut io).await;
        self.carry_out(actions);
    }

    /// Handles a caller's request and reports the result.
    async fn command(&mut self, Command { request, reply }: Command) {
        // Endless commands must not outrun the timeouts either.
        self.active = true;
        if !self.stdin.is_open() {
            self.input(Input::StdinClosed).await;
        }
        // These two are always carried out: a notice beside them is about something else.
        let always_done = matches!(request, Request::FinishAfterTurn | Request::Cancel);
        let input = match request {
            Request::Answer(answer) => Input::Answer(answer),
            Request::Message(text) if self.stdin.has_room() => Input::Message(text),
            Request::Message(text) => Input::MessageUnread(text),
            Request::Reject(rejected) => Input::Rejected(rejected),
            Request::NextTurn(next) => Input::NextTurn(Box::new(self.exchange.next_turn(next))),
            Request::FinishAfterTurn => Input::FinishAfterTurn,
            Request::Cancel => Input::Cancel,
        };
        let EventLoop { exchange, journal, buffer, clock, .. } = self;
        let mut sink = Outcome { sink: buffer, done: always_done, reason: None };
        let mut io = Io { now: clock.now(), journal, sink: &mut sink };
        let actions = exchange.input(input, &mut io).await;
        let delivery = sink.delivery();
        self.carry_out(actions);
        // The caller may have dropped the ticket.
        let _ = reply.send(delivery);
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
        if !self.outbox.is_empty() {
            self.input(Input::Stalled).await;
        }
        self.input(Input::Tick).await;
        false
    }

    async fn finish(mut self) -> Ended {
        // A caller that awaits a ticket does not read events, and this waits for the reader below.
        self.commands.close();
        while self.commands.try_recv().is_ok() {}
        self.stdin.close();
        let mut cleanup = match self.cleanup.take() {
            Some(cleanup) => cleanup,
            None => self.process.clean_up(CLEANUP_GRACE).await,
        };
        cleanup.killed.retain(|leftover| leftover.pid != self.process.id());
        let now = self.clock.now();
        if let Some(notice) = survivors_notice(cleanup.survivors.iter().map(|leftover| leftover.command.as_str())) {
            note_event(&notice, &mut self.journal, now);
            self.buffer.emit(notice.into(), now);
        }
        let mut io = Io { now, journal: &mut self.journal, sink: &mut self.buffer };
        let actions = self.exchange.finish(self.exit.unwrap_or_default(), &mut io).await;
        self.carry_out(actions);
        if let Some(problem) = self.journal.take_problem() {
            self.buffer.emit(EventKind::notice(LogLevel::Warn, problem).into(), now);
            self.hand_over();
        }
        for batch in std::mem::take(&mut self.outbox) {
            let _ = self.events.send(batch).await;
        }
        Ended {
            result: self.exchange.result(),
            journal: self.journal,
            killed: cleanup.killed.into_iter().map(|leftover| leftover.command).collect(),
            seq: self.buffer.seq(),
            now,
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                // What cannot reach the agent is not sent, and not recorded as if it were.
                Action::Write(bytes) if self.stdin.is_open() => {
                    self.journal.record_bytes(Kind::Stdin, self.clock.now(), &bytes);
                    self.stdin.write(bytes);
                }
                Action::CloseStdin => self.stdin.close(),
                // A process that has exited already needs no signal.
                Action::Terminate => drop(self.process.terminate()),
                Action::Kill => drop(self.process.kill()),
                Action::Write(_) | Action::Send(_) => {}
            }
        }
        self.hand_over();
    }

    /// Hands over the events, which are on disk before anyone sees them. If there is space in the channel, they are
    /// sent at once; only the others wait for another round of the loop.
    fn hand_over(&mut self) {
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

/// Observes the result of a caller's request in the events that it causes.
struct Outcome<'a> {
    sink: &'a mut EventBuffer,
    done: bool,
    /// Why it was rejected, or what the adapter said.
    reason: Option<String>,
}

impl Outcome<'_> {
    fn delivery(self) -> Delivery {
        match self.reason {
            Some(reason) if !self.done => Delivery::Refused(reason),
            _ => Delivery::Done,
        }
    }
}

impl EventSink for Outcome<'_> {
    fn emit(&mut self, event: StreamedEvent<'_>, at: Duration) {
        if let StreamedEvent::Other(event) = &event {
            match &**event {
                EventKind::AskAnswered(_) | EventKind::MessageSent { .. } | EventKind::TurnStarted { .. } => {
                    self.done = true;
                }
                EventKind::InputRejected(rejected) => self.reason = Some(rejected.reason.clone()),
                EventKind::Notice { text, .. } => self.reason = Some(text.clone()),
                _ => {}
            }
        }
        self.sink.emit(event, at);
    }
}

/// What is reported about processes that could not be killed: they belong to another user, or wait in the kernel.
fn survivors_notice<'a>(commands: impl Iterator<Item = &'a str>) -> Option<EventKind> {
    let commands: Vec<&str> = commands.collect();
    let text = format!("processes of the agent are still running and could not be killed: {}", commands.join(", "));
    (!commands.is_empty()).then(|| EventKind::notice(LogLevel::Warn, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_survive_the_cleanup_are_reported() {
        assert_eq!(survivors_notice([].into_iter()), None);
        let Some(EventKind::Notice { level, text }) = survivors_notice(["su", "sleep 9"].into_iter()) else {
            panic!("a notice");
        };
        assert!(level == LogLevel::Warn && text.ends_with("could not be killed: su, sleep 9"), "{text}");
    }
}

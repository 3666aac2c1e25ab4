//! A supervised run: the thin loop that moves bytes between the process, the adapter and whoever reads the events.
//!
//! Nothing is decided here. Memory is bounded: while events wait to be read, or too much waits for the agent to read it,
//! the agent's pipes are not.

use crate::ask::Answer;
use crate::conversation::{Conversation, Origin};
use crate::driver::{Action, Input};
use crate::error::{Error, Result};
use crate::event::{Event, Exit, Report};
use crate::info::Level;
use crate::journal::Journal;
use crate::line::Lines;
use crate::recording::Kind;
use crate::redact::Redactor;
use crate::stdin::Stdin;
use crate::turn::NextTurn;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};
use wharf_supervisor::{Process, Swept};

/// How much is read from a pipe at once. An adapter keeps as much memory, and a thousand of them mostly wait.
const READ: usize = 16 << 10;

/// The same, when there is always more: larger batches cost less.
const WIDE_READ: usize = 256 << 10;

/// How often in a row a read must have been full for that.
const FULL_READS: u32 = 16;

/// How many batches of events wait for their reader before the agent's pipes are left alone.
const WAITING: usize = 4;

/// How long the pipes of a process that has ended are still read: something else may hold them open.
const DRAIN: Duration = Duration::from_secs(1);

/// What a caller does to a run.
#[derive(Debug)]
enum Command {
    Answer(Answer),
    Message(String),
    NextTurn(NextTurn),
    NoNextTurn,
    Cancel,
}

/// A turn under way: a stream of events, the last of which is the report. Dropped, it is killed with all it started.
#[derive(Debug)]
pub struct Run {
    id: String,
    events: mpsc::Receiver<Batch>,
    waiting: VecDeque<Event>,
    control: Controller,
}

/// Events that came together: what the agent wrote at once, say.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events; where a run passes on lines only, none but the report.
    pub events: Vec<Event>,
    lines: Option<Vec<u8>>,
}

impl Batch {
    fn new(events: Vec<Event>) -> Batch {
        Batch { events, lines: None }
    }

    /// The events as lines of JSON, as `wharf run --json` prints them. Where the run is recorded they were written
    /// down before, and cost nothing more.
    pub fn into_json_lines(self) -> Vec<u8> {
        self.lines.unwrap_or_else(|| self.events.iter().collect::<Lines>().bytes)
    }
}

/// The way to a run's agent. Cheap to clone, and may outlive the run: then it does nothing.
#[derive(Debug, Clone)]
pub struct Controller(mpsc::UnboundedSender<Command>);

impl Controller {
    /// Answer an ask.
    pub fn answer(&self, answer: Answer) {
        let _ = self.0.send(Command::Answer(answer));
    }

    /// Say something more to the agent, in the middle of its turn ([`Turn::messages`](crate::Turn::messages)). What came
    /// of it is an event: it was sent, or a notice says why not.
    pub fn send(&self, message: impl Into<String>) {
        let _ = self.0.send(Command::Message(message.into()));
    }

    /// Begin another turn in the same process ([`RunOptions::stays`](crate::RunOptions::stays)), once the last one has
    /// ended. What came of it is an event: it has begun, or a notice says why not.
    pub fn next_turn(&self, turn: NextTurn) {
        let _ = self.0.send(Command::NextTurn(turn));
    }

    /// There is no further turn: the agent may end when it is done.
    pub fn no_next_turn(&self) {
        let _ = self.0.send(Command::NoNextTurn);
    }

    /// Stop: politely the first time, at once the second time.
    pub fn cancel(&self) {
        let _ = self.0.send(Command::Cancel);
    }
}

impl Run {
    /// The run's id, under which its recording is kept.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The way to the agent.
    pub fn controller(&self) -> Controller {
        self.control.clone()
    }

    /// Answer an ask.
    pub fn answer(&self, answer: Answer) {
        self.control.answer(answer);
    }

    /// Say something more to the agent, in the middle of its turn ([`Turn::messages`](crate::Turn::messages)). What came
    /// of it is an event: it was sent, or a notice says why not.
    pub fn send(&self, message: impl Into<String>) {
        self.control.send(message);
    }

    /// Begin another turn in the same process ([`RunOptions::stays`](crate::RunOptions::stays)), once the last one has
    /// ended ([`Event::TurnEnd`]). What came of it is an event: it has begun, or a notice says why not. The report at the
    /// end is of the whole run: outcome and answer are the last turn's, what was used and done is that of all.
    pub fn next_turn(&self, turn: NextTurn) {
        self.control.next_turn(turn);
    }

    /// There is no further turn: the agent may end when it is done.
    pub fn no_next_turn(&self) {
        self.control.no_next_turn();
    }

    /// Stop: politely the first time, at once the second time.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// The next event. After the report there is none.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// The events that are there, one or more. After the report there are none.
    pub async fn next_batch(&mut self) -> Option<Batch> {
        if !self.waiting.is_empty() {
            return Some(Batch::new(std::mem::take(&mut self.waiting).into()));
        }
        self.events.recv().await
    }

    /// Let the rest go by, and give the report.
    pub async fn finish(mut self) -> Result<Report> {
        self.no_next_turn();
        while let Some(event) = self.next().await {
            if let Event::Report(report) = event {
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

/// What is known when the process is gone.
pub(crate) struct Ended {
    pub(crate) conversation: Conversation,
    pub(crate) journal: Journal,
    pub(crate) swept: Swept,
}

/// A run that is set up and waits for its loop.
pub(crate) struct Loop {
    pub(crate) conversation: Conversation,
    pub(crate) journal: Journal,
    pub(crate) process: Process,
    /// What is written to the agent's stdin first.
    pub(crate) stdin: Vec<u8>,
    /// Whether its stdin stays open after that.
    pub(crate) stdin_open: bool,
    /// Whether nobody wants the events but as lines.
    pub(crate) lines_only: bool,
    pub(crate) swept_after: Duration,
}

/// Start the loop, and what comes after it, as a task of its own.
pub(crate) fn start<F>(id: String, work: Loop, then: impl FnOnce(Ended) -> F + Send + 'static) -> Run
where
    F: Future<Output = Report> + Send,
{
    let (event_sender, events) = mpsc::channel(WAITING);
    let (control, commands) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let sender = event_sender.clone();
        let ended = work.run(event_sender, commands).await;
        let report = then(ended).await;
        let _ = sender.send(Batch::new(vec![Event::Report(Box::new(report))])).await;
    });
    Run { id, events, waiting: VecDeque::new(), control: Controller(control) }
}

/// One of the agent's pipes, with what it takes to keep secrets out of it.
struct Pipe<R> {
    origin: Origin,
    reader: Option<R>,
    redactor: Option<Redactor>,
    /// How much is read at once.
    size: usize,
    /// How often in a row it was all there.
    full: u32,
    /// Memory of the last read, for the next one.
    spare: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(origin: Origin, reader: Option<R>, journal: &Journal) -> Pipe<R> {
        let redactor = (!journal.secrets().is_empty()).then(|| Redactor::new(journal.secrets()));
        Pipe { origin, reader, redactor, size: READ, full: 0, spare: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Bytes without secrets; none at the end. Nothing is lost when this is dropped before it is done.
    async fn read(&mut self) -> Vec<u8> {
        loop {
            let Some(reader) = &mut self.reader else { return std::future::pending().await };
            let (size, spare) = (self.size, &mut self.spare);
            // The memory is there while something is read, not while it is waited for: a thousand runs mostly wait.
            let (count, bytes) = std::future::poll_fn(|context| {
                let mut bytes = std::mem::take(spare);
                bytes.reserve(size);
                let count = std::task::ready!(std::pin::pin!(reader.read_buf(&mut bytes)).poll(context));
                Poll::Ready((count.unwrap_or(0), bytes))
            })
            .await;
            self.full = if count >= READ { self.full.saturating_add(1) } else { 0 };
            self.size = if self.full >= FULL_READS { WIDE_READ } else { READ };
            let clean = match &mut self.redactor {
                Some(redactor) if count > 0 => redactor.push(bytes),
                Some(redactor) => redactor.finish(),
                None => bytes,
            };
            if count == 0 {
                self.reader = None;
                return clean;
            }
            if !clean.is_empty() {
                return clean;
            }
        }
    }

    /// What was read has been dealt with. While there is always more, its memory is used again: the system would have to
    /// clear other memory for each read.
    fn reuse(&mut self, mut bytes: Vec<u8>) {
        if self.size == WIDE_READ {
            bytes.clear();
            self.spare = bytes;
        }
    }
}

impl Loop {
    async fn run(mut self, events: mpsc::Sender<Batch>, mut commands: mpsc::UnboundedReceiver<Command>) -> Ended {
        let mut stdout = Pipe::new(Origin::Stdout, self.process.take_stdout(), &self.journal);
        let mut stderr = Pipe::new(Origin::Stderr, self.process.take_stderr(), &self.journal);
        let mut stdin = Stdin::new(self.process.take_stdin(), self.stdin.len());
        let mut outbox: VecDeque<Batch> = VecDeque::new();
        let begun = Instant::now();

        if !self.stdin.is_empty() {
            let bytes = std::mem::take(&mut self.stdin);
            self.journal.record_bytes(Kind::Stdin, &bytes);
            stdin.write(bytes);
        }
        if !self.stdin_open {
            stdin.close();
        }
        let actions = self.conversation.input(Input::Started, &mut self.journal).await;
        self.carry_out(actions, &mut stdin, &mut outbox);

        let mut exit: Option<Exit> = None;
        let mut drain_until: Option<Instant> = None;
        let mut swept: Option<Swept> = None;
        let mut listening = true;
        // Whether anybody reads the events. A controller may outlive the run, so this is not the same as `listening`.
        let mut wanted = true;
        // Whether output came since the clocks were last looked at. An agent that never pauses must not outrun them.
        let mut heard = false;
        let mut alarm = Alarm::new();
        while stdout.is_open() || stderr.is_open() || exit.is_none() {
            let deadline = self.conversation.driver().deadline().filter(|_| exit.is_none()).map(|at| begun + at);
            if std::mem::take(&mut heard) && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let actions = self.input(Input::Tick).await;
                self.carry_out(actions, &mut stdin, &mut outbox);
                continue;
            }
            let room = outbox.is_empty();
            // Output may have to be answered: none is taken in while the agent leaves the answers before it lying.
            let read = room && (stdin.has_room() || exit.is_some());
            // While nobody reads the events, the pipes are not read either: what is left in them is not to be given up.
            // What the agent left behind does not wait for that.
            let wake = [deadline, drain_until.filter(|_| room || swept.is_none())].into_iter().flatten().min();
            alarm.set(wake);
            let actions = tokio::select! {
                biased;
                command = commands.recv(), if listening => {
                    // Commands without end must not outrun the clocks either.
                    heard = true;
                    if !stdin.is_open() {
                        self.conversation.driver().stdin_gone();
                    }
                    match command {
                    Some(Command::Answer(answer)) => self.input(Input::Answer(answer)).await,
                    Some(Command::Message(text)) if stdin.has_room() => self.input(Input::Message(text)).await,
                    Some(Command::Message(_)) => self.input(Input::MessageUnread).await,
                    Some(Command::NextTurn(change)) => {
                        let turn = self.conversation.changed(change);
                        self.input(Input::NextTurn(Box::new(turn))).await
                    }
                    Some(Command::NoNextTurn) => self.input(Input::NoNextTurn).await,
                    Some(Command::Cancel) => self.input(Input::Cancel).await,
                    None => {
                        listening = false;
                        continue;
                    }
                    }
                },
                permit = events.reserve(), if !room => {
                    let Some(batch) = outbox.pop_front() else { continue };
                    if let Ok(permit) = permit {
                        permit.send(batch);
                        continue;
                    }
                    // Nobody will ever read them: the run was dropped.
                    outbox.clear();
                    let mut actions = self.input(Input::Cancel).await;
                    actions.extend(self.input(Input::Cancel).await);
                    actions
                },
                () = events.closed(), if room && exit.is_none() && wanted => {
                    wanted = false;
                    let mut actions = self.input(Input::Cancel).await;
                    actions.extend(self.input(Input::Cancel).await);
                    actions
                },
                status = self.process.wait(), if exit.is_none() => {
                    exit = Some(Exit { code: status.code, signal: status.signal });
                    drain_until = Some(Instant::now() + DRAIN);
                    continue;
                },
                () = stdin.room(), if room && !read => continue,
                bytes = stdout.read(), if read && stdout.is_open() => {
                    heard = true;
                    let actions = self.output(stdout.origin, &bytes).await;
                    stdout.reuse(bytes);
                    actions
                },
                bytes = stderr.read(), if read && stderr.is_open() => {
                    heard = true;
                    self.output(stderr.origin, &bytes).await
                },
                () = alarm.ring(), if wake.is_some() => {
                    if wake.is_some_and(|wake| Instant::now() < wake) {
                        continue;
                    }
                    if drain_until.is_some_and(|until| Instant::now() >= until) {
                        if swept.is_some() {
                            break;
                        }
                        // Something that the agent left behind holds its pipes open: it goes now.
                        swept = Some(self.process.sweep(Duration::ZERO).await);
                        drain_until = Some(Instant::now() + DRAIN);
                        continue;
                    }
                    if !room {
                        self.conversation.driver().handle(Input::Stalled, begun.elapsed());
                    }
                    self.input(Input::Tick).await
                },
            };
            self.carry_out(actions, &mut stdin, &mut outbox);
            // Where there is room, they go at once: another round is only for those that have to wait.
            while !outbox.is_empty()
                && let Ok(permit) = events.try_reserve()
                && let Some(batch) = outbox.pop_front()
            {
                permit.send(batch);
            }
        }

        stdin.close();
        let mut gone = match swept {
            Some(swept) => swept,
            None => self.process.sweep(self.swept_after).await,
        };
        gone.killed.retain(|remnant| remnant.pid != self.process.id());
        let actions = self.conversation.finish(exit.unwrap_or_default(), &mut self.journal).await;
        self.carry_out(actions, &mut stdin, &mut outbox);
        if let Some(trouble) = self.journal.take_trouble() {
            let notice = Action::Emit(Event::Notice { level: Level::Warn, text: trouble });
            self.carry_out(vec![notice], &mut stdin, &mut outbox);
        }
        for batch in outbox {
            let _ = events.send(batch).await;
        }
        Ended { conversation: self.conversation, journal: self.journal, swept: gone }
    }

    async fn input(&mut self, input: Input) -> Vec<Action> {
        self.conversation.input(input, &mut self.journal).await
    }

    async fn output(&mut self, origin: Origin, bytes: &[u8]) -> Vec<Action> {
        if bytes.is_empty() {
            return vec![];
        }
        self.conversation.output(origin, bytes, &mut self.journal).await
    }

    /// Events are on the disk before anybody hears of them.
    fn carry_out(&mut self, actions: Vec<Action>, stdin: &mut Stdin, outbox: &mut VecDeque<Batch>) {
        let mut perform = |action| {
            match action {
                Action::Emit(_) | Action::Pass(_) => return Some(action),
                // What can reach nobody was never sent, and is not recorded as if it had been.
                Action::Write(bytes) if stdin.is_open() => {
                    self.journal.record_bytes(Kind::Stdin, &bytes);
                    stdin.write(bytes);
                }
                Action::CloseStdin => stdin.close(),
                // A process that is gone already needs no signal.
                Action::Terminate => drop(self.process.terminate()),
                Action::Kill => drop(self.process.kill()),
                Action::Write(_) | Action::Tell(_) => {}
            }
            None
        };
        let said: Vec<Action> = actions.into_iter().filter_map(&mut perform).collect();
        if said.is_empty() {
            return;
        }
        let batch = if self.lines_only {
            let mut lines = Lines::default();
            for action in said {
                match action {
                    Action::Pass(passed) => lines.append(passed),
                    Action::Emit(event) => lines.push(&event),
                    _ => {}
                }
            }
            Batch { events: vec![], lines: Some(self.journal.lines(lines)) }
        } else {
            let event = |action| if let Action::Emit(event) = action { Some(event) } else { None };
            let mut events: Vec<Event> = said.into_iter().filter_map(event).collect();
            let lines = self.journal.events(&mut events);
            Batch { events, lines }
        };
        outbox.push_back(batch);
    }
}

/// Wakes the loop when it has to be woken, or earlier. Every output moves the idle clock; moving the timer with it would
/// cost a line more than its parsing, so it is left as it is while it rings no later than it has to.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    /// When it rings, unless it has.
    at: Option<Instant>,
}

impl Alarm {
    fn new() -> Alarm {
        Alarm { sleep: Box::pin(tokio::time::sleep(Duration::ZERO)), at: None }
    }

    fn set(&mut self, wake: Option<Instant>) {
        if let Some(wake) = wake
            && self.at.is_none_or(|at| wake < at)
        {
            self.sleep.as_mut().reset(wake);
            self.at = Some(wake);
        }
    }

    /// To be called only after it was set.
    async fn ring(&mut self) {
        self.sleep.as_mut().await;
        self.at = None;
    }
}

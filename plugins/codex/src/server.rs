//! Our side of `codex app-server`: JSON-RPC in lines, without the member `jsonrpc`.
//!
//! A process serves one thread here, with one turn after the other: `initialize`, then the thread (a new one, one that is
//! resumed, or a fork), then `turn/start` for each turn. A turn ends with `turn/completed`. What happens in between is in
//! `notifications` and `questions`.

mod notifications;
mod questions;

use crate::asks::{self, OpenAsk};
use crate::failure;
use crate::items::{Items, LATE_MILLIS, LATE_TIMER};
use crate::outage::Outage;
use crate::request;
use crate::usage::Count;
use wharf_adapter::json::{MISSING, Object};
use wharf_adapter::rpc::{Message, Rpc};
use wharf_adapter::{
    Approvals, Effects, ErrorClass, Event, Failure, Input, Json, LogLevel, Malformed, Outcome, RateLimit,
    SessionChoice, SessionInfo, Settings, Turn, TurnEnd, Version,
};

/// The first version that was seen to leave the history out of a response; 0.142.0 refuses to.
const EXCLUDES_SINCE: Version = Version(0, 166, 0);

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Initialize,
    /// Finds the thread to resume.
    Latest,
    Start,
    Resume(String),
    Fork(String),
    Turn,
    Steer,
    Interrupt,
}

/// A turn that waits for its thread.
#[derive(Debug)]
struct Prepared {
    session: SessionChoice,
    workspace: String,
    /// Whether a new thread is not kept.
    is_ephemeral: bool,
    thread: Object,
    turn: Object,
}

/// The state of a connection. One value serves one process.
#[derive(Debug)]
pub(crate) struct Server {
    rpc: Rpc<Step>,
    prepared: Option<Prepared>,
    approvals: Approvals,
    streams: bool,
    thread: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// The turn that runs.
    turn: Option<String>,
    /// A turn that we have ended ourselves.
    given_up: Option<String>,
    /// How the turn has ended, while the ends of its calls are awaited.
    ending: Option<Outcome>,
    /// Whether the caller wants the turn to stop.
    is_cancelling: bool,
    asks: Vec<OpenAsk>,
    items: Items,
    outage: Outage,
    count: Count,
    limits: Vec<RateLimit>,
    /// Why there is no thread.
    failure: Option<Failure>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            rpc: Rpc::new().without_version(),
            prepared: None,
            approvals: Approvals::Ask,
            streams: true,
            thread: None,
            model: None,
            version: None,
            turn: None,
            given_up: None,
            ending: None,
            is_cancelling: false,
            asks: vec![],
            items: Items::default(),
            outage: Outage::default(),
            count: Count::default(),
            limits: vec![],
            failure: None,
        }
    }
}

impl Server {
    /// Stores the first turn.
    pub(crate) fn prepare(&mut self, settings: &mut Settings<'_>, version: Option<&str>) {
        let turn = settings.turn();
        self.version = version.map(str::to_owned);
        self.apply(turn);
        self.prepared = Some(Prepared {
            session: turn.session.clone(),
            workspace: turn.workspace.clone(),
            is_ephemeral: turn.option("ephemeral").is_true(),
            thread: request::thread(settings),
            turn: request::turn(turn),
        });
    }

    /// What the adapter itself takes from the settings of each turn.
    fn apply(&mut self, turn: &Turn) {
        self.approvals = turn.approvals;
        self.streams = turn.stream_text;
        self.items.has_schema = turn.output_schema.is_some();
        self.items.start();
        self.outage.start(turn);
        self.count.new_turn();
        self.is_cancelling = false;
    }

    /// What failed last, for a process that did not say how its turn ended.
    pub(crate) fn last_failure(&self) -> Option<&Failure> {
        self.outage.last()
    }

    /// Handles an input.
    pub(crate) fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Start if self.prepared.is_some() => {
                self.rpc.request("initialize", request::initialize(), Step::Initialize, out);
            }
            Input::Answer(answer) => self.answer(&answer, out),
            Input::Message(text) => self.steer(&text, out),
            Input::Timer(number) => self.timer(number, out),
            Input::Cancel => self.cancel(out),
            _ => {}
        }
    }

    /// Handles a line.
    pub(crate) fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        match Message::read(line)? {
            Message::Notification { method, params } => self.notification(method, params, out)?,
            Message::Request { id, method, params } => {
                // Reported here: an error from this function would drop the answer that Codex waits for.
                if self.ask(id.raw(), method, params, out).is_err() {
                    out.malformed(line.raw());
                    questions::respond(id.raw(), asks::refusal(method).unwrap_or("{}"), out);
                }
            }
            Message::Response { id, result } => {
                let step = self.rpc.answered(id);
                match result {
                    Ok(result) => self.done(step.as_ref(), result, out),
                    Err(error) => self.failed(step.as_ref(), error, out),
                }
            }
        }
        Ok(())
    }

    /// The process has exited: nothing is open any more.
    pub(crate) fn finish(&mut self, out: &mut Effects) {
        if self.prepared.is_some() && self.rpc.in_flight().any(|step| *step == Step::Initialize) {
            let message = "app-server ended before it answered: this version may not have it";
            out.transport_failed(Failure::new(ErrorClass::Protocol, message));
        }
        self.end_late(out);
        for ask in self.asks.drain(..) {
            out.emit(Event::AskWithdrawn(ask.id));
        }
        self.items.end(out);
    }

    fn done(&mut self, step: Option<&Step>, result: Json<'_>, out: &mut Effects) {
        match step {
            Some(Step::Initialize) => {
                self.rpc.notify("initialized", Object::new(), out);
                self.open(out);
            }
            Some(Step::Latest) => {
                let latest = result.get("data").items().next().and_then(|thread| thread.get("id").string());
                match latest {
                    Some(id) => self.request_thread("thread/resume", Step::Resume(id), out),
                    None => self.fail(
                        Failure::new(ErrorClass::NoSession, "Codex has no session in this workspace to continue"),
                        out,
                    ),
                }
            }
            Some(Step::Start) => self.opened(result, None, true, out),
            Some(Step::Resume(_) | Step::Fork(_)) => self.opened(result, Some(true), false, out),
            Some(Step::Steer | Step::Interrupt) => {}
            // A recording can be read without our requests: what is started is recognized by its fields.
            Some(Step::Turn) | None => {
                let [thread, turn] = result.select(["thread", "turn"]).unwrap_or([MISSING; 2]);
                if thread.is_object() {
                    let resumed = self.prepared.as_ref().and_then(|prepared| match &prepared.session {
                        SessionChoice::Resume(id) => Some(thread.get("id").is(id)),
                        _ => None,
                    });
                    // The beginning of the first prompt.
                    let is_new = thread.get("preview").is("");
                    self.enter(result, resumed, is_new, out);
                }
                if let Some(id) = turn.get("id").string() {
                    self.turn_started(id, out);
                }
            }
        }
    }

    /// Requests the thread of the prepared turn.
    fn open(&mut self, out: &mut Effects) {
        let Some(prepared) = &self.prepared else { return };
        match prepared.session.clone() {
            SessionChoice::Fresh(_) => self.request_thread("thread/start", Step::Start, out),
            SessionChoice::Resume(id) => self.request_thread("thread/resume", Step::Resume(id), out),
            SessionChoice::Fork(id) => self.request_thread("thread/fork", Step::Fork(id), out),
            SessionChoice::MostRecent => {
                let params = request::latest(&prepared.workspace);
                self.rpc.request("thread/list", params, Step::Latest, out);
            }
        }
    }

    fn request_thread(&mut self, method: &str, step: Step, out: &mut Effects) {
        let Some(prepared) = &self.prepared else { return };
        let params = prepared.thread.clone();
        let params = match &step {
            Step::Resume(id) | Step::Fork(id) => params.str("threadId", id),
            _ => params,
        };
        // Otherwise the response has the whole history. Older versions refuse the parameter.
        let version = self.version.as_deref().and_then(Version::find);
        let continues = matches!(step, Step::Resume(_) | Step::Fork(_));
        let excludes = continues && version.is_some_and(|version| version >= EXCLUDES_SINCE);
        let params = if excludes { params.bool("excludeTurns", true) } else { params };
        // A thread that is resumed is kept already.
        let is_ephemeral = prepared.is_ephemeral && !matches!(step, Step::Resume(_));
        let params = if is_ephemeral { params.bool("ephemeral", true) } else { params };
        self.rpc.request(method, params, step, out);
    }

    /// There is a thread: the prepared turn can start.
    fn opened(&mut self, result: Json<'_>, resumed: Option<bool>, is_new: bool, out: &mut Effects) {
        self.enter(result, resumed, is_new, out);
        let Some(id) = self.thread.clone() else {
            return self.fail(Failure::new(ErrorClass::Protocol, "Codex gave its thread no id"), out);
        };
        if let Some(prepared) = self.prepared.take().filter(|_| !self.is_cancelling) {
            self.rpc.request("turn/start", prepared.turn.str("threadId", &id), Step::Turn, out);
        }
    }

    /// The connection is in this thread from now on.
    fn enter(&mut self, result: Json<'_>, resumed: Option<bool>, is_new: bool, out: &mut Effects) {
        let [thread, model] = result.select(["thread", "model"]).unwrap_or([MISSING; 2]);
        let Some(id) = thread.get("id").string() else { return };
        if is_new {
            self.count.new_thread();
        }
        self.thread = Some(id);
        self.model = model.string();
        self.version = thread.get("cliVersion").string().or_else(|| self.version.take());
        self.emit_session(resumed, out);
    }

    fn emit_session(&self, resumed: Option<bool>, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.thread.clone(),
            resumed,
            model: self.model.clone(),
            agent_version: self.version.clone(),
        }));
    }

    fn turn_started(&mut self, id: String, out: &mut Effects) {
        let is_known = self.turn.as_ref() == Some(&id) || self.given_up.as_ref() == Some(&id);
        if is_known {
            return;
        }
        self.turn = Some(id);
        if self.is_cancelling {
            self.interrupt(out);
        }
    }

    /// Starts another turn in the same thread.
    pub(crate) fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        let Some(thread) = self.thread.clone() else {
            let reason = self.failure.as_ref().map_or("", |failure| failure.message.as_str());
            let class = self.failure.as_ref().map_or(ErrorClass::Protocol, |failure| failure.class);
            return out.failed(Failure::new(class, format!("there is no session to continue: {reason}")));
        };
        self.apply(turn);
        self.turn = None;
        self.rpc.request("turn/start", request::turn(turn).str("threadId", &thread), Step::Turn, out);
    }

    fn steer(&mut self, text: &str, out: &mut Effects) {
        match (&self.thread, &self.turn) {
            (Some(thread), Some(turn)) => {
                let params = request::steer(thread, turn, text);
                self.rpc.request("turn/steer", params, Step::Steer, out);
            }
            _ => out.notice(LogLevel::Warn, "the message was not sent: the turn has not started yet"),
        }
    }

    fn interrupt(&mut self, out: &mut Effects) {
        if let (Some(thread), Some(turn)) = (&self.thread, &self.turn) {
            let params = Object::new().str("threadId", thread).str("turnId", turn);
            self.rpc.request("turn/interrupt", params, Step::Interrupt, out);
        }
    }

    fn cancel(&mut self, out: &mut Effects) {
        self.withdraw(out);
        self.is_cancelling = true;
        if self.turn.is_some() {
            self.interrupt(out);
        } else if !self.rpc.in_flight().any(|step| *step == Step::Turn) {
            // No turn has started that Codex could stop: it never starts.
            self.prepared = None;
            self.end(Outcome::Cancelled, out);
        }
    }

    /// A timer has expired. If the model cannot be reached the turn is over, and Codex must not go on with it.
    fn timer(&mut self, number: u32, out: &mut Effects) {
        if number == LATE_TIMER {
            return self.end_late(out);
        }
        let Some(failure) = self.outage.expired(number) else { return };
        self.interrupt(out);
        self.given_up = self.turn.clone();
        self.end(Outcome::Failed(failure), out);
    }

    fn failed(&mut self, step: Option<&Step>, error: Json<'_>, out: &mut Effects) {
        let failure = failure::from_error(error);
        match step {
            Some(Step::Steer) => {
                out.notice(LogLevel::Warn, format!("the message was not sent: {}", failure.message));
            }
            // It does not speak the protocol as we know it.
            Some(Step::Initialize) => out.transport_failed(failure),
            Some(Step::Interrupt) => out.notice(LogLevel::Warn, format!("not interrupted: {}", failure.message)),
            Some(Step::Resume(_) | Step::Fork(_) | Step::Latest) if failure.class == ErrorClass::Other => {
                self.fail(Failure::new(ErrorClass::NoSession, failure.message), out);
            }
            Some(_) => self.fail(failure, out),
            None => {}
        }
    }

    fn fail(&mut self, failure: Failure, out: &mut Effects) {
        self.failure.get_or_insert_with(|| failure.clone());
        self.prepared = None;
        self.end(failure::outcome(failure), out);
    }

    /// The turn has ended. The ends of its calls may come late.
    fn end_after_calls(&mut self, outcome: Outcome, out: &mut Effects) {
        if outcome == Outcome::Completed && self.items.has_open_calls() {
            self.ending = Some(outcome);
            out.set_timer(LATE_TIMER, LATE_MILLIS);
        } else {
            self.end(outcome, out);
        }
    }

    /// Nothing is awaited any more.
    fn end_late(&mut self, out: &mut Effects) {
        if let Some(outcome) = self.ending.take() {
            self.end(outcome, out);
        }
    }

    fn end(&mut self, outcome: Outcome, out: &mut Effects) {
        self.ending = None;
        self.withdraw(out);
        self.turn = None;
        let structured_output = self.items.end(out).filter(|_| outcome == Outcome::Completed);
        out.emit(Event::TurnEnded(TurnEnd { outcome, answer: None, structured_output }));
    }
}

//! The Agent Client Protocol, version 1: a client session for any agent that speaks it.
//!
//! [`Session`] does the handshake, opens or resumes a session, applies the settings of the turn, sends the prompt, and
//! reads the updates and permission requests that follow. One request of ours is open at a time. It offers the agent
//! neither files nor terminals: an agent works with its own, and a request for ours is refused.
//!
//! Agents differ, and [`Dialect`] is where: what their tools are called, how they report errors, what their figures count.
//! [`Standard`] is the dialect of an agent that does what the protocol says; `examples/acp_agent.rs` of this package is a
//! whole adapter for one.

mod action;
mod activity;
mod ask;
mod content;
mod dialect;
mod elicitation;
mod error;
mod failing;
mod offer;
mod outcome;
mod request;
mod tool;
mod transcript;
mod usage;

pub use dialect::{Dialect, Standard};
pub use error::{AUTH_REQUIRED, RpcError, failure_of};
pub use offer::{Change, Offer};
pub use request::launch;
pub use transcript::{TextKind, ToolFields, Transcript};
pub use usage::model_call;

use crate::rpc::{METHOD_NOT_FOUND, Message, Rpc};
use crate::{Effects, ErrorClass, Event, Failure, Input, Json, LogLevel, Malformed, Outcome, SessionInfo, Turn};
use ask::OpenAsk;
use content::Accepts;
use request::Step;
use usage::Tokens;

/// Our side of the protocol, over the dialect of an agent. One value serves one process.
#[derive(Debug, Default)]
pub struct Session<D> {
    /// What differs from agent to agent.
    pub dialect: D,
    rpc: Rpc<Step>,
    /// The turn that is being prepared or runs, and its prompt. None before the first, and after one was cancelled early.
    turn: Option<(Turn, String)>,
    id: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// What the agent said about itself in `initialize`, and what the session offers; JSON.
    agent: String,
    offer: String,
    /// The changes that the session has.
    applied: Vec<Change>,
    asks: Vec<OpenAsk>,
    transcript: Transcript,
    /// The tokens of earlier turns of this process.
    used_before: Tokens,
    /// Why there is no session.
    failure: Option<Failure>,
    /// Whether the agent was asked to stop.
    is_cancelling: bool,
    /// Whether the agent repeats the history of the session that is being loaded.
    is_repeating: bool,
    /// The timer that must expire before the prompt is sent, while the agent still repeats its history.
    waiting: Option<u32>,
    timers: u32,
    /// Whether a prompt was sent in this process.
    has_prompted: bool,
}

/// The timer of the handshake. Those that wait for a history are numbered from 1.
const HANDSHAKE: u32 = 0;

impl<D: Dialect> Session<D> {
    /// Stores the next turn. Call it from `build_prompt`, and deliver the prompt in the protocol. `version` is the one that
    /// was found; the agent may correct it.
    pub fn prepare(&mut self, turn: &Turn, version: Option<&str>) -> Result<(), Failure> {
        let prompt = self.dialect.prompt(turn)?;
        self.version = self.version.take().or_else(|| version.map(str::to_owned));
        let mut turn = request::copied(turn);
        if !D::ATTACHMENTS {
            turn.attachments.clear();
        }
        self.turn = Some((turn, prompt));
        Ok(())
    }

    /// The agent's id of the session, once there is one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether the agent has not yet answered `initialize`.
    pub fn is_shaking_hands(&self) -> bool {
        self.rpc.in_flight().any(|step| *step == Step::Initialize)
    }

    /// The model, if the agent named it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Reports a model that the agent did not name.
    pub fn set_model(&mut self, model: String, out: &mut Effects) {
        self.model = Some(model);
        self.emit_session(None, out);
    }

    /// Handles an input.
    pub fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Start if self.turn.is_some() => {
                self.rpc.queue(Step::Initialize);
                self.send(out);
                out.set_timer(HANDSHAKE, D::HANDSHAKE_MILLIS);
            }
            Input::Timer(HANDSHAKE) if self.is_shaking_hands() => {
                let seconds = D::HANDSHAKE_MILLIS / 1000;
                let message = format!("the program did not answer `initialize` of ACP within {seconds} s");
                self.reject(Failure::new(ErrorClass::Protocol, message), out);
            }
            Input::Answer(answer) => self.answer(&answer, out),
            Input::Timer(number) if self.waiting == Some(number) => {
                self.waiting = None;
                self.configure(out);
            }
            Input::Cancel => self.cancel(out),
            Input::Message(_) if self.id.is_some() => {
                out.notice(LogLevel::Warn, "the agent accepts no messages during a turn");
            }
            _ => {}
        }
    }

    /// Starts another turn in the same session.
    pub fn next_turn(&mut self, turn: &Turn, out: &mut Effects) {
        if self.id.is_none() {
            return out.failed(self.no_session());
        }
        match self.prepare(turn, None) {
            Ok(()) => self.configure(out),
            Err(failure) => out.failed(failure),
        }
    }

    /// Handles a line from the agent.
    pub fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        match Message::read(line)? {
            Message::Request { id, method: "session/request_permission", params } => {
                // Reported here: an error from this function would drop the answer that the agent waits for.
                if self.permission(id, params, out).is_err() {
                    out.malformed(line.raw());
                    self.rpc.respond(id.raw(), ask::outcome(None), out);
                }
            }
            Message::Request { id, method: "elicitation/create", params } => self.elicit(id, params, out),
            Message::Request { id, method, .. } => {
                let is_ours = method.starts_with("fs/") || method.starts_with("terminal/");
                if !is_ours && !is_known::<D>(method) {
                    out.unknown(method);
                }
                let reason = if is_ours { "the client does not offer this" } else { "Method not found" };
                self.rpc.refuse(id.raw(), METHOD_NOT_FOUND, reason, out);
            }
            Message::Notification { method: "session/update", params } => self.update(params, out)?,
            Message::Notification { method, params } => {
                if !self.dialect.notification(method, params, &mut self.transcript, out) && !is_known::<D>(method) {
                    out.unknown(method);
                }
            }
            Message::Response { id, result } => {
                let step = self.rpc.answered(id);
                let step = if step.is_none() { self.unrequested(result, out) } else { step };
                match (step, result) {
                    (Some(step), Ok(result)) => self.done(step, result, out),
                    (Some(step), Err(error)) => self.failed(step, RpcError::read(error), out),
                    (None, _) => {}
                }
                self.send(out);
            }
        }
        Ok(())
    }

    /// The process has exited: nothing is open any more.
    pub fn finish(&mut self, out: &mut Effects) {
        for ask in self.asks.drain(..) {
            out.emit(Event::AskWithdrawn(ask.id));
        }
        self.transcript.end_turn(out);
    }

    fn update(&mut self, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [session, update] = params.select(["sessionId", "update"])?;
        let kind = update.get("sessionUpdate").name().ok_or(Malformed)?;
        // Another session of the same process, such as the copy of one.
        if self.id.is_some() && session.filled().is_some_and(|id| self.id.as_deref() != Some(&*id)) {
            return Ok(());
        }
        // A loaded session first repeats its history. So does a copy of one.
        let is_opening = |step: &Step| matches!(step, Step::Load(_) | Step::Resume(_) | Step::Fork(_));
        if self.waiting.is_some() || self.rpc.in_flight().any(is_opening) {
            self.is_repeating |= kind == "user_message_chunk";
            self.dialect.replayed(kind, update);
            if self.waiting.is_some() {
                self.wait(out);
            }
            return Ok(());
        }
        // What an agent says before it was asked anything is no answer.
        if kind == "agent_message_chunk" && !self.has_prompted && !self.rpc.is_unused() {
            if let Some(text) = update.at(&["content", "text"]).filled() {
                out.notice(LogLevel::Info, text.trim());
            }
            return Ok(());
        }
        self.transcript.update(&mut self.dialect, kind, update, out)
    }

    /// What a response is for that belongs to none of our requests. A capture can be read without them: what it shows is
    /// recognized by its fields.
    fn unrequested(&mut self, result: Result<Json<'_>, Json<'_>>, out: &mut Effects) -> Option<Step> {
        let is_capture = self.rpc.is_unused();
        match result {
            Ok(result) if result.get("stopReason").is_string() => return Some(Step::Prompt),
            Ok(result) if is_capture && !result.get("protocolVersion").is_missing() => {
                self.introduce(result, out);
            }
            Ok(result) if is_capture && result.get("sessionId").is_string() => {
                self.id = result.get("sessionId").string();
                self.model = Offer(result).current_model().map(|id| self.dialect.model_name(&id));
                self.dialect.opened(result);
                self.emit_session(None, out);
            }
            Err(error) if is_capture && !RpcError::read(error).is_unknown_method() => return Some(Step::Prompt),
            Ok(_) | Err(_) => {}
        }
        None
    }

    fn cancel(&mut self, out: &mut Effects) {
        self.withdraw(out);
        let step = self.rpc.in_flight().next();
        match (step, &self.id) {
            (Some(Step::Prompt), Some(id)) => {
                self.is_cancelling = true;
                self.transcript.cancel();
                self.rpc.notify("session/cancel", crate::json::Object::new().str("sessionId", id), out);
            }
            (None, _) if self.waiting.is_none() => {}
            // No turn has started that the agent could stop: it never starts.
            _ => {
                self.rpc.clear_queue();
                self.turn = None;
                self.waiting = None;
                out.turn_ended(Outcome::Cancelled, None);
            }
        }
    }

    fn done(&mut self, step: Step, result: Json<'_>, out: &mut Effects) {
        match step {
            Step::Prompt => self.prompted(result, out),
            _ if self.turn.is_none() => {}
            Step::Initialize => self.initialized(result, out),
            Step::Authenticate(_) => {}
            Step::New | Step::Fork(_) => {
                let resumed = if matches!(step, Step::Fork(_)) { Some(true) } else { self.started_over() };
                match result.get("sessionId").string() {
                    Some(id) => self.opened(id, result, resumed, out),
                    None => self.fail(Failure::new(ErrorClass::Protocol, "the agent gave no session id"), out),
                }
            }
            Step::Load(_) | Step::Resume(_) => {
                let resumed = self.is_repeating || !D::LOADS_UNKNOWN || matches!(step, Step::Resume(_));
                let (Step::Load(id) | Step::Resume(id)) = step else { return };
                let id = result.get("sessionId").string().unwrap_or(id);
                self.opened(id, result, Some(resumed), out);
            }
            Step::Change(change) => {
                if let Some(model) = change.new_model() {
                    self.set_model(self.dialect.model_name(model), out);
                }
                self.applied.retain(|known| known.setting != change.setting);
                self.applied.push(change);
            }
        }
    }

    fn opened(&mut self, id: String, result: Json<'_>, resumed: Option<bool>, out: &mut Effects) {
        self.id = Some(id);
        self.dialect.opened(result);
        self.model = Offer(result).current_model().map(|id| self.dialect.model_name(&id));
        result.raw().clone_into(&mut self.offer);
        self.emit_session(resumed, out);
        if resumed == Some(true) && self.dialect.history_millis() > 0 {
            self.wait(out);
        } else {
            self.configure(out);
        }
    }

    /// Sends the prompt only after a while without updates.
    fn wait(&mut self, out: &mut Effects) {
        self.timers += 1;
        self.waiting = Some(self.timers);
        out.set_timer(self.timers, self.dialect.history_millis());
    }

    fn emit_session(&self, resumed: Option<bool>, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.id.clone(),
            resumed,
            model: self.model.clone(),
            agent_version: self.version.clone(),
        }));
    }

    /// Sends the settings of the turn, then its prompt.
    fn configure(&mut self, out: &mut Effects) {
        let Some((turn, _)) = &self.turn else { return };
        let changes = self.dialect.changes(turn, &Offer(Json::parse(&self.offer)), out);
        for change in changes.into_iter().filter(|change| !self.applied.contains(change)) {
            self.rpc.queue(Step::Change(change));
        }
        let accepts = Accepts::of(Json::parse(&self.agent));
        for attachment in turn.attachments.iter().filter(|attachment| accepts.block(attachment).is_none()) {
            let (name, kind) = (&attachment.name, &attachment.media_type);
            out.notice(LogLevel::Warn, format!("the attachment {name} was not sent: the agent does not accept {kind}"));
        }
        self.rpc.queue(Step::Prompt);
        self.transcript.start_turn();
        self.dialect.start_turn();
        self.is_cancelling = false;
        self.send(out);
    }
}

/// Whether a method of the agent is no drift: on the dialect's list, or an extension, which has an underscore.
fn is_known<D: Dialect>(method: &str) -> bool {
    method.starts_with('_') || D::IGNORED.contains(method)
}

#[cfg(test)]
mod tests;

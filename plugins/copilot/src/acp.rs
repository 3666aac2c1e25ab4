//! The Agent Client Protocol: `copilot --acp`, JSON-RPC in lines on stdin and stdout.
//!
//! One request of ours is open at a time: initialize, a session, its settings, the prompt. What the agent sends in the
//! meantime is told as it comes ([`update`]), or asked ([`ask`]).

mod ask;
mod tokens;
mod tool;
mod update;

use crate::complaint::Complaint;
use crate::{permissions, prompt};
use std::collections::VecDeque;
use tokens::Tokens;
use update::Updates;
use wharf_adapter::json::{Object, array};
use wharf_adapter::{
    Approvals, Effects, ErrorClass, Event, Failure, Input, Json, LogLevel, Malformed, Outcome, SessionChoice,
    SessionInfo, Turn,
};

/// The mode that goes on by itself. It also allows everything.
const AUTOPILOT: &str = "https://agentclientprotocol.com/protocol/session-modes#autopilot";

/// The JSON-RPC code of `Authentication required`.
const NOT_LOGGED_IN: i32 = -32_000;

/// A request of ours.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Initialize,
    New,
    Load(String),
    Model(String),
    Mode(&'static str),
    Setting { id: &'static str, value: String },
    Prompt(String),
}

/// What the turn wants, in the protocol's terms.
#[derive(Debug, Default)]
struct Wishes {
    workspace: String,
    resume: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    autopilot: bool,
    allow_all: bool,
    deny: bool,
    prompt: String,
}

/// The protocol's state.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    wishes: Option<Wishes>,
    queue: VecDeque<Step>,
    waiting: Option<Step>,
    /// The id of our last request.
    last_id: u64,
    session: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// Requests of the agent that wait for an answer: their ids as they stand in JSON, which are the asks' ids too.
    asks: Vec<String>,
    updates: Updates,
    /// What the turns before this one used.
    used_before: Tokens,
}

impl Acp {
    /// What to do once the process is up, or with the next prompt.
    pub(crate) fn prepare(&mut self, turn: &Turn, prompt: String) {
        self.wishes = Some(Wishes {
            workspace: turn.workspace.clone(),
            resume: if let SessionChoice::Resume(id) = &turn.session { Some(id.clone()) } else { None },
            model: turn.model.clone(),
            effort: turn.effort.clone(),
            autopilot: turn.autopilot && turn.approvals == Approvals::AllowAll,
            allow_all: turn.approvals == Approvals::AllowAll && !permissions::are_ruled(&turn.tools),
            deny: turn.approvals == Approvals::Deny,
            prompt,
        });
    }

    /// What the host says.
    pub(crate) fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Start if self.wishes.is_some() => {
                self.queue.push_back(Step::Initialize);
                self.send(out);
            }
            Input::Answer(answer) => {
                if let Some(at) = self.asks.iter().position(|ask| *ask == answer.ask) {
                    out.write_line(ask::answer(&self.asks.swap_remove(at), answer.choice.as_deref()));
                }
            }
            Input::NextTurn(turn) => match prompt::text(&turn) {
                Ok(prompt) if self.session.is_some() => {
                    self.prepare(&turn, prompt);
                    self.configure(out);
                }
                Ok(_) => out.failed(Failure::new(ErrorClass::Protocol, "there is no session to go on with")),
                Err(failure) => out.failed(failure),
            },
            Input::Cancel => self.cancel(out),
            Input::Message(_) if self.session.is_some() => {
                out.notice(LogLevel::Warn, "Copilot takes no message while it works on a turn");
            }
            _ => {}
        }
    }

    /// One line from the agent.
    pub(crate) fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, method, params, result, error] = line.pick(["id", "method", "params", "result", "error"])?;
        match method.name() {
            Some("session/request_permission") if !id.is_missing() => {
                self.permission(line, id, params, out);
                Ok(())
            }
            Some("session/update") => {
                // A session that is loaded first tells its past.
                if !matches!(self.waiting, Some(Step::Load(_))) {
                    self.updates.update(params.get("update"), out)?;
                }
                Ok(())
            }
            Some(other) if id.is_missing() => {
                out.unknown(other);
                Ok(())
            }
            Some(other) => {
                out.unknown(other);
                let error = Object::new().raw("code", "-32601").str("message", "Method not found");
                out.write_line(Object::new().str("jsonrpc", "2.0").raw("id", id.raw()).object("error", error).finish());
                Ok(())
            }
            None if error.is_null() && result.is_missing() => Err(Malformed),
            None => {
                let ours = id.u64() == Some(self.last_id);
                // A recording may be read without what was written: the end of a turn is known by its shape.
                let step = self
                    .waiting
                    .take_if(|_| ours)
                    .or_else(|| result.get("stopReason").is_string().then(|| Step::Prompt(String::new())));
                match step {
                    Some(step) if error.is_null() => self.done(&step, result, out),
                    Some(step) => self.refused(&step, error, out),
                    None => {}
                }
                self.send(out);
                Ok(())
            }
        }
    }

    fn permission(&mut self, line: Json<'_>, id: Json<'_>, params: Json<'_>, out: &mut Effects) {
        match ask::permission(id.raw(), params, |call| self.updates.name_of(call)) {
            Ok(ask) if self.wishes.as_ref().is_some_and(|wishes| wishes.deny) => {
                out.write_line(ask::answer(id.raw(), ask::rejection(&ask)));
            }
            Ok(ask) => {
                self.asks.push(ask.id.clone());
                out.emit(Event::Ask(ask));
            }
            // Told here, because an error would drop the answer that the agent waits for.
            Err(Malformed) => {
                out.malformed(line.raw());
                out.write_line(ask::answer(id.raw(), None));
            }
        }
    }

    fn cancel(&mut self, out: &mut Effects) {
        for ask in self.asks.drain(..) {
            out.write_line(ask::answer(&ask, None));
            out.emit(Event::AskWithdrawn(ask));
        }
        match (&self.waiting, &self.session) {
            (Some(Step::Prompt(_)), Some(session)) => {
                let params = Object::new().str("sessionId", session);
                let cancel = Object::new().str("jsonrpc", "2.0").str("method", "session/cancel");
                out.write_line(cancel.object("params", params).finish());
            }
            // There is no turn yet that the agent could stop: it is never begun.
            (Some(_), _) => {
                self.queue.clear();
                self.wishes = None;
                out.turn_ended(Outcome::Cancelled, None);
            }
            (None, _) => {}
        }
    }

    /// Send the next request, unless one is open.
    fn send(&mut self, out: &mut Effects) {
        if self.waiting.is_some() {
            return;
        }
        let Some(step) = self.queue.pop_front() else { return };
        let (method, params) = self.request(&step);
        self.last_id += 1;
        let request = Object::new().str("jsonrpc", "2.0").number("id", self.last_id).str("method", method);
        out.write_line(request.object("params", params).finish());
        self.waiting = Some(step);
    }

    fn request(&self, step: &Step) -> (&'static str, Object) {
        let session = || Object::new().str("sessionId", self.session.as_deref().unwrap_or_default());
        let place = |object: Object| match &self.wishes {
            // The field must be there, but what stands in it is not started: the command line names the servers.
            Some(wishes) => object.str("cwd", &wishes.workspace).raw("mcpServers", "[]"),
            None => object,
        };
        match step {
            Step::Initialize => {
                let files = Object::new().bool("readTextFile", false).bool("writeTextFile", false);
                let client = Object::new().object("fs", files).bool("terminal", false);
                let name = Object::new().str("name", "wharf").str("version", env!("CARGO_PKG_VERSION"));
                let params = Object::new().number("protocolVersion", 1).object("clientCapabilities", client);
                ("initialize", params.object("clientInfo", name))
            }
            Step::New => ("session/new", place(Object::new())),
            Step::Load(id) => ("session/load", place(Object::new().str("sessionId", id))),
            Step::Model(model) => ("session/set_model", session().str("modelId", model)),
            Step::Mode(mode) => ("session/set_mode", session().str("modeId", mode)),
            Step::Setting { id, value } => {
                ("session/set_config_option", session().str("configId", id).str("value", value))
            }
            Step::Prompt(text) => {
                let part = Object::new().str("type", "text").str("text", text).finish();
                ("session/prompt", session().raw("prompt", &array([part])))
            }
        }
    }

    fn done(&mut self, step: &Step, result: Json<'_>, out: &mut Effects) {
        match step {
            Step::Prompt(_) => self.prompted(result, out),
            _ if self.wishes.is_none() => {}
            Step::Initialize => {
                self.version = result.at(&["agentInfo", "version"]).string();
                let resume = self.wishes.as_ref().and_then(|wishes| wishes.resume.clone());
                self.queue.push_back(resume.map_or(Step::New, Step::Load));
            }
            Step::New => {
                self.session = result.get("sessionId").string();
                if self.session.is_none() {
                    self.fail(Failure::new(ErrorClass::Protocol, "session/new gave no session"), out);
                    return;
                }
                self.opened(result, None, out);
            }
            Step::Load(id) => {
                self.session = Some(id.clone());
                self.opened(result, Some(true), out);
            }
            Step::Model(model) => {
                self.model = Some(model.clone());
                self.tell_session(None, out);
            }
            Step::Mode(_) | Step::Setting { .. } => {}
        }
    }

    fn opened(&mut self, result: Json<'_>, resumed: Option<bool>, out: &mut Effects) {
        self.model = result.at(&["models", "currentModelId"]).string();
        self.tell_session(resumed, out);
        self.configure(out);
    }

    fn tell_session(&self, resumed: Option<bool>, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.session.clone(),
            resumed,
            model: self.model.clone(),
            agent_version: self.version.clone(),
        }));
    }

    /// The session's settings, then the prompt.
    fn configure(&mut self, out: &mut Effects) {
        let Some(wishes) = &mut self.wishes else { return };
        // Even where the session says that it has it: 1.0.35 shows the first of the list as its model and has chosen none.
        if let Some(model) = wishes.model.clone() {
            self.queue.push_back(Step::Model(model));
        }
        if let Some(value) = wishes.effort.clone() {
            self.queue.push_back(Step::Setting { id: "reasoning_effort", value });
        }
        if wishes.allow_all {
            self.queue.push_back(Step::Setting { id: "allow_all", value: "on".to_owned() });
        }
        if wishes.autopilot {
            self.queue.push_back(Step::Mode(AUTOPILOT));
        }
        self.queue.push_back(Step::Prompt(std::mem::take(&mut wishes.prompt)));
        self.updates.begin_turn();
        self.send(out);
    }

    fn refused(&mut self, step: &Step, error: Json<'_>, out: &mut Effects) {
        let message = error.get("message").string().unwrap_or_default();
        let code = error.get("code").i32();
        let complaint = Complaint { message: message.clone(), ..Complaint::default() };
        let mut failure = complaint.failure().code(code.map(|code| code.to_string()));
        let class = match step {
            _ if self.wishes.is_none() => return,
            _ if code == Some(NOT_LOGGED_IN) => ErrorClass::Auth,
            Step::Setting { id: "reasoning_effort", .. } => {
                // One's own provider has no such setting; the turn can do without.
                out.notice(LogLevel::Warn, format!("the effort could not be set: {message}"));
                return;
            }
            Step::Model(_) => ErrorClass::UnknownModel,
            Step::Load(_) => ErrorClass::NoSession,
            Step::Setting { .. } | Step::Mode(_) => ErrorClass::InvalidOption,
            _ => failure.class,
        };
        if class != failure.class {
            failure = Failure::new(class, message).code(failure.code);
        }
        self.fail(failure, out);
    }

    fn fail(&mut self, failure: Failure, out: &mut Effects) {
        self.queue.clear();
        self.updates.close(out);
        out.failed(failure);
    }

    fn prompted(&mut self, result: Json<'_>, out: &mut Effects) {
        let mut wrote = false;
        let usage = result.get("usage");
        if usage.is_object() {
            let used = Tokens::read(usage);
            let turn = used.since(std::mem::replace(&mut self.used_before, used));
            wrote = turn.has_output();
            out.usage(turn.of_turn(self.model.clone()));
        }
        let error = self.updates.end_turn(wrote, out);
        let outcome = match result.get("stopReason").name() {
            Some("cancelled") => Outcome::Cancelled,
            Some("refusal") => Outcome::Refused("the model declined to answer".to_owned()),
            Some("max_tokens") => Outcome::Limit("max-tokens".to_owned()),
            Some("max_turn_requests") => Outcome::Limit("max-turns".to_owned()),
            _ => match error {
                Some(message) => Outcome::Failed(Complaint { message, ..Complaint::default() }.failure()),
                None if self.updates.was_rejected() => Outcome::Cancelled,
                None => Outcome::Completed,
            },
        };
        out.turn_ended(outcome, None);
    }
}

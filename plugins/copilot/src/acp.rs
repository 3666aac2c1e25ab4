//! The Agent Client Protocol: `copilot --acp`, JSON-RPC in lines on stdin and stdout.
//!
//! One request of ours is open at a time: initialize, a session, its settings, the prompt. Meanwhile the agent sends
//! updates ([`update`]) and permission requests ([`ask`]).

mod ask;
mod tokens;
mod tool;
mod update;

use crate::agent_error::AgentError;
use crate::{permissions, prompt};
use std::collections::VecDeque;
use tokens::Tokens;
use update::Updates;
use wharf_adapter::json::{Object, array};
use wharf_adapter::{
    Approvals, Effects, ErrorClass, Event, Failure, Host, Input, Json, LogLevel, Malformed, Outcome, Retry,
    SessionChoice, SessionInfo, Turn, Version,
};

/// The autopilot mode. It also allows everything.
const AUTOPILOT: &str = "https://agentclientprotocol.com/protocol/session-modes#autopilot";

/// The JSON-RPC code of `Authentication required`.
const NOT_LOGGED_IN: i32 = -32_000;

/// The oldest version that was seen to use a provider's key over ACP; 1.0.60 does not.
const PROVIDER_OVER_ACP: Version = Version(1, 0, 80);

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

/// The settings of a turn, for the protocol.
#[derive(Debug, Default)]
struct ProtocolSettings {
    workspace: String,
    resume: Option<String>,
    /// What a new session says: not resumed, if one was to be continued in a way that ACP does not have.
    resumed: Option<bool>,
    model: Option<String>,
    effort: Option<String>,
    autopilot: bool,
    allow_all: bool,
    deny: bool,
    prompt: String,
}

/// The state of the protocol.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    settings: Option<ProtocolSettings>,
    queue: VecDeque<Step>,
    waiting: Option<Step>,
    /// The id of our last request.
    last_id: u64,
    session: Option<String>,
    model: Option<String>,
    pub(crate) version: Option<String>,
    /// Open requests of the agent: their ids as JSON, which are also the ids of the asks.
    asks: Vec<String>,
    updates: Updates,
    /// The tokens of earlier turns.
    used_before: Tokens,
    /// Why there is no session.
    failure: Option<Failure>,
}

impl Acp {
    /// Stores the settings and the prompt of the next turn.
    pub(crate) fn prepare(&mut self, turn: &Turn, prompt: String) {
        self.settings = Some(ProtocolSettings {
            workspace: turn.workspace.clone(),
            resume: if let SessionChoice::Resume(id) = &turn.session { Some(id.clone()) } else { None },
            resumed: matches!(turn.session, SessionChoice::Fork(_) | SessionChoice::MostRecent).then_some(false),
            model: turn.model.clone(),
            effort: turn.effort.clone(),
            autopilot: turn.autopilot && turn.approvals == Approvals::AllowAll,
            allow_all: turn.approvals == Approvals::AllowAll && !permissions::has_rules(&turn.tools),
            deny: turn.approvals == Approvals::Deny,
            prompt,
        });
    }

    /// Handles an input.
    pub(crate) fn handle(&mut self, input: Input, out: &mut Effects) {
        match input {
            Input::Start if self.settings.is_some() => {
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
                Ok(_) => out.failed(self.no_session()),
                Err(failure) => out.failed(failure),
            },
            Input::Cancel => self.cancel(out),
            Input::Message(_) if self.session.is_some() => {
                out.notice(LogLevel::Warn, "Copilot accepts no messages during a turn");
            }
            _ => {}
        }
    }

    /// Handles a line from the agent.
    pub(crate) fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, method, params, result, error] = line.pick(["id", "method", "params", "result", "error"])?;
        match method.name() {
            Some("session/request_permission") if !id.is_missing() => {
                self.permission(line, id, params, out);
                Ok(())
            }
            Some("session/update") => {
                // A loaded session first repeats its history.
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
                // A recording can be read without our requests: the end of a turn is recognized by its fields.
                let step = self
                    .waiting
                    .take_if(|_| ours)
                    .or_else(|| result.get("stopReason").is_string().then(|| Step::Prompt(String::new())));
                match step {
                    Some(step) if error.is_null() => self.done(&step, result, out),
                    Some(step) => self.failed(&step, error, out),
                    None => {}
                }
                self.send(out);
                Ok(())
            }
        }
    }

    fn permission(&mut self, line: Json<'_>, id: Json<'_>, params: Json<'_>, out: &mut Effects) {
        match ask::permission(id.raw(), params, |call| self.updates.name_of(call)) {
            Ok(ask) if self.settings.as_ref().is_some_and(|settings| settings.deny) => {
                out.write_line(ask::answer(id.raw(), ask::rejection(&ask)));
            }
            Ok(ask) => {
                self.asks.push(ask.id.clone());
                out.emit(Event::Ask(ask));
            }
            // Reported here: an error from `line` would drop the answer that the agent waits for.
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
            // No turn has started that the agent could stop: it never starts.
            (Some(_), _) => {
                self.queue.clear();
                self.settings = None;
                out.turn_ended(Outcome::Cancelled, None);
            }
            (None, _) => {}
        }
    }

    /// Sends the next request, unless one is open.
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
        let workspace = |object: Object| match &self.settings {
            // The field is required, but its servers are not started: the command line names the servers.
            Some(settings) => object.str("cwd", &settings.workspace).raw("mcpServers", "[]"),
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
            Step::New => ("session/new", workspace(Object::new())),
            Step::Load(id) => ("session/load", workspace(Object::new().str("sessionId", id))),
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
            _ if self.settings.is_none() => {}
            Step::Initialize => {
                self.version = result.at(&["agentInfo", "version"]).string().or(self.version.take());
                let resume = self.settings.as_ref().and_then(|settings| settings.resume.clone());
                self.queue.push_back(resume.map_or(Step::New, Step::Load));
            }
            Step::New => {
                self.session = result.get("sessionId").string();
                if self.session.is_none() {
                    self.fail(Failure::new(ErrorClass::Protocol, "session/new gave no session"), out);
                    return;
                }
                let resumed = self.settings.as_ref().and_then(|settings| settings.resumed);
                self.opened(result, resumed, out);
            }
            Step::Load(id) => {
                self.session = Some(id.clone());
                self.opened(result, Some(true), out);
            }
            Step::Model(model) => {
                self.model = Some(model.clone());
                self.emit_session(None, out);
            }
            Step::Mode(_) | Step::Setting { .. } => {}
        }
    }

    fn opened(&mut self, result: Json<'_>, resumed: Option<bool>, out: &mut Effects) {
        self.model = result.at(&["models", "currentModelId"]).string();
        self.emit_session(resumed, out);
        self.configure(out);
    }

    fn emit_session(&self, resumed: Option<bool>, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.session.clone(),
            resumed,
            model: self.model.clone(),
            agent_version: self.version.clone(),
        }));
    }

    /// Sends the settings of the session, then the prompt.
    fn configure(&mut self, out: &mut Effects) {
        let Some(settings) = &mut self.settings else { return };
        // Even if the session reports this model: 1.0.35 reports the first of its list, and has not chosen any.
        if let Some(model) = settings.model.clone() {
            self.queue.push_back(Step::Model(model));
        }
        if let Some(value) = settings.effort.clone() {
            self.queue.push_back(Step::Setting { id: "reasoning_effort", value });
        }
        if settings.allow_all {
            self.queue.push_back(Step::Setting { id: "allow_all", value: "on".to_owned() });
        }
        if settings.autopilot {
            self.queue.push_back(Step::Mode(AUTOPILOT));
        }
        self.queue.push_back(Step::Prompt(std::mem::take(&mut settings.prompt)));
        self.updates.start_turn();
        self.send(out);
    }

    fn failed(&mut self, step: &Step, error: Json<'_>, out: &mut Effects) {
        let message = error.get("message").string().unwrap_or_default();
        let code = error.get("code").i32();
        let agent_error = AgentError { message: message.clone(), ..AgentError::default() };
        let mut failure = agent_error.failure().code(code.map(|code| code.to_string()));
        let class = match step {
            _ if self.settings.is_none() => return,
            _ if code == Some(NOT_LOGGED_IN) => ErrorClass::Auth,
            Step::Setting { id: "reasoning_effort", .. } => {
                // A custom provider does not have this setting; the turn works without it.
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
        if class == ErrorClass::Auth {
            failure = self.explain_auth(failure);
        }
        self.fail(failure, out);
    }

    /// Over ACP, old versions ignore the keys of a custom provider, with which the same turn works in JSON lines.
    fn explain_auth(&self, failure: Failure) -> Failure {
        let old = self.version.as_deref().and_then(Version::find).filter(|version| *version < PROVIDER_OVER_ACP);
        let Some(version) = old else { return failure };
        let message = format!(
            "{}: over ACP, which asks need, Copilot {version} needs a GitHub login, also with a provider's key",
            failure.message
        );
        let fix = "run `copilot login`, set COPILOT_GITHUB_TOKEN, update Copilot, or do not let approvals ask";
        Failure { message, ..failure }.retry(Retry::AfterUserAction(fix.to_owned()))
    }

    /// The failure of a turn that has no session, because of what failed before.
    fn no_session(&self) -> Failure {
        let Some(first) = &self.failure else {
            return Failure::new(ErrorClass::Protocol, "there is no session to continue");
        };
        Failure { message: format!("there is no session to continue: {}", first.message), ..first.clone() }
    }

    /// The model that the environment names, if the protocol did not name one, as with a custom provider.
    pub(crate) fn finish(&mut self, host: &dyn Host, out: &mut Effects) {
        if self.session.is_some() && self.model.is_none() {
            self.model = host.set_variable("COPILOT_MODEL");
            if self.model.is_some() {
                self.emit_session(None, out);
            }
        }
    }

    fn fail(&mut self, failure: Failure, out: &mut Effects) {
        self.failure.get_or_insert_with(|| failure.clone());
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
            out.usage(turn.into_usage(self.model.clone()));
        }
        let error = self.updates.end_turn(wrote, out);
        let outcome = match result.get("stopReason").name() {
            Some("cancelled") => Outcome::Cancelled,
            Some("refusal") => Outcome::Refused("the model declined to answer".to_owned()),
            Some("max_tokens") => Outcome::Limit("max-tokens".to_owned()),
            Some("max_turn_requests") => Outcome::Limit("max-turns".to_owned()),
            _ => match error {
                Some(message) => Outcome::Failed(AgentError { message, ..AgentError::default() }.failure()),
                None if self.updates.was_rejected() => Outcome::Cancelled,
                None => Outcome::Completed,
            },
        };
        out.turn_ended(outcome, None);
    }
}

//! What differs from agent to agent.

use super::error::RpcError;
use super::offer::{Change, Offer};
use super::transcript::{ToolFields, Transcript};
use crate::{
    Approvals, Effects, ErrorClass, Failure, Ignored, Json, LogLevel, Outcome, Retry, ToolCall, Turn, UsageScope,
};

/// What differs from agent to agent. The defaults are an agent that does what the protocol says; a dialect overrides what
/// was measured to be otherwise.
pub trait Dialect: Default {
    /// Updates, notifications and requests of the agent that are known and not reported. Extensions, which start with an
    /// underscore, need not be listed.
    const IGNORED: Ignored = Ignored::NONE;
    /// What the figures in the response to a prompt cover. A session's total is `SessionTotal`; the total of a process is
    /// `Delta`, and the difference to the previous one is reported.
    const USAGE: UsageScope = UsageScope::TurnTotal;
    /// Whether the input figure includes cached tokens. `None`: what makes the agent's own total come out.
    const INPUT_INCLUDES_CACHED: Option<bool> = None;
    /// Whether the MCP servers of a turn are given in the protocol. `false`: the command line names them.
    const MCP_SERVERS: bool = true;
    /// Whether a session is loaded with its history even if the agent can resume it without.
    const ALWAYS_LOADS: bool = false;
    /// Whether the agent answers `session/load` of an unknown session with an empty one. Then a session whose history is not
    /// repeated was not resumed.
    const LOADS_UNKNOWN: bool = false;
    /// For an agent that still repeats the history after it has answered `session/load`: how long it must be silent before
    /// the prompt is sent.
    const HISTORY_MILLIS: u32 = 0;
    /// Whether a turn that ends without any text or tool has failed, for an agent that hides errors this way.
    const SILENCE_FAILS: bool = false;
    /// Whether the figures in the response to a prompt are those of the last model call only. They are then not reported
    /// for a turn with tools, which has several calls.
    const LAST_CALL_ONLY: bool = false;
    /// Whether the extra folders of a turn are given in the protocol. `false`: the command line names them.
    const EXTRA_DIRS: bool = false;
    /// Whether the attachments of a turn are given in the protocol. `false`: the command line names them, or nothing does.
    const ATTACHMENTS: bool = true;
    /// Whether a tool that changes files and shows no differences has changed those at its locations.
    const CHANGES_AT_LOCATIONS: bool = false;
    /// Whether the agent is offered to ask with forms, in turns whose approvals ask.
    const FORMS: bool = false;
    /// How long the agent may take to answer `initialize`.
    const HANDSHAKE_MILLIS: u32 = 60_000;

    // What a dialect for several agents decides once it knows which one it talks to.

    /// [`Dialect::USAGE`] of this agent.
    fn usage_scope(&self) -> UsageScope {
        Self::USAGE
    }

    /// [`Dialect::LAST_CALL_ONLY`] of this agent.
    fn counts_last_call_only(&self) -> bool {
        Self::LAST_CALL_ONLY
    }

    /// [`Dialect::HISTORY_MILLIS`] of this agent.
    fn history_millis(&self) -> u32 {
        Self::HISTORY_MILLIS
    }

    /// The agent said what it is, in its response to `initialize`.
    fn initialized(&mut self, _agent: Json<'_>) {}

    /// A session was opened: the response to `session/new`, `session/load`, `session/resume` or `session/fork`.
    fn opened(&mut self, _session: Json<'_>) {}

    /// Looks at an update that is not part of a turn: the agent repeats the history of a session.
    fn replayed(&mut self, _kind: &str, _update: Json<'_>) {}

    /// The prompt of a turn, written so that it reaches the model. The protocol has no system prompt.
    fn prompt(&self, turn: &Turn) -> Result<String, Failure> {
        if turn.prompt.trim().is_empty() {
            let retry = Retry::AfterUserAction("give a prompt".to_owned());
            return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
        }
        Ok(match turn.system_prompt.as_deref().filter(|system| !system.is_empty()) {
            Some(system) => format!("<system>\n{system}\n</system>\n\n{}", turn.prompt),
            None => turn.prompt.clone(),
        })
    }

    /// A turn starts: what was kept about the one before it is void.
    fn start_turn(&mut self) {}

    /// The id of the login method to use before a session starts, out of `authMethods`.
    fn authenticate(&self, _methods: Json<'_>) -> Option<String> {
        None
    }

    /// What to change in a session before its prompt. What cannot be changed is reported as a notice.
    fn changes(&self, turn: &Turn, offer: &Offer<'_>, out: &mut Effects) -> Vec<Change> {
        let mut changes = vec![];
        if let Some(model) = &turn.model {
            changes.push(offer.model(model));
        }
        if let Some(effort) = &turn.effort {
            match offer.effort(effort) {
                Some(change) => changes.push(change),
                None => out.notice(LogLevel::Warn, "the effort was not set: the agent offers none"),
            }
        }
        changes
    }

    /// Who answers a permission request: the adapter, with a yes or a no, or the user.
    fn approvals(&self, turn: &Turn) -> Approvals {
        turn.approvals
    }

    /// The name of a model, as users know it, for an agent whose ids contain more.
    fn model_name(&self, id: &str) -> String {
        id.to_owned()
    }

    /// The name of a tool, which the protocol does not have.
    fn tool_name(&self, tool: &ToolFields<'_>) -> Option<String> {
        tool.usual_name()
    }

    /// Completes a tool call that was read the usual way.
    fn tool(&mut self, _tool: &ToolFields<'_>, _call: &mut ToolCall, _transcript: &Transcript) {}

    /// The tool call whose sub-agent writes the text that starts now.
    fn text_parent(&self, _transcript: &Transcript) -> Option<String> {
        None
    }

    /// Looks at an update of the session first. Returns whether nothing is left to do.
    fn update(
        &mut self,
        _kind: &str,
        _update: Json<'_>,
        _transcript: &mut Transcript,
        _out: &mut Effects,
    ) -> Result<bool, crate::Malformed> {
        Ok(false)
    }

    /// Looks at a notification first. Returns whether it is handled.
    fn notification(
        &mut self,
        _method: &str,
        _params: Json<'_>,
        _transcript: &mut Transcript,
        _out: &mut Effects,
    ) -> bool {
        false
    }

    /// The prompt was answered with `end_turn`: an outcome other than completed, if the updates showed one. `wrote` says
    /// whether the model wrote anything, according to the usage.
    fn outcome(&mut self, _wrote: bool, _transcript: &mut Transcript, _out: &mut Effects) -> Option<Outcome> {
        None
    }

    /// Classifies an error of the agent.
    fn failure(&self, error: &RpcError<'_>) -> Failure {
        error.usual_failure()
    }

    /// Says what to do about a missing login. `version` is the agent's, `methods` are its `authMethods`.
    fn explain_login(&self, failure: Failure, _version: Option<&str>, methods: Json<'_>) -> Failure {
        let names: Vec<String> = methods
            .items()
            .filter_map(|method| method.get("description").filled().or_else(|| method.get("name").filled()))
            .map(std::borrow::Cow::into_owned)
            .collect();
        if names.is_empty() { failure } else { failure.retry(Retry::AfterUserAction(names.join("; or: "))) }
    }
}

/// An agent without quirks.
#[derive(Debug, Default)]
pub struct Standard;

impl Dialect for Standard {}

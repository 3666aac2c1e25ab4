//! The Agent Client Protocol: `gemini --acp`, and how Gemini CLI deviates from it.
//!
//! Tools have no names, but their ids start with one. A rejected tool is never mentioned again. A session that is loaded
//! repeats its history after the response, too. A change of the mode is confirmed in the text of the answer.

use crate::failure::{Cause, LOGIN};
use crate::{prompt, tools};
use std::cell::RefCell;
use wharf_adapter::acp::{Change, Dialect, Offer, RpcError, ToolFields, Transcript};
use wharf_adapter::{Approvals, Effects, ErrorClass, Failure, Json, Malformed, Retry, ToolCall, Turn};

/// The settings that the session has.
#[derive(Debug)]
struct Current {
    model: Option<String>,
    approvals: Approvals,
}

impl Current {
    fn of(turn: &Turn) -> Current {
        Current { model: turn.model.clone(), approvals: turn.approvals }
    }
}

/// The state between two updates.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    /// None before the first prompt.
    current: RefCell<Option<Current>>,
    /// Whether a prompt was sent. A recording can be read without our requests: then none was.
    has_started: bool,
    /// Whether the history of a session is being repeated, in such a recording.
    is_history: bool,
}

impl Dialect for Acp {
    /// The prompt's tokens include what was cached, which is not reported.
    const INPUT_INCLUDES_CACHED: Option<bool> = Some(true);
    const HISTORY_MILLIS: u32 = 500;
    /// A reply that was empty, broken or blocked.
    const SILENCE_FAILS: bool = true;

    fn prompt(&self, turn: &Turn) -> Result<String, Failure> {
        prompt::text(turn)
    }

    fn start_turn(&mut self) {
        self.has_started = true;
        self.is_history = false;
    }

    /// What differs from the turn before; the command line has the settings of the first.
    fn changes(&self, turn: &Turn, offer: &Offer<'_>, _out: &mut Effects) -> Vec<Change> {
        let current = self.current.replace(Some(Current::of(turn)));
        let Some(before) = current else { return vec![] };
        let model = turn.model.as_deref().filter(|model| before.model.as_deref() != Some(model));
        let by_approvals = turn.option("approval-mode").name().is_none_or(|mode| mode == "by-approvals");
        let mode = if turn.approvals == Approvals::AllowAll { "yolo" } else { "default" };
        let mode = offer.mode(mode).filter(|_| by_approvals && before.approvals != turn.approvals);
        model.map(|model| offer.model(model)).into_iter().chain(mode).collect()
    }

    fn tool_name(&self, tool: &ToolFields<'_>) -> Option<String> {
        tool.id.str().and_then(|id| name_in(&id).map(str::to_owned)).or_else(|| tool.usual_name())
    }

    fn tool(&mut self, _tool: &ToolFields<'_>, call: &mut ToolCall, _transcript: &Transcript) {
        if let Some(name) = call.name.clone() {
            tools::describe(&name, Json::parse(""), call);
        }
    }

    fn update(
        &mut self,
        kind: &str,
        update: Json<'_>,
        _transcript: &mut Transcript,
        _out: &mut Effects,
    ) -> Result<bool, Malformed> {
        match kind {
            // Only a history has them; the commands come after it.
            "user_message_chunk" => self.is_history |= !self.has_started,
            "available_commands_update" => self.is_history = false,
            "agent_message_chunk" => {
                let text = update.at(&["content", "text"]).filled();
                return Ok(self.is_history || text.is_some_and(|text| is_mode_update(&text)));
            }
            _ => {}
        }
        Ok(self.is_history)
    }

    fn failure(&self, error: &RpcError<'_>) -> Failure {
        let (text, status) = (error.text(), error.status());
        let failure = Cause::read(&text).failure(None, None);
        // A model that does not exist is reported as a 500.
        let status = failure.http_status.or(status).filter(|_| failure.class != ErrorClass::UnknownModel);
        let usual = error.usual_failure();
        let class = if failure.class == ErrorClass::Other { usual.class } else { failure.class };
        Failure::new(class, text).status(status).code(usual.code)
    }

    fn explain_login(&self, failure: Failure, _version: Option<&str>, _methods: Json<'_>) -> Failure {
        // A session is loaded only with a way to log in that the settings name; a new one takes the key alone.
        let help = if failure.http_status.is_none() {
            "; to resume a session with a key alone, use the transport stream-json"
        } else {
            ""
        };
        failure.retry(Retry::AfterUserAction(format!("{LOGIN}{help}")))
    }
}

/// The name of a tool in the id of its call: `run_shell_command__fc38c7eb`, `glob-1763247600000-1a2b`.
fn name_in(id: &str) -> Option<&str> {
    let is_number = |rest: &str| rest.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let end = wharf_adapter::text::find(id, "__").or_else(|| {
        let dashes = id.bytes().enumerate().filter(|(_, byte)| *byte == b'-').map(|(at, _)| at);
        dashes.into_iter().find(|at| is_number(&id[at + 1..]))
    })?;
    Some(&id[..end]).filter(|name| !name.is_empty())
}

/// What the agent writes into its answer when its mode was changed.
fn is_mode_update(text: &str) -> bool {
    text.strip_prefix("[MODE_UPDATE] ")
        .is_some_and(|mode| mode.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_by_the_id_of_its_call() {
        for (id, name) in [
            ("run_shell_command__fc38c7eb", Some("run_shell_command")),
            ("run_shell_command__run_shell_command_1795019973538_0", Some("run_shell_command")),
            ("mcp_my-lab_echo__fc1", Some("mcp_my-lab_echo")),
            ("glob-1763247600000-1a2b", Some("glob")),
            ("call_1", None),
            ("__x", None),
            ("", None),
        ] {
            assert_eq!(name_in(id), name, "{id}");
        }
    }
}

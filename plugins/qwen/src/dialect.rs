//! The Agent Client Protocol: `qwen --acp`, and how Qwen Code deviates from it.
//!
//! The figures of each model call come as metadata of an empty chunk. Remarks of the CLI come as chunks of the answer, with
//! their source in the metadata. A sub-agent's updates name its tool call; its texts do not in older versions, where the
//! agent itself waits meanwhile. A rejected permission ends the turn in newer versions, as if it were complete.

mod tool_name;

use crate::command::mode;
use crate::failure::{self, LOGIN};
use crate::result::INPUT_INCLUDES_CACHED;
use crate::shell::exit_code;
use crate::{prompt, tools};
use wharf_adapter::acp::{Change, Dialect, Offer, RpcError, TextKind, ToolFields, Transcript};
use wharf_adapter::{
    Approvals, Effects, Event, Failure, Ignored, Json, LogLevel, Malformed, Outcome, Retry, ToolCall, ToolStatus, Turn,
    Usage, UsageScope,
};

/// The tool that starts a sub-agent.
const AGENT: &str = "agent";

/// The state between two updates.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    /// The sub-agent that wrote the last chunk, by its tool call.
    writer: Option<String>,
    /// Whether the last thing that happened in the turn is a rejected permission.
    rejected: bool,
}

impl Dialect for Acp {
    /// Requests and notifications of newer versions, for hosts that queue messages or show more than a turn.
    const IGNORED: Ignored = Ignored::new(&[
        "a2ui",
        "authenticate/update",
        "craft/cancelPendingPrompt",
        "craft/claimTodoStopGuardContinuation",
        "craft/drainMidTurnQueue",
        "craft/todoStopGuardQueueReleased",
        "qwen/notify/channel/active-work",
        "qwen/notify/session/artifact-event",
        "qwen/notify/session/generation/event",
        "qwen/notify/session/mcp-budget-event",
        "qwen/notify/session/model-update",
        "qwen/notify/session/pr-binding",
        "qwen/notify/session/prompt-suggestion",
        "qwen/notify/session/sources-changed",
        "qwen/notify/session/terminal-sequence",
        "qwen/notify/workspace/generation/event",
        "shell_output",
    ]);
    /// 0.15.10 answers `session/load` of an unknown session with an empty one.
    const LOADS_UNKNOWN: bool = true;

    fn prompt(&self, turn: &Turn) -> Result<String, Failure> {
        prompt::text(turn)
    }

    fn start_turn(&mut self) {
        *self = Acp::default();
    }

    fn changes(&self, turn: &Turn, offer: &Offer<'_>, out: &mut Effects) -> Vec<Change> {
        let mut changes = vec![];
        let current = offer.current_model().map(|id| self.model_name(&id));
        if let Some(model) = turn.model.as_ref().filter(|model| current.as_ref() != Some(*model)) {
            changes.push(offer.model(model));
        }
        if let Some(effort) = &turn.effort {
            match offer.effort(effort) {
                Some(change) => changes.push(change),
                None => out.notice(LogLevel::Warn, "the effort was not set: Qwen Code offers none for this model"),
            }
        }
        if !offer.0.at(&["modes", "currentModeId"]).is(mode(turn)) {
            changes.extend(offer.mode(mode(turn)));
        }
        changes
    }

    /// With `yolo` nothing is asked but what a person has to decide, such as the end of a plan.
    fn approvals(&self, turn: &Turn) -> Approvals {
        turn.approvals
    }

    /// "$runtime|openai|qwen3-coder(openai)" is the model "qwen3-coder" of the provider "openai".
    fn model_name(&self, id: &str) -> String {
        let name = if id.starts_with("$runtime|") { id.rsplit('|').next().unwrap_or(id) } else { id };
        let plain = name.strip_suffix(')').and_then(|name| name.rsplit_once('(')).map(|(name, _)| name);
        plain.filter(|plain| !plain.is_empty()).unwrap_or(name).to_owned()
    }

    fn tool_name(&self, tool: &ToolFields<'_>) -> Option<String> {
        tool_name::of(tool)
    }

    fn tool(&mut self, tool: &ToolFields<'_>, call: &mut ToolCall, _transcript: &Transcript) {
        call.parent = parent(tool.meta).map(Into::into);
        call.mcp_server = tool.meta.get("serverId").string();
        let said = tool.content.items().next().and_then(|item| item.at(&["content", "text"]).name());
        if call.status == ToolStatus::Failed && said.is_some_and(tools::is_denial) {
            call.status = ToolStatus::Denied;
        }
        if call.status == ToolStatus::Denied {
            call.denied_because = tool.content.items().next().and_then(|item| item.at(&["content", "text"]).string());
        }
        self.rejected = call.status == ToolStatus::Denied;
        let shown = tool.content.items().next().map(|item| item.at(&["content", "text"]));
        let code = || exit_code(shown?.name()?);
        call.exit_code = call.exit_code.or_else(code).filter(|_| call.output.is_some());
    }

    /// A sub-agent's text without its tool call: the agent waits while a single sub-agent works.
    fn text_parent(&self, transcript: &Transcript) -> Option<String> {
        self.writer.clone().or_else(|| {
            let mut agents = transcript.open_calls().filter(|(_, name)| *name == Some(AGENT));
            agents.next().filter(|_| agents.next().is_none()).map(|(id, _)| id.to_owned())
        })
    }

    fn update(
        &mut self,
        kind: &str,
        update: Json<'_>,
        transcript: &mut Transcript,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        let text_kind = match kind {
            "agent_message_chunk" => TextKind::Message,
            "agent_thought_chunk" => TextKind::Thought,
            _ => return Ok(false),
        };
        let [content, meta] = update.pick(["content", "_meta"])?;
        usage(meta.get("usage"), out);
        let Some(text) = content.get("text").filled() else { return Ok(true) };
        self.rejected = false;
        let is_remark = meta.get("qwenDiscreteMessage").is_true() && !is_answer(meta.get("source"));
        if is_remark {
            out.notice(LogLevel::Info, text);
            return Ok(true);
        }
        let writer = parent(meta);
        if writer != self.writer {
            transcript.close(out);
            self.writer = writer;
        }
        let parent = self.text_parent(transcript);
        transcript.write(text_kind, &text, parent, out);
        Ok(true)
    }

    fn notification(
        &mut self,
        method: &str,
        params: Json<'_>,
        _transcript: &mut Transcript,
        out: &mut Effects,
    ) -> bool {
        match method.strip_prefix("qwen/notify/session/") {
            Some("mode-update") => {
                if let Some(mode) = params.get("currentModeId").string() {
                    out.emit(Event::Mode(mode));
                }
            }
            Some("title-update") => {
                if let Some(title) = params.first_of(&["title", "displayName"]).string() {
                    out.emit(Event::Title(title));
                }
            }
            Some("recording-degraded") => {
                out.notice(LogLevel::Warn, "the session is not stored completely: it may not be resumable");
            }
            _ => return false,
        }
        true
    }

    fn outcome(&mut self, _wrote: bool, _transcript: &mut Transcript, _out: &mut Effects) -> Option<Outcome> {
        self.rejected.then_some(Outcome::Cancelled)
    }

    fn failure(&self, error: &RpcError<'_>) -> Failure {
        let usual = error.usual_failure();
        // "session:ID", which is all that the message says.
        if let Some(id) = usual.message.strip_prefix("session:") {
            return Failure { message: format!("Qwen Code has no session {id}"), ..usual };
        }
        // The text of a failed model call starts with its status, as in the lines.
        let known = usual.http_status.map(|_| failure::of_api_error(&usual.message));
        known.unwrap_or(usual.clone()).code(usual.code)
    }

    fn explain_login(&self, failure: Failure, _version: Option<&str>, _methods: Json<'_>) -> Failure {
        failure.retry(Retry::AfterUserAction(LOGIN.to_owned()))
    }
}

/// The tool call of the sub-agent that an update is about.
fn parent(meta: Json<'_>) -> Option<String> {
    meta.get("parentToolCallId").filled().map(Into::into)
}

/// Whether a chunk that stands for itself is the model's: its answer to a task in the background that ended.
fn is_answer(source: Json<'_>) -> bool {
    source.is("background_notification_response")
}

/// The figures of one model call.
fn usage(usage: Json<'_>, out: &mut Effects) {
    let keys = ["inputTokens", "outputTokens", "cachedReadTokens", "thoughtTokens"];
    let Ok([input, output, cached, reasoning]) = usage.pick(keys) else { return };
    out.usage(Usage {
        input: input.u64(),
        output: output.u64(),
        cache_read: cached.u64(),
        reasoning: reasoning.u64(),
        rounds: Some(1),
        ..Usage::new(UsageScope::Delta, "acp", INPUT_INCLUDES_CACHED)
    });
}

//! The Agent Client Protocol: `copilot --acp`, and how Copilot deviates from it.
//!
//! The CLI mixes its own remarks with the answer, as chunks that start with `Info: ` or `Error: `; a failed turn otherwise
//! looks like a successful one. Such a chunk is held back until the next update shows whether it was the model's, since a
//! model may write the same words. Text does not name its agent: while a sub-agent's call is open the agent itself waits,
//! so text belongs to the sub-agent.

mod tool_name;

use crate::agent_error::AgentError;
use crate::subagents::Subagents;
use crate::tools::trailing_exit_code;
use crate::{prompt, usage};
use tool_name::tool_name;
use wharf_adapter::acp::{Change, Dialect, Offer, RpcError, TextKind, ToolFields, Transcript};
use wharf_adapter::{
    Approvals, Effects, Failure, Json, LogLevel, Malformed, Outcome, Retry, ToolCall, ToolStatus, Turn, UsageScope,
    Version,
};

/// The autopilot mode. It also allows everything.
const AUTOPILOT: &str = "https://agentclientprotocol.com/protocol/session-modes#autopilot";

/// The oldest version that was seen to use a provider's key over ACP; 1.0.60 does not.
const PROVIDER_OVER_ACP: Version = Version(1, 0, 80);

/// Remarks of the CLI: a retry (by its end), a denied permission, disabled tools.
const RETRYING: &str = "etrying...";
const CANCELLED: &str = "Info: Operation cancelled by user";
const DISABLED: &str = "Info: Disabled tools: ";
/// An error that the CLI reports even if there are output tokens.
const NO_RESPONSE: &str = "Error: No response was returned";

/// A chunk that may be a remark of the CLI.
#[derive(Debug)]
enum Held {
    /// An error of the CLI if nothing follows.
    Error(String),
    /// A remark of the CLI unless the text continues.
    Remark(String),
}

/// The state between two updates.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    held: Option<Held>,
    /// Whether a rejected permission ends the turn.
    rejected: bool,
    subagents: Subagents,
}

impl Dialect for Acp {
    /// The agent reports the total over all turns of its process. In a new process a loaded session starts at zero.
    const USAGE: UsageScope = UsageScope::Delta;
    const INPUT_INCLUDES_CACHED: Option<bool> = Some(usage::INPUT_INCLUDES_CACHED);
    /// The field is required, but its servers are not started: the command line names the servers.
    const MCP_SERVERS: bool = false;
    const ALWAYS_LOADS: bool = true;
    /// They are reported as unsupported.
    const ATTACHMENTS: bool = false;

    fn prompt(&self, turn: &Turn) -> Result<String, Failure> {
        prompt::text(turn)
    }

    fn start_turn(&mut self) {
        self.held = None;
        self.rejected = false;
    }

    fn changes(&self, turn: &Turn, _offer: &Offer<'_>, _out: &mut Effects) -> Vec<Change> {
        let allow_all = turn.approvals == Approvals::AllowAll;
        [
            // Even if the session reports this model: 1.0.35 reports the first of its list, and has not chosen any.
            turn.model.clone().map(Change::model),
            // A custom provider does not have this setting; the turn works without it.
            turn.effort.clone().map(|effort| Change::option("effort", "reasoning_effort", effort).optional()),
            (allow_all && !turn.tools.has_rules()).then(|| Change::option("approvals", "allow_all", "on")),
            (allow_all && turn.autopilot).then(|| Change::mode(AUTOPILOT)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// What is allowed is decided by flags and by `allow_all`: the rest is for the user.
    fn approvals(&self, turn: &Turn) -> Approvals {
        if turn.approvals == Approvals::Deny { Approvals::Deny } else { Approvals::Ask }
    }

    fn tool_name(&self, tool: &ToolFields<'_>) -> Option<String> {
        tool_name(tool.kind.name(), &tool.title.str().unwrap_or_default(), tool.input)
    }

    fn tool(&mut self, tool: &ToolFields<'_>, call: &mut ToolCall, transcript: &Transcript) {
        let agent = tool.meta.at(&["github.com/copilot", "agentId"]).filled();
        call.parent = agent.and_then(|agent| self.parent_of(&agent, transcript)).map(Into::into);
        let code = tool.output.get("code").name();
        self.rejected |= code == Some("rejected");
        if call.status == ToolStatus::Failed && matches!(code, Some("rejected" | "denied")) {
            call.status = ToolStatus::Denied;
        }
        call.exit_code = exit_code(tool.output);
    }

    fn text_parent(&self, transcript: &Transcript) -> Option<String> {
        tasks(transcript).next().map(str::to_owned)
    }

    fn update(
        &mut self,
        kind: &str,
        update: Json<'_>,
        transcript: &mut Transcript,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        match kind {
            "agent_message_chunk" => {
                if let Some(text) = update.at(&["content", "text"]).filled() {
                    self.message(&text, transcript, out);
                }
                return Ok(true);
            }
            "agent_thought_chunk" | "tool_call" | "tool_call_update" | "usage_update" => {
                self.release(false, transcript, out);
            }
            _ => {}
        }
        Ok(false)
    }

    /// If the model wrote something, and there is no other output, a held text was the model's.
    fn outcome(&mut self, wrote: bool, transcript: &mut Transcript, out: &mut Effects) -> Option<Outcome> {
        let has_other = transcript.has_output();
        let is_error = |text: &str| !wrote || has_other || text.starts_with(NO_RESPONSE);
        match self.held.take_if(|held| matches!(held, Held::Error(text) if is_error(text))) {
            Some(Held::Error(text) | Held::Remark(text)) => {
                Some(Outcome::Failed(failure_of(text.strip_prefix("Error: ").unwrap_or(&text))))
            }
            None => {
                self.release(wrote && !has_other, transcript, out);
                self.rejected.then_some(Outcome::Cancelled)
            }
        }
    }

    fn failure(&self, error: &RpcError<'_>) -> Failure {
        failure_of(&error.message.str().unwrap_or_default()).code(error.code.map(|code| code.to_string()))
    }

    /// Over ACP, old versions ignore the keys of a custom provider, with which the same turn works in JSON lines.
    fn explain_login(&self, failure: Failure, version: Option<&str>, _methods: Json<'_>) -> Failure {
        let old = version.and_then(Version::find).filter(|version| *version < PROVIDER_OVER_ACP);
        let Some(version) = old else { return failure };
        let message = format!(
            "{}: over ACP, which asks need, Copilot {version} needs a GitHub login, also with a provider's key",
            failure.message
        );
        let fix = "run `copilot login`, set COPILOT_GITHUB_TOKEN, update Copilot, or do not let approvals ask";
        Failure { message, ..failure }.retry(Retry::AfterUserAction(fix.to_owned()))
    }
}

impl Acp {
    fn message(&mut self, text: &str, transcript: &mut Transcript, out: &mut Effects) {
        let is_remark = text.starts_with("Info: ");
        if is_remark && self.report_known_remark(text, transcript, out) {
            return;
        }
        let is_error = text.starts_with("Error: ");
        self.release(!is_remark && !is_error, transcript, out);
        if is_error {
            self.held = Some(Held::Error(text.to_owned()));
        } else if is_remark && !transcript.is_writing() {
            self.held = Some(Held::Remark(text.to_owned()));
        } else {
            self.write(text, transcript, out);
        }
    }

    fn write(&self, text: &str, transcript: &mut Transcript, out: &mut Effects) {
        let parent = self.text_parent(transcript);
        transcript.write(TextKind::Message, text, parent, out);
    }

    /// Reports a remark that no model writes. Returns whether it was one.
    fn report_known_remark(&mut self, remark: &str, transcript: &mut Transcript, out: &mut Effects) -> bool {
        if remark.ends_with(RETRYING) {
            self.held = None;
            transcript.retry(failure_of(plain(remark)), out);
        } else if remark == CANCELLED || remark.starts_with(DISABLED) {
            out.notice(LogLevel::Info, plain(remark));
        } else {
            // A created file is reported when its tool call ends.
            return transcript.is_changing(plain(remark));
        }
        true
    }

    /// An update follows the held chunk: an error was then written by the model; a remark only if its text continues.
    fn release(&mut self, continues: bool, transcript: &mut Transcript, out: &mut Effects) {
        match self.held.take() {
            Some(Held::Remark(remark)) if !continues => out.notice(LogLevel::Info, plain(&remark)),
            Some(Held::Error(text) | Held::Remark(text)) => self.write(&text, transcript, out),
            None => {}
        }
    }

    /// The call that started this sub-agent. If several calls are open, the protocol does not say which.
    fn parent_of(&mut self, agent: &str, transcript: &Transcript) -> Option<String> {
        let mut open = tasks(transcript);
        if let (Some(task), None) = (open.next(), open.next()) {
            self.subagents.register(agent, task);
        }
        self.subagents.parent(Some(agent), Json::parse(""))
    }
}

/// The open calls of sub-agents.
fn tasks(transcript: &Transcript) -> impl Iterator<Item = &str> {
    transcript.open_calls().filter(|(_, name)| *name == Some("task")).map(|(id, _)| id)
}

fn failure_of(message: &str) -> Failure {
    AgentError { message: message.to_owned(), ..AgentError::default() }.failure()
}

/// A remark without its prefix.
fn plain(remark: &str) -> &str {
    remark.strip_prefix("Info: ").unwrap_or(remark)
}

fn exit_code(output: Json<'_>) -> Option<i32> {
    let exit = output.get("contents").items().find(|item| item.get("type").is("shell_exit"));
    exit.map_or_else(|| output.get("content").name().and_then(trailing_exit_code), |exit| exit.get("exitCode").i32())
}

//! Reads the updates of a session during a turn.
//!
//! Chunks of text have no ids: all chunks between two tool calls are one message. They do not name their agent either:
//! while a sub-agent's call is open the agent itself waits, so they belong to the sub-agent. The CLI mixes its own remarks
//! with them, as chunks that start with `Info: ` or `Error: `; a failed turn otherwise looks like a successful one. Such a
//! chunk is held back until the next update shows whether it was the model's, since a model may write the same words.

use super::tool;
use crate::agent_error::AgentError;
use crate::subagents::Subagents;
use crate::tools::trailing_exit_code;
use wharf_adapter::{
    ChangeKind, ContextUsage, Effects, Event, FileChange, Json, LogLevel, Malformed, Text, ToolCall, ToolStatus,
};

/// Remarks of the CLI: a retry (by its end), a denied permission, disabled tools.
const RETRYING: &str = "etrying...";
const CANCELLED: &str = "Info: Operation cancelled by user";
const DISABLED: &str = "Info: Disabled tools: ";
/// An error that the CLI reports even if there are output tokens.
const NO_RESPONSE: &str = "Error: No response was returned";

/// The kind of a text.
#[derive(Debug, PartialEq, Clone, Copy)]
enum TextKind {
    Message,
    Thought,
}

/// A chunk that may be a remark of the CLI.
#[derive(Debug)]
enum Held {
    /// An error of the CLI if nothing follows.
    Error(String),
    /// A remark of the CLI unless the text continues.
    Remark(String),
}

/// A tool call that has not ended.
#[derive(Debug)]
struct Call {
    id: String,
    name: Option<String>,
}

/// The state between two updates.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// How many texts have started. The last one is still open if `open` is set.
    count: u32,
    open: Option<TextKind>,
    text: String,
    /// The tool call of the sub-agent that the text belongs to.
    parent: Option<String>,
    held: Option<Held>,
    /// Whether the turn had anything besides the held chunk.
    has_other_output: bool,
    rejected: bool,
    /// The files that open edits will change.
    edits: Vec<(String, FileChange)>,
    calls: Vec<Call>,
    subagents: Subagents,
}

impl Updates {
    /// A prompt was sent.
    pub(super) fn start_turn(&mut self) {
        self.has_other_output = false;
        self.rejected = false;
    }

    /// Whether a rejected permission ended the turn.
    pub(super) fn was_rejected(&self) -> bool {
        self.rejected
    }

    /// The tool name of an open call.
    pub(super) fn name_of(&self, call: &str) -> Option<&str> {
        self.calls.iter().find(|open| open.id == call)?.name.as_deref()
    }

    /// Handles one update.
    pub(super) fn update(&mut self, update: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let kind = update.get("sessionUpdate").name().ok_or(Malformed)?;
        match kind {
            "agent_message_chunk" => self.chunk(TextKind::Message, update.at(&["content", "text"]), out),
            "agent_thought_chunk" => self.chunk(TextKind::Thought, update.at(&["content", "text"]), out),
            "tool_call" | "tool_call_update" => self.tool(update, out).ok_or(Malformed)?,
            "usage_update" => {
                self.release(false, out);
                if let (Some(used), Some(window)) = (update.get("used").u64(), update.get("size").u64()) {
                    out.emit(Event::Context(ContextUsage { used, window }));
                }
            }
            "plan" => {
                let entries = update.get("entries");
                if entries.is_array() {
                    out.emit(Event::Plan(entries.raw().to_owned()));
                }
            }
            "available_commands_update"
            | "config_option_update"
            | "current_mode_update"
            | "session_info_update"
            | "user_message_chunk" => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn chunk(&mut self, kind: TextKind, text: Json<'_>, out: &mut Effects) {
        let Some(text) = text.filled() else { return };
        let message = kind == TextKind::Message;
        let remark = message && text.starts_with("Info: ");
        if remark && self.report_known_remark(&text, out) {
            return;
        }
        let error = message && text.starts_with("Error: ");
        self.release(message && !remark && !error, out);
        if error {
            self.held = Some(Held::Error(text.into_owned()));
        } else if remark && self.open.is_none() {
            self.held = Some(Held::Remark(text.into_owned()));
        } else {
            self.write(kind, &text, out);
        }
    }

    /// Reports a remark that no model writes. Returns whether it was one.
    fn report_known_remark(&mut self, remark: &str, out: &mut Effects) -> bool {
        // A created file is reported when its tool call ends.
        let is_edited = |path: &str| self.edits.iter().any(|(_, change)| change.path == path);
        if remark.ends_with(RETRYING) {
            self.discard_text(remark, out);
        } else if remark == CANCELLED || remark.starts_with(DISABLED) {
            out.notice(LogLevel::Info, plain(remark));
        } else if !remark.strip_prefix("Info: ").is_some_and(is_edited) {
            return false;
        }
        true
    }

    fn write(&mut self, kind: TextKind, text: &str, out: &mut Effects) {
        self.has_other_output = true;
        if self.open != Some(kind) {
            self.close(out);
            self.count += 1;
            self.open = Some(kind);
            self.parent = self.tasks().first().map(|&task| task.to_owned());
        }
        self.text.push_str(text);
        let (id, text) = (self.id(), Text::Inline(text.to_owned()));
        match kind {
            TextKind::Message => out.text_delta(&id, self.parent.as_deref(), text),
            TextKind::Thought => out.thinking_delta(&id, self.parent.as_deref(), text),
        }
    }

    /// The open calls of sub-agents.
    fn tasks(&self) -> Vec<&str> {
        let tasks = self.calls.iter().filter(|call| call.name.as_deref() == Some("task"));
        tasks.map(|call| call.id.as_str()).collect()
    }

    fn id(&self) -> String {
        format!("text-{}", self.count)
    }

    /// A model call failed and is retried: its text is discarded.
    fn discard_text(&mut self, remark: &str, out: &mut Effects) {
        self.held = None;
        if self.open.take().is_some() {
            self.text.clear();
            out.emit(Event::Discard(self.id()));
        }
        let message = plain(remark).to_owned();
        out.emit(Event::Retrying(AgentError { message, ..AgentError::default() }.failure()));
    }

    /// An update follows the held chunk: an error was then written by the model; a remark only if its text continues.
    fn release(&mut self, continues: bool, out: &mut Effects) {
        match self.held.take() {
            Some(Held::Remark(remark)) if !continues => out.notice(LogLevel::Info, plain(&remark)),
            Some(Held::Error(text) | Held::Remark(text)) => self.write(TextKind::Message, &text, out),
            None => {}
        }
    }

    /// The open text is complete.
    pub(super) fn close(&mut self, out: &mut Effects) {
        let Some(kind) = self.open.take() else { return };
        let (id, text) = (self.id(), Text::Inline(std::mem::take(&mut self.text)));
        match kind {
            TextKind::Message => out.message(&id, self.parent.as_deref(), text),
            TextKind::Thought => out.thinking(&id, self.parent.as_deref(), text),
        }
    }

    /// The prompt was answered. Returns the error that the CLI wrote as text. If the model wrote something, and there is
    /// no other output, the text was the model's.
    pub(super) fn end_turn(&mut self, model_wrote: bool, out: &mut Effects) -> Option<String> {
        let is_error = |text: &str| !model_wrote || self.has_other_output || text.starts_with(NO_RESPONSE);
        let error = match &self.held {
            Some(Held::Error(text)) if is_error(text) => Some(text.trim_start_matches("Error: ").to_owned()),
            _ => None,
        };
        if error.is_none() {
            self.release(model_wrote && !self.has_other_output, out);
        }
        self.held = None;
        self.close(out);
        for call in self.calls.drain(..) {
            out.tool(ToolCall::new(&call.id, ToolStatus::Cancelled));
        }
        error
    }

    /// The call that started this sub-agent. If several calls are open, the protocol does not say which.
    fn parent_of(&mut self, agent: Option<&str>) -> Option<String> {
        let agent = agent?;
        if let [task] = self.tasks()[..] {
            let task = task.to_owned();
            self.subagents.register(agent, &task);
        }
        self.subagents.parent(Some(agent), Json::parse(""))
    }

    fn tool(&mut self, update: Json<'_>, out: &mut Effects) -> Option<()> {
        let [id, kind, title, status, input, output, content, meta] =
            update.pick(["toolCallId", "kind", "title", "status", "rawInput", "rawOutput", "content", "_meta"]).ok()?;
        self.release(false, out);
        self.close(out);
        self.has_other_output = true;
        let id = id.string()?;
        let parent = self.parent_of(meta.at(&["github.com/copilot", "agentId"]).filled().as_deref());
        // The first name is kept: later updates omit what the name is recognized by.
        let known = self.name_of(&id).map(str::to_owned);
        let name = known.or_else(|| tool::name(kind.name(), &title.str().unwrap_or_default(), input));
        let denied = matches!(output.get("code").name(), Some("rejected" | "denied"));
        self.rejected |= output.get("code").is("rejected");
        let status = match status.name() {
            Some("pending") => ToolStatus::Pending,
            Some("completed") => ToolStatus::Succeeded,
            Some("failed") if denied => ToolStatus::Denied,
            Some("failed") => ToolStatus::Failed,
            _ => ToolStatus::Running,
        };
        let text = output.get("content");
        let ended = matches!(status, ToolStatus::Succeeded | ToolStatus::Failed | ToolStatus::Denied);
        if ended {
            self.calls.retain(|call| call.id != id);
        } else if !self.calls.iter().any(|call| call.id == id) {
            self.calls.push(Call { id: id.clone(), name: name.clone() });
        }
        out.tool(ToolCall {
            parent,
            name,
            title: title.string(),
            input: input.verbatim(),
            output: text.text().or_else(|| output.get("message").text()),
            exit_code: exit_code(output),
            ..ToolCall::new(&id, status)
        });
        // The end of a call repeats its diffs.
        for change in content.items().filter_map(change) {
            if !self.edits.iter().any(|(tool, known)| *tool == id && known.path == change.path) {
                self.edits.push((id.clone(), change));
            }
        }
        if ended {
            let (done, running): (Vec<_>, _) =
                std::mem::take(&mut self.edits).into_iter().partition(|(tool, _)| *tool == id);
            self.edits = running;
            for (_, change) in done.into_iter().filter(|_| status == ToolStatus::Succeeded) {
                out.emit(Event::FileChange(change));
            }
        }
        Some(())
    }
}

/// A remark without its prefix.
fn plain(remark: &str) -> &str {
    remark.strip_prefix("Info: ").unwrap_or(remark)
}

fn change(item: Json<'_>) -> Option<FileChange> {
    let path = item.get("path").string().filter(|_| item.get("type").is("diff"))?;
    let new = item.get("oldText").filled().is_none();
    let kind = if new { ChangeKind::Created } else { ChangeKind::Edited };
    Some(FileChange { path, kind, added: None, removed: None })
}

fn exit_code(output: Json<'_>) -> Option<i32> {
    let exit = output.get("contents").items().find(|item| item.get("type").is("shell_exit"));
    exit.map_or_else(|| output.get("content").name().and_then(trailing_exit_code), |exit| exit.get("exitCode").i32())
}

//! What a session tells while it works.
//!
//! Chunks of text have no ids: those between two tool calls are one message. Nor do they say whose they are: while a
//! sub-agent's call is under way the agent itself waits, so they are the sub-agent's. The CLI puts its own remarks among
//! them, as chunks that begin with `Info: ` or `Error: `; a failed turn otherwise looks like a successful one. Such a
//! chunk is held back until what follows tells whose it was, so that a model may begin a sentence in that way.

use super::tool;
use crate::complaint::Complaint;
use crate::speakers::Speakers;
use crate::tools::trailing_exit_code;
use wharf_adapter::{
    ChangeKind, ContextUsage, Effects, Event, FileChange, Json, LogLevel, Malformed, Text, ToolCall, ToolStatus,
};

/// Remarks that are the CLI's own: the user said no, tools were left out, and, by how it ends, a call is made again.
const RETRIES: &str = "etrying...";
const CANCELLED: &str = "Info: Operation cancelled by user";
const DISABLED: &str = "Info: Disabled tools: ";
/// An error that is told though the model was paid for writing.
const UNANSWERED: &str = "Error: No response was returned";

/// Text that is being written.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Kind {
    Message,
    Thought,
}

/// A chunk that may be the CLI's own.
#[derive(Debug)]
enum Held {
    /// Its error, if nothing follows.
    Error(String),
    /// Its remark, unless the text goes on.
    Remark(String),
}

/// A tool call that is under way.
#[derive(Debug)]
struct Call {
    id: String,
    name: Option<String>,
}

/// What is remembered between two updates.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// How many texts there were; the last one is under way where `open` says so.
    count: u32,
    open: Option<Kind>,
    text: String,
    /// The sub-agent's call that the text belongs to.
    parent: Option<String>,
    held: Option<Held>,
    /// Whether the turn had anything but that chunk.
    busy: bool,
    rejected: bool,
    /// Files that running edits will change.
    edits: Vec<(String, FileChange)>,
    calls: Vec<Call>,
    speakers: Speakers,
}

impl Updates {
    /// Another prompt is sent.
    pub(super) fn begin_turn(&mut self) {
        self.busy = false;
        self.rejected = false;
    }

    /// Whether the turn was ended by a permission that was refused.
    pub(super) fn was_rejected(&self) -> bool {
        self.rejected
    }

    /// The name of the tool that a call under way is of.
    pub(super) fn name_of(&self, call: &str) -> Option<&str> {
        self.calls.iter().find(|open| open.id == call)?.name.as_deref()
    }

    /// One update.
    pub(super) fn update(&mut self, update: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let kind = update.get("sessionUpdate").name().ok_or(Malformed)?;
        match kind {
            "agent_message_chunk" => self.chunk(Kind::Message, update.at(&["content", "text"]), out),
            "agent_thought_chunk" => self.chunk(Kind::Thought, update.at(&["content", "text"]), out),
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

    fn chunk(&mut self, kind: Kind, text: Json<'_>, out: &mut Effects) {
        let Some(text) = text.filled() else { return };
        let message = kind == Kind::Message;
        let remark = message && text.starts_with("Info: ");
        if remark && self.is_known(&text, out) {
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

    /// Whether it is a remark that no model makes, which is then told.
    fn is_known(&mut self, remark: &str, out: &mut Effects) -> bool {
        // That a file was made is told with the end of the call that makes it.
        let made = |path: &str| self.edits.iter().any(|(_, change)| change.path == path);
        if remark.ends_with(RETRIES) {
            self.void(remark, out);
        } else if remark == CANCELLED || remark.starts_with(DISABLED) {
            out.notice(LogLevel::Info, plain(remark));
        } else if !remark.strip_prefix("Info: ").is_some_and(made) {
            return false;
        }
        true
    }

    fn write(&mut self, kind: Kind, text: &str, out: &mut Effects) {
        self.busy = true;
        if self.open != Some(kind) {
            self.close(out);
            self.count += 1;
            self.open = Some(kind);
            self.parent = self.tasks().first().map(|&task| task.to_owned());
        }
        self.text.push_str(text);
        let (id, text) = (self.id(), Text::Inline(text.to_owned()));
        match kind {
            Kind::Message => out.text_delta(&id, self.parent.as_deref(), text),
            Kind::Thought => out.thinking_delta(&id, self.parent.as_deref(), text),
        }
    }

    /// The calls of sub-agents that are under way.
    fn tasks(&self) -> Vec<&str> {
        let tasks = self.calls.iter().filter(|call| call.name.as_deref() == Some("task"));
        tasks.map(|call| call.id.as_str()).collect()
    }

    fn id(&self) -> String {
        format!("text-{}", self.count)
    }

    /// The model call failed and is made again.
    fn void(&mut self, remark: &str, out: &mut Effects) {
        self.held = None;
        if self.open.take().is_some() {
            self.text.clear();
            out.emit(Event::Discard(self.id()));
        }
        let message = plain(remark).to_owned();
        out.emit(Event::Retrying(Complaint { message, ..Complaint::default() }.failure()));
    }

    /// Something follows the chunk that was held: an error then was the model's, a remark only where its text goes on.
    fn release(&mut self, goes_on: bool, out: &mut Effects) {
        match self.held.take() {
            Some(Held::Remark(remark)) if !goes_on => out.notice(LogLevel::Info, plain(&remark)),
            Some(Held::Error(text) | Held::Remark(text)) => self.write(Kind::Message, &text, out),
            None => {}
        }
    }

    /// The text under way is whole.
    pub(super) fn close(&mut self, out: &mut Effects) {
        let Some(kind) = self.open.take() else { return };
        let (id, text) = (self.id(), Text::Inline(std::mem::take(&mut self.text)));
        match kind {
            Kind::Message => out.message(&id, self.parent.as_deref(), text),
            Kind::Thought => out.thinking(&id, self.parent.as_deref(), text),
        }
    }

    /// The prompt was answered. Gives the error that the CLI passed off as text. Where the model wrote something and
    /// there is nothing else that it could have written, the text was its own.
    pub(super) fn end_turn(&mut self, model_wrote: bool, out: &mut Effects) -> Option<String> {
        let own = |text: &str| !model_wrote || self.busy || text.starts_with(UNANSWERED);
        let error = match &self.held {
            Some(Held::Error(text)) if own(text) => Some(text.trim_start_matches("Error: ").to_owned()),
            _ => None,
        };
        if error.is_none() {
            self.release(model_wrote && !self.busy, out);
        }
        self.held = None;
        self.close(out);
        for call in self.calls.drain(..) {
            out.tool(ToolCall::new(&call.id, ToolStatus::Cancelled));
        }
        error
    }

    /// The call whose sub-agent this is. Where several are under way the protocol does not say whose it is.
    fn parent_of(&mut self, agent: Option<&str>) -> Option<String> {
        let agent = agent?;
        if let [task] = self.tasks()[..] {
            let task = task.to_owned();
            self.speakers.learn(agent, &task);
        }
        self.speakers.parent(Some(agent), Json::parse(""))
    }

    fn tool(&mut self, update: Json<'_>, out: &mut Effects) -> Option<()> {
        let [id, kind, title, status, input, output, content, meta] =
            update.pick(["toolCallId", "kind", "title", "status", "rawInput", "rawOutput", "content", "_meta"]).ok()?;
        self.release(false, out);
        self.close(out);
        self.busy = true;
        let id = id.string()?;
        let parent = self.parent_of(meta.at(&["github.com/copilot", "agentId"]).filled().as_deref());
        // What a call is first said to be it stays: later updates leave out what the name is known by.
        let known = self.name_of(&id).map(str::to_owned);
        let name = known.or_else(|| tool::name(kind.name(), &title.str().unwrap_or_default(), input));
        let refused = matches!(output.get("code").name(), Some("rejected" | "denied"));
        self.rejected |= output.get("code").is("rejected");
        let status = match status.name() {
            Some("pending") => ToolStatus::Pending,
            Some("completed") => ToolStatus::Succeeded,
            Some("failed") if refused => ToolStatus::Denied,
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
        // The end of a call tells its diffs once more.
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

/// A remark without its mark.
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
    let said = output.get("contents").items().find(|item| item.get("type").is("shell_exit"));
    said.map_or_else(|| output.get("content").name().and_then(trailing_exit_code), |exit| exit.get("exitCode").i32())
}

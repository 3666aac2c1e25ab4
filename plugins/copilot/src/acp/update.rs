//! What a session tells while it works.
//!
//! Chunks of text have no ids: those between two tool calls are one message. The CLI puts its own remarks among them,
//! as chunks that begin with `Info: ` or `Error: `; a failed turn otherwise looks like a successful one. An `Error: `
//! chunk is held back until it is clear that nothing follows it, so that a model may begin a sentence in that way.

use crate::complaint::Complaint;
use crate::tools::trailing_exit_code;
use wharf_adapter::{
    ChangeKind, ContextUse, Effects, Event, FileChange, Json, Level, Malformed, Text, ToolCall, ToolStatus,
};

/// Remarks that are the CLI's own.
const RETRIES: &str = "Info: Request failed";
const CANCELLED: &str = "Info: Operation cancelled by user";

/// Text that is being written.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Kind {
    Message,
    Thought,
}

/// What is remembered between two updates.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// How many texts there were; the last one is under way where `open` says so.
    count: u32,
    open: Option<Kind>,
    text: String,
    /// A chunk that may be the CLI's error.
    held: Option<String>,
    /// Whether the turn had anything but that chunk.
    busy: bool,
    rejected: bool,
    /// Files that running edits will change.
    edits: Vec<(String, FileChange)>,
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

    /// One update.
    pub(super) fn update(&mut self, update: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let kind = update.get("sessionUpdate").name().ok_or(Malformed)?;
        match kind {
            "agent_message_chunk" => self.chunk(Kind::Message, update.at(&["content", "text"]), out),
            "agent_thought_chunk" => self.chunk(Kind::Thought, update.at(&["content", "text"]), out),
            "tool_call" | "tool_call_update" => self.tool(update, out).ok_or(Malformed)?,
            "usage_update" => {
                if let (Some(used), Some(window)) = (update.get("used").u64(), update.get("size").u64()) {
                    out.emit(Event::Context(ContextUse { used, window }));
                }
            }
            "plan" => out.emit(Event::Plan(update.get("entries").raw().to_owned())),
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
        if kind == Kind::Message {
            if text.starts_with(RETRIES) {
                self.void(&text, out);
                return;
            }
            if text == CANCELLED {
                out.notice(Level::Info, text);
                return;
            }
        }
        self.release(out);
        if kind == Kind::Message && text.starts_with("Error: ") {
            self.held = Some(text.into_owned());
            return;
        }
        self.busy = true;
        self.write(kind, &text, out);
    }

    fn write(&mut self, kind: Kind, text: &str, out: &mut Effects) {
        if self.open != Some(kind) {
            self.close(out);
            self.count += 1;
            self.open = Some(kind);
        }
        self.text.push_str(text);
        let (id, text) = (self.id(), Text::Inline(text.to_owned()));
        match kind {
            Kind::Message => out.text_delta(&id, None, text),
            Kind::Thought => out.thinking_delta(&id, None, text),
        }
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
        let message = remark.trim_start_matches("Info: ").to_owned();
        out.emit(Event::Retrying(Complaint { message, ..Complaint::default() }.failure()));
    }

    /// Something follows the chunk that was held: it was the model's.
    fn release(&mut self, out: &mut Effects) {
        if let Some(held) = self.held.take() {
            self.busy = true;
            self.write(Kind::Message, &held, out);
        }
    }

    /// The text under way is whole.
    pub(super) fn close(&mut self, out: &mut Effects) {
        let Some(kind) = self.open.take() else { return };
        let (id, text) = (self.id(), Text::Inline(std::mem::take(&mut self.text)));
        match kind {
            Kind::Message => out.message(&id, None, text),
            Kind::Thought => out.thinking(&id, None, text),
        }
    }

    /// The prompt was answered. Gives the error that the CLI passed off as text. Where the model wrote something and
    /// there is nothing else that it could have written, the text was its own.
    pub(super) fn end_turn(&mut self, model_wrote: bool, out: &mut Effects) -> Option<String> {
        if model_wrote && !self.busy {
            self.release(out);
        }
        self.close(out);
        self.held.take().map(|error| error.trim_start_matches("Error: ").to_owned())
    }

    fn tool(&mut self, update: Json<'_>, out: &mut Effects) -> Option<()> {
        let [id, kind, title, status, input, output, content] =
            update.pick(["toolCallId", "kind", "title", "status", "rawInput", "rawOutput", "content"]).ok()?;
        self.release(out);
        self.close(out);
        self.busy = true;
        let id = id.string()?;
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
        out.tool(ToolCall {
            // The protocol has no names of tools, only kinds.
            name: kind.string(),
            title: title.string(),
            input: input.verbatim(),
            output: text.text().or_else(|| output.get("message").text()),
            exit_code: exit_code(output),
            ..ToolCall::new(&id, status)
        });
        self.edits.extend(content.items().filter_map(|item| Some((id.clone(), change(item)?))));
        if matches!(status, ToolStatus::Succeeded | ToolStatus::Failed | ToolStatus::Denied) {
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

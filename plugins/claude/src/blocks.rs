//! What messages are made of: text, thinking, tool calls and their results.
//!
//! The CLI prints one assistant line for each finished block, so several lines share a message id. Streamed text is
//! told by message and place, `msg_1/0`; the line that ends it gets the same id, every other line its own uuid.

use crate::failure::Trouble;
use crate::stream::Stream;
use crate::usage::{INPUT_INCLUDES_CACHED, api_figures};
use std::collections::BTreeMap;
use wharf_adapter::{ChangeKind, Effects, Event, FileChange, Json, Malformed, ToolCall, ToolStatus, Usage, UsageScope};

/// The model of lines that the CLI wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// How the user line begins that an interrupt leaves behind.
const INTERRUPTED: &str = "[Request interrupted by user";

/// How the result of a tool begins that was stopped before it had one.
const STOPPED: &str = "The user doesn't want to ";

/// The message that is being streamed.
#[derive(Default)]
pub(crate) struct Partial {
    message: String,
    model: Option<String>,
    /// Its text and thinking blocks so far.
    blocks: Vec<Block>,
    /// The block that is being streamed, and its id: put together once, not for each of its deltas.
    streamed: Option<(u64, String)>,
    /// The lines of this message by their uuid: retractions name those.
    lines: Vec<(String, String)>,
}

struct Block {
    index: u64,
    kind: Kind,
    /// An assistant line has told it whole.
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Partial {
    /// A message begins. What the one before left unfinished will not be finished.
    pub(crate) fn begin(&mut self, message: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, model] = message.pick(["id", "model"])?;
        self.discard_pending(out);
        *self = Partial { message: id.string().unwrap_or_default(), model: model.string(), ..Partial::default() };
        Ok(())
    }

    /// A block begins.
    pub(crate) fn open(&mut self, index: u64, block: Json<'_>) {
        let kind = match block.get("type").name() {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            _ => return,
        };
        self.blocks.push(Block { index, kind, ended: false });
    }

    /// More of a block.
    pub(crate) fn delta(
        &mut self,
        index: u64,
        delta: Json<'_>,
        parent: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let [kind, text, thinking] = delta.pick(["type", "text", "thinking"])?;
        let streamed = self.streamed.take().filter(|(streamed, _)| *streamed == index);
        let (_, id) = self.streamed.insert(streamed.unwrap_or_else(|| (index, place(&self.message, index))));
        let parent = parent.filled();
        match kind.name().ok_or(Malformed)? {
            // A text that is left out is an empty one.
            "text_delta" => text.text().into_iter().for_each(|text| out.text_delta(id, parent.as_deref(), text)),
            "thinking_delta" => {
                thinking.text().into_iter().for_each(|text| out.thinking_delta(id, parent.as_deref(), text));
            }
            "input_json_delta" | "signature_delta" | "citations_delta" | "compaction_delta" => {}
            other => out.unknown(&format!("content_block_delta/{other}")),
        }
        Ok(())
    }

    /// The CLI gives up this message from a block on.
    pub(crate) fn abandon(&mut self, from: u64, out: &mut Effects) {
        for block in std::mem::take(&mut self.blocks) {
            if block.index >= from {
                out.emit(Event::Discard(self.place(block.index)));
            }
        }
    }

    /// The id under which the line with this uuid was told.
    pub(crate) fn id_of(&self, uuid: &str) -> String {
        self.lines.iter().find(|(line, _)| line == uuid).map_or(uuid, |(_, id)| id).to_owned()
    }

    /// The model that is answering.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The id for a block of an assistant line.
    fn confirm(&mut self, message: &str, kind: Kind, uuid: &str, out: &mut Effects) -> String {
        if message != self.message || self.message.is_empty() {
            // Sent again without streaming: the deltas lead nowhere.
            self.discard_pending(out);
            return if uuid.is_empty() { message.to_owned() } else { uuid.to_owned() };
        }
        let Some(block) = self.blocks.iter_mut().find(|block| block.kind == kind && !block.ended) else {
            return uuid.to_owned();
        };
        block.ended = true;
        let index = block.index;
        let id = self.place(index);
        self.lines.push((uuid.to_owned(), id.clone()));
        id
    }

    fn discard_pending(&mut self, out: &mut Effects) {
        for block in std::mem::take(&mut self.blocks) {
            if !block.ended {
                out.emit(Event::Discard(self.place(block.index)));
            }
        }
    }

    fn place(&self, index: u64) -> String {
        place(&self.message, index)
    }
}

/// The id of a block.
fn place(message: &str, index: u64) -> String {
    format!("{message}/{index}")
}

/// The tool calls that have not ended.
#[derive(Default)]
pub(crate) struct Tools(BTreeMap<String, OpenTool>);

#[derive(Default)]
struct OpenTool {
    /// A sub-agent's.
    nested: bool,
    /// The CLI, or whoever was asked, said no.
    denied: bool,
}

impl Tools {
    /// Somebody said no to a call.
    pub(crate) fn deny(&mut self, id: &str) {
        if let Some(tool) = self.0.get_mut(id) {
            tool.denied = true;
        }
    }

    /// A call has ended, whether it was open or not.
    pub(crate) fn close(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// The turn is over: what the agent itself still had open never ran. A sub-agent in the background may go on.
    pub(crate) fn cancel_own(&mut self, out: &mut Effects) {
        self.0.retain(|id, tool| {
            if !tool.nested {
                out.tool(ToolCall::new(id, ToolStatus::Cancelled));
            }
            tool.nested
        });
    }

    /// Nothing runs any more.
    pub(crate) fn cancel_all(&mut self, out: &mut Effects) {
        for id in std::mem::take(&mut self.0).into_keys() {
            out.tool(ToolCall::new(&id, ToolStatus::Cancelled));
        }
    }
}

impl Stream {
    /// A finished block of a message, or an error that the CLI wrote in its place.
    pub(crate) fn assistant(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [message, parent, uuid, error, api_error] =
            line.pick(["message", "parent_tool_use_id", "uuid", "error", "is_api_error_message"])?;
        let [id, model, content, usage] = message.pick(["id", "model", "content", "usage"])?;
        let (id, uuid) = (id.str().unwrap_or_default(), uuid.str().unwrap_or_default());
        let parent = parent.filled();
        if model.is(SYNTHETIC) && (!error.is_null() || api_error.is_true()) {
            if parent.is_none() {
                let text = content.items().find_map(|block| block.get("text").string()).unwrap_or_default();
                let mut trouble =
                    Trouble { kind: error.string(), text, resets_at: self.resets_at(), ..Trouble::default() };
                trouble.read(line);
                self.trouble = Some(trouble);
            }
            return Ok(());
        }
        if parent.is_none() && !model.is(SYNTHETIC) {
            self.trouble = None;
            let told = api_figures(usage, Usage::new(UsageScope::Delta, "", INPUT_INCLUDES_CACHED));
            if let (Some(input), Some(model)) = (told.input, model.string()) {
                let cached = told.cache_read.unwrap_or_default().saturating_add(told.cache_write.unwrap_or_default());
                self.context = Some((input.saturating_add(cached), model));
            }
        }
        for block in content.items() {
            let [kind, text, thinking] = block.pick(["type", "text", "thinking"])?;
            match kind.name().ok_or(Malformed)? {
                "text" => {
                    let id = self.block_id(&id, Kind::Text, &uuid, parent.is_some(), out);
                    out.message(&id, parent.as_deref(), text.text_or_empty());
                }
                "thinking" => {
                    let id = self.block_id(&id, Kind::Thinking, &uuid, parent.is_some(), out);
                    out.thinking(&id, parent.as_deref(), thinking.text_or_empty());
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => self.tool_use(block, parent.as_deref(), out)?,
                other if other.ends_with("tool_result") => {
                    self.tool_result(block, parent.as_deref(), None, out)?;
                }
                // Nothing in them that could be shown.
                "redacted_thinking" | "fallback" | "compaction" | "container_upload" => {}
                other => out.unknown(&format!("assistant/{other}")),
            }
        }
        Ok(())
    }

    /// A sub-agent's blocks are not streamed: its lines leave the agent's own stream alone.
    fn block_id(&mut self, message: &str, kind: Kind, uuid: &str, nested: bool, out: &mut Effects) -> String {
        if nested { uuid.to_owned() } else { self.partial.confirm(message, kind, uuid, out) }
    }

    fn tool_use(&mut self, block: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, name, input] = block.pick(["id", "name", "input"])?;
        let id = id.string().ok_or(Malformed)?;
        if name.is("TodoWrite") && parent.is_none() {
            let todos = input.get("todos");
            if todos.is_array() {
                out.emit(Event::Plan(todos.raw().to_owned()));
            }
        }
        out.tool(ToolCall {
            parent: parent.map(str::to_owned),
            name: name.string(),
            input: input.verbatim(),
            ..ToolCall::new(&id, ToolStatus::Running)
        });
        self.tools.0.insert(id, OpenTool { nested: parent.is_some(), denied: false });
        Ok(())
    }

    /// Results of tools, and what the CLI puts into the user's mouth.
    pub(crate) fn user(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [message, parent, replay, raw, meta] =
            line.pick(["message", "parent_tool_use_id", "isReplay", "tool_use_result", "tool_result_meta"])?;
        if replay.is_true() {
            return Ok(());
        }
        let [content] = message.pick(["content"])?;
        let parent = parent.filled();
        if is_interruption(content) && parent.is_none() {
            self.interrupted = true;
        }
        for block in content.items() {
            let [kind, text] = block.pick(["type", "text"])?;
            match kind.name().ok_or(Malformed)? {
                "text" if parent.is_none() && is_interruption(text) => self.interrupted = true,
                "text" | "image" | "document" => {}
                "tool_result" => {
                    let succeeded = self.tool_result(block, parent.as_deref(), Some(meta), out)?;
                    if succeeded && let Some(change) = file_change(raw) {
                        out.emit(Event::FileChange(change));
                    }
                }
                other => out.unknown(&format!("user/{other}")),
            }
        }
        Ok(())
    }

    fn tool_result(
        &mut self,
        block: Json<'_>,
        parent: Option<&str>,
        meta: Option<Json<'_>>,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        let [id, content, is_error] = block.pick(["tool_use_id", "content", "is_error"])?;
        let id = id.string().ok_or(Malformed)?;
        let denied = self.tools.0.remove(&id).is_some_and(|tool| tool.denied);
        let text = shown(content);
        let head = text.name().unwrap_or_default();
        let meta = meta.and_then(|meta| meta.items().find(|entry| entry.get("id").is(&id)));
        let status = status(is_error.is_true(), denied, head, meta);
        let exit_code = if is_error.is_true() { exit_code(head) } else { None };
        out.tool(ToolCall {
            parent: parent.map(str::to_owned),
            output: text.text().or_else(|| text.verbatim()),
            exit_code,
            ..ToolCall::new(&id, status)
        });
        Ok(status == ToolStatus::Succeeded)
    }
}

/// How a tool ended. `head` is what its result says, as it stands in JSON.
fn status(is_error: bool, denied: bool, head: &str, meta: Option<Json<'_>>) -> ToolStatus {
    if !is_error {
        return ToolStatus::Succeeded;
    }
    let rejected = meta.is_some_and(|meta| meta.at(&["permission_decision", "decision"]).is("reject"));
    let kind = meta.map(|meta| meta.get("non_execution_kind"));
    match kind.and_then(Json::name) {
        _ if denied || rejected => ToolStatus::Denied,
        Some("permission-rule" | "automode-unavailable") => ToolStatus::Denied,
        Some("user-rejected") => ToolStatus::Cancelled,
        _ if head.starts_with(STOPPED) || head.starts_with(INTERRUPTED) => ToolStatus::Cancelled,
        _ => ToolStatus::Failed,
    }
}

/// Bash says "Exit code 3" before the output of a command that failed.
fn exit_code(head: &str) -> Option<i32> {
    let rest = head.strip_prefix("Exit code ")?;
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The part of a result worth showing: the text where there is exactly one, else the blocks as they stand.
fn shown(content: Json<'_>) -> Json<'_> {
    let mut blocks = content.items();
    match (blocks.next(), blocks.next()) {
        (Some(block), None) if block.get("type").is("text") => block.get("text"),
        _ => content,
    }
}

fn is_interruption(text: Json<'_>) -> bool {
    text.name().is_some_and(|text| text.starts_with(INTERRUPTED))
}

/// What a tool did to a file, from the details that the CLI adds to the results of its own tools.
fn file_change(raw: Json<'_>) -> Option<FileChange> {
    let [path, kind, hunks] = raw.pick(["filePath", "type", "structuredPatch"]).ok()?;
    let path = path.filled()?.into_owned();
    if kind.is("create") {
        return Some(FileChange { path, kind: ChangeKind::Created, added: None, removed: None });
    }
    if !hunks.is_array() {
        return None;
    }
    let lines = || hunks.items().flat_map(|hunk| hunk.get("lines").items()).filter_map(Json::name);
    let count = |sign: char| u32::try_from(lines().filter(|line| line.starts_with(sign)).count()).ok();
    Some(FileChange { path, kind: ChangeKind::Edited, added: count('+'), removed: count('-') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_tool_ended_follows_from_its_result() {
        use ToolStatus as Status;
        let rejected = r#"{"non_execution_kind":"user-rejected","permission_decision":{"decision":"reject"}}"#;
        for (is_error, denied, head, meta, ended) in [
            (false, false, "fine", "", Status::Succeeded),
            (true, false, "Exit code 3\\nout", "", Status::Failed),
            (true, false, "Exit code 3", r#"{"permission_decision":{"decision":"accept"}}"#, Status::Failed),
            (true, false, "not allowed", rejected, Status::Denied),
            (true, false, "a rule", r#"{"non_execution_kind":"permission-rule"}"#, Status::Denied),
            (true, false, "no check", r#"{"non_execution_kind":"automode-unavailable"}"#, Status::Denied),
            (true, true, "policy says no", "", Status::Denied),
            (true, false, "The user doesn't want to proceed with this tool use.", "", Status::Cancelled),
            (true, false, "stopped", r#"{"non_execution_kind":"user-rejected"}"#, Status::Cancelled),
            (true, false, "[Request interrupted by user for tool use]", "", Status::Cancelled),
            (true, false, "x", r#"{"non_execution_kind":"of-tomorrow"}"#, Status::Failed),
        ] {
            let meta = Some(Json::parse(meta)).filter(|meta| !meta.is_missing());
            assert_eq!(status(is_error, denied, head, meta), ended, "{head}");
        }
    }

    #[test]
    fn exit_codes_are_read_where_bash_says_them() {
        for (head, code) in [
            ("Exit code 3\\nout", Some(3)),
            ("Exit code 137", Some(137)),
            ("Exit code ", None),
            ("Exit code 99999999999", None),
            ("File does not exist. Exit code 3", None),
        ] {
            assert_eq!(exit_code(head), code, "{head}");
        }
    }
}

//! Reads messages: text, thinking, tool calls and their results.
//!
//! The CLI prints one assistant line for each finished block, so several lines share a message id. A block that was
//! streamed keeps its id; any other has the uuid of its line.

use crate::blocks::BlockKind;
use crate::failure::AgentError;
use crate::lines::LineParser;
use crate::usage::{INPUT_INCLUDES_CACHED, api_figures};
use wharf_adapter::{
    ChangeKind, Effects, Event, FileChange, Json, Malformed, PlanItem, PlanStatus, Text, ToolCall, ToolStatus, Usage,
    UsageScope,
};

/// The model of messages that the CLI wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// The beginning of the user line after an interrupt.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The beginning of the result of a tool that was stopped before it finished.
const STOPPED: &str = "The user doesn't want to ";

impl LineParser {
    /// Handles a finished block of a message, or an error that the CLI wrote instead.
    pub(crate) fn assistant(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [message, parent, uuid, error, api_error] =
            line.pick(["message", "parent_tool_use_id", "uuid", "error", "is_api_error_message"])?;
        let [id, model, content, usage] = message.pick(["id", "model", "content", "usage"])?;
        let (id, uuid) = (id.str().unwrap_or_default(), uuid.str().unwrap_or_default());
        let parent = parent.filled();
        if model.is(SYNTHETIC) && (!error.is_null() || api_error.is_true()) {
            if parent.is_none() {
                let text = content.items().find_map(|block| block.get("text").string()).unwrap_or_default();
                let resets_at = self.resets_at();
                let mut reported = AgentError { kind: error.string(), text, resets_at, ..AgentError::default() };
                reported.read(line);
                self.error = Some(reported);
            }
            return Ok(());
        }
        if parent.is_none() && !model.is(SYNTHETIC) {
            self.error = None;
            let figures = api_figures(usage, Usage::new(UsageScope::Delta, "", INPUT_INCLUDES_CACHED));
            if let (Some(input), Some(model)) = (figures.input, model.string()) {
                let cached =
                    figures.cache_read.unwrap_or_default().saturating_add(figures.cache_write.unwrap_or_default());
                self.context = Some((input.saturating_add(cached), model));
            }
        }
        for block in content.items() {
            let [kind, text, thinking] = block.pick(["type", "text", "thinking"])?;
            match kind.name().ok_or(Malformed)? {
                "text" => {
                    let id = self.id_of_block(&id, BlockKind::Text, &uuid, parent.is_some(), out);
                    out.message(&id, parent.as_deref(), text.text_or_empty());
                }
                "thinking" => {
                    let id = self.id_of_block(&id, BlockKind::Thinking, &uuid, parent.is_some(), out);
                    out.thinking(&id, parent.as_deref(), thinking.text_or_empty());
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => self.tool_use(block, parent.as_deref(), out)?,
                other if other.ends_with("tool_result") => {
                    self.tool_result(block, parent.as_deref(), None, out)?;
                }
                // They contain nothing to show.
                "redacted_thinking" | "fallback" | "compaction" | "container_upload" => {}
                other => out.unknown(&format!("assistant/{other}")),
            }
        }
        Ok(())
    }

    /// Blocks of a sub-agent are not streamed, so they do not affect the streamed message of the agent itself.
    fn id_of_block(&mut self, message: &str, kind: BlockKind, uuid: &str, nested: bool, out: &mut Effects) -> String {
        if nested { uuid.to_owned() } else { self.partial.confirm(message, kind, uuid, out) }
    }

    fn tool_use(&mut self, block: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, name, input] = block.pick(["id", "name", "input"])?;
        let id = id.string().ok_or(Malformed)?;
        if name.is("TodoWrite") && parent.is_none() {
            let todos = input.get("todos");
            if todos.is_array() {
                out.emit(Event::Plan(todos.items().filter_map(plan_item).collect()));
            }
        }
        out.tool(ToolCall {
            parent: parent.map(Text::from),
            name: name.string(),
            input: input.verbatim(),
            ..ToolCall::new(&id, ToolStatus::Running)
        });
        self.tools.open(&id, parent.is_some());
        Ok(())
    }

    /// Handles results of tools, and messages that the CLI writes as the user.
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
        let denied = self.tools.close(&id);
        let text = visible(content);
        let head = text.name().unwrap_or_default();
        let meta = meta.and_then(|meta| meta.items().find(|entry| entry.get("id").is(&id)));
        let status = status(is_error.is_true(), denied, head, meta);
        if status == ToolStatus::Denied && !self.tools.denied(&id) {
            return Ok(false);
        }
        let exit_code = if is_error.is_true() { exit_code(head) } else { None };
        out.tool(ToolCall {
            parent: parent.map(Text::from),
            output: text.text().or_else(|| text.verbatim()),
            exit_code,
            ..ToolCall::new(&id, status)
        });
        Ok(status == ToolStatus::Succeeded)
    }
}

/// The status of a tool that ended. `head` is the text of its result, not unescaped.
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
        None if meta.is_none() && is_denial(head) => ToolStatus::Denied,
        _ if head.starts_with(STOPPED) || head.starts_with(INTERRUPTED) => ToolStatus::Cancelled,
        _ => ToolStatus::Failed,
    }
}

/// Whether a result of an old version, which says nothing but a text, is a denial by a rule, a mode or a missing answer.
fn is_denial(head: &str) -> bool {
    const STARTS: [&str; 4] = [
        "Permission to use ",
        "Permission for this action was denied",
        "Claude requested permissions to ",
        "Tool permission request failed: ",
    ];
    STARTS.iter().any(|start| head.starts_with(start))
        || head.contains(" was blocked. For security, Claude Code ")
        || (head.starts_with("Cannot ") && head.ends_with(" while in plan mode."))
}

/// The result of a failed command starts with "Exit code 3".
fn exit_code(head: &str) -> Option<i32> {
    let rest = head.strip_prefix("Exit code ")?;
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The part of a result to show: its text if it has exactly one block of text, else all blocks as JSON.
fn visible(content: Json<'_>) -> Json<'_> {
    let mut blocks = content.items();
    match (blocks.next(), blocks.next()) {
        (Some(block), None) if block.get("type").is("text") => block.get("text"),
        _ => content,
    }
}

fn is_interruption(text: Json<'_>) -> bool {
    text.name().is_some_and(|text| text.starts_with(INTERRUPTED))
}

/// The change of a file, from the details that the CLI adds to the results of its own tools.
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

fn plan_item(todo: Json<'_>) -> Option<PlanItem> {
    let status = match todo.get("status").name() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    };
    Some(PlanItem { text: todo.get("content").string()?, status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_decides_the_status_of_a_tool() {
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
            (true, false, "Permission to use Bash with command touch x has been denied.", "", Status::Denied),
            (true, false, "touch in '/x' was blocked. For security, Claude Code may only", "", Status::Denied),
            (true, false, "Exit code 1\\nPermission to use x has been denied.", "", Status::Failed),
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
    fn exit_codes_of_failed_commands_are_read() {
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

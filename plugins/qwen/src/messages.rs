//! Reads messages: text, thinking, tool calls and their results.
//!
//! A message has blocks of one kind. Its figures are those of its model call, and only the last message of a call has them.

use crate::blocks::BlockKind;
use crate::failure::API_ERROR;
use crate::lines::{HeldError, LineParser, OpenTool};
use crate::result::figures;
use crate::shell::exit_code;
use crate::tools;
use wharf_adapter::{
    ChangeKind, Effects, Event, FileChange, Json, Malformed, PlanItem, PlanStatus, Text, ToolCall, ToolStatus,
    UsageScope,
};

/// The beginning of the result of a tool that was requested by a model call that failed.
const SKIPPED: &str = "Skipped because the provider attempt was retried";

impl LineParser {
    /// Handles a finished message.
    pub(crate) fn assistant(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [message, parent, uuid] = line.pick(["message", "parent_tool_use_id", "uuid"])?;
        let [model, content, usage] = message.pick(["model", "content", "usage"])?;
        let (parent, uuid) = (parent.filled(), uuid.str().unwrap_or_default());
        let owner = parent.as_deref();
        let figures = figures(usage, UsageScope::Delta, "messages", model.string());
        let is_measured = figures.input.is_some_and(|input| input > 0) || figures.output.is_some_and(|count| count > 0);
        for block in content.items() {
            let [kind, text, thinking] = block.pick(["type", "text", "thinking"])?;
            match kind.name().ok_or(Malformed)? {
                "text" => {
                    let streamed = self.blocks.confirm(owner, BlockKind::Text);
                    let (streamed, id) = (streamed.is_some(), streamed.unwrap_or_else(|| uuid.to_string()));
                    let is_error = text.name().is_some_and(|text| text.starts_with(API_ERROR));
                    if is_error && owner.is_none() && !is_measured {
                        self.held = Some(HeldError { id, text: text.string().unwrap_or_default(), streamed });
                    } else {
                        self.note(owner, &id);
                        out.message(id, owner, text.text_or_empty());
                    }
                }
                "thinking" => {
                    let streamed = self.blocks.confirm(owner, BlockKind::Thinking);
                    let id = streamed.unwrap_or_else(|| uuid.to_string());
                    self.note(owner, &id);
                    out.thinking(id, owner, thinking.text_or_empty());
                }
                "tool_use" => self.tool_use(block, owner, out)?,
                other => out.unknown(&format!("assistant/{other}")),
            }
        }
        if is_measured {
            out.usage(figures);
            if owner.is_none() {
                self.blocks.keep();
            }
        }
        Ok(())
    }

    fn note(&mut self, owner: Option<&str>, id: &str) {
        if owner.is_none() {
            self.blocks.reported(id);
        }
    }

    fn tool_use(&mut self, block: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, name, input] = block.pick(["id", "name", "input"])?;
        let id = id.string().ok_or(Malformed)?;
        if name.is("todo_write") && parent.is_none() {
            let todos = input.get("todos");
            if todos.is_array() {
                out.emit(Event::Plan(todos.items().filter_map(plan_item).collect()));
            }
        }
        let path = match name.name() {
            Some("edit" | "write_file") => input.get("file_path").string(),
            Some("notebook_edit") => input.get("notebook_path").string(),
            _ => None,
        };
        out.tool(ToolCall {
            parent: parent.map(Text::from),
            name: name.string(),
            kind: name.name().map(tools::kind),
            mcp_server: name.name().and_then(tools::server),
            input: input.verbatim(),
            paths: tools::paths(input),
            ..ToolCall::new(&id, ToolStatus::Running)
        });
        self.tools.open(&id, OpenTool { path });
        Ok(())
    }

    /// Handles results of tools. Other messages of this role are the prompt of a sub-agent, and remarks about tasks in the
    /// background, which have their own lines.
    pub(crate) fn user(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [message, parent] = line.pick(["message", "parent_tool_use_id"])?;
        let parent = parent.filled();
        for block in message.get("content").items() {
            match block.get("type").name().ok_or(Malformed)? {
                "text" => {}
                "tool_result" => self.tool_result(block, parent.as_deref(), out)?,
                other => out.unknown(&format!("user/{other}")),
            }
        }
        Ok(())
    }

    fn tool_result(&mut self, block: Json<'_>, parent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, content, is_error] = block.pick(["tool_use_id", "content", "is_error"])?;
        let id = id.string().ok_or(Malformed)?;
        let head = content.name().unwrap_or_default();
        let status = match is_error.is_true() {
            true if tools::is_denial(head) => ToolStatus::Denied,
            true if head.starts_with(SKIPPED) => ToolStatus::Cancelled,
            true => ToolStatus::Failed,
            false => ToolStatus::Succeeded,
        };
        let tool = self.tools.close(&id);
        if status == ToolStatus::Denied {
            self.denied.insert(id.clone());
        }
        if status != ToolStatus::Cancelled && parent.is_none() {
            self.blocks.keep();
        }
        out.tool(ToolCall {
            parent: parent.map(Text::from),
            denied_because: if status == ToolStatus::Denied { content.string() } else { None },
            output: content.text().or_else(|| content.verbatim()),
            exit_code: exit_code(head),
            ..ToolCall::new(&id, status)
        });
        if let Some(path) = tool.and_then(|tool| tool.path).filter(|_| status == ToolStatus::Succeeded) {
            let is_new = ["Successfully created", "Created new file"].iter().any(|start| head.starts_with(start));
            let kind = if is_new { ChangeKind::Created } else { ChangeKind::Edited };
            out.emit(Event::FileChange(FileChange { path, kind, added: None, removed: None }));
        }
        Ok(())
    }
}

fn plan_item(todo: Json<'_>) -> Option<PlanItem> {
    let status = match todo.get("status").name() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    };
    Some(PlanItem { text: todo.get("content").string()?, status })
}

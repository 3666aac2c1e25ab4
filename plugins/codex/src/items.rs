//! The items of a turn: messages, reasoning, tool calls, plans. Both transports have them, `exec` in snake case and
//! `app-server` in camel case, with the same meaning.
//!
//! A command that the sandbox stops, and a tool that Codex does not know, are no items: only the model learns of them.

use crate::changes;
use wharf_adapter::json::Object;
use wharf_adapter::{Calls, Drafts, Effects, Event, Json, LogLevel, Malformed, Text, ToolCall, ToolStatus, json};

/// What Codex gives for the error of a call of an MCP tool that was not allowed.
const DENIALS: [&str; 3] = [
    "user rejected MCP tool call",
    "user cancelled MCP tool call",
    "MCP tool call requires approval, but approval policy is never",
];

/// Which line an item comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It may change.
    Started,
    /// It is final.
    Completed,
}

/// The items of a turn that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Items {
    calls: Calls,
    drafts: Drafts,
    /// The threads of sub-agents, and the calls that started them.
    subagents: Vec<(String, String)>,
    /// Whether the answer must have a schema, so that its text is kept.
    pub(crate) has_schema: bool,
    /// The last message of the agent itself, if it is kept.
    last: Option<String>,
}

impl Items {
    /// A turn starts.
    pub(crate) fn start(&mut self) {
        self.last = None;
    }

    /// An item of the agent, or of the sub-agent that the call `parent` started. Returns whether it shows that the model
    /// has answered.
    pub(crate) fn item(
        &mut self,
        phase: Phase,
        item: Json<'_>,
        parent: Option<&str>,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        let [kind, id] = item.pick(["type", "id"])?;
        let (kind, id) = (kind.name().ok_or(Malformed)?, id.str().ok_or(Malformed)?);
        match kind {
            "agentMessage" | "agent_message" | "plan" => self.message(phase, &id, item.get("text"), parent, out),
            "reasoning" => self.reasoning(phase, &id, item, parent, out),
            "commandExecution" | "command_execution" => self.command(phase, &id, item, parent, out),
            "fileChange" | "file_change" => self.file_change(phase, &id, item, parent, out),
            "mcpToolCall" | "mcp_tool_call" => self.mcp_call(phase, &id, item, parent, out),
            "dynamicToolCall" => {
                let output = content(item.get("contentItems"));
                let call = ToolCall { input: item.get("arguments").verbatim(), output, ..new(&id, phase, item) };
                self.call(call, item.get("tool").str().unwrap_or_default().as_ref(), parent, out);
            }
            "collabAgentToolCall" | "collab_tool_call" => self.collab(phase, &id, item, parent, out),
            "webSearch" | "web_search" => {
                let call = ToolCall { input: input(item, &["query", "action"]), ..new(&id, phase, item) };
                self.call(call, "web_search", parent, out);
            }
            "imageView" => {
                let call = ToolCall { input: input(item, &["path"]), ..new(&id, phase, item) };
                self.call(call, "view_image", parent, out);
            }
            "imageGeneration" => {
                let call = ToolCall { input: input(item, &["revisedPrompt"]), ..new(&id, phase, item) };
                self.call(call, "image_generation", parent, out);
            }
            "sleep" => {
                let call = ToolCall { input: input(item, &["durationMs"]), ..new(&id, phase, item) };
                self.call(call, "sleep", parent, out);
            }
            "todo_list" => out.emit(Event::Plan(item.get("items").raw().to_owned())),
            "contextCompaction" => {
                let text =
                    if phase == Phase::Started { "the context is compacted" } else { "the context was compacted" };
                out.notice(LogLevel::Info, text);
            }
            // A warning. It may come before the turn starts.
            "error" => {
                out.notice(LogLevel::Warn, item.get("message").str().unwrap_or_default());
                return Ok(false);
            }
            // What the caller wrote, what hooks added, what other items report.
            "userMessage" | "hookPrompt" | "functionCallOutput" | "subAgentActivity" | "enteredReviewMode"
            | "exitedReviewMode" => return Ok(false),
            other => {
                let mut native = "item:".to_owned();
                native.push_str(other);
                out.unknown(&native);
            }
        }
        Ok(true)
    }

    fn message(&mut self, phase: Phase, id: &str, text: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        // It starts empty.
        if phase == Phase::Completed
            && let Some(whole) = text.text()
        {
            self.drafts.confirm(id);
            if self.has_schema && parent.is_none() {
                self.last = text.string();
            }
            out.message(id, parent, whole);
        }
    }

    fn reasoning(&mut self, phase: Phase, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        if phase == Phase::Started {
            return;
        }
        let [text, summary, content] = item.select(["text", "summary", "content"]).unwrap_or([json::MISSING; 3]);
        let parts = if summary.items().next().is_some() { summary } else { content };
        let whole = if text.is_string() { text.text() } else { joined(parts) };
        self.drafts.confirm(id);
        // Hidden reasoning has no text.
        if let Some(whole) = whole {
            out.thinking(id, parent, whole);
        }
    }

    /// A part of a message.
    pub(crate) fn text_delta(&mut self, id: &str, parent: Option<&str>, text: Text, out: &mut Effects) {
        self.drafts.add(parent, id);
        out.text_delta(id, parent, text);
    }

    /// A part of the reasoning.
    pub(crate) fn thinking_delta(&mut self, id: &str, parent: Option<&str>, text: Text, out: &mut Effects) {
        self.drafts.add(parent, id);
        out.thinking_delta(id, parent, text);
    }

    /// A call of the model failed and is retried: what it had streamed is void.
    pub(crate) fn void(&mut self, parent: Option<&str>, out: &mut Effects) {
        self.drafts.void(parent, out);
    }

    fn command(&mut self, phase: Phase, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let [output, exit_code] =
            [item.first_of(&["aggregatedOutput", "aggregated_output"]), item.first_of(&["exitCode", "exit_code"])];
        let call = ToolCall {
            input: input(item, &["command", "cwd"]),
            // It is empty until the command has ended.
            output: output.text().filter(|_| phase == Phase::Completed),
            exit_code: exit_code.i32(),
            ..new(id, phase, item)
        };
        self.call(call, "command_execution", parent, out);
    }

    fn file_change(&mut self, phase: Phase, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let call = ToolCall { input: input(item, &["changes"]), ..new(id, phase, item) };
        let is_done = call.status == ToolStatus::Succeeded;
        self.call(call, "file_change", parent, out);
        if is_done {
            changes::report(item.get("changes"), out);
        }
    }

    fn mcp_call(&mut self, phase: Phase, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let [server, tool, arguments] = item.select(["server", "tool", "arguments"]).unwrap_or([json::MISSING; 3]);
        let [result, error] = item.select(["result", "error"]).unwrap_or([json::MISSING; 2]);
        let message = error.get("message");
        let output = message.text().or_else(|| content(result.get("content")));
        let mut call = ToolCall { input: arguments.verbatim(), output, ..new(id, phase, item) };
        if DENIALS.iter().any(|denial| message.is(denial)) {
            call.status = ToolStatus::Denied;
        }
        let (server, tool) = (server.str().unwrap_or_default(), tool.str().unwrap_or_default());
        // As the model is shown it by older versions.
        let name = ["mcp__", &server, "__", &tool].concat();
        self.call(call, &name, parent, out);
    }

    /// A call that starts sub-agents or talks to them.
    fn collab(&mut self, phase: Phase, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        for thread in item.first_of(&["receiverThreadIds", "receiver_thread_ids"]).items().filter_map(Json::string) {
            if !self.subagents.iter().any(|(known, _)| *known == thread) {
                self.subagents.push((thread, id.to_owned()));
            }
        }
        let call = ToolCall { input: input(item, &["prompt", "model"]), ..new(id, phase, item) };
        self.call(call, item.get("tool").str().unwrap_or_default().as_ref(), parent, out);
    }

    /// The call that started the sub-agent with this thread.
    pub(crate) fn parent(&self, thread: &str) -> Option<&str> {
        self.subagents.iter().find(|(known, _)| known == thread).map(|(_, call)| call.as_str())
    }

    fn call(&mut self, mut call: ToolCall, name: &str, parent: Option<&str>, out: &mut Effects) {
        let is_running = matches!(call.status, ToolStatus::Running | ToolStatus::Pending);
        if self.calls.get(&call.id).is_some() {
            // Its start has said these.
            (call.input, call.parent) = (None, None);
        } else {
            call.name = Some(name.to_owned());
            call.parent = parent.map(str::to_owned);
        }
        if is_running {
            self.calls.open(&call.id, ());
        } else {
            self.calls.close(&call.id);
        }
        out.tool(call);
    }

    /// The turn is over: nothing runs any more. Returns the answer if it has a schema and is JSON.
    pub(crate) fn end(&mut self, out: &mut Effects) -> Option<String> {
        self.calls.cancel(out);
        self.last.take().filter(|text| matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'[')))
    }
}

/// A call with its status.
fn new(id: &str, phase: Phase, item: Json<'_>) -> ToolCall {
    let status = match item.get("status").name() {
        Some("in_progress" | "inProgress") => ToolStatus::Running,
        Some("failed") => ToolStatus::Failed,
        Some("declined") => ToolStatus::Denied,
        Some("interrupted") => ToolStatus::Cancelled,
        _ if phase == Phase::Started => ToolStatus::Running,
        _ => ToolStatus::Succeeded,
    };
    ToolCall::new(id, status)
}

/// An object of those fields that an item has.
fn input(item: Json<'_>, fields: &[&str]) -> Option<Text> {
    let mut found = Object::new();
    for field in fields {
        let value = item.get(field);
        if !value.is_null() {
            found = found.raw(field, value.raw());
        }
    }
    Some(Text::Inline(found.finish()))
}

/// The texts of a tool's content.
fn content(items: Json<'_>) -> Option<Text> {
    let texts: Vec<Json<'_>> = items.items().map(|item| item.get("text")).filter(|text| text.is_string()).collect();
    match texts.as_slice() {
        [] => None,
        [one] => one.text(),
        several => Some(Text::Inline(several.iter().filter_map(|text| text.str()).collect::<Vec<_>>().join("\n"))),
    }
}

/// The parts of a reasoning.
fn joined(parts: Json<'_>) -> Option<Text> {
    let parts: Vec<Json<'_>> = parts.items().collect();
    match parts.as_slice() {
        [] => None,
        [one] => one.text(),
        several => Some(Text::Inline(several.iter().filter_map(|text| text.str()).collect::<Vec<_>>().join("\n\n"))),
    }
}

//! The items of a turn: messages, reasoning, tool calls, plans. Both transports have them, `exec` in snake case and
//! `app-server` in camel case, with the same meaning.
//!
//! A command that the sandbox stops, and a tool that Codex does not know, are no items: only the model learns of them.

use crate::changes::{self, Change};
use crate::shell;
use wharf_adapter::json::Object;
use wharf_adapter::{
    Action, Calls, Compaction, Drafts, Effects, Event, Json, LogLevel, Malformed, McpCall, Phase, PlanItem, PlanStatus,
    Text, ToolCall, ToolKind, ToolStatus, json,
};

/// What Codex gives for the error of a call of an MCP tool that was not allowed.
const DENIALS: [&str; 3] = [
    "user rejected MCP tool call",
    "user cancelled MCP tool call",
    "MCP tool call requires approval, but approval policy is never",
];

/// The names of Codex's own tools here: the model is shown other ones, which differ from model to model.
pub(crate) const COMMAND: &str = "command_execution";
pub(crate) const PATCH: &str = "file_change";

/// How long the ends of calls are awaited after the end of their turn. 0.142.0 was seen to report a command's end after it.
pub(crate) const LATE_MILLIS: u32 = 500;

/// The timer for that; those of an outage count from 1.
pub(crate) const LATE_TIMER: u32 = u32::MAX;

/// Which line an item comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It may change.
    Started,
    /// It is final.
    Completed,
}

/// What an ask about an open call needs to know of it.
#[derive(Debug)]
enum Open {
    Patch(Vec<Change>),
    /// A tool of an MCP server.
    Mcp(McpCall),
    Other,
}

/// The items of a turn that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Items {
    calls: Calls<Open>,
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
        stage: Stage,
        item: Json<'_>,
        parent: Option<&str>,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        let [kind, id] = item.pick(["type", "id"])?;
        let (kind, id) = (kind.name().ok_or(Malformed)?, id.str().ok_or(Malformed)?);
        match kind {
            "agentMessage" | "agent_message" | "plan" => self.message(stage, &id, item.get("text"), parent, out),
            "reasoning" => self.reasoning(stage, &id, item, parent, out),
            "commandExecution" | "command_execution" => self.command(stage, &id, item, parent, out),
            "fileChange" | "file_change" => self.file_change(stage, &id, item, parent, out),
            "mcpToolCall" | "mcp_tool_call" => self.mcp_call(stage, &id, item, parent, out),
            "collabAgentToolCall" | "collab_tool_call" => self.collab(stage, &id, item, parent, out),
            "dynamicToolCall" => {
                let output = content(item.get("contentItems"));
                let call = ToolCall { input: item.get("arguments").verbatim(), output, ..new(&id, stage, item) };
                self.call(call, item.get("tool").str().unwrap_or_default().as_ref(), parent, Open::Other, out);
            }
            "webSearch" | "web_search" => {
                self.plain(stage, item, ("web_search", ToolKind::Search, &["query", "action"]), parent, out);
            }
            "imageView" => self.plain(stage, item, ("view_image", ToolKind::Read, &["path"]), parent, out),
            "imageGeneration" => {
                self.plain(stage, item, ("image_generation", ToolKind::Other, &["revisedPrompt"]), parent, out);
            }
            "sleep" => self.plain(stage, item, ("sleep", ToolKind::Other, &["durationMs"]), parent, out),
            "todo_list" => out.emit(Event::Plan(item.get("items").items().filter_map(todo).collect())),
            "contextCompaction" => {
                let phase = if stage == Stage::Started { Phase::Begun } else { Phase::Ended };
                let unknown = Compaction { phase, trigger: None, tokens_before: None, tokens_after: None, error: None };
                out.emit(Event::Compaction(unknown));
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

    fn message(&mut self, stage: Stage, id: &str, text: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        // It starts empty.
        if stage == Stage::Completed
            && let Some(whole) = text.text()
        {
            self.drafts.confirm(id);
            if self.has_schema && parent.is_none() {
                self.last = text.string();
            }
            out.message(id, parent, whole);
        }
    }

    fn reasoning(&mut self, stage: Stage, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        if stage == Stage::Started {
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
    pub(crate) fn text_delta(&mut self, id: Json<'_>, parent: Option<&str>, text: Text, out: &mut Effects) {
        self.drafts.add(parent, &id.str().unwrap_or_default());
        out.text_delta(id.text_or_empty(), parent, text);
    }

    /// A part of the reasoning.
    pub(crate) fn thinking_delta(&mut self, id: Json<'_>, parent: Option<&str>, text: Text, out: &mut Effects) {
        self.drafts.add(parent, &id.str().unwrap_or_default());
        out.thinking_delta(id.text_or_empty(), parent, text);
    }

    /// A call of the model failed and is retried: what it had streamed is void.
    pub(crate) fn void(&mut self, parent: Option<&str>, out: &mut Effects) {
        self.drafts.void(parent, out);
    }

    /// A call of which only some fields are of interest.
    fn plain(
        &mut self,
        stage: Stage,
        item: Json<'_>,
        (name, kind, fields): (&str, ToolKind, &[&str]),
        parent: Option<&str>,
        out: &mut Effects,
    ) {
        let id = item.get("id").str().unwrap_or_default();
        let call = ToolCall { input: Some(input(item, fields)), kind: Some(kind), ..new(&id, stage, item) };
        self.call(call, name, parent, Open::Other, out);
    }

    fn command(&mut self, stage: Stage, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let output = item.first_of(&["aggregatedOutput", "aggregated_output"]);
        let call = ToolCall {
            kind: Some(ToolKind::Execute),
            title: item.get("command").str().map(|command| shell::script(&command)),
            input: Some(input(item, &["command", "cwd"])),
            // It is empty until the command has ended.
            output: output.text().filter(|_| stage == Stage::Completed),
            exit_code: item.first_of(&["exitCode", "exit_code"]).i32(),
            ..new(id, stage, item)
        };
        self.call(call, COMMAND, parent, Open::Other, out);
    }

    fn file_change(&mut self, stage: Stage, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let changes = changes::read(item.get("changes"));
        let call = ToolCall {
            kind: Some(changes::kind(&changes)),
            input: Some(input(item, &["changes"])),
            paths: changes::paths(&changes),
            diffs: changes::diffs(&changes),
            ..new(id, stage, item)
        };
        if call.status == ToolStatus::Succeeded {
            self.call(call, PATCH, parent, Open::Other, out);
            changes::report(changes, out);
        } else {
            self.call(call, PATCH, parent, Open::Patch(changes), out);
        }
    }

    fn mcp_call(&mut self, stage: Stage, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        let [server, tool, arguments] = item.select(["server", "tool", "arguments"]).unwrap_or([json::MISSING; 3]);
        let [result, error] = item.select(["result", "error"]).unwrap_or([json::MISSING; 2]);
        let message = error.get("message");
        let of = McpCall { server: server.string().unwrap_or_default(), tool: tool.string().unwrap_or_default() };
        let mut call = ToolCall {
            kind: Some(ToolKind::Other),
            mcp_server: Some(of.server.clone()),
            input: arguments.verbatim(),
            output: message.text().or_else(|| content(result.get("content"))),
            ..new(id, stage, item)
        };
        if DENIALS.iter().any(|denial| message.is(denial)) {
            call.status = ToolStatus::Denied;
            call.denied_because = message.string();
        }
        let name = mcp_name(&of);
        self.call(call, &name, parent, Open::Mcp(of), out);
    }

    /// What the patch with this id would do, if it is open.
    pub(crate) fn patch_actions(&self, id: &str) -> Vec<Action> {
        match self.calls.get(id) {
            Some(Open::Patch(changes)) => changes::actions(changes),
            _ => vec![],
        }
    }

    /// The last open call of a tool of this MCP server, and its id.
    pub(crate) fn mcp_open(&self, server: &str) -> Option<(&str, &McpCall)> {
        let calls = self.calls.iter().filter_map(|(id, open)| match open {
            Open::Mcp(call) if call.server == server => Some((id, call)),
            _ => None,
        });
        calls.last()
    }

    /// A call that starts sub-agents or talks to them.
    fn collab(&mut self, stage: Stage, id: &str, item: Json<'_>, parent: Option<&str>, out: &mut Effects) {
        for thread in item.first_of(&["receiverThreadIds", "receiver_thread_ids"]).items().filter_map(Json::string) {
            if !self.subagents.iter().any(|(known, _)| *known == thread) {
                self.subagents.push((thread, id.to_owned()));
            }
        }
        let call = ToolCall { input: Some(input(item, &["prompt", "model"])), ..new(id, stage, item) };
        self.call(call, item.get("tool").str().unwrap_or_default().as_ref(), parent, Open::Other, out);
    }

    /// The call that started the sub-agent with this thread.
    pub(crate) fn parent(&self, thread: &str) -> Option<&str> {
        self.subagents.iter().find(|(known, _)| known == thread).map(|(_, call)| call.as_str())
    }

    fn call(&mut self, mut call: ToolCall, name: &str, parent: Option<&str>, open: Open, out: &mut Effects) {
        let Text::Inline(id) = &call.id else { return };
        let is_running = matches!(call.status, ToolStatus::Running | ToolStatus::Pending);
        if self.calls.get(id).is_some() {
            // Its start has said these.
            (call.input, call.kind, call.title, call.mcp_server) = (None, None, None, None);
        } else {
            call.name = Some(name.to_owned());
            call.parent = parent.map(Text::from);
        }
        if is_running {
            self.calls.open(id, open);
        } else {
            self.calls.close(id);
        }
        out.tool(call);
    }

    /// Whether a call has not ended.
    pub(crate) fn has_open_calls(&self) -> bool {
        self.calls.iter().next().is_some()
    }

    /// The turn is over: nothing runs any more. Returns the answer if it has a schema and is JSON.
    pub(crate) fn end(&mut self, out: &mut Effects) -> Option<String> {
        self.calls.cancel(out);
        self.last.take().filter(|text| matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'[')))
    }
}

/// The name of a tool of an MCP server, as older versions show it to the model.
pub(crate) fn mcp_name(call: &McpCall) -> String {
    ["mcp__", &call.server, "__", &call.tool].concat()
}

/// A step of the plan that `exec` reports.
fn todo(item: Json<'_>) -> Option<PlanItem> {
    let status = if item.get("completed").is_true() { PlanStatus::Completed } else { PlanStatus::Pending };
    Some(PlanItem { text: item.get("text").string()?, status })
}

/// A call with its status.
fn new(id: &str, stage: Stage, item: Json<'_>) -> ToolCall {
    let status = match item.get("status").name() {
        Some("in_progress" | "inProgress") => ToolStatus::Running,
        Some("failed") => ToolStatus::Failed,
        Some("declined") => ToolStatus::Denied,
        Some("interrupted") => ToolStatus::Cancelled,
        _ if stage == Stage::Started => ToolStatus::Running,
        _ => ToolStatus::Succeeded,
    };
    ToolCall::new(id, status)
}

/// An object of those fields that an item has.
fn input(item: Json<'_>, fields: &[&str]) -> Text {
    let mut found = Object::new();
    for field in fields {
        let value = item.get(field);
        if !value.is_null() {
            found = found.raw(field, value.raw());
        }
    }
    Text::Inline(found.finish())
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

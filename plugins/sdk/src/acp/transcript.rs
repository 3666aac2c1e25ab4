//! What an agent wrote and did in a turn: texts, tool calls, changed files.
//!
//! Chunks of text belong together until another kind of text, another message or a tool call comes. Their ids are ours:
//! few agents name their messages.

use super::action::Known;
pub use super::tool::ToolFields;
use super::{Dialect, activity};
use crate::{
    Calls, ContextUsage, Effects, Event, Failure, FileChange, Json, LogLevel, Malformed, PlanItem, PlanStatus, Text,
    ToolStatus, Usage, UsageScope,
};
use std::mem::take;

/// The kind of a text.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum TextKind {
    /// Part of the answer.
    Message,
    /// Reasoning.
    Thought,
}

/// The text that is being written.
#[derive(Debug)]
struct OpenText {
    kind: TextKind,
    /// The agent's own id of the message, if it has one.
    message: Option<String>,
    parent: Option<String>,
    text: String,
}

/// A tool call that has not ended.
#[derive(Debug)]
struct Call {
    name: Option<String>,
    /// Whether the name is only the kind: a better one may follow.
    is_kind: bool,
    kind: Option<String>,
    /// JSON.
    input: Option<String>,
    status: ToolStatus,
    /// The files that it changes if it succeeds, by their differences.
    changes: Vec<FileChange>,
    /// The same, by its locations: for a call that shows no differences.
    locations: Vec<FileChange>,
}

/// What the turn had so far.
#[derive(Debug, Default)]
struct Had {
    output: bool,
    tools: bool,
    usage: bool,
}

/// The state between two updates.
#[derive(Debug, Default)]
pub struct Transcript {
    /// How many texts have started.
    count: u32,
    open: Option<OpenText>,
    calls: Calls<Call>,
    /// The calls that were rejected in this turn, with the reason if there is one.
    denied: Vec<(String, Option<String>)>,
    had: Had,
    /// Whether the agent was asked to stop.
    is_cancelling: bool,
    /// The cost that was last reported.
    cost: Option<u64>,
}

impl Transcript {
    /// Whether the turn had a text or a tool.
    pub fn has_output(&self) -> bool {
        self.had.output
    }

    /// Whether the turn had a tool.
    pub fn has_tools(&self) -> bool {
        self.had.tools
    }

    /// Whether the turn had figures.
    pub(super) fn has_usage(&self) -> bool {
        self.had.usage
    }

    /// Reports figures that the agent gives before the turn ends.
    pub fn count(&mut self, usage: Usage, out: &mut Effects) {
        self.had.usage = true;
        out.usage(usage);
    }

    /// Whether a text is being written.
    pub fn is_writing(&self) -> bool {
        self.open.is_some()
    }

    /// The open tool calls, by id and name.
    pub fn open_calls(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.calls.iter().map(|(id, call)| (id, call.name.as_deref()))
    }

    /// Whether an open tool call changes this file.
    pub fn is_changing(&self, path: &str) -> bool {
        self.calls.iter().any(|(_, call)| call.changes.iter().any(|change| change.path == path))
    }

    /// Writes a part of a text. `parent` is for a text that starts with it.
    pub fn write(&mut self, kind: TextKind, text: &str, parent: Option<String>, out: &mut Effects) {
        self.write_message(kind, None, text, || parent, out);
    }

    fn write_message(
        &mut self,
        kind: TextKind,
        message: Option<&str>,
        text: &str,
        parent: impl FnOnce() -> Option<String>,
        out: &mut Effects,
    ) {
        self.had.output = true;
        let continues =
            |open: &OpenText| open.kind == kind && (message.is_none() || open.message.as_deref() == message);
        if !self.open.as_ref().is_some_and(continues) {
            self.close(out);
            self.count += 1;
            let (message, text) = (message.map(str::to_owned), String::new());
            self.open = Some(OpenText { kind, message, parent: parent(), text });
        }
        let id = self.id();
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let (parent, text) = (open.parent.as_deref(), Text::Inline(text.to_owned()));
        match kind {
            TextKind::Message => out.text_delta(&id, parent, text),
            TextKind::Thought => out.thinking_delta(&id, parent, text),
        }
    }

    fn id(&self) -> String {
        format!("text-{}", self.count)
    }

    /// The open text is complete.
    pub fn close(&mut self, out: &mut Effects) {
        let id = self.id();
        let Some(OpenText { kind, parent, text, .. }) = self.open.take() else { return };
        match kind {
            TextKind::Message => out.message(&id, parent.as_deref(), Text::Inline(text)),
            TextKind::Thought => out.thinking(&id, parent.as_deref(), Text::Inline(text)),
        }
    }

    /// A model call failed and is retried: the open text is void.
    pub fn retry(&mut self, failure: Failure, out: &mut Effects) {
        if self.open.take().is_some() {
            out.emit(Event::Discard(self.id().into()));
        }
        out.emit(Event::Retrying(failure));
    }

    /// A prompt was sent.
    pub(super) fn start_turn(&mut self) {
        self.had = Had::default();
        self.is_cancelling = false;
        self.denied.clear();
    }

    /// The agent was asked to stop: a tool that fails now was cancelled.
    pub(super) fn cancel(&mut self) {
        self.is_cancelling = true;
    }

    /// The turn is over: what is open never ends.
    pub(super) fn end_turn(&mut self, out: &mut Effects) {
        self.close(out);
        let is_denied = |id: &str| self.denied.iter().any(|(denied, _)| denied == id);
        let status = |id: &str| if is_denied(id) { ToolStatus::Denied } else { ToolStatus::Cancelled };
        self.calls.end(out, |id, _| Some(status(id)));
    }

    /// The name of the tool of an open call.
    pub(super) fn name_of(&self, call: &str) -> Option<String> {
        self.calls.get(call)?.name.clone()
    }

    /// A permission is requested for a call. Some agents have not reported the call before, and never do if it is rejected.
    pub(super) fn announce(&mut self, tool: &ToolFields<'_>, name: Option<&str>, out: &mut Effects) {
        let Some(id) = tool.id.filled() else { return };
        if self.calls.get(&id).is_some() {
            return;
        }
        self.close(out);
        let status = ToolStatus::Pending;
        let (changes, locations) = (tool.changes().collect(), tool.changed_locations().collect());
        let is_kind = name.is_some_and(|name| tool.kind.is(name));
        let (kind, input) = (tool.kind.string(), tool.known_input());
        self.calls.open(&id, Call { name: name.map(str::to_owned), is_kind, kind, input, status, changes, locations });
        out.tool(tool.reported(&id, name.map(str::to_owned), status));
    }

    /// A call was rejected: if it fails, it was denied.
    pub(super) fn deny(&mut self, call: &str, reason: Option<String>) {
        self.denied.push((call.to_owned(), reason));
    }

    /// What is known about an open call.
    pub(super) fn call(&self, id: Json<'_>) -> Known<'_> {
        let call = id.str().and_then(|id| self.calls.get(&id));
        call.map_or_else(Known::default, |call| Known {
            kind: call.kind.as_deref(),
            input: call.input.as_deref(),
            changes: if call.changes.is_empty() { &call.locations } else { &call.changes },
        })
    }

    /// Handles one update of the session.
    pub(super) fn update<D: Dialect>(
        &mut self,
        dialect: &mut D,
        kind: &str,
        update: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        if dialect.update(kind, update, self, out)? {
            return Ok(());
        }
        match kind {
            "agent_message_chunk" => self.chunk(dialect, TextKind::Message, update, out),
            "agent_thought_chunk" => self.chunk(dialect, TextKind::Thought, update, out),
            "tool_call" | "tool_call_update" => self.tool(dialect, update, out)?,
            "plan" => {
                let entries = update.get("entries");
                if entries.is_array() {
                    out.emit(Event::Plan(entries.items().filter_map(plan_item).collect()));
                }
            }
            "usage_update" => self.usage_update(update, out),
            "notice" => notice(update, out),
            "compaction_summary_chunk" | "config_option_update" => {}
            known if activity::report(known, update, out) || D::IGNORED.contains(known) => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn chunk<D: Dialect>(&mut self, dialect: &D, kind: TextKind, update: Json<'_>, out: &mut Effects) {
        let [content, message] = update.pick(["content", "messageId"]).unwrap_or([crate::json::MISSING; 2]);
        // An image, a link or a resource has no text.
        let Some(text) = content.get("text").filled() else { return };
        let parent = dialect.text_parent(self);
        self.write_message(kind, message.filled().as_deref(), &text, || parent, out);
    }

    /// How full the context is, and what the session has cost so far.
    fn usage_update(&mut self, update: Json<'_>, out: &mut Effects) {
        if let (Some(used), Some(window)) = (update.get("used").u64(), update.get("size").u64()) {
            out.emit(Event::Context(ContextUsage { used, window }));
        }
        let [amount, currency] = update.get("cost").select(["amount", "currency"]).unwrap_or([crate::json::MISSING; 2]);
        let cost = amount.micros().filter(|_| currency.is_missing() || currency.is("USD"));
        if cost.is_some() && self.cost != cost {
            self.cost = cost;
            out.usage(Usage { cost_micros: cost, ..Usage::new(UsageScope::SessionTotal, "acp-cost", true) });
        }
    }

    fn tool<D: Dialect>(&mut self, dialect: &mut D, update: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let tool = ToolFields::read(update)?;
        let id = tool.id.string().ok_or(Malformed)?;
        self.close(out);
        (self.had.output, self.had.tools) = (true, true);
        if let Some(text) = tool.more_output() {
            out.tool_output(&id, None, text);
        }
        let known = self.calls.get(&id);
        if known.is_some() && tool.is_meta_only() {
            return Ok(());
        }
        // The first name is kept: later updates omit what the name is recognized by. A kind is no name.
        let kept = known.filter(|call| !call.is_kind).and_then(|call| call.name.clone());
        let is_kept = kept.is_some();
        let name = kept.or_else(|| dialect.tool_name(&tool)).or_else(|| known.and_then(|call| call.name.clone()));
        let is_kind = !is_kept && name.as_deref().is_none_or(|name| tool.kind.is(name));
        let status = tool.status().or(known.map(|call| call.status)).unwrap_or(ToolStatus::Running);
        let mut call = tool.reported(&id, name.clone(), status);
        let is_final = |status| matches!(status, ToolStatus::Succeeded | ToolStatus::Failed);
        // Text and exit code of a call that still runs may be those of its input, or a placeholder.
        if is_final(status) {
            call.output = tool.output_text();
            call.exit_code = tool.exit_code();
        }
        if let Some((_, reason)) = self.denied.iter().find(|(denied, _)| status == ToolStatus::Failed && *denied == id)
        {
            call.status = ToolStatus::Denied;
            call.denied_because.clone_from(reason);
        }
        dialect.tool(&tool, &mut call, self);
        if self.is_cancelling && call.status == ToolStatus::Failed {
            call.status = ToolStatus::Cancelled;
        }
        let (status, is_open) = (call.status, matches!(call.status, ToolStatus::Pending | ToolStatus::Running));
        out.tool(call);
        let known = self.calls.get_mut(&id);
        let (mut changes, mut locations, kind, input) = known
            .map(|call| (take(&mut call.changes), take(&mut call.locations), call.kind.take(), call.input.take()))
            .unwrap_or_default();
        // The end of a call repeats its differences.
        add_new(&mut changes, tool.changes());
        add_new(&mut locations, tool.changed_locations());
        if is_open {
            let (kind, input) = (tool.kind.string().or(kind), tool.known_input().or(input));
            self.calls.open(&id, Call { name, is_kind, kind, input, status, changes, locations });
            return Ok(());
        }
        self.calls.close(&id);
        let changes = if changes.is_empty() && D::CHANGES_AT_LOCATIONS { locations } else { changes };
        for change in changes.into_iter().filter(|_| status == ToolStatus::Succeeded) {
            out.emit(Event::FileChange(change));
        }
        Ok(())
    }
}

fn plan_item(entry: Json<'_>) -> Option<PlanItem> {
    let status = match entry.get("status").name() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        Some("cancelled") => PlanStatus::Cancelled,
        _ => PlanStatus::Pending,
    };
    Some(PlanItem { text: entry.get("content").string()?, status })
}

/// Adds the changes of files that have none yet.
fn add_new(known: &mut Vec<FileChange>, changes: impl Iterator<Item = FileChange>) {
    for change in changes {
        if !known.iter().any(|known| is_same_path(&known.path, &change.path)) {
            known.push(change);
        }
    }
}

/// Whether two paths are the same, one of them perhaps relative.
fn is_same_path(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|start| start.is_empty() || start.ends_with('/'))
    };
    ends(one, other) || ends(other, one)
}

/// A remark of the agent, which is no part of its answer.
fn notice(update: Json<'_>, out: &mut Effects) {
    let level = match update.get("severity").name() {
        Some("error") => LogLevel::Error,
        Some("warning") => LogLevel::Warn,
        _ => LogLevel::Info,
    };
    let title = update.first_of(&["title", "message"]).filled().or_else(|| update.at(&["content", "text"]).filled());
    let title = title.unwrap_or_default();
    match update.get("description").filled() {
        Some(description) => out.notice(level, format!("{title}: {description}")),
        None => out.notice(level, title),
    }
}

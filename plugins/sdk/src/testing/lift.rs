//! From the interface to `wharf-core`, as the host does it, for effects whose texts [`play`](super::play) has resolved.

use super::{activity, inline};
use crate::{
    Action, Ask, AskKind, ChangeKind, Choice, ChoiceKind, Diff, Effect, ErrorClass, Event, Failure, LogLevel, Outcome,
    Question, Retry, Text, ToolCall, ToolKind, ToolStatus, Usage, UsageScope,
};
use wharf_core::model::{self, EventKind, TextPart, TurnEnd, json_or_text, time};
use wharf_core::turn;

/// Maps the cases of an enum to those of the same names.
macro_rules! same {
    ($value:expr, $from:ident => $to:ident: $($case:ident),+) => {
        match $value { $($from::$case => model::$to::$case),+ }
    };
}

/// An effect, as the driver of a turn takes it.
pub(super) fn effect(effect: Effect) -> turn::Effect<'static> {
    match effect {
        Effect::Emit(event) => turn::Effect::Emit(streamed(kind(event))),
        Effect::Write(bytes) => turn::Effect::Write(bytes),
        Effect::CloseStdin => turn::Effect::CloseStdin,
        Effect::SetTimer(timer) => {
            let delay = std::time::Duration::from_millis(timer.milliseconds.into());
            turn::Effect::SetTimer { number: timer.number, delay }
        }
        Effect::TransportFailed(reason) => turn::Effect::TransportFailed(failure(reason)),
    }
}

/// An event whose parts are told from the others.
fn streamed(event: EventKind) -> wharf_core::stream::StreamedEvent<'static> {
    use wharf_core::stream::{Part, PartKind, StreamedEvent, Whole};
    let (kind, part) = match event {
        EventKind::TextDelta(part) => (PartKind::TextDelta, part),
        EventKind::Message(part) => (PartKind::Message, part),
        EventKind::ThinkingDelta(part) => (PartKind::ThinkingDelta, part),
        EventKind::Thinking(part) => (PartKind::Thinking, part),
        EventKind::ToolOutput(part) => (PartKind::ToolOutput, part),
        EventKind::Tool(mut call) => {
            let output = call.output.take().map(|text| wharf_core::stream::Text::Plain(text.into()));
            return StreamedEvent::Tool(Whole::Owned(Box::new(call)), output);
        }
        other => return other.into(),
    };
    let text = wharf_core::stream::Text::Plain(part.text.into());
    StreamedEvent::Part(Part { kind, id: part.id.into(), parent: part.parent.map(Into::into), text })
}

fn kind(event: Event) -> EventKind {
    let part = |part: crate::TextPart| TextPart {
        id: owned(&part.id),
        parent: part.parent.as_ref().map(owned),
        text: owned(&part.text),
    };
    match event {
        Event::Session(session) => {
            let mut lifted = model::SessionInfo::default();
            (lifted.id, lifted.resumed) = (session.id, session.resumed);
            (lifted.model, lifted.agent_version) = (session.model, session.agent_version);
            EventKind::Session(lifted)
        }
        Event::TextDelta(delta) => EventKind::TextDelta(part(delta)),
        Event::Message(message) => EventKind::Message(part(message)),
        Event::ThinkingDelta(delta) => EventKind::ThinkingDelta(part(delta)),
        Event::Thinking(thinking) => EventKind::Thinking(part(thinking)),
        Event::ToolOutput(output) => EventKind::ToolOutput(part(output)),
        Event::Discard(id) => EventKind::Discard { id: owned(&id) },
        Event::Tool(call) => EventKind::Tool(tool(call)),
        Event::Plan(items) => EventKind::Plan { items: items.into_iter().map(activity::plan_item).collect() },
        Event::McpServer(server) => EventKind::McpServer(activity::mcp_server(server)),
        Event::Compaction(compaction) => EventKind::Compaction(activity::compaction(compaction)),
        Event::Round(round) => EventKind::Round(activity::round(round)),
        Event::Subagent(subagent) => EventKind::Subagent(activity::subagent(subagent)),
        Event::Mode(mode) => EventKind::Mode { mode },
        Event::Title(title) => EventKind::Title { title },
        Event::Commands(commands) => {
            EventKind::Commands { commands: commands.into_iter().map(activity::command).collect() }
        }
        Event::Prompt(prompt) => EventKind::Prompt(part(prompt)),
        Event::FileChange(change) => {
            let kind = same!(change.kind, ChangeKind => FileChangeKind: Created, Edited, Deleted, Moved, Other);
            let mut lifted = model::FileChange::new(change.path, kind);
            (lifted.added, lifted.removed) = (change.added, change.removed);
            EventKind::FileChange(lifted)
        }
        Event::Usage(figures) => EventKind::Usage(usage(figures)),
        Event::UsageUnavailable(reason) => EventKind::UsageUnavailable { reason },
        Event::Context(context) => EventKind::Context { used: context.used, window: context.window },
        Event::RateLimit(limit) => {
            let resets_at = limit.resets_at.map(time::from_unix_seconds);
            EventKind::RateLimit { scope: limit.scope, resets_at, blocked: limit.blocked }
        }
        Event::Ask(question) => EventKind::Ask(ask(question)),
        Event::AskWithdrawn(id) => EventKind::AskWithdrawn { id, number: None },
        Event::Notice(notice) => {
            let level = same!(notice.level, LogLevel => LogLevel: Debug, Info, Warn, Error);
            EventKind::Notice { level, text: notice.text }
        }
        Event::Retrying(retried) => EventKind::Retrying(failure(retried)),
        Event::TurnEnded(end) => {
            let mut lifted = outcome(end.outcome);
            lifted.answer = end.answer.as_ref().map(owned);
            lifted.structured_output = end.structured_output.map(json_or_text);
            EventKind::TurnEnded(lifted)
        }
        Event::Unknown(native) => EventKind::Unknown { native },
        Event::Malformed(head) => EventKind::Malformed { head },
        Event::Other((name, payload)) => EventKind::Other { name, payload: json_or_text(payload) },
    }
}

pub(super) fn owned(text: &Text) -> String {
    inline(text).to_owned()
}

fn tool(call: ToolCall) -> model::ToolCall {
    let status = same!(call.status, ToolStatus => ToolStatus: Pending, Running, Succeeded, Failed, Denied, Cancelled);
    let mut lifted = model::ToolCall::new(owned(&call.id), status);
    (lifted.parent, lifted.name, lifted.title) = (call.parent.as_ref().map(owned), call.name, call.title);
    lifted.kind = call
        .kind
        .map(|kind| same!(kind, ToolKind => ToolKind: Read, Edit, Delete, Move, Search, Execute, Fetch, Think, Other));
    (lifted.mcp_server, lifted.paths) = (call.mcp_server, call.paths);
    lifted.diffs = call.diffs.into_iter().map(diff).collect();
    lifted.denied_because = call.denied_because;
    lifted.input = call.input.as_ref().map(|input| json_or_text(owned(input)));
    lifted.output = call.output.as_ref().map(owned);
    lifted.exit_code = call.exit_code;
    lifted
}

fn usage(figures: Usage) -> model::UsageFigures {
    let scope = same!(figures.scope, UsageScope => UsageScope: Delta, TurnTotal, SessionTotal);
    let mut usage = model::Usage::default();
    (usage.output, usage.reasoning) = (figures.output, figures.reasoning);
    (usage.cache_read, usage.cache_write) = (figures.cache_read, figures.cache_write);
    usage.cost = figures.cost_micros.map(model::Money::usd);
    usage.api_ms = figures.api_millis;
    usage.rounds = figures.rounds.map(u64::from);
    usage.units = figures.units.into_iter().collect();
    let includes_cached = figures.input_includes_cached;
    let mut lifted = model::UsageFigures::new(scope, figures.source, figures.input, includes_cached, usage);
    lifted.model = figures.model;
    lifted
}

fn ask(ask: Ask) -> model::Ask {
    let kind = same!(ask.kind, AskKind => AskKind: Permission, Question, Tool, Hook, Other);
    let mut lifted = model::Ask::new(ask.id, kind, ask.title);
    (lifted.tool, lifted.tool_id, lifted.detail) = (ask.tool, ask.tool_id, json_or_text(ask.detail));
    (lifted.free_text, lifted.input_editable) = (ask.free_text, ask.input_editable);
    lifted.actions = ask.actions.into_iter().map(action).collect();
    lifted.choices = ask.choices.into_iter().map(choice).collect();
    lifted.form = ask.form.into_iter().map(question).collect();
    lifted.schema = ask.schema.map(json_or_text);
    lifted
}

fn choice(choice: Choice) -> model::Choice {
    let kind = same!(
        choice.kind, ChoiceKind => ChoiceKind:
        AllowOnce, AllowAlways, RejectOnce, RejectAlways, RejectAndStop, Other
    );
    model::Choice { id: choice.id, kind, label: choice.label }
}

fn question(question: Question) -> model::Question {
    let mut lifted = model::Question::new(question.id, question.text);
    (lifted.title, lifted.multiple, lifted.free_text) = (question.title, question.multiple, question.free_text);
    lifted.choices = question.choices.into_iter().map(choice).collect();
    lifted
}

fn action(action: Action) -> model::Action {
    match action {
        Action::Run(command) => model::Action::Run { command },
        Action::Read(path) => model::Action::Read { path },
        Action::Write(write) => model::Action::Write { path: write.path, diff: write.diff.map(diff) },
        Action::Fetch(url) => model::Action::Fetch { url },
        Action::CallTool(call) => model::Action::CallTool { server: call.server, tool: call.tool },
    }
}

fn diff(diff: Diff) -> model::Diff {
    model::Diff { path: diff.path, old: diff.old.as_ref().map(owned), new: owned(&diff.new) }
}

fn outcome(outcome: Outcome) -> TurnEnd {
    let (outcome, detail, error) = match outcome {
        Outcome::Completed => (model::Outcome::Completed, None, None),
        Outcome::Failed(error) => (model::Outcome::Failed, None, Some(failure(error))),
        Outcome::Cancelled => (model::Outcome::Cancelled, None, None),
        Outcome::Refused(reason) => (model::Outcome::Refused, Some(reason), None),
        Outcome::Blocked(blocker) => (model::Outcome::Blocked, Some(blocker), None),
        Outcome::Limit(limit) => (model::Outcome::Limit, Some(limit), None),
    };
    let mut end = TurnEnd::new(outcome);
    (end.detail, end.error) = (detail, error);
    end
}

pub(super) fn failure(failure: Failure) -> model::Failure {
    let class = same!(
        failure.class, ErrorClass => ErrorClass:
        Auth, Permission, UnknownModel, InvalidOption, RateLimit, Quota, ContextLength, Network, Provider, Crash,
        Protocol, NotFound, NoSession, Other
    );
    let mut lifted = model::Failure::new(class, failure.message);
    (lifted.code, lifted.http_status) = (failure.code, failure.http_status);
    lifted.retry = match failure.retry {
        Retry::Never => model::Retry::Never,
        Retry::SameSession => model::Retry::SameSession,
        Retry::FreshSession => model::Retry::FreshSession,
        Retry::At(seconds) => model::Retry::At { time: time::from_unix_seconds(seconds) },
        Retry::AfterUserAction(action) => model::Retry::AfterUserAction { action },
        Retry::Unknown => model::Retry::Unknown,
    };
    lifted
}

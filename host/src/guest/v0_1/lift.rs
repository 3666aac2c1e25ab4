//! From the interface to `wharf-core`. An adapter is not trusted: JSON may not parse, a figure may be no number.

use super::bindings::types;
use super::lower::CAPABILITIES;
use super::text::{Violation, id, text};
use super::{activity, ask};
use std::borrow::Cow;
use std::time::Duration;
use wharf_core::model::{
    Access, AdapterInfo, Binary, ErrorClass, EventKind, Failure, FileChange, FileChangeKind, LogLevel, Login, Model,
    ModelList, Money, Note, OptionKind, OptionSpec, Outcome, Retry, SessionInfo, Support, TextPart, ToolCall, ToolKind,
    ToolStatus, Transport, TurnEnd, Usage, UsageFigures, UsageScope, json_or_text, time,
};
use wharf_core::stream::{Part, PartKind, StreamedEvent, Text, Whole};
use wharf_core::turn::Effect;

/// An effect, its texts found in `chunk`. What it contains is moved out of it.
pub(super) fn effect<'c>(effect: &mut types::Effect, chunk: &'c str) -> Result<Effect<'c>, Violation> {
    Ok(match effect {
        types::Effect::Emit(event) => Effect::Emit(frequent_event(event, chunk)?),
        types::Effect::Write(bytes) => Effect::Write(std::mem::take(bytes)),
        types::Effect::CloseStdin => Effect::CloseStdin,
        types::Effect::SetTimer(timer) => {
            Effect::SetTimer { number: timer.number, delay: Duration::from_millis(timer.milliseconds.into()) }
        }
        types::Effect::TransportFailed(reason) => {
            let message = std::mem::take(&mut reason.message);
            let (code, retry) = (reason.code.take(), std::mem::replace(&mut reason.retry, types::Retry::Unknown));
            let (class, http_status) = (reason.class, reason.http_status);
            Effect::TransportFailed(failure(types::Failure { class, message, code, http_status, retry }))
        }
    })
}

fn frequent_event<'c>(event: &mut types::Event, chunk: &'c str) -> Result<StreamedEvent<'c>, Violation> {
    let (kind, part) = match event {
        types::Event::TextDelta(delta) => (PartKind::TextDelta, delta),
        types::Event::Message(message) => (PartKind::Message, message),
        types::Event::ThinkingDelta(delta) => (PartKind::ThinkingDelta, delta),
        types::Event::Thinking(thinking) => (PartKind::Thinking, thinking),
        types::Event::ToolOutput(output) => (PartKind::ToolOutput, output),
        _ => return other_event(std::mem::replace(event, types::Event::Unknown(String::new())), chunk),
    };
    let text = text(&mut part.text, chunk)?;
    let parent = part.parent.as_mut().map(|parent| id(parent, chunk)).transpose()?;
    Ok(StreamedEvent::Part(Part { kind, id: id(&mut part.id, chunk)?, parent, text }))
}

fn other_event(event: types::Event, chunk: &str) -> Result<StreamedEvent<'_>, Violation> {
    Ok(StreamedEvent::from(match event {
        types::Event::Tool(call) => return tool(call, chunk),
        types::Event::TextDelta(_)
        | types::Event::Message(_)
        | types::Event::ThinkingDelta(_)
        | types::Event::Thinking(_)
        | types::Event::ToolOutput(_) => unreachable!("parts were lifted before"),
        types::Event::Session(session) => EventKind::Session(session_info(session)),
        types::Event::Discard(mut discarded) => EventKind::Discard { id: id(&mut discarded, chunk)?.into_owned() },
        types::Event::Plan(items) => EventKind::Plan { items: items.into_iter().map(activity::plan_item).collect() },
        types::Event::McpServer(server) => EventKind::McpServer(activity::mcp_server(server)),
        types::Event::Compaction(compaction) => EventKind::Compaction(activity::compaction(compaction)),
        types::Event::Round(round) => EventKind::Round(activity::round(round, chunk)?),
        types::Event::Subagent(subagent) => EventKind::Subagent(activity::subagent(subagent, chunk)?),
        types::Event::Mode(mode) => EventKind::Mode { mode },
        types::Event::Title(title) => EventKind::Title { title },
        types::Event::Commands(commands) => {
            EventKind::Commands { commands: commands.into_iter().map(activity::command).collect() }
        }
        types::Event::Prompt(mut part) => {
            let parent = part.parent.as_mut().map(|parent| id(parent, chunk)).transpose()?.map(Cow::into_owned);
            let text = text(&mut part.text, chunk)?.into_string();
            EventKind::Prompt(TextPart { id: id(&mut part.id, chunk)?.into_owned(), parent, text })
        }
        types::Event::FileChange(change) => EventKind::FileChange(file_change(change)),
        types::Event::Usage(figures) => EventKind::Usage(usage(figures)),
        types::Event::UsageUnavailable(reason) => EventKind::UsageUnavailable { reason },
        types::Event::Context(context) => EventKind::Context { used: context.used, window: context.window },
        types::Event::RateLimit(limit) => {
            let resets_at = limit.resets_at.map(time::from_unix_seconds);
            EventKind::RateLimit { scope: limit.scope, resets_at, blocked: limit.blocked }
        }
        types::Event::Ask(question) => EventKind::Ask(ask::ask(question, chunk)?),
        types::Event::AskWithdrawn(id) => EventKind::AskWithdrawn { id, number: None },
        types::Event::Notice(notice) => EventKind::Notice { level: log_level(notice.level), text: notice.text },
        types::Event::Retrying(retried) => EventKind::Retrying(failure(retried)),
        types::Event::TurnEnded(end) => {
            let mut ended = outcome(end.outcome);
            ended.answer = end.answer.map(|mut answer| text(&mut answer, chunk)).transpose()?.map(Text::into_string);
            ended.structured_output = end.structured_output.map(json_or_text);
            EventKind::TurnEnded(ended)
        }
        types::Event::Unknown(native) => EventKind::Unknown { native },
        types::Event::Malformed(head) => EventKind::Malformed { head },
        types::Event::Other((name, payload)) => EventKind::Other { name, payload: json_or_text(payload) },
    }))
}

fn tool(mut call: types::ToolCall, chunk: &str) -> Result<StreamedEvent<'_>, Violation> {
    let input = call.input.map(|mut input| text(&mut input, chunk)).transpose()?;
    let output = call.output.map(|mut output| text(&mut output, chunk)).transpose()?;
    let status = match call.status {
        types::ToolStatus::Pending => ToolStatus::Pending,
        types::ToolStatus::Running => ToolStatus::Running,
        types::ToolStatus::Succeeded => ToolStatus::Succeeded,
        types::ToolStatus::Failed => ToolStatus::Failed,
        types::ToolStatus::Denied => ToolStatus::Denied,
        types::ToolStatus::Cancelled => ToolStatus::Cancelled,
    };
    let mut lifted = ToolCall::new(id(&mut call.id, chunk)?, status);
    lifted.parent = call.parent.as_mut().map(|parent| id(parent, chunk)).transpose()?.map(Cow::into_owned);
    lifted.name = call.name;
    lifted.kind = call.kind.map(tool_kind);
    lifted.mcp_server = call.mcp_server;
    lifted.paths = call.paths;
    lifted.diffs = call.diffs.into_iter().map(|diff| ask::diff(diff, chunk)).collect::<Result<_, _>>()?;
    lifted.denied_because = call.denied_because;
    lifted.title = call.title;
    lifted.input = input.map(|input| json_or_text(input.into_string()));
    lifted.exit_code = call.exit_code;
    Ok(StreamedEvent::Tool(Whole::Owned(Box::new(lifted)), output))
}

fn tool_kind(kind: types::ToolKind) -> ToolKind {
    match kind {
        types::ToolKind::Read => ToolKind::Read,
        types::ToolKind::Edit => ToolKind::Edit,
        types::ToolKind::Delete => ToolKind::Delete,
        types::ToolKind::Move => ToolKind::Move,
        types::ToolKind::Search => ToolKind::Search,
        types::ToolKind::Execute => ToolKind::Execute,
        types::ToolKind::Fetch => ToolKind::Fetch,
        types::ToolKind::Think => ToolKind::Think,
        types::ToolKind::Other => ToolKind::Other,
    }
}

fn session_info(session: types::SessionInfo) -> SessionInfo {
    let mut lifted = SessionInfo::default();
    lifted.id = session.id;
    lifted.resumed = session.resumed;
    lifted.model = session.model;
    lifted.agent_version = session.agent_version;
    lifted
}

fn file_change(change: types::FileChange) -> FileChange {
    let kind = match change.kind {
        types::ChangeKind::Created => FileChangeKind::Created,
        types::ChangeKind::Edited => FileChangeKind::Edited,
        types::ChangeKind::Deleted => FileChangeKind::Deleted,
        types::ChangeKind::Moved => FileChangeKind::Moved,
        types::ChangeKind::Other => FileChangeKind::Other,
    };
    let mut lifted = FileChange::new(change.path, kind);
    (lifted.added, lifted.removed) = (change.added, change.removed);
    lifted
}

fn usage(figures: types::Usage) -> UsageFigures {
    let scope = match figures.scope {
        types::UsageScope::Delta => UsageScope::Delta,
        types::UsageScope::TurnTotal => UsageScope::TurnTotal,
        types::UsageScope::SessionTotal => UsageScope::SessionTotal,
    };
    let mut usage = Usage::default();
    usage.output = figures.output;
    usage.cache_read = figures.cache_read;
    usage.cache_write = figures.cache_write;
    usage.reasoning = figures.reasoning;
    usage.cost = figures.cost_micros.map(Money::usd);
    // JSON has no infinities: such a figure is unknown.
    usage.units = figures.units.into_iter().filter(|(_, figure)| figure.is_finite()).collect();
    usage.api_ms = figures.api_millis;
    usage.rounds = figures.rounds.map(u64::from);
    let mut lifted = UsageFigures::new(scope, figures.source, figures.input, figures.input_includes_cached, usage);
    lifted.model = figures.model;
    lifted
}

fn outcome(outcome: types::Outcome) -> TurnEnd {
    let with_detail = |outcome, detail| {
        let mut end = TurnEnd::new(outcome);
        end.detail = Some(detail);
        end
    };
    match outcome {
        types::Outcome::Completed => TurnEnd::new(Outcome::Completed),
        types::Outcome::Failed(error) => {
            let mut end = TurnEnd::new(Outcome::Failed);
            end.error = Some(failure(error));
            end
        }
        types::Outcome::Cancelled => TurnEnd::new(Outcome::Cancelled),
        types::Outcome::Refused(reason) => with_detail(Outcome::Refused, reason),
        types::Outcome::Blocked(blocker) => with_detail(Outcome::Blocked, blocker),
        types::Outcome::Limit(limit) => with_detail(Outcome::Limit, limit),
    }
}

pub(super) fn failure(failure: types::Failure) -> Failure {
    let class = match failure.class {
        types::ErrorClass::Auth => ErrorClass::Auth,
        types::ErrorClass::Permission => ErrorClass::Permission,
        types::ErrorClass::UnknownModel => ErrorClass::UnknownModel,
        types::ErrorClass::InvalidOption => ErrorClass::InvalidOption,
        types::ErrorClass::RateLimit => ErrorClass::RateLimit,
        types::ErrorClass::Quota => ErrorClass::Quota,
        types::ErrorClass::ContextLength => ErrorClass::ContextLength,
        types::ErrorClass::Network => ErrorClass::Network,
        types::ErrorClass::Provider => ErrorClass::Provider,
        types::ErrorClass::Crash => ErrorClass::Crash,
        types::ErrorClass::Protocol => ErrorClass::Protocol,
        types::ErrorClass::NotFound => ErrorClass::NotFound,
        types::ErrorClass::NoSession => ErrorClass::NoSession,
        types::ErrorClass::Other => ErrorClass::Other,
    };
    let mut lifted = Failure::new(class, failure.message);
    lifted.code = failure.code;
    lifted.http_status = failure.http_status;
    lifted.retry = match failure.retry {
        types::Retry::Never => Retry::Never,
        types::Retry::SameSession => Retry::SameSession,
        types::Retry::FreshSession => Retry::FreshSession,
        types::Retry::At(seconds) => Retry::At { time: time::from_unix_seconds(seconds) },
        types::Retry::AfterUserAction(action) => Retry::AfterUserAction { action },
        types::Retry::Unknown => Retry::Unknown,
    };
    lifted
}

pub(super) fn adapter_info(info: types::AdapterInfo) -> AdapterInfo {
    let option = |option: types::OptionSpec| OptionSpec {
        name: option.name,
        help: option.help,
        kind: match option.kind {
            types::OptionKind::Flag => OptionKind::Flag,
            types::OptionKind::Integer => OptionKind::Integer,
            types::OptionKind::Number => OptionKind::Number,
            types::OptionKind::Text => OptionKind::Text,
            types::OptionKind::List => OptionKind::List,
            types::OptionKind::Json => OptionKind::Json,
        },
        choices: option.choices,
        default: option.default.map(json_or_text),
    };
    AdapterInfo {
        id: info.id,
        name: info.name,
        version: info.version,
        tested_with: versions(&info.tested_with),
        install_hint: info.install_hint,
        access: Access {
            programs: info.access.programs,
            origins: info.access.origins,
            variables: info.access.variables,
            files: info.access.files,
        },
        state_variable: info.state_variable,
        options: info.options.into_iter().map(option).collect(),
    }
}

/// The versions in a list that is separated by commas.
fn versions(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|version| !version.is_empty()).map(str::to_owned).collect()
}

pub(super) fn binary(binary: types::Binary) -> Binary {
    let transport = |transport: types::Transport| {
        let capabilities = CAPABILITIES.iter().filter(|(_, flag)| transport.capabilities.contains(*flag));
        Transport { name: transport.name, capabilities: capabilities.map(|(capability, _)| *capability).collect() }
    };
    let note = |note: types::Note| Note { level: log_level(note.level), text: note.text, fix: note.fix };
    Binary {
        program: binary.program,
        leading_args: binary.leading_args,
        version: binary.version,
        support: match binary.support {
            types::Support::Tested => Support::Tested,
            types::Support::BetweenTested => Support::BetweenTested,
            types::Support::NewerUntested => Support::NewerUntested,
            types::Support::OlderUntested => Support::OlderUntested,
            types::Support::BestEffort => Support::BestEffort,
            types::Support::Unsupported => Support::Unsupported,
        },
        unsupported_because: binary.unsupported_because,
        transports: binary.transports.into_iter().map(transport).collect(),
        login: match binary.login {
            types::Login::Present(how) => Login::Present(how),
            types::Login::Missing(what) => Login::Missing(what),
            types::Login::Unknown => Login::Unknown,
        },
        notes: binary.notes.into_iter().map(note).collect(),
    }
}

pub(super) fn log_level(level: types::LogLevel) -> LogLevel {
    match level {
        types::LogLevel::Debug => LogLevel::Debug,
        types::LogLevel::Info => LogLevel::Info,
        types::LogLevel::Warn => LogLevel::Warn,
        types::LogLevel::Error => LogLevel::Error,
    }
}

pub(super) fn model_list(list: types::ModelList) -> ModelList {
    let model = |model: types::Model| Model {
        id: model.id,
        name: model.name,
        vendor: model.vendor,
        efforts: model.efforts,
        context: model.context,
        is_default: model.is_default,
        extra: model.extra.map(json_or_text),
    };
    match list {
        types::ModelList::Models(models) => ModelList::Models(models.into_iter().map(model).collect()),
        types::ModelList::Unsupported => ModelList::Unsupported,
        types::ModelList::Unavailable(reason) => ModelList::Unavailable(reason),
        types::ModelList::NeedsAuth(action) => ModelList::NeedsAuth(action),
    }
}

//! From the interface's effects to the library's own, with every text found in the chunk it stands in.
//!
//! An adapter is not trusted: a span may lie outside of the chunk or inside of a character, JSON may not parse. Each of
//! these is an error of the adapter, never a panic of ours.

use crate::bindings::types;
use crate::event::{
    Ask, Choice, ChoiceKind, ErrorClass, Event, Failure, FileChange, Outcome, Retry, SessionInfo, TextPart, ToolCall,
    ToolStatus, Usage, UsageFigures, UsageScope,
};
use crate::info::json;
use crate::text::{Quoted, Text};

/// What an adapter wants to happen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect<'c> {
    /// Say something to the orchestrator. Boxed, because it is large and seldom: what comes by the thousand is moved.
    Emit(Box<Event>),
    /// The same, of the events that come by the thousand.
    Say(Said<'c>),
    /// Write to the agent's stdin.
    Write(Vec<u8>),
    /// Close the agent's stdin.
    CloseStdin,
    /// Wake the adapter up after so many milliseconds.
    SetTimer {
        /// The adapter's number for it.
        number: u32,
        /// When.
        milliseconds: u32,
    },
}

/// An event whose text may still stand in the chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said<'c> {
    /// A piece of text, or a whole one.
    Part(Part<'c>),
    /// A tool call: all but its output, and that.
    Tool(Box<ToolCall>, Option<Text<'c>>),
}

/// A piece of text, or a whole one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part<'c> {
    pub(crate) kind: PartKind,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) text: Text<'c>,
}

/// Which event a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    TextDelta,
    Message,
    ThinkingDelta,
    Thinking,
    ToolOutput,
}

impl Said<'_> {
    /// As an event of its own.
    pub(crate) fn into_event(self) -> Event {
        let part = match self {
            Said::Tool(call, output) => {
                return Event::Tool(ToolCall { output: output.map(Text::into_string), ..*call });
            }
            Said::Part(part) => part,
        };
        let kind = match part.kind {
            PartKind::TextDelta => Event::TextDelta,
            PartKind::Message => Event::Message,
            PartKind::ThinkingDelta => Event::ThinkingDelta,
            PartKind::Thinking => Event::Thinking,
            PartKind::ToolOutput => Event::ToolOutput,
        };
        kind(TextPart { id: part.id, parent: part.parent, text: part.text.into_string() })
    }
}

/// An adapter gave something that the interface does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the adapter broke the interface: {0}")]
pub(crate) struct Breach(String);

/// An effect, its texts found in `chunk`. What is in it is taken out.
pub(crate) fn effect<'c>(effect: &mut types::Effect, chunk: &'c str) -> Result<Effect<'c>, Breach> {
    Ok(match effect {
        types::Effect::Emit(event) => return lift_event(event, chunk),
        types::Effect::Write(bytes) => Effect::Write(std::mem::take(bytes)),
        types::Effect::CloseStdin => Effect::CloseStdin,
        types::Effect::SetTimer(timer) => Effect::SetTimer { number: timer.number, milliseconds: timer.milliseconds },
    })
}

fn lift_event<'c>(event: &mut types::Event, chunk: &'c str) -> Result<Effect<'c>, Breach> {
    let (kind, part) = match event {
        types::Event::TextDelta(delta) => (PartKind::TextDelta, delta),
        types::Event::Message(message) => (PartKind::Message, message),
        types::Event::ThinkingDelta(delta) => (PartKind::ThinkingDelta, delta),
        types::Event::Thinking(thinking) => (PartKind::Thinking, thinking),
        types::Event::ToolOutput(output) => (PartKind::ToolOutput, output),
        _ => return lift_seldom(std::mem::replace(event, types::Event::Discard(String::new())), chunk),
    };
    let text = lift_text(&mut part.text, chunk)?;
    Ok(Effect::Say(Said::Part(Part { kind, id: std::mem::take(&mut part.id), parent: part.parent.take(), text })))
}

fn lift_seldom(event: types::Event, chunk: &str) -> Result<Effect<'_>, Breach> {
    Ok(Effect::Emit(Box::new(match event {
        types::Event::Tool(call) => return lift_tool(call, chunk),
        types::Event::TextDelta(_)
        | types::Event::Message(_)
        | types::Event::ThinkingDelta(_)
        | types::Event::Thinking(_)
        | types::Event::ToolOutput(_) => unreachable!("parts are lifted apart"),
        types::Event::Session(session) => Event::Session(SessionInfo {
            id: session.id,
            resumed: session.resumed,
            model: session.model,
            runtime_version: session.runtime_version,
        }),
        types::Event::Discard(id) => Event::Discard { id },
        types::Event::Plan(plan) => Event::Plan { plan: json(plan) },
        types::Event::FileChange(change) => Event::FileChange(lift_change(change)),
        types::Event::Usage(usage) => Event::Usage(lift_usage(usage)),
        types::Event::UsageUnavailable(reason) => Event::UsageUnavailable { reason },
        types::Event::Context(context) => Event::Context { used: context.used, window: context.window },
        types::Event::Limit(limit) => {
            Event::Limit { scope: limit.scope, resets_at: limit.resets_at, blocked: limit.blocked }
        }
        types::Event::Ask(ask) => Event::Ask(lift_ask(ask)),
        types::Event::AskWithdrawn(id) => Event::AskWithdrawn { id },
        types::Event::Notice(notice) => Event::Notice { level: notice.level.into(), text: notice.text },
        types::Event::Retrying(failure) => Event::Retrying(failure.into()),
        types::Event::TurnEnd(end) => {
            let answer = end.answer.map(|mut text| lift_text(&mut text, chunk)).transpose()?.map(Text::into_string);
            let (outcome, detail, error) = lift_outcome(end.outcome);
            Event::TurnEnd { outcome, detail, error, answer, structured_output: end.structured_output.map(json) }
        }
        types::Event::Unknown(native) => Event::Unknown { native },
        types::Event::Malformed(head) => Event::Malformed { head },
        types::Event::Other((name, payload)) => Event::Other { name, payload: json(payload) },
    })))
}

fn lift_text<'c>(text: &mut types::Text, chunk: &'c str) -> Result<Text<'c>, Breach> {
    Ok(match text {
        types::Text::Inline(text) => Text::Plain(std::mem::take(text).into()),
        types::Text::Verbatim(span) => Text::Plain(cut(*span, chunk)?.into()),
        types::Text::Quoted(span) => {
            let quoted = Quoted::new(cut(*span, chunk)?);
            Text::Quoted(quoted.ok_or_else(|| Breach("a quoted text has a quote in it".to_owned()))?)
        }
    })
}

fn cut(span: types::Span, chunk: &str) -> Result<&str, Breach> {
    let start = span.start as usize;
    start.checked_add(span.length as usize).and_then(|end| chunk.get(start..end)).ok_or_else(|| {
        let (length, span_length) = (chunk.len(), span.length);
        Breach(format!("a text of {span_length} bytes at {start} does not lie in the chunk of {length} bytes"))
    })
}

fn lift_tool(call: types::ToolCall, chunk: &str) -> Result<Effect<'_>, Breach> {
    let input = call.input.map(|mut text| lift_text(&mut text, chunk)).transpose()?;
    let output = call.output.map(|mut text| lift_text(&mut text, chunk)).transpose()?;
    let call = ToolCall {
        id: call.id,
        parent: call.parent,
        name: call.name,
        title: call.title,
        status: match call.status {
            types::ToolStatus::Pending => ToolStatus::Pending,
            types::ToolStatus::Running => ToolStatus::Running,
            types::ToolStatus::Succeeded => ToolStatus::Succeeded,
            types::ToolStatus::Failed => ToolStatus::Failed,
            types::ToolStatus::Denied => ToolStatus::Denied,
            types::ToolStatus::Cancelled => ToolStatus::Cancelled,
        },
        input: input.map(|text| json(text.into_string())),
        output: None,
        exit_code: call.exit_code,
    };
    Ok(Effect::Say(Said::Tool(Box::new(call), output)))
}

fn lift_change(change: types::FileChange) -> FileChange {
    let kind = match change.kind {
        types::ChangeKind::Created => "created",
        types::ChangeKind::Edited => "edited",
        types::ChangeKind::Deleted => "deleted",
        types::ChangeKind::Moved => "moved",
        types::ChangeKind::Other => "other",
    };
    FileChange { path: change.path, kind: kind.to_owned(), added: change.added, removed: change.removed }
}

fn lift_usage(usage: types::Usage) -> UsageFigures {
    UsageFigures {
        scope: match usage.scope {
            types::UsageScope::Delta => UsageScope::Delta,
            types::UsageScope::TurnTotal => UsageScope::TurnTotal,
            types::UsageScope::SessionTotal => UsageScope::SessionTotal,
        },
        source: usage.source,
        model: usage.model,
        usage: Usage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            cost_micros: usage.cost_micros,
            // JSON has no infinities; a figure that is none is unknown.
            units: usage.units.into_iter().filter(|(_, figure)| figure.is_finite()).collect(),
            api_millis: usage.api_millis,
        },
    }
}

fn lift_ask(ask: types::Ask) -> Ask {
    let choice = |choice: types::Choice| Choice {
        id: choice.id,
        kind: match choice.kind {
            types::ChoiceKind::AllowOnce => ChoiceKind::AllowOnce,
            types::ChoiceKind::AllowAlways => ChoiceKind::AllowAlways,
            types::ChoiceKind::RejectOnce => ChoiceKind::RejectOnce,
            types::ChoiceKind::RejectAlways => ChoiceKind::RejectAlways,
            types::ChoiceKind::RejectAndStop => ChoiceKind::RejectAndStop,
            types::ChoiceKind::Other => ChoiceKind::Other,
        },
        label: choice.label,
    };
    let kind = match ask.kind {
        types::AskKind::Permission => "permission",
        types::AskKind::Question => "question",
        types::AskKind::Other => "other",
    };
    Ask {
        id: ask.id,
        kind: kind.to_owned(),
        title: ask.title,
        tool: ask.tool,
        tool_id: ask.tool_id,
        detail: json(ask.detail),
        choices: ask.choices.into_iter().map(choice).collect(),
        free_text: ask.free_text,
        input_editable: ask.input_editable,
    }
}

fn lift_outcome(outcome: types::Outcome) -> (Outcome, Option<String>, Option<Failure>) {
    match outcome {
        types::Outcome::Completed => (Outcome::Completed, None, None),
        types::Outcome::Failed(failure) => (Outcome::Failed, None, Some(failure.into())),
        types::Outcome::Cancelled => (Outcome::Cancelled, None, None),
        types::Outcome::Refused(why) => (Outcome::Refused, Some(why), None),
        types::Outcome::Blocked(what) => (Outcome::Blocked, Some(what), None),
        types::Outcome::Limit(which) => (Outcome::Limit, Some(which), None),
    }
}

impl From<types::Failure> for Failure {
    fn from(failure: types::Failure) -> Failure {
        Failure {
            class: match failure.class {
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
            },
            message: failure.message,
            code: failure.code,
            http_status: failure.http_status,
            retry: match failure.retry {
                types::Retry::Never => Retry::Never,
                types::Retry::SameSession => Retry::SameSession,
                types::Retry::FreshSession => Retry::FreshSession,
                types::Retry::At(time) => Retry::At { time },
                types::Retry::AfterUserAction(action) => Retry::AfterUserAction { action },
                types::Retry::Unknown => Retry::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(chunk: &str, start: u32, length: u32) -> Result<String, Breach> {
        lift_text(&mut types::Text::Quoted(types::Span { start, length }), chunk).map(Text::into_string)
    }

    #[test]
    fn spans_that_do_not_fit_are_breaches() {
        let chunk = "{\"t\":\"né\"}";
        assert_eq!(quoted(chunk, 6, 3).as_deref(), Ok("né"));
        assert!(quoted(chunk, 6, 2).is_err(), "inside of a character");
        assert!(quoted(chunk, 6, 99).is_err(), "beyond the end");
        assert!(quoted(chunk, u32::MAX, u32::MAX).is_err(), "an overflow");
        assert!(quoted(chunk, 5, 3).is_err(), "a quote");
    }
}

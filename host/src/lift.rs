//! From the interface's effects to the library's own, with every text cut out of the chunk it stands in.
//!
//! An adapter is not trusted: a span may lie outside of the chunk or inside of a character, JSON may not parse. Each of
//! these is an error of the adapter, never a panic of ours.

use crate::bindings::types;
use crate::event::{
    Ask, Choice, ChoiceKind, ErrorClass, Event, Failure, FileChange, Outcome, Retry, SessionInfo, TextPart, ToolCall,
    ToolStatus, Usage, UsageFigures, UsageScope,
};
use crate::info::json;

/// What an adapter wants to happen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Say something to the orchestrator.
    Emit(Event),
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

/// An adapter gave something that the interface does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the adapter broke the interface: {0}")]
pub(crate) struct Breach(String);

/// Effects with their texts cut out of `chunk`.
pub(crate) fn effects(effects: Vec<types::Effect>, chunk: &str) -> Result<Vec<Effect>, Breach> {
    effects.into_iter().map(|effect| lift_effect(effect, chunk)).collect()
}

fn lift_effect(effect: types::Effect, chunk: &str) -> Result<Effect, Breach> {
    Ok(match effect {
        types::Effect::Emit(event) => Effect::Emit(lift_event(event, chunk)?),
        types::Effect::Write(bytes) => Effect::Write(bytes),
        types::Effect::CloseStdin => Effect::CloseStdin,
        types::Effect::SetTimer(timer) => Effect::SetTimer { number: timer.number, milliseconds: timer.milliseconds },
    })
}

fn lift_event(event: types::Event, chunk: &str) -> Result<Event, Breach> {
    let part = |part: types::TextPart| -> Result<TextPart, Breach> {
        Ok(TextPart { id: part.id, parent: part.parent, text: lift_text(part.text, chunk)? })
    };
    Ok(match event {
        types::Event::Session(session) => Event::Session(SessionInfo {
            id: session.id,
            resumed: session.resumed,
            model: session.model,
            runtime_version: session.runtime_version,
        }),
        types::Event::TextDelta(delta) => Event::TextDelta(part(delta)?),
        types::Event::Message(message) => Event::Message(part(message)?),
        types::Event::ThinkingDelta(delta) => Event::ThinkingDelta(part(delta)?),
        types::Event::Thinking(thinking) => Event::Thinking(part(thinking)?),
        types::Event::Discard(id) => Event::Discard { id },
        types::Event::Tool(call) => Event::Tool(lift_tool(call, chunk)?),
        types::Event::ToolOutput(output) => Event::ToolOutput(part(output)?),
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
            let answer = end.answer.map(|text| lift_text(text, chunk)).transpose()?;
            let (outcome, detail, error) = lift_outcome(end.outcome);
            Event::TurnEnd { outcome, detail, error, answer, structured_output: end.structured_output.map(json) }
        }
        types::Event::Unknown(native) => Event::Unknown { native },
        types::Event::Malformed(head) => Event::Malformed { head },
        types::Event::Other((name, payload)) => Event::Other { name, payload: json(payload) },
    })
}

fn lift_text(text: types::Text, chunk: &str) -> Result<String, Breach> {
    match text {
        types::Text::Inline(text) => Ok(text),
        types::Text::Verbatim(span) => cut(span, chunk).map(str::to_owned),
        types::Text::Quoted(span) => unquote(cut(span, chunk)?),
    }
}

fn cut(span: types::Span, chunk: &str) -> Result<&str, Breach> {
    let start = span.start as usize;
    start.checked_add(span.length as usize).and_then(|end| chunk.get(start..end)).ok_or_else(|| {
        let (length, span_length) = (chunk.len(), span.length);
        Breach(format!("a text of {span_length} bytes at {start} does not lie in the chunk of {length} bytes"))
    })
}

/// The inside of a JSON string, unescaped. Most have no escape and are copied once.
fn unquote(inside: &str) -> Result<String, Breach> {
    let bytes = inside.as_bytes();
    let Some(first) = memchr::memchr2(b'\\', b'"', bytes) else { return Ok(inside.to_owned()) };
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    let mut at = first;
    loop {
        if rest.as_bytes()[at] == b'"' {
            return Err(Breach("a quoted text has a quote in it".to_owned()));
        }
        text.push_str(&rest[..at]);
        rest = unescape(&rest[at + 1..], &mut text);
        match memchr::memchr2(b'\\', b'"', rest.as_bytes()) {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Ok(text)
}

/// One escape, whose backslash has been taken; gives what follows it. What JSON does not know becomes U+FFFD, as in the
/// SDK: an agent's slip is no fault of its adapter's.
fn unescape<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let mut characters = rest.chars();
    let character = match characters.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some(itself @ ('"' | '\\' | '/')) => itself,
        Some('u') => return unescape_unicode(characters.as_str(), text),
        Some(_) => char::REPLACEMENT_CHARACTER,
        None => return "",
    };
    text.push(character);
    characters.as_str()
}

/// `\uXXXX`, or two of them that make one character. A lone surrogate is no character, nor is one without four digits.
fn unescape_unicode<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(high) = hex4(rest) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return rest;
    };
    let behind = &rest[4..];
    if (0xD800..0xDC00).contains(&high)
        && let Some(low) = behind.strip_prefix("\\u").and_then(hex4)
        && (0xDC00..0xE000).contains(&low)
    {
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return &behind[6..];
    }
    text.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
    behind
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

fn lift_tool(call: types::ToolCall, chunk: &str) -> Result<ToolCall, Breach> {
    let input = call.input.map(|text| lift_text(text, chunk)).transpose()?;
    Ok(ToolCall {
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
        input: input.map(json),
        output: call.output.map(|text| lift_text(text, chunk)).transpose()?,
        exit_code: call.exit_code,
    })
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
    use proptest::prelude::*;

    fn quoted(chunk: &str, start: u32, length: u32) -> Result<String, Breach> {
        lift_text(types::Text::Quoted(types::Span { start, length }), chunk)
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

    #[test]
    fn escapes_that_json_does_not_know_are_replaced() {
        for (inside, text) in [
            (r"C:\qux", "C:\u{FFFD}ux"),
            (r"\u12", "\u{FFFD}12"),
            ("a\\", "a"),
            (r"\u00g0", "\u{FFFD}00g0"),
            ("\\é", "\u{FFFD}"),
            (r"\ud83d\ude00 \ud83d x", "\u{1F600} \u{FFFD} x"),
        ] {
            assert_eq!(unquote(inside).as_deref(), Ok(text), "{inside}");
        }
    }

    proptest! {
        #[test]
        fn unquoting_is_what_serde_json_does(text in "\\PC*|[\\x00-\\x7f]*") {
            let json = serde_json::to_string(&text).expect("a string");
            prop_assert_eq!(unquote(&json[1..json.len() - 1]).expect("valid"), text);
        }
    }
}

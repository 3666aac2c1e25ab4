//! An event on its way to its readers, with its text still borrowed from the agent's output.
//!
//! A run has thousands of deltas and pieces of tool output. Copying their text into an [`EventKind`] only to write it
//! out again would cost more than everything else that is done with them.

use super::text::Text;
use crate::model::{EventKind, TextPart, ToolCall};
use std::borrow::Cow;
use std::ops::Deref;

/// An event whose text may still be borrowed.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamedEvent<'c> {
    /// A piece of text, or a whole text.
    Part(Part<'c>),
    /// A tool call without its output, and its output.
    Tool(Whole<'c, ToolCall>, Option<Text<'c>>),
    /// Any other event.
    Other(Whole<'c, EventKind>),
}

/// A value that is owned or borrowed, and small to move in either case.
#[derive(Debug, Clone, PartialEq)]
pub enum Whole<'c, T> {
    /// Owned.
    Owned(Box<T>),
    /// Borrowed.
    Borrowed(&'c T),
}

impl<T> Deref for Whole<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Whole::Owned(value) => value,
            Whole::Borrowed(value) => value,
        }
    }
}

impl<T: Clone> Whole<'_, T> {
    /// The value, copied if it is borrowed.
    pub fn into_owned(self) -> T {
        match self {
            Whole::Owned(value) => *value,
            Whole::Borrowed(value) => value.clone(),
        }
    }

    /// The value for a change; copied if it is borrowed.
    pub fn to_mut(&mut self) -> &mut T {
        if let Whole::Borrowed(value) = self {
            *self = Whole::Owned(Box::new((*value).clone()));
        }
        match self {
            Whole::Owned(value) => value,
            Whole::Borrowed(_) => unreachable!("it was just replaced"),
        }
    }
}

/// A piece of text, or a whole text.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'c> {
    /// Which event it is.
    pub kind: PartKind,
    /// The id of the message or the tool call.
    pub id: Cow<'c, str>,
    /// The tool call whose sub-agent wrote it.
    pub parent: Option<Cow<'c, str>>,
    /// The text itself.
    pub text: Text<'c>,
}

/// Which event a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the events")]
pub enum PartKind {
    TextDelta,
    Message,
    ThinkingDelta,
    Thinking,
    ToolOutput,
}

impl<'c> From<EventKind> for StreamedEvent<'c> {
    fn from(event: EventKind) -> StreamedEvent<'c> {
        StreamedEvent::Other(Whole::Owned(Box::new(event)))
    }
}

impl<'c> StreamedEvent<'c> {
    /// An event, borrowed.
    pub fn borrowed(event: &'c EventKind) -> StreamedEvent<'c> {
        let part = |kind, part: &'c TextPart| {
            StreamedEvent::Part(Part {
                kind,
                id: Cow::Borrowed(&part.id),
                parent: part.parent.as_deref().map(Cow::Borrowed),
                text: Text::Plain(Cow::Borrowed(&part.text)),
            })
        };
        match event {
            EventKind::TextDelta(text) => part(PartKind::TextDelta, text),
            EventKind::Message(text) => part(PartKind::Message, text),
            EventKind::ThinkingDelta(text) => part(PartKind::ThinkingDelta, text),
            EventKind::Thinking(text) => part(PartKind::Thinking, text),
            EventKind::ToolOutput(text) => part(PartKind::ToolOutput, text),
            EventKind::Tool(call) => {
                let output = call.output.as_deref().map(|text| Text::Plain(Cow::Borrowed(text)));
                StreamedEvent::Tool(Whole::Borrowed(call), output)
            }
            other => StreamedEvent::Other(Whole::Borrowed(other)),
        }
    }

    /// The event with owned text.
    pub fn into_kind(self) -> EventKind {
        let part = match self {
            StreamedEvent::Tool(call, output) => {
                let mut call = call.into_owned();
                call.output = output.map(Text::into_string);
                return EventKind::Tool(call);
            }
            StreamedEvent::Other(event) => return event.into_owned(),
            StreamedEvent::Part(part) => part,
        };
        let kind = match part.kind {
            PartKind::TextDelta => EventKind::TextDelta,
            PartKind::Message => EventKind::Message,
            PartKind::ThinkingDelta => EventKind::ThinkingDelta,
            PartKind::Thinking => EventKind::Thinking,
            PartKind::ToolOutput => EventKind::ToolOutput,
        };
        let parent = part.parent.map(Cow::into_owned);
        kind(TextPart { id: part.id.into_owned(), parent, text: part.text.into_string() })
    }
}

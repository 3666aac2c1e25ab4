//! Texts that an adapter returns, found in the chunk that they refer to.
//!
//! An adapter is not trusted: a span may lie outside the chunk or inside a character. That is an error of the adapter, never
//! a panic of the host.

use super::bindings::types;
use std::borrow::Cow;
use wharf_core::stream::{Quoted, Text};

/// An adapter returned something that the interface does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the adapter violated the interface: {0}")]
pub(in crate::guest) struct Violation(pub(super) String);

pub(super) fn id<'c>(id: &mut types::Text, chunk: &'c str) -> Result<Cow<'c, str>, Violation> {
    text(id, chunk).map(Text::into_cow)
}

pub(super) fn text<'c>(text: &mut types::Text, chunk: &'c str) -> Result<Text<'c>, Violation> {
    Ok(match text {
        types::Text::Inline(text) => Text::Plain(std::mem::take(text).into()),
        types::Text::Verbatim(span) => Text::Plain(cut(*span, chunk)?.into()),
        types::Text::Quoted(span) => {
            let quoted = Quoted::new(cut(*span, chunk)?);
            Text::Quoted(quoted.ok_or_else(|| Violation("a quoted text contains a quote".to_owned()))?)
        }
    })
}

fn cut(span: types::Span, chunk: &str) -> Result<&str, Violation> {
    let start = span.start as usize;
    start.checked_add(span.length as usize).and_then(|end| chunk.get(start..end)).ok_or_else(|| {
        let (length, span_length) = (chunk.len(), span.length);
        Violation(format!("a text of {span_length} bytes at {start} is not inside the chunk of {length} bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(chunk: &str, start: u32, length: u32) -> Result<String, Violation> {
        text(&mut types::Text::Quoted(types::Span { start, length }), chunk).map(Text::into_string)
    }

    #[test]
    fn spans_that_do_not_fit_are_violations() {
        let chunk = "{\"t\":\"né\"}";
        assert_eq!(quoted(chunk, 6, 3).as_deref(), Ok("né"));
        assert!(quoted(chunk, 6, 2).is_err(), "inside a character");
        assert!(quoted(chunk, 6, 99).is_err(), "beyond the end");
        assert!(quoted(chunk, u32::MAX, u32::MAX).is_err(), "an overflow");
        assert!(quoted(chunk, 5, 3).is_err(), "a quote");
    }
}

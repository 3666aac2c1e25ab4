//! The text that the model writes, and whether a retry repeats it.
//!
//! If a reply breaks off, the CLI requests it again after at least a second and prints it from its beginning, without a word.
//! So a text after such a pause that starts with all the text before it is that text again: then the first attempt is void.
//! A second attempt with other words cannot be recognized; its text follows that of the first.

use wharf_adapter::{Effects, ErrorClass, Event, Failure, Json, Text, time};

/// The shortest pause before the CLI requests a reply again.
const PAUSE_MILLIS: u64 = 1_000;

/// The open text of one reply.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// How many texts have started.
    count: u32,
    text: String,
    /// Where a second attempt may have started in the text.
    restart: Option<usize>,
    /// When the last part came.
    last: Option<u64>,
    is_open: bool,
    /// Whether parts are not reported.
    pub(crate) is_quiet: bool,
}

impl Reply {
    /// A part of the text, and the timestamp of its line.
    pub(crate) fn add(&mut self, content: Json<'_>, stamp: Json<'_>, out: &mut Effects) {
        let Some(part) = content.filled() else { return };
        let now = stamp.str().and_then(|stamp| millis(&stamp));
        let paused = matches!((self.last, now), (Some(last), Some(now)) if now >= last + PAUSE_MILLIS);
        if !self.is_open {
            self.count += 1;
            self.is_open = true;
        } else if paused {
            self.restart = Some(self.text.len());
        }
        self.last = now;
        self.text.push_str(&part);
        if self.is_restarted() {
            let failure = Failure::new(ErrorClass::Provider, "the reply broke off");
            out.emit(Event::Retrying(failure));
            if !self.is_quiet {
                out.emit(Event::Discard(self.id().into()));
                out.text_delta(self.id(), None, Text::Inline(self.text.clone()));
            }
        } else if !self.is_quiet {
            out.text_delta(self.id(), None, content.text_or_empty());
        }
    }

    /// Drops the first attempt once the second has repeated it.
    fn is_restarted(&mut self) -> bool {
        let Some(at) = self.restart else { return false };
        let (first, second) = self.text.split_at(at);
        if second.len() < first.len() {
            if !first.starts_with(second) {
                self.restart = None;
            }
            return false;
        }
        self.restart = None;
        let is_restarted = second.starts_with(first);
        if is_restarted {
            self.text.drain(..at);
        }
        is_restarted
    }

    /// The text is complete: a tool, a result or the end of the process follows.
    pub(crate) fn close(&mut self, out: &mut Effects) {
        if std::mem::take(&mut self.is_open) {
            self.restart = None;
            self.last = None;
            out.message(self.id(), None, Text::Inline(std::mem::take(&mut self.text)));
        }
    }

    fn id(&self) -> String {
        format!("text-{}", self.count)
    }
}

/// A timestamp in milliseconds.
fn millis(stamp: &str) -> Option<u64> {
    let fraction = stamp.get(20..23).and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(0);
    Some(time::seconds(stamp)? * 1_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{events, inline};

    /// Pauses and parts.
    type Parts = &'static [(u64, &'static str)];

    /// The final text of these parts, each after a pause in milliseconds, and whether a retry was seen.
    fn text(parts: Parts) -> (String, bool) {
        let (mut reply, mut out, mut now) = (Reply::default(), Effects::default(), 0);
        for (pause, part) in parts {
            now += pause;
            let stamp = format!("\"2026-11-15T23:34:{:02}.{:03}Z\"", now / 1_000, now % 1_000);
            let part = wharf_adapter::json::quote(part);
            // A span of a chunk means nothing here: only the final text is looked at.
            reply.add(Json::parse(&part), Json::parse(&stamp), &mut out);
        }
        reply.close(&mut out);
        let is_retry = events(out.as_slice()).iter().any(|event| matches!(event, Event::Retrying(_)));
        let last = events(out.as_slice()).into_iter().rev().find_map(|event| match event {
            Event::Message(part) => Some(inline(&part.text).to_owned()),
            _ => None,
        });
        (last.expect("a message"), is_retry)
    }

    #[test]
    fn a_text_that_starts_again_after_a_pause_replaces_the_first_attempt() {
        let cases: [(Parts, &str, bool); 7] = [
            (&[(0, "cut "), (1_200, "cut "), (2_040, "cut "), (4_050, "cut ")], "cut ", true),
            (
                &[(0, "The first "), (10, "half"), (1_060, "The first "), (20, "half of it")],
                "The first half of it",
                true,
            ),
            // Not far enough to be sure, and then not the same.
            (&[(0, "The first half"), (1_100, "The first"), (10, " point")], "The first halfThe first point", false),
            (&[(0, "ha"), (10, "ha")], "haha", false),
            (&[(0, "one"), (5_000, " two")], "one two", false),
            (&[(0, "é"), (1_000, "éa")], "éa", true),
            (&[(0, "a"), (999, "ab")], "aab", false),
        ];
        for (parts, expected, is_retry) in cases {
            assert_eq!(text(parts), (expected.to_owned(), is_retry), "{parts:?}");
        }
    }
}

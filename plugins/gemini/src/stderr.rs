//! What the CLI writes to stderr: its retries, and errors that stdout does not explain.

use crate::failure::Cause;
use std::borrow::Cow;
use wharf_adapter::{Effects, Event, text};

/// How the line with an error of the model's API starts.
const API: &str = "Error when talking to Gemini API";
/// The file that the error is written to ends with this; the error follows.
const REPORT: &str = ".json ";

/// What was read from stderr so far.
#[derive(Debug, Default)]
pub(crate) struct Stderr {
    /// The last error of the model's API.
    pub(crate) cause: Option<Cause>,
    /// Whether there was no session that could be resumed.
    pub(crate) starts_over: bool,
}

impl Stderr {
    /// Handles a line.
    pub(crate) fn line(&mut self, line: &str, out: &mut Effects) {
        if let Some(cause) = cause(line) {
            self.cause = Some(cause);
        } else if let Some(error) = retried(line) {
            out.emit(Event::Retrying(error.failure(None, None)));
        } else if line.starts_with("No previous sessions found") {
            self.starts_over = true;
        }
    }
}

/// The error of the model's API that a line has.
pub(crate) fn cause(line: &str) -> Option<Cause> {
    let rest = line.strip_prefix(API)?;
    let error = text::find(rest, REPORT).map_or(rest, |at| &rest[at + REPORT.len()..]);
    Some(Cause::read(error.trim_start_matches(|mark: char| !mark.is_alphanumeric() && mark != '{')))
}

/// The error because of which a request is sent again: "Attempt 1 failed with status 500. Retrying with backoff... …".
fn retried(line: &str) -> Option<Cause> {
    let rest = line.strip_prefix("Attempt ")?;
    let at = text::find(rest, ". Retrying ")?;
    let after = text::find(rest, "... ").map(|at| rest[at + 4..].trim()).filter(|error| !error.is_empty());
    let before = text::find(&rest[..at], "failed").map_or("", |failed| &rest[failed + "failed".len()..at]);
    Some(Cause::read(after.unwrap_or_else(|| before.trim_start_matches([':', ' ']))))
}

/// How lines start that say nothing about an error.
const REMARKS: [&str; 7] =
    ["Warning:", "Ripgrep is not available", "YOLO mode is enabled", "[STARTUP]", "at ", "Attempt ", "Loaded cached"];

/// Whether a line says nothing about an error.
pub(crate) fn is_noise(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || REMARKS.iter().any(|remark| line.starts_with(remark))
}

/// A line without the sequences that color it.
pub(crate) fn without_colors(line: &str) -> String {
    let mut plain = Cow::Borrowed(line);
    while let Some(start) = text::find(&plain, "\u{1b}[") {
        let length = plain[start..].bytes().position(|byte| byte == b'm').map_or(2, |end| end + 1);
        let mut rest = plain.into_owned();
        rest.replace_range(start..start + length, "");
        plain = Cow::Owned(rest);
    }
    plain.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ErrorClass;
    use wharf_adapter::testing::events;

    #[test]
    fn a_retry_is_reported_with_its_error() {
        use ErrorClass as C;
        for (line, class, status) in [
            (
                r#"Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"The server had an error."}}"#,
                C::Provider,
                Some(500),
            ),
            (
                "Attempt 2 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request",
                C::Network,
                None,
            ),
            ("Attempt 1 failed: Rate limit reached. Retrying after 1200ms...", C::RateLimit, None),
        ] {
            let mut out = Effects::default();
            Stderr::default().line(line, &mut out);
            let [Event::Retrying(failure)] = events(out.as_slice())[..] else { panic!("{line}: {out:?}") };
            assert_eq!((failure.class, failure.http_status), (class, status), "{line}");
        }
        for line in ["Attempt 1 failed: no. Max attempts reached", "Attempting", "    at x"] {
            let mut out = Effects::default();
            Stderr::default().line(line, &mut out);
            assert!(out.is_empty(), "{line}");
        }
    }

    #[test]
    fn colors_are_removed() {
        for (line, plain) in
            [("\u{1b}[31mred\u{1b}[0m!", "red!"), ("plain", "plain"), ("\u{1b}[", ""), ("é\u{1b}[1é", "é1é")]
        {
            assert_eq!(without_colors(line), plain);
        }
    }
}

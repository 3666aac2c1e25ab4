//! Classifies failures of Qwen Code: by the errors that it marks as such, the HTTP status in them, and stderr.
//!
//! Text that the model wrote is never used.

use crate::outcome;
use wharf_adapter::failure::{Phrases, class_of_status, status_in};
use wharf_adapter::{ErrorClass, Evidence, Failure, Json, Retry};

/// The beginning of every error of a model call.
pub(crate) const API_ERROR: &str = "[API Error: ";

/// Phrases in the CLI's own errors, most specific first.
const PHRASES: Phrases = Phrases(&[
    ("no saved session found", ErrorClass::NoSession),
    ("already exists (active or archived)", ErrorClass::InvalidOption),
    ("is already in use", ErrorClass::InvalidOption),
    ("unknown argument", ErrorClass::InvalidOption),
    ("invalid values:", ErrorClass::InvalidOption),
    ("invalid mcp configuration", ErrorClass::InvalidOption),
    ("invalid session id", ErrorClass::InvalidOption),
    ("no input provided via stdin", ErrorClass::InvalidOption),
    ("cannot use both", ErrorClass::InvalidOption),
    ("no auth type is selected", ErrorClass::Auth),
    ("missing api key", ErrorClass::Auth),
    ("free tier has been discontinued", ErrorClass::Auth),
    ("please re-authenticate", ErrorClass::Auth),
    ("quota exceeded", ErrorClass::Quota),
    ("current quota", ErrorClass::Quota),
    ("insufficient_quota", ErrorClass::Quota),
    ("insufficient balance", ErrorClass::Quota),
    ("context length", ErrorClass::ContextLength),
    ("fetch failed", ErrorClass::Network),
    ("econnreset", ErrorClass::Network),
    ("enotfound", ErrorClass::Network),
    ("eai_again", ErrorClass::Network),
    ("heap out of memory", ErrorClass::Crash),
]);

/// Lines of stderr that are no errors.
const NOISE: [&str; 6] =
    ["Ripgrep not available", "Warning", "[perf]", "Retrying ", "Falling back from ", "Update successful"];

/// The message of the `error` of a result.
pub(crate) fn message_of(error: Json<'_>) -> String {
    error.get("message").string().or_else(|| error.string()).unwrap_or_default()
}

/// The failure of an error text: `[API Error: 401 Incorrect API key]`, or a sentence of the CLI.
pub(crate) fn of_text(text: &str) -> Failure {
    match text.strip_prefix(API_ERROR) {
        // Advice may follow the bracket.
        Some(inner) => of_api_error(inner.rsplit_once(']').map_or(inner, |(inner, _)| inner)),
        None => classified(text.trim(), None),
    }
}

/// The failure of a model call.
pub(crate) fn of_api_error(text: &str) -> Failure {
    classified(text.trim(), status_in(text, &["", "Status: ", "status: ", "status code "]))
}

fn classified(message: &str, status: Option<u16>) -> Failure {
    // A 400 has several causes, and a 429 may be a quota, which only the text distinguishes.
    let class = PHRASES
        .class_of(message)
        .or_else(|| status.and_then(|status| class_of_status(status, message)))
        .or_else(|| Phrases::COMMON.class_of(message))
        .or_else(|| status.map(|_| ErrorClass::Provider))
        .unwrap_or(ErrorClass::Other);
    advise(Failure::new(class, message).status(status))
}

/// Adds the advice that the class does not give.
fn advise(failure: Failure) -> Failure {
    let is_rejected = failure.http_status.is_some_and(|status| (400..500).contains(&status));
    match failure.class {
        ErrorClass::Auth => failure.retry(Retry::AfterUserAction(LOGIN.to_owned())),
        // The same request would be rejected again.
        ErrorClass::Provider if is_rejected => failure.retry(Retry::Never),
        ErrorClass::InvalidOption if failure.message.contains("lready") => failure.retry(Retry::FreshSession),
        _ => failure,
    }
}

/// What to do about a missing or wrong login.
pub(crate) const LOGIN: &str =
    "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or choose a provider once with `qwen`";

/// What stderr said. Kept line by line: a long help text may follow the error, and only the end of stderr is evidence.
#[derive(Debug, Default)]
pub(crate) struct Stderr {
    limit: Option<&'static str>,
    error: Option<String>,
}

impl Stderr {
    /// Looks at a line.
    pub(crate) fn line(&mut self, line: &str) {
        let line = plain(line);
        if self.limit.is_none() {
            self.limit = outcome::limit(&line);
        }
        if self.error.is_none() && !is_noise(&line) && PHRASES.class_of(&line).is_some() {
            self.error = Some(line);
        }
    }

    /// The limit that was reached, if one was named.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        self.limit
    }

    /// The failure of a process that said nothing on stdout. One that was killed is for the host to name.
    pub(crate) fn failure(&self, evidence: &Evidence) -> Option<Failure> {
        if let Some(line) = &self.error {
            return Some(of_text(line));
        }
        if evidence.exit.code.is_none_or(|code| code == 0) {
            return None;
        }
        let mut lines = evidence.stderr_tail.lines().map(plain).filter(|line| !is_noise(line));
        lines.find(|line| !line.trim_start().starts_with("at ")).map(|line| of_text(&line))
    }
}

fn is_noise(line: &str) -> bool {
    line.is_empty() || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// A line without escape sequences and the word before an error.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut parts = line.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|sign: char| sign.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain.push_str(&part[end..]);
    }
    let plain = plain.trim_end();
    plain.strip_prefix("Error: ").unwrap_or(plain).to_owned()
}

#[cfg(test)]
mod tests;

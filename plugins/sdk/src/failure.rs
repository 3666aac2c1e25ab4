//! Classifying failures: by an HTTP status, by phrases in error texts, by stderr.
//!
//! Only texts that the agent marks as errors belong here, never text that the model wrote.

use crate::{ErrorClass, Failure, text};

/// The class of an HTTP status, if the status alone decides it. A 404 needs the text: only one about a model is clear.
pub fn class_of_status(status: u16, text: &str) -> Option<ErrorClass> {
    Some(match status {
        401 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        403 => ErrorClass::Permission,
        404 if text::contains(&text.to_ascii_lowercase(), "model") => ErrorClass::UnknownModel,
        // One side closed the connection.
        408 | 499 => ErrorClass::Network,
        413 => ErrorClass::ContextLength,
        429 => ErrorClass::RateLimit,
        500..=599 => ErrorClass::Provider,
        _ => return None,
    })
}

/// The HTTP status of an error, in a text: the number right after one of the marks, tried in order. The empty mark stands
/// for the beginning of the text.
pub fn status_in(text: &str, marks: &[&str]) -> Option<u16> {
    marks.iter().find_map(|mark| {
        let rest = &text[text::find(text, mark)? + mark.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok().filter(|status| (400..600).contains(status))
    })
}

/// Phrases in error texts, in lower case, and the class of each; the most specific ones first.
#[derive(Debug, Clone, Copy)]
pub struct Phrases(pub &'static [(&'static str, ErrorClass)]);

impl Phrases {
    /// What agents and the providers of their models commonly say.
    pub const COMMON: Phrases = Phrases(&[
        ("rate limit", ErrorClass::RateLimit),
        ("too many requests", ErrorClass::RateLimit),
        ("quota", ErrorClass::Quota),
        ("credit balance", ErrorClass::Quota),
        ("unauthorized", ErrorClass::Auth),
        ("not logged in", ErrorClass::Auth),
        ("not authenticated", ErrorClass::Auth),
        ("authentication", ErrorClass::Auth),
        ("api key", ErrorClass::Auth),
        ("credential was rejected", ErrorClass::Auth),
        ("session not found", ErrorClass::NoSession),
        ("unknown session", ErrorClass::NoSession),
        ("no rollout found", ErrorClass::NoSession),
        ("model not found", ErrorClass::UnknownModel),
        ("unknown model", ErrorClass::UnknownModel),
        ("permission denied", ErrorClass::Permission),
        ("forbidden", ErrorClass::Permission),
        ("unknown option", ErrorClass::InvalidOption),
        ("unexpected argument", ErrorClass::InvalidOption),
        ("unrecognized", ErrorClass::InvalidOption),
        ("context length", ErrorClass::ContextLength),
        ("context window", ErrorClass::ContextLength),
        ("context limit", ErrorClass::ContextLength),
        ("too large to compact", ErrorClass::ContextLength),
        ("prompt is too long", ErrorClass::ContextLength),
        ("connection refused", ErrorClass::Network),
        ("connection error", ErrorClass::Network),
        ("error sending request", ErrorClass::Network),
        ("econnrefused", ErrorClass::Network),
        ("cannot connect", ErrorClass::Network),
        ("could not connect", ErrorClass::Network),
        ("timed out", ErrorClass::Network),
        ("stream ended", ErrorClass::Provider),
        ("empty response", ErrorClass::Provider),
        ("server had an error", ErrorClass::Provider),
        ("experiencing high demand", ErrorClass::Provider),
        ("command not found", ErrorClass::NotFound),
        ("no such file", ErrorClass::NotFound),
    ]);

    /// The class of a text, by the first phrase that it contains.
    pub fn class_of(self, text: &str) -> Option<ErrorClass> {
        let text = text.to_ascii_lowercase();
        self.0.iter().find(|(phrase, _)| text::contains(&text, phrase)).map(|(_, class)| *class)
    }
}

/// A failure from the last line of stderr with a common phrase, else from the last line that is not blank.
pub fn failure_from_stderr(stderr: &str) -> Option<Failure> {
    let lines = || stderr.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let known = lines().find_map(|line| Some(Failure::new(Phrases::COMMON.class_of(line)?, line)));
    known.or_else(|| lines().next().map(|line| Failure::new(ErrorClass::Other, line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_a_known_phrase_decides() {
        let failure = failure_from_stderr("warning: x\nError: Not logged in\n\n").expect("a failure");
        assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::Auth, "Error: Not logged in"));
        let failure = failure_from_stderr("HTTP 429 Too Many Requests\n    at main.js:1\n").expect("a failure");
        assert_eq!(failure.class, ErrorClass::RateLimit);
        assert_eq!(failure_from_stderr("boom\n").map(|failure| failure.class), Some(ErrorClass::Other));
        assert_eq!(failure_from_stderr(" \n"), None);
    }

    #[test]
    fn a_status_is_found_after_its_mark_only() {
        const MARKS: &[&str] = &["status ", "(HTTP ", ""];
        for (text, status) in [
            ("API error (status 500 Internal Server Error)", Some(500)),
            ("Authentication failed (HTTP 401).", Some(401)),
            ("429 Slow down", Some(429)),
            ("200 is fine", None),
            ("4290 things", None),
            ("it took 500 ms", None),
            ("", None),
        ] {
            assert_eq!(status_in(text, MARKS), status, "{text}");
        }
    }

    #[test]
    fn a_status_has_a_class_only_if_it_decides_it() {
        for (status, text, class) in [
            (404, "Model x was not found", Some(ErrorClass::UnknownModel)),
            (404, "no such page", None),
            (400, "", None),
            (503, "", Some(ErrorClass::Provider)),
            (600, "", None),
        ] {
            assert_eq!(class_of_status(status, text), class, "{status}");
        }
    }

    #[test]
    fn phrases_are_in_lower_case() {
        assert!(Phrases::COMMON.0.iter().all(|(phrase, _)| *phrase == phrase.to_ascii_lowercase()));
    }
}

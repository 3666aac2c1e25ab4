//! A failure from stderr, for agents that report nothing better.

use crate::{ErrorClass, Failure};

/// Phrases that CLIs use, most specific first. Matched in lower case.
const PHRASES: &[(&str, ErrorClass)] = &[
    ("rate limit", ErrorClass::RateLimit),
    ("too many requests", ErrorClass::RateLimit),
    ("quota", ErrorClass::Quota),
    ("unauthorized", ErrorClass::Auth),
    ("not logged in", ErrorClass::Auth),
    ("authentication", ErrorClass::Auth),
    ("invalid api key", ErrorClass::Auth),
    ("permission denied", ErrorClass::Permission),
    ("unknown option", ErrorClass::InvalidOption),
    ("unexpected argument", ErrorClass::InvalidOption),
    ("unrecognized", ErrorClass::InvalidOption),
    ("context length", ErrorClass::ContextLength),
    ("connection refused", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("timed out", ErrorClass::Network),
    ("command not found", ErrorClass::NotFound),
    ("no such file", ErrorClass::NotFound),
];

/// A failure from the last line of stderr with a known phrase, else from the last line that is not blank.
pub fn failure_from_stderr(stderr: &str) -> Option<Failure> {
    let not_blank = |line: &&str| !line.trim().is_empty();
    let class_of = |line: &&str| {
        let line = line.to_ascii_lowercase();
        PHRASES.iter().find(|(phrase, _)| line.contains(phrase)).map(|(_, class)| *class)
    };
    let lines = || stderr.lines().rev().filter(not_blank);
    if let Some((line, class)) = lines().find_map(|line| Some((line, class_of(&line)?))) {
        return Some(Failure::new(class, line.trim()));
    }
    lines().next().map(|line| Failure::new(ErrorClass::Other, line.trim()))
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
}

//! What an error of the CLI means: by its text, the HTTP status in it, and the exit code.
//!
//! An error of the model's API is a JSON object or its message, in brackets: `[API Error: …]`. 0.45.2 often says only that the
//! error is unknown; then stderr has it. If the process ends because of it, its exit code is the HTTP status modulo 256.
//! Text that the model wrote never comes here.

use wharf_adapter::failure::{Phrases, class_of_status};
use wharf_adapter::{ErrorClass, Failure, Json, Retry, text};

/// How a message of the model's API starts.
const API_ERROR: &str = "[API Error: ";
/// What 0.45.2 says if it has not looked at the error.
const UNKNOWN: &str = "An unknown error occurred.";

/// What the errors of this CLI and of its API say. Before the HTTP status: a 400 and a 500 have several causes.
const PHRASES: Phrases = Phrases(&[
    ("is not found for api version", ErrorClass::UnknownModel),
    ("modelnotfounderror", ErrorClass::UnknownModel),
    ("terminalquotaerror", ErrorClass::Quota),
    ("daily quota", ErrorClass::Quota),
    ("retryablequotaerror", ErrorClass::RateLimit),
    ("context window", ErrorClass::ContextLength),
    ("context length", ErrorClass::ContextLength),
    ("exceeds the maximum number of tokens", ErrorClass::ContextLength),
    ("api key not valid", ErrorClass::Auth),
    ("api key expired", ErrorClass::Auth),
    ("fetch failed", ErrorClass::Network),
    ("enotfound", ErrorClass::Network),
    ("econnreset", ErrorClass::Network),
    ("stream ended without", ErrorClass::Provider),
    ("invalid stream", ErrorClass::Provider),
    ("no final response text", ErrorClass::Provider),
]);

/// The names of statuses in Google's APIs.
const STATUSES: [(&str, u16); 8] = [
    ("INVALID_ARGUMENT", 400),
    ("UNAUTHENTICATED", 401),
    ("PERMISSION_DENIED", 403),
    ("NOT_FOUND", 404),
    ("RESOURCE_EXHAUSTED", 429),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DEADLINE_EXCEEDED", 504),
];

/// An error text, with what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The text for people.
    message: String,
    status: Option<u16>,
    class: Option<ErrorClass>,
}

impl Cause {
    /// Reads an error text.
    pub(crate) fn read(text: &str) -> Cause {
        // After the message comes advice that names quotas, whatever the error is.
        let plain = text.strip_prefix(API_ERROR).map_or(text, |rest| match text::find(rest, "]\n") {
            Some(end) => &rest[..end],
            None => rest.strip_suffix(']').unwrap_or(rest),
        });
        let object = text::find(plain, "{\"error\"").map(|at| Json::parse(&plain[at..]).get("error"));
        let message = object.and_then(|error| error.get("message").string()).unwrap_or_else(|| plain.to_owned());
        let code = object.and_then(|error| error.get("code").u64()).and_then(|code| u16::try_from(code).ok());
        let named = || STATUSES.iter().find(|(name, _)| text::contains(plain, &format!("(Status: {name})")));
        let status = code.or_else(|| named().map(|(_, status)| *status));
        let class = PHRASES
            .class_of(plain)
            .or_else(|| class_of_status(status?, &message))
            .or_else(|| Phrases::COMMON.class_of(&message));
        Cause { message: message.trim().to_owned(), status, class: class.filter(|_| plain != UNKNOWN) }
    }

    /// Whether the text alone says what happened, with its HTTP status.
    pub(crate) fn is_clear(&self) -> bool {
        self.class.is_some() && self.status.is_some()
    }

    /// The failure, with what else is known: the error on stderr, and the exit code.
    pub(crate) fn failure(&self, stderr: Option<&Cause>, exit: Option<i32>) -> Failure {
        let by_exit = exit.and_then(status_of_exit);
        let status = self.status.or(stderr.and_then(|cause| cause.status)).or(by_exit);
        let better = stderr.filter(|_| self.message == UNKNOWN || self.message.is_empty());
        let message = &better.unwrap_or(self).message;
        let class =
            self.class.or(stderr.and_then(|cause| cause.class)).or(class_of_status(status.unwrap_or(0), message));
        let class = class.unwrap_or(if status.is_some() { ErrorClass::Provider } else { ErrorClass::Other });
        explained(Failure::new(class, message.clone()).status(status))
    }
}

/// Adds what to do.
fn explained(failure: Failure) -> Failure {
    match failure.class {
        ErrorClass::Auth => failure.retry(Retry::AfterUserAction(LOGIN.to_owned())),
        _ => failure,
    }
}

/// How to log in.
pub(crate) const LOGIN: &str = "set GEMINI_API_KEY, or run `gemini` once and log in";

/// The HTTP status of which an exit code is what is left. Smaller codes have other meanings, too.
fn status_of_exit(code: i32) -> Option<u16> {
    u16::try_from(code).ok().filter(|code| (400 - 256..=255).contains(code)).map(|code| code + 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From captures of both versions, and from the sources of 0.61.0.
    #[test]
    fn every_error_has_its_class_and_status() {
        use ErrorClass as C;
        for (text, stderr, exit, class, status) in [
            (
                r#"[API Error: {"error":{"code":401,"message":"Incorrect API key provided: fake.","status":"UNAUTHENTICATED"}}]"#,
                None,
                145,
                C::Auth,
                Some(401),
            ),
            (
                r#"[API Error: {"error":{"code":400,"message":"Your input exceeds the context window.","status":"INVALID_ARGUMENT"}}]"#,
                None,
                144,
                C::ContextLength,
                Some(400),
            ),
            (
                r#"[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]"#,
                None,
                144,
                C::Auth,
                Some(400),
            ),
            (
                "[API Error: Rate limit reached for mock-model.]\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio",
                None,
                173,
                C::RateLimit,
                Some(429),
            ),
            ("[API Error: Overloaded (Status: UNAVAILABLE)]", None, 1, C::Provider, Some(503)),
            ("[API Error: Something new]", None, 247, C::Provider, Some(503)),
            ("[API Error: Something new]", None, 1, C::Other, None),
            (
                "[API Error: models/x is not found for API version v1beta, or is not supported for generateContent.]",
                None,
                1,
                C::UnknownModel,
                None,
            ),
            (
                "[API Error: An unknown error occurred.]",
                Some("RetryableQuotaError: Rate limit reached for mock-model."),
                1,
                C::RateLimit,
                None,
            ),
            (
                "[API Error: An unknown error occurred.]",
                Some("TerminalQuotaError: You have exhausted your daily quota on this model."),
                1,
                C::Quota,
                None,
            ),
            (
                "[API Error: An unknown error occurred.]",
                Some("Error: exception TypeError: fetch failed sending request"),
                1,
                C::Network,
                None,
            ),
            ("[API Error: An unknown error occurred.]", None, 145, C::Auth, Some(401)),
            ("[API Error: An unknown error occurred.]", None, 1, C::Other, None),
            ("Model stream ended without a finish reason.", None, 0, C::Provider, None),
            ("The model returned an empty response with no text or thoughts.", None, 0, C::Provider, None),
            (
                "Invalid stream: The model returned an empty response or malformed tool call.",
                None,
                0,
                C::Provider,
                None,
            ),
        ] {
            let failure = Cause::read(text).failure(stderr.map(Cause::read).as_ref(), Some(exit));
            assert_eq!((failure.class, failure.http_status), (class, status), "{text} {stderr:?}");
            assert!(!failure.message.contains("[API Error") && !failure.message.contains("{\"error\""), "{failure:?}");
        }
    }

    #[test]
    fn an_exit_code_is_a_status_only_if_it_can_be_one() {
        for (code, status) in [(144, Some(400)), (173, Some(429)), (244, Some(500)), (255, Some(511))] {
            assert_eq!(status_of_exit(code), status);
        }
        for code in [-1, 0, 1, 41, 53, 130, 143, 256] {
            assert_eq!(status_of_exit(code), None, "{code}");
        }
    }
}

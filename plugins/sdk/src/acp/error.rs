//! Errors of an ACP agent.

use crate::failure::{Phrases, class_of_status, status_in};
use crate::rpc::METHOD_NOT_FOUND;
use crate::{ErrorClass, Failure, Json};
use std::borrow::Cow;

/// The code of `Authentication required`.
pub const AUTH_REQUIRED: i32 = -32_000;
/// The code of `Resource not found`, which is a session.
const NOT_FOUND: i32 = -32_002;
/// The marks before an HTTP status in the texts of agents.
const MARKS: &[&str] = &["status: ", "status ", "HTTP ", "required: ", "(", ""];

/// An error response.
#[derive(Debug, Clone, Copy)]
pub struct RpcError<'a> {
    /// The code of the protocol, or an HTTP status.
    pub code: Option<i32>,
    /// The message, which may say nothing but "Internal error".
    pub message: Json<'a>,
    /// The details, in the agent's own form.
    pub data: Json<'a>,
}

impl<'a> RpcError<'a> {
    /// Reads the error object of a response.
    pub fn read(error: Json<'a>) -> RpcError<'a> {
        let [code, message, data] = error.select(["code", "message", "data"]).unwrap_or([crate::json::MISSING; 3]);
        RpcError { code: code.i32(), message, data }
    }

    /// Whether the agent needs a login first.
    pub fn needs_login(&self) -> bool {
        self.code == Some(AUTH_REQUIRED)
    }

    /// Whether the agent does not have the method.
    pub fn is_unknown_method(&self) -> bool {
        self.code == Some(METHOD_NOT_FOUND)
    }

    /// The text for people: the details, if the message is a phrase of the protocol.
    pub fn text(&self) -> String {
        let message = self.message.str().unwrap_or_default();
        // Gemini's message is the body of the response.
        if let Some(inner) = in_body(&message) {
            return inner;
        }
        let details = self.data.filled().or_else(|| self.data.get("details").filled());
        let details = details.or_else(|| self.data.get("message").filled());
        let specific = match message.split_once(": ") {
            Some((phrase, rest)) if is_phrase(phrase) => Some(Cow::Borrowed(rest)),
            None if is_phrase(&message) => details,
            _ => None,
        };
        specific.unwrap_or(Cow::Borrowed(&message)).into_owned()
    }

    /// The HTTP status that caused it, if it says one.
    pub fn status(&self) -> Option<u16> {
        let code = self.code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        code.or_else(|| status_in(&self.text(), MARKS))
    }

    /// The failure, as most agents mean it.
    pub fn usual_failure(&self) -> Failure {
        let by_code = match self.code {
            Some(AUTH_REQUIRED) => Some(ErrorClass::Auth),
            Some(NOT_FOUND) => Some(ErrorClass::NoSession),
            _ => None,
        };
        let code = self.code.filter(|code| *code < 0).map(|code| code.to_string());
        let failure = classify(self.text(), self.status());
        let class = by_code.unwrap_or(failure.class);
        Failure::new(class, failure.message).status(failure.http_status).code(code)
    }
}

/// The failure of an error that an agent wrote as a text, by the HTTP status and the phrases in it. The text must be the
/// agent's, not the model's.
pub fn failure_of(text: &str) -> Failure {
    let text = in_body(text).unwrap_or_else(|| text.trim().to_owned());
    let status = status_in(&text, MARKS);
    classify(text, status)
}

fn classify(text: String, status: Option<u16>) -> Failure {
    // A 400 has several causes, which only its text distinguishes.
    let class = status
        .and_then(|status| class_of_status(status, &text))
        .or_else(|| Phrases::COMMON.class_of(&text))
        .or_else(|| status.map(|_| ErrorClass::Provider));
    Failure::new(class.unwrap_or(ErrorClass::Other), text).status(status)
}

/// The message in the body of a provider's response.
fn in_body(text: &str) -> Option<String> {
    Json::parse(text.trim()).at(&["error", "message"]).filled().map(Cow::into_owned)
}

/// Whether a message says nothing: the standard's names of the codes.
fn is_phrase(message: &str) -> bool {
    matches!(message, "Internal error" | "Invalid params" | "Invalid request" | "Resource not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from gemini, qwen, grok, kimi, kilo, opencode, cline, goose, vibe, codex-acp, claude-agent-acp.
    #[test]
    fn every_captured_error_has_its_class() {
        use ErrorClass as C;
        for (error, class, status, text) in [
            (
                r#"{"code":401,"message":"{\"error\":{\"code\":401,\"message\":\"Incorrect API key provided: fake.\"}}"}"#,
                C::Auth,
                Some(401),
                "Incorrect API key provided: fake.",
            ),
            (
                r#"{"code":400,"message":"{\"error\":{\"code\":400,\"message\":\"Your input exceeds the context window.\"}}"}"#,
                C::ContextLength,
                Some(400),
                "Your input exceeds the context window.",
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"401 Incorrect API key provided: fake."}}"#,
                C::Auth,
                Some(401),
                "401 Incorrect API key provided: fake.",
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":"Unauthorized (401) from http://h: Incorrect API key"}"#,
                C::Auth,
                Some(401),
                "Unauthorized (401) from http://h: Incorrect API key",
            ),
            (
                r#"{"code":-32000,"message":"Authentication required: 403 Forbidden for lab."}"#,
                C::Auth,
                Some(403),
                "Authentication required: 403 Forbidden for lab.",
            ),
            (
                r#"{"code":-32603,"message":"Internal error: Rate limit reached for mock-model.","data":{"errorName":"APIError"}}"#,
                C::RateLimit,
                None,
                "Rate limit reached for mock-model.",
            ),
            (
                r#"{"code":-32603,"message":"Internal error: Session too large to compact - context exceeds model limit","data":{}}"#,
                C::ContextLength,
                None,
                "Session too large to compact - context exceeds model limit",
            ),
            (
                r#"{"code":-32603,"message":"Internal error: Model returned empty response"}"#,
                C::Provider,
                None,
                "Model returned empty response",
            ),
            (
                r#"{"code":-32602,"message":"Invalid params: session not found: ses_1"}"#,
                C::NoSession,
                None,
                "session not found: ses_1",
            ),
            (
                r#"{"code":-32002,"message":"Resource not found","data":"Session not found: nope"}"#,
                C::NoSession,
                None,
                "Session not found: nope",
            ),
            (
                r#"{"code":-31002,"message":"The lab credential was rejected. Update the API key and retry.","data":null}"#,
                C::Auth,
                None,
                "The lab credential was rejected. Update the API key and retry.",
            ),
            (
                r#"{"code":-32602,"message":"Invalid params","data":{"_errors":[],"prompt":{}}}"#,
                C::Other,
                None,
                "Invalid params",
            ),
            ("{}", C::Other, None, ""),
            ("7", C::Other, None, ""),
        ] {
            let error = RpcError::read(Json::parse(error));
            let failure = error.usual_failure();
            assert_eq!((failure.class, failure.http_status), (class, status), "{error:?}");
            assert_eq!(failure.message, text);
        }
    }

    /// Captured from codex-acp, goose, grok and vibe.
    #[test]
    fn every_captured_error_text_has_its_class() {
        use ErrorClass as C;
        for (text, class, status) in [
            ("exceeded retry limit, last status: 429 Too Many Requests\n\n", C::RateLimit, Some(429)),
            (
                r#"{"error": {"message": "This model's maximum context length is 1000 tokens."}}"#,
                C::ContextLength,
                None,
            ),
            ("Rate limit exceeded: Rate limit reached for mock-model.", C::RateLimit, None),
            ("Server error: Server error (500 Internal Server Error) at http://h: no", C::Provider, Some(500)),
            ("API error (status 500 Internal Server Error): The server had an error.", C::Provider, Some(500)),
            ("request error: error sending request for url (http://h): client error (Connect)", C::Network, None),
            ("HTTP 429", C::RateLimit, Some(429)),
            ("ConnectError", C::Other, None),
        ] {
            let failure = failure_of(text);
            assert_eq!((failure.class, failure.http_status), (class, status), "{text}");
        }
    }
}

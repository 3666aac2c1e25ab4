//! Errors in the CLI's events, and their classification.

use std::borrow::Cow;
use wharf_adapter::failure::{self, Phrases};
use wharf_adapter::{ErrorClass, Failure, Json, Malformed, Retry, time};

/// An error that the CLI reported.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct AgentError {
    /// `session.error.errorType`, or the reason of a retry.
    pub(crate) kind: String,
    /// The HTTP status, if the event has a field for it.
    pub(crate) status: Option<u16>,
    /// The vendor's error code.
    pub(crate) code: Option<String>,
    /// The message for the user.
    pub(crate) message: String,
    /// Whether the connection failed rather than the request.
    pub(crate) transport: bool,
    /// When it was reported, in seconds since 1970.
    pub(crate) time: Option<u64>,
}

impl AgentError {
    /// The failure to report.
    pub(crate) fn failure(&self) -> Failure {
        let class = self.class();
        let failure = Failure::new(class, self.message.as_str())
            .status(self.status.or_else(|| status_in(&self.message)))
            .code(self.code.clone());
        match self.resets_at() {
            Some(time) if class == ErrorClass::RateLimit => failure.retry(Retry::At(time)),
            _ => failure,
        }
    }

    /// When the rate limit resets. The CLI says it only in text, relative to now.
    pub(crate) fn resets_at(&self) -> Option<u64> {
        self.time?.checked_add(time::duration_after(&self.message, "reset in ")?)
    }

    /// Reads a `session.error`.
    pub(crate) fn of_session(data: Json<'_>, time: Option<u64>) -> Result<AgentError, Malformed> {
        let [kind, message, status, code] = data.select(["errorType", "message", "statusCode", "errorCode"])?;
        Ok(AgentError {
            kind: kind.string().unwrap_or_default(),
            status: http_status(status),
            code: code.filled().map(Cow::into_owned),
            message: message.string().unwrap_or_default(),
            transport: false,
            time,
        })
    }

    /// Reads a `model.call_failure`.
    pub(crate) fn of_call(data: Json<'_>, time: Option<u64>) -> AgentError {
        let message = data.get("errorMessage").string().unwrap_or_default();
        // The string contains JSON: an object with a message, or a string.
        let inner = Json::parse(&message);
        let text = inner.get("message").string().or_else(|| inner.string());
        AgentError {
            kind: String::new(),
            status: http_status(data.get("statusCode")),
            code: data.get("errorCode").filled().map(Cow::into_owned),
            message: text.unwrap_or(message),
            transport: data.get("failureKind").is("transport"),
            time,
        }
    }

    /// What a user is told about a failed model call.
    pub(crate) fn as_notice(&self) -> String {
        let status = self.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        format!("a call of the model failed{status}: {}", self.message)
    }

    /// Adds the details of a failed model call, if this error is about that call.
    pub(crate) fn with_call(mut self, call: Option<AgentError>) -> AgentError {
        if let Some(call) = call.filter(|call| self.status.is_none() || call.status == self.status) {
            self.code = self.code.or(call.code);
            self.transport = call.transport;
            self.status = self.status.or(call.status);
        }
        self
    }

    fn class(&self) -> ErrorClass {
        let by_status = |status| {
            let class = failure::class_of_status(status, &self.message);
            class.or((status == 404).then_some(ErrorClass::Provider))
        };
        class_of_code(self.code.as_deref().unwrap_or_default())
            .or_else(|| class_of_kind(&self.kind))
            .or_else(|| self.status.and_then(by_status))
            .or_else(|| self.transport.then_some(ErrorClass::Network))
            .or_else(|| PHRASES.class_of(&self.message))
            .or_else(|| status_in(&self.message).and_then(by_status))
            .unwrap_or(ErrorClass::Other)
    }
}

fn class_of_code(code: &str) -> Option<ErrorClass> {
    Some(match code {
        "context_length_exceeded" | "model_max_prompt_tokens_exceeded" => ErrorClass::ContextLength,
        "model_not_found" | "model_not_supported" => ErrorClass::UnknownModel,
        "quota_exceeded" | "session_quota_exceeded" | "billing_not_configured" | "insufficient_quota" => {
            ErrorClass::Quota
        }
        "invalid_api_key" => ErrorClass::Auth,
        code if code.ends_with("rate_limited") || code == "rate_limit_exceeded" => ErrorClass::RateLimit,
        _ => return None,
    })
}

/// The documented error types, except `query`, which is too general.
fn class_of_kind(kind: &str) -> Option<ErrorClass> {
    Some(match kind {
        "authentication" | "authorization" | "transient_auth_error" => ErrorClass::Auth,
        "policy" => ErrorClass::Permission,
        "quota" => ErrorClass::Quota,
        "rate_limit" => ErrorClass::RateLimit,
        "context_limit" | "forced_compaction" => ErrorClass::ContextLength,
        _ => return None,
    })
}

/// Phrases in the CLI's own error texts, in lower case, most specific first.
pub(crate) const PHRASES: Phrases = Phrases(&[
    ("context length", ErrorClass::ContextLength),
    ("context window", ErrorClass::ContextLength),
    ("prompt is too long", ErrorClass::ContextLength),
    ("prompt as too long", ErrorClass::ContextLength),
    ("context limit", ErrorClass::ContextLength),
    ("rate limit", ErrorClass::RateLimit),
    ("too many requests", ErrorClass::RateLimit),
    ("quota", ErrorClass::Quota),
    ("authentication failed", ErrorClass::Auth),
    ("authentication required", ErrorClass::Auth),
    ("authorization error", ErrorClass::Auth),
    ("not authenticated", ErrorClass::Auth),
    ("model is not supported", ErrorClass::UnknownModel),
    ("no model available", ErrorClass::UnknownModel),
    ("could not connect", ErrorClass::Network),
    ("connection", ErrorClass::Network),
    ("error sending request", ErrorClass::Network),
    ("error decoding response body", ErrorClass::Network),
    ("network", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("timed out", ErrorClass::Network),
    ("no response was returned", ErrorClass::Provider),
    ("uncaught", ErrorClass::Crash),
    ("panicked at", ErrorClass::Crash),
    ("internal error", ErrorClass::Crash),
]);

/// The HTTP status at the beginning of a text, or of the last error in it.
pub(crate) fn status_in(text: &str) -> Option<u16> {
    let marks = ["CAPIError: ", "Last error: ", "Execution failed: ", "(HTTP ", "Error: ", ""];
    failure::status_in(text, &marks)
}

fn http_status(status: Json<'_>) -> Option<u16> {
    status.u64().and_then(|status| u16::try_from(status).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_error(kind: &str, status: Option<u16>, code: &str, message: &str) -> AgentError {
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        AgentError { kind: kind.into(), status, code, message: message.into(), ..AgentError::default() }
    }

    #[test]
    fn every_measured_session_error_has_its_class() {
        use ErrorClass as C;
        for (kind, status, code, message, class, http) in [
            (
                "authentication",
                Some(401),
                "",
                "Authentication failed with provider at http://h/v1 (HTTP 401).",
                C::Auth,
                Some(401),
            ),
            (
                "authentication",
                Some(403),
                "",
                "Authentication failed with provider at http://h/v1 (HTTP 403).",
                C::Auth,
                Some(403),
            ),
            ("query", Some(402), "", "402 You have no quota", C::Quota, Some(402)),
            (
                "query",
                Some(400),
                "",
                "400 This model's maximum context length is 8192 tokens.",
                C::ContextLength,
                Some(400),
            ),
            ("query", Some(400), "context_length_exceeded", "400 too much", C::ContextLength, Some(400)),
            (
                "query",
                Some(404),
                "",
                "Model 'x' not found on provider at http://h/v1 (HTTP 404).",
                C::UnknownModel,
                Some(404),
            ),
            ("rate_limit", Some(429), "", "429 Rate limit reached for requests", C::RateLimit, Some(429)),
            (
                "query",
                None,
                "",
                "Failed to get response from the AI model; retried 5 times (total retry wait time: 83.09 seconds) Last error: CAPIError: 429 Slow down",
                C::RateLimit,
                Some(429),
            ),
            (
                "query",
                Some(500),
                "",
                "Failed to get response from the AI model; Last error: 500 mock error 500",
                C::Provider,
                Some(500),
            ),
            (
                "query",
                None,
                "",
                "Failed to get response from the AI model; Last error: CAPIError: 503 mock error 503",
                C::Provider,
                Some(503),
            ),
            (
                "query",
                None,
                "",
                "Last error: CAPIError: 503 {\"error\":{\"message\":\"HTTP/2 GOAWAY connection terminated\"}}",
                C::Network,
                Some(503),
            ),
            (
                "query",
                None,
                "",
                "Last error: Failed native model HTTP request: error decoding response body",
                C::Network,
                None,
            ),
            (
                "query",
                None,
                "",
                "Could not connect to local model provider at http://127.0.0.1:9/v1.",
                C::Network,
                None,
            ),
            ("query", None, "", "Last error: CAPIError: Connection error.", C::Network, None),
            ("query", Some(499), "", "Last error: 499 mock error 499", C::Network, Some(499)),
            ("query", Some(408), "", "Last error: 408 mock error 408", C::Network, Some(408)),
            ("query", Some(422), "", "422 mock error 422", C::Other, Some(422)),
            // A 413 that was not solved by compacting the history.
            (
                "query",
                None,
                "",
                "The provider rejected the prompt as too long, but automatic recovery could not reduce it.",
                C::ContextLength,
                None,
            ),
            ("query", None, "", "No response was returned from the model", C::Provider, None),
            (
                "authorization",
                Some(401),
                "",
                "Authorization error. Your credentials may be expired or invalid.",
                C::Auth,
                Some(401),
            ),
            (
                "authorization",
                Some(403),
                "",
                "Authorization error. Your credentials may be expired or invalid.",
                C::Auth,
                Some(403),
            ),
            ("quota", Some(402), "quota_exceeded", "You have no quota remaining", C::Quota, Some(402)),
            (
                "rate_limit",
                Some(429),
                "user_global_rate_limited",
                "You've hit your session rate limit.",
                C::RateLimit,
                Some(429),
            ),
            (
                "query",
                Some(400),
                "",
                "Execution failed: 400 The requested model is not supported.",
                C::UnknownModel,
                Some(400),
            ),
            // 1.0.35 over ACP, for an account with none of the models that it knows.
            (
                "",
                None,
                "",
                "Execution failed: Error: No model available. Check policy enablement under GitHub Settings > Copilot",
                C::UnknownModel,
                None,
            ),
            ("policy", None, "", "not allowed", C::Permission, None),
            ("context_limit", None, "", "too long", C::ContextLength, None),
            ("query", None, "", "something else", C::Other, None),
        ] {
            let failure = agent_error(kind, status, code, message).failure();
            assert_eq!((failure.class, failure.http_status), (class, http), "{message}");
        }
    }

    #[test]
    fn a_reset_in_the_text_becomes_a_time() {
        let mut limit = agent_error("rate_limit", Some(429), "", "wait for your limit to reset in 1 hour or switch");
        assert_eq!(limit.failure().retry, Retry::SameSession);
        limit.time = Some(1_000);
        assert_eq!(limit.failure().retry, Retry::At(4_600));
        limit.message = "429 Rate limit reached".into();
        assert_eq!(limit.failure().retry, Retry::SameSession);
    }
}

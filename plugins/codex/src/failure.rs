//! Classifies failures: by Codex's own kind of error, by an HTTP status, by the texts that it writes.
//!
//! Codex gives its errors as text, over `app-server` with a kind. Older versions call many of them `other`, and a rejected
//! request is the provider's own JSON. Text that the model wrote is never used.

use std::borrow::Cow;
use wharf_adapter::failure::{Phrases, class_of_status, status_in};
use wharf_adapter::json::MISSING;
use wharf_adapter::{ErrorClass, Evidence, Failure, Json, Outcome, Retry, text};

/// How a message about a retry begins. What is retried follows in parentheses.
const RETRY: &str = "Reconnecting...";

/// Words before a status.
const MARKS: &[&str] = &["unexpected status ", "last status: "];

/// Codes and types in the body of a provider's error.
const CODES: &[(&str, ErrorClass)] = &[
    ("context_length_exceeded", ErrorClass::ContextLength),
    ("insufficient_quota", ErrorClass::Quota),
    ("usage_limit_reached", ErrorClass::Quota),
    ("model_not_found", ErrorClass::UnknownModel),
    ("invalid_api_key", ErrorClass::Auth),
    ("rate_limit_exceeded", ErrorClass::RateLimit),
    ("server_error", ErrorClass::Provider),
    ("invalid_request_error", ErrorClass::InvalidOption),
];

/// What Codex writes, in lower case.
const PHRASES: Phrases = Phrases(&[
    ("missing environment variable", ErrorClass::Auth),
    ("not logged in", ErrorClass::Auth),
    ("log in again", ErrorClass::Auth),
    ("refresh token", ErrorClass::Auth),
    ("ran out of room in the model's context", ErrorClass::ContextLength),
    ("context window", ErrorClass::ContextLength),
    ("quota exceeded", ErrorClass::Quota),
    ("usage limit", ErrorClass::Quota),
    ("spend cap", ErrorClass::Quota),
    ("does not exist or you do not have access", ErrorClass::UnknownModel),
    ("model is not supported", ErrorClass::UnknownModel),
    ("no rollout found", ErrorClass::NoSession),
    ("thread not found", ErrorClass::NoSession),
    ("invalid thread id", ErrorClass::NoSession),
    ("invalid session id", ErrorClass::NoSession),
    ("waiting for network", ErrorClass::Network),
    ("connection failed", ErrorClass::Network),
    ("error sending request", ErrorClass::Network),
    ("failed to lookup address", ErrorClass::Network),
    ("stream closed before", ErrorClass::Network),
    ("idle timeout waiting for", ErrorClass::Network),
    ("high demand", ErrorClass::Provider),
    ("at capacity", ErrorClass::Provider),
    ("overloaded", ErrorClass::Provider),
    // What the provider reported inside of a stream, if it is none of the above.
    ("stream disconnected before completion", ErrorClass::Provider),
    ("no prompt provided", ErrorClass::InvalidOption),
    ("not inside a trusted directory", ErrorClass::InvalidOption),
    ("unexpected argument", ErrorClass::InvalidOption),
    ("invalid value", ErrorClass::InvalidOption),
    ("unknown feature flag", ErrorClass::InvalidOption),
    ("error loading config", ErrorClass::InvalidOption),
    ("failed to load configuration", ErrorClass::InvalidOption),
]);

/// What is retried, if the message is about a retry.
pub(crate) fn retried(message: &str) -> Option<&str> {
    let rest = message.strip_prefix(RETRY)?;
    let inner = text::find(rest, "(").map(|at| rest[at + 1..].trim_end().trim_end_matches(')'));
    Some(inner.unwrap_or(message))
}

/// A failure from a text.
pub(crate) fn from_text(message: &str) -> Failure {
    from_kind(message, None, None)
}

/// A failure from an error object of `app-server`.
pub(crate) fn from_error(error: Json<'_>) -> Failure {
    let [message, info, details] =
        error.select(["message", "codexErrorInfo", "additionalDetails"]).unwrap_or([MISSING; 3]);
    let (kind, status) = match info.name() {
        Some(kind) => (Some(kind), None),
        None => match info.fields().next() {
            Some((kind, fields)) => (Some(kind), fields.get("httpStatusCode").u64()),
            None => (None, None),
        },
    };
    let (message, details) = (message.str().unwrap_or_default(), details.filled());
    let message = match &details {
        Some(details) if retried(&message).is_some() => format!("{message} ({details})"),
        _ => message.into_owned(),
    };
    from_kind(&message, kind, status.and_then(|status| u16::try_from(status).ok()))
}

fn from_kind(message: &str, kind: Option<&str>, status: Option<u16>) -> Failure {
    let what = retried(message).unwrap_or(message);
    let body = Json::parse(if what.starts_with('{') { what } else { "" }).get("error");
    let own_kind = kind.filter(|kind| *kind != "other");
    let code = [body.get("code"), body.get("type")].into_iter().find_map(Json::filled);
    let of_code = code.as_deref().and_then(|code| CODES.iter().find(|(known, _)| *known == code));
    let status = status.or_else(|| status_in(what, MARKS));
    let class = own_kind
        .and_then(class_of_kind)
        .or(of_code.map(|(_, class)| *class))
        .or_else(|| status.and_then(|status| class_of_status(status, what)))
        .or_else(|| PHRASES.class_of(what))
        .or_else(|| own_kind.and_then(class_of_connection))
        .or_else(|| Phrases::COMMON.class_of(what))
        .unwrap_or(ErrorClass::Other);
    let shown = match body.get("message").filled() {
        Some(inner) => inner.into_owned(),
        None => message.to_owned(),
    };
    let failure = Failure::new(class, shown).status(status);
    let failure = failure.code(own_kind.map(str::to_owned).or_else(|| code.map(Cow::into_owned)));
    match missing_variable(what) {
        Some(name) => failure.retry(Retry::AfterUserAction(format!("set the variable {name}"))),
        None => failure,
    }
}

/// The class of a kind that decides it.
fn class_of_kind(kind: &str) -> Option<ErrorClass> {
    Some(match kind {
        "contextWindowExceeded" => ErrorClass::ContextLength,
        "usageLimitExceeded" => ErrorClass::Quota,
        "rateLimitExceeded" => ErrorClass::RateLimit,
        "serverOverloaded" | "internalServerError" | "flexUnavailable" | "policyCapacityUnavailable" => {
            ErrorClass::Provider
        }
        "modelNotFound" => ErrorClass::UnknownModel,
        "unauthorized" => ErrorClass::Auth,
        "tooManyDenials" | "inferenceHookDenied" => ErrorClass::Permission,
        _ => return None,
    })
}

/// The class of a kind that says only where it failed; a status or a text says more.
fn class_of_connection(kind: &str) -> Option<ErrorClass> {
    Some(match kind {
        "httpConnectionFailed" | "responseStreamConnectionFailed" | "responseStreamDisconnected" => ErrorClass::Network,
        "responseTooManyFailedAttempts" => ErrorClass::Provider,
        "badRequest" => ErrorClass::InvalidOption,
        _ => return None,
    })
}

/// How a turn ended that failed. What the provider's rules forbid is a refusal, and a budget is a limit.
pub(crate) fn outcome(failure: Failure) -> Outcome {
    match failure.code.as_deref() {
        Some("cyberPolicy" | "misalignmentPolicyViolation") => Outcome::Refused(failure.message),
        Some("sessionBudgetExceeded") => Outcome::Limit("budget".to_owned()),
        _ => Outcome::Failed(failure),
    }
}

/// The model that a warning calls unknown: Codex uses it all the same.
pub(crate) fn unknown_model(warning: &str) -> Option<&str> {
    let rest = warning.strip_prefix("Model metadata for `")?;
    Some(&rest[..text::find(rest, "` not found")?])
}

/// The variable whose absence a text reports.
fn missing_variable(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("Missing environment variable: `")?;
    Some(&rest[..text::find(rest, "`")?])
}

/// The failure of a process that did not say how its turn ended, if stderr shows one.
pub(crate) fn from_evidence(evidence: &Evidence) -> Option<Failure> {
    if evidence.exit.code == Some(0) {
        return None;
    }
    let errors = || evidence.stderr_tail.lines().map(str::trim).filter(|line| is_error(line));
    let line = errors().find(|line| PHRASES.class_of(line).is_some()).or_else(|| errors().next())?;
    let line = ["Error: ", "error: "].iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line);
    Some(from_text(line))
}

/// Whether a line of stderr may be the reason: it is no warning, no progress and no line of the log.
fn is_error(line: &str) -> bool {
    let is_log = line.len() > 20 && line.as_bytes()[..4].iter().all(u8::is_ascii_digit) && line.as_bytes()[10] == b'T';
    let is_progress = line.starts_with("Reading ") && line.ends_with("stdin...");
    !(line.is_empty() || line.starts_with("WARNING") || is_progress || is_log)
}

#[cfg(test)]
mod tests;

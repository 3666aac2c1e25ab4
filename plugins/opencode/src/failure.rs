//! Failures: the errors of `OpenCode`, and what stderr says if there is none.
//!
//! An error has a name and data. The names are `OpenCode`'s own; only `APIError` has the status of the provider.

use wharf_adapter::failure::{Phrases, class_of_status};
use wharf_adapter::{ErrorClass, Evidence, Failure, Json, Retry, text};

/// What `OpenCode` says about every error of its own server, the commonest of which is a model that it does not know.
const SERVER_ERROR: &str = "Unexpected server error";

/// Phrases of `OpenCode` and its providers, in lower case, the most specific ones first.
const PHRASES: Phrases = Phrases(&[
    ("insufficient_quota", ErrorClass::Quota),
    ("exceeded your current quota", ErrorClass::Quota),
    ("insufficient balance", ErrorClass::Quota),
    ("providermodelnotfounderror", ErrorClass::UnknownModel),
    ("model not found", ErrorClass::UnknownModel),
    ("context_length_exceeded", ErrorClass::ContextLength),
    ("maximum context length", ErrorClass::ContextLength),
    ("session not found", ErrorClass::NoSession),
    ("unable to connect", ErrorClass::Network),
    ("socket connection was closed", ErrorClass::Network),
    ("you must provide a message", ErrorClass::InvalidOption),
]);

/// The class of an error text.
pub(crate) fn class_of(text: &str) -> Option<ErrorClass> {
    PHRASES.class_of(text).or_else(|| Phrases::COMMON.class_of(text))
}

/// What an error is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Whether the model has answered before.
    pub(crate) answered: bool,
    /// When it happened, in seconds since 1970.
    pub(crate) at: Option<u64>,
}

/// Reads an error: `{name, data: {message, statusCode, isRetryable, responseHeaders, responseBody}}`, or a text.
pub(crate) fn read(error: Json<'_>, moment: Moment) -> Failure {
    if let Some(text) = error.str() {
        let class = class_of(&text).unwrap_or(ErrorClass::Provider);
        return Failure::new(class, text);
    }
    let [name, data, message] = error.select(["name", "data", "message"]).unwrap_or([wharf_adapter::json::MISSING; 3]);
    let message = data.get("message").filled().or_else(|| message.filled()).unwrap_or_default();
    let name = name.name().unwrap_or("unknown");
    named(name, &message, data, moment)
}

/// The failure with this name of `OpenCode`'s.
pub(crate) fn named(name: &str, message: &str, data: Json<'_>, moment: Moment) -> Failure {
    let status = data.get("statusCode").u64().and_then(|status| u16::try_from(status).ok());
    let body = data.get("responseBody").str().unwrap_or_default();
    let body = Json::parse(&body);
    let vendor = body.at(&["error", "code"]).filled().or_else(|| body.at(&["error", "type"]).filled());
    let class = match name {
        "ContextOverflowError" => ErrorClass::ContextLength,
        "ProviderAuthError" => ErrorClass::Auth,
        "ProviderModelNotFoundError" => ErrorClass::UnknownModel,
        _ => {
            let quota = matches!(vendor.as_deref(), Some("insufficient_quota")).then_some(ErrorClass::Quota);
            let by_status = || status.and_then(|status| class_of_status(status, message));
            // Of a 400, only the text says what is wrong.
            let by_text = || class_of(message).or_else(|| vendor.as_deref().and_then(class_of));
            let unknown_model = || {
                let is_early = name == "UnknownError" && !moment.answered && message.starts_with(SERVER_ERROR);
                is_early.then_some(ErrorClass::UnknownModel)
            };
            let rest = if name == "APIError" { ErrorClass::Provider } else { ErrorClass::Other };
            quota.or_else(by_status).or_else(by_text).or_else(unknown_model).unwrap_or(rest)
        }
    };
    let text = if class == ErrorClass::UnknownModel && message.starts_with(SERVER_ERROR) {
        format!("{message} OpenCode says so about a model or a provider that it does not know.")
    } else {
        message.to_owned()
    };
    let code = vendor.map_or_else(|| name.to_owned(), std::borrow::Cow::into_owned);
    let failure = Failure::new(class, text).status(status).code(Some(code));
    match retry(class, data, moment) {
        Some(retry) => failure.retry(retry),
        None => failure,
    }
}

/// Better advice than the usual one for the class.
fn retry(class: ErrorClass, data: Json<'_>, moment: Moment) -> Option<Retry> {
    let seconds = data.get("responseHeaders").first_of(&["retry-after", "Retry-After"]);
    let seconds = seconds.str().and_then(|text| text.trim().parse::<u64>().ok());
    if let (ErrorClass::RateLimit, Some(seconds), Some(now)) = (class, seconds, moment.at) {
        return Some(Retry::At(now + seconds));
    }
    // What would fail again is not worth a retry.
    let is_final = class == ErrorClass::Provider && data.get("isRetryable").bool() == Some(false);
    is_final.then_some(Retry::Never)
}

/// The model's stream was closed without a reason.
pub(crate) fn unfinished(count: u64) -> Failure {
    let message = match count {
        0 | 1 => "the model's answer ended without a reason: its stream was cut off".to_owned(),
        _ => {
            format!("{count} answers of the model in a row ended without a reason; OpenCode would repeat them for ever")
        }
    };
    Failure::new(ErrorClass::Provider, message)
}

/// Why there was no turn, by the exit status and stderr.
pub(crate) fn from_evidence(evidence: &Evidence) -> Option<Failure> {
    let stderr = plain(&evidence.stderr_tail);
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    if let Some(line) = lines().rev().find_map(|line| line.strip_prefix("Error:")) {
        let message = line.trim();
        return Some(Failure::new(class_of(message).unwrap_or(ErrorClass::Other), message));
    }
    // A flag that it does not know makes it print its help, and nothing else.
    let is_help = |line: &str| {
        ["opencode run ", "kilo run ", "opencode acp", "kilo acp"].iter().any(|head| line.starts_with(head))
    };
    if evidence.exit.code == Some(1) && lines().any(is_help) {
        let message = "this version does not know one of the arguments: it printed its help instead of a turn";
        return Some(Failure::new(ErrorClass::InvalidOption, message));
    }
    if let Some(failure) = lines().rev().find_map(|line| crate::log::Entry::read(line)?.failure()) {
        return Some(failure);
    }
    if evidence.exit.code == Some(0) {
        let message = "it exited without an answer and without an error";
        return Some(Failure::new(ErrorClass::Protocol, message).retry(Retry::SameSession));
    }
    lines().next_back().map(|line| Failure::new(class_of(line).unwrap_or(ErrorClass::Other), line))
}

/// A text without the escape sequences of colors.
pub(crate) fn plain(colored: &str) -> String {
    let (mut plain, mut rest) = (String::new(), colored);
    while let Some(at) = text::find(rest, "\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.bytes().position(|byte| byte.is_ascii_alphabetic()).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

/// Whether a tool was not run because of a permission, by its error.
pub(crate) fn is_denial(error: &str) -> bool {
    ["rejected permission", "specified a rule which prevents"].iter().any(|phrase| text::contains(error, phrase))
}

#[cfg(test)]
mod tests;

//! How a turn ended, what failed, and which retry makes sense.

use super::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The agent did what it was asked, according to the agent.
    Completed,
    /// Something failed; `error` says what.
    Failed,
    /// The caller stopped it.
    Cancelled,
    /// The model or its provider declined.
    Refused,
    /// It needs something from a person.
    Blocked,
    /// A limit was reached: of rounds, of cost, of time.
    Limit,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
            Outcome::Refused => "refused",
            Outcome::Blocked => "blocked",
            Outcome::Limit => "limit",
        })
    }
}

/// What failed, and which retry makes sense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Failure {
    /// Stable: programs may match on it.
    pub class: ErrorClass,
    /// The agent's own message, or the host's.
    pub message: String,
    /// The vendor's own code.
    pub code: Option<String>,
    /// The status of the HTTP response that caused it.
    pub http_status: Option<u16>,
    /// Which retry makes sense.
    pub retry: Retry,
}

impl Failure {
    /// A failure of which only the class and the message are known.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), code: None, http_status: None, retry: Retry::Unknown }
    }
}

/// The classes of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// No login, or an invalid one.
    Auth,
    /// Something was not allowed.
    Permission,
    /// There is no such model, or the account may not use it.
    UnknownModel,
    /// The agent did not accept an option.
    InvalidOption,
    /// Too many requests.
    RateLimit,
    /// The budget or the quota is used up.
    Quota,
    /// The conversation is too long for the model.
    ContextLength,
    /// The provider could not be reached.
    Network,
    /// The provider failed.
    Provider,
    /// The agent crashed.
    Crash,
    /// The agent or the adapter violated its protocol.
    Protocol,
    /// A program or a file is missing.
    NotFound,
    /// There is no such session.
    NoSession,
    /// None of these.
    Other,
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            ErrorClass::Auth => "auth",
            ErrorClass::Permission => "permission",
            ErrorClass::UnknownModel => "unknown-model",
            ErrorClass::InvalidOption => "invalid-option",
            ErrorClass::RateLimit => "rate-limit",
            ErrorClass::Quota => "quota",
            ErrorClass::ContextLength => "context-length",
            ErrorClass::Network => "network",
            ErrorClass::Provider => "provider",
            ErrorClass::Crash => "crash",
            ErrorClass::Protocol => "protocol",
            ErrorClass::NotFound => "not-found",
            ErrorClass::NoSession => "no-session",
            ErrorClass::Other => "other",
        })
    }
}

/// Which retry makes sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Retry {
    /// None.
    Never,
    /// The same turn in the same session.
    SameSession,
    /// The same turn in a new session.
    FreshSession,
    /// Not before a time.
    At {
        /// RFC 3339 in JSON.
        #[serde(with = "time::rfc3339")]
        #[schemars(with = "time::Rfc3339")]
        time: SystemTime,
    },
    /// Only after a person did something.
    AfterUserAction {
        /// What to do.
        action: String,
    },
    /// Nothing is known.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_displayed_names_are_those_in_json() {
        for outcome in [
            Outcome::Completed,
            Outcome::Failed,
            Outcome::Cancelled,
            Outcome::Refused,
            Outcome::Blocked,
            Outcome::Limit,
        ] {
            assert_eq!(serde_json::json!(outcome), outcome.to_string());
        }
        for class in [
            ErrorClass::Auth,
            ErrorClass::Permission,
            ErrorClass::UnknownModel,
            ErrorClass::InvalidOption,
            ErrorClass::RateLimit,
            ErrorClass::Quota,
            ErrorClass::ContextLength,
            ErrorClass::Network,
            ErrorClass::Provider,
            ErrorClass::Crash,
            ErrorClass::Protocol,
            ErrorClass::NotFound,
            ErrorClass::NoSession,
            ErrorClass::Other,
        ] {
            assert_eq!(serde_json::json!(class), class.to_string());
        }
    }
}

//! Classifies failures of Claude Code: by its own error lines, the HTTP status in them, and stderr.
//!
//! Never by text that the model wrote: only lines that the CLI marks as errors come here. The order is the same for all
//! versions: the CLI's own kind, then the status, then phrases of its text.

use wharf_adapter::failure::{self, Phrases};
use wharf_adapter::{ErrorClass, Evidence, ExitStatus, Failure, Json, Retry};

/// An error that the CLI reported.
#[derive(Debug, Default, Clone)]
pub(crate) struct AgentError {
    /// The `error` of an assistant or retry line: `rate_limit`.
    pub(crate) kind: Option<String>,
    /// The HTTP status.
    pub(crate) status: Option<u16>,
    /// The finer code: `usage_limit_reached`, `connection_failed`.
    pub(crate) code: Option<String>,
    /// The type that the API gave: `overloaded_error`.
    pub(crate) api_type: Option<String>,
    /// `terminal_reason` of the result.
    pub(crate) reason: Option<String>,
    /// The message for the user.
    pub(crate) text: String,
    /// When the rate limit resets, in seconds since 1970.
    pub(crate) resets_at: Option<u64>,
}

impl AgentError {
    /// Reads the fields that an assistant's error line and the result line share. Fields of a later line replace earlier
    /// ones.
    pub(crate) fn read(&mut self, line: Json<'_>) {
        let Ok([status, code, api_type, params]) =
            line.pick(["api_error_status", "api_error", "api_error_type", "api_error_params"])
        else {
            return;
        };
        self.status = status.u64().and_then(|status| u16::try_from(status).ok()).or(self.status);
        self.code = code.filled().map(Into::into).or(self.code.take());
        self.api_type = api_type.filled().map(Into::into).or(self.api_type.take());
        self.resets_at = params.at(&["rate_limit_info", "resetsAt"]).u64().or(self.resets_at);
    }

    /// The failure to report.
    pub(crate) fn failure(&self) -> Failure {
        let status = self.status.or_else(|| status_in(&self.text));
        let kind = self.kind.as_deref().filter(|kind| *kind != "unknown");
        let code =
            self.code.clone().or(kind.map(str::to_owned)).or(self.api_type.clone()).or_else(|| type_in(&self.text));
        let class = self.class(status);
        let failure = Failure::new(class, self.text.as_str()).status(status).code(code);
        match (class, self.resets_at) {
            (ErrorClass::RateLimit | ErrorClass::Quota, Some(time)) => failure.retry(Retry::At(time)),
            (ErrorClass::Permission, _) if self.text.contains("root/sudo") => failure.retry(root_advice()),
            // The API rejected the request itself: the same request would be rejected again.
            (ErrorClass::Provider, _) if status.is_some_and(|status| (400..500).contains(&status)) => {
                failure.retry(Retry::Never)
            }
            _ => failure,
        }
    }

    fn class(&self, status: Option<u16>) -> ErrorClass {
        // The second means that compacting the history does not help any more.
        if matches!(self.reason.as_deref(), Some("prompt_too_long" | "blocking_limit")) {
            return ErrorClass::ContextLength;
        }
        let by_kind = self.kind.as_deref().and_then(|kind| class_of_kind(kind, self));
        // A 400 has several causes, which only its text distinguishes.
        let by_status =
            || status.filter(|status| *status != 400).and_then(|status| class_of_status(status, &self.text));
        let by_text = || PHRASES.class_of(&self.text);
        let rejected = || status.map(|_| ErrorClass::Provider);
        by_kind.or_else(by_status).or_else(by_text).or_else(rejected).unwrap_or(ErrorClass::Other)
    }
}

/// The kinds of `error` that determine the class.
fn class_of_kind(kind: &str, error: &AgentError) -> Option<ErrorClass> {
    Some(match kind {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => ErrorClass::Auth,
        "billing_error" => ErrorClass::Quota,
        "rate_limit" => ErrorClass::RateLimit,
        "model_not_found" => ErrorClass::UnknownModel,
        // Also used for a server that cannot be reached or does not answer.
        "server_error" if error.status.is_none() && is_network(error) => ErrorClass::Network,
        "overloaded" | "server_error" => ErrorClass::Provider,
        "max_output_tokens" => ErrorClass::Other,
        _ => return None,
    })
}

fn is_network(error: &AgentError) -> bool {
    error.code.as_deref() == Some("connection_failed") || PHRASES.class_of(&error.text) == Some(ErrorClass::Network)
}

fn class_of_status(status: u16, text: &str) -> Option<ErrorClass> {
    match status {
        // Every version that reports a kind reports a 403 as a failed login.
        403 => Some(ErrorClass::Auth),
        _ => failure::class_of_status(status, text).or(match status {
            404 => Some(ErrorClass::NotFound),
            400..=599 => Some(ErrorClass::Provider),
            _ => None,
        }),
    }
}

/// Phrases in the CLI's own error texts, of all versions, most specific first.
const PHRASES: Phrases = Phrases(&[
    ("no conversation found", ErrorClass::NoSession),
    ("--resume requires a valid session", ErrorClass::NoSession),
    ("cannot be used with root/sudo", ErrorClass::Permission),
    ("error parsing streaming input", ErrorClass::Protocol),
    ("invalid api key", ErrorClass::Auth),
    ("not logged in", ErrorClass::Auth),
    ("please run /login", ErrorClass::Auth),
    ("failed to authenticate", ErrorClass::Auth),
    ("oauth token", ErrorClass::Auth),
    ("could not load", ErrorClass::Auth),
    ("credit balance", ErrorClass::Quota),
    ("hit your ", ErrorClass::RateLimit),
    ("limit reached", ErrorClass::RateLimit),
    ("rejected (429)", ErrorClass::RateLimit),
    ("issue with the selected model", ErrorClass::UnknownModel),
    ("prompt is too long", ErrorClass::ContextLength),
    ("exceed context limit", ErrorClass::ContextLength),
    ("connection error", ErrorClass::Network),
    ("connection refused", ErrorClass::Network),
    ("connection dropped", ErrorClass::Network),
    ("unable to connect", ErrorClass::Network),
    ("can't reach the api", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("econnreset", ErrorClass::Network),
    ("eai_again", ErrorClass::Network),
    ("enotfound", ErrorClass::Network),
    ("timed out", ErrorClass::Network),
]);

/// The status in "API Error: 404 {…}", "Request rejected (429)", "Repeated 529 Overloaded errors".
fn status_in(text: &str) -> Option<u16> {
    failure::status_in(text, &["API Error: ", "API Error (", "rejected (", "Repeated "])
}

/// The error's type in the JSON that old versions print after "API Error: 404".
fn type_in(text: &str) -> Option<String> {
    let (_, body) = text.split_once('{')?;
    let body = &text[text.len() - body.len() - 1..];
    Json::parse(body).at(&["error", "type"]).string()
}

fn root_advice() -> Retry {
    Retry::AfterUserAction(
        "run as another user, or set the option `sandboxed` if the machine itself is a sandbox".to_owned(),
    )
}

/// Phrases that occur on stderr only: the command line was rejected.
const REJECTIONS: Phrases = Phrases(&[
    ("invalid mcp configuration", ErrorClass::InvalidOption),
    ("unknown option", ErrorClass::InvalidOption),
    ("is invalid", ErrorClass::InvalidOption),
    ("invalid session id", ErrorClass::InvalidOption),
    ("is already in use", ErrorClass::InvalidOption),
    ("can only be used with", ErrorClass::InvalidOption),
    ("requires --verbose", ErrorClass::InvalidOption),
    ("cannot use both", ErrorClass::InvalidOption),
    ("input must be provided", ErrorClass::InvalidOption),
    ("exceeds 10mb", ErrorClass::InvalidOption),
    ("not found", ErrorClass::NotFound),
    ("heap out of memory", ErrorClass::Crash),
    ("segmentation fault", ErrorClass::Crash),
    ("illegal instruction", ErrorClass::Crash),
    ("panicked", ErrorClass::Crash),
]);

/// Used if stdout did not say how the turn ended: stderr, then the error that was last retried, then the exit status.
pub(crate) fn from_evidence(evidence: &Evidence, last: Option<&AgentError>) -> Option<Failure> {
    let lines = || evidence.stderr_tail.lines().map(str::trim).filter(|line| is_error(line));
    let known = lines().find_map(|line| Some((line, PHRASES.class_of(line).or_else(|| REJECTIONS.class_of(line))?)));
    if let Some((line, class)) = known {
        let failure = Failure::new(class, line.strip_prefix("Error: ").unwrap_or(line)).status(status_in(line));
        return Some(match class {
            ErrorClass::Permission => failure.retry(root_advice()),
            ErrorClass::InvalidOption if line.contains("already in use") => failure.retry(Retry::FreshSession),
            _ => failure,
        });
    }
    if let Some(error) = last {
        return Some(error.failure());
    }
    if let Some(signal) = signal(evidence.exit) {
        return Some(Failure::new(ErrorClass::Crash, format!("the process was killed by signal {signal}")));
    }
    let failed = evidence.exit.code.is_some_and(|code| code != 0);
    let line = lines().find(|line| line.starts_with("Error") || line.starts_with("error")).or_else(|| lines().next());
    match line {
        Some(line) if failed => {
            let class = if line.starts_with("error:") { ErrorClass::InvalidOption } else { ErrorClass::Other };
            Some(Failure::new(class, line))
        }
        _ => None,
    }
}

/// Whether a line may be an error: the CLI prints some lines in successful runs too.
fn is_error(line: &str) -> bool {
    !line.is_empty() && !["Warning:", "[claude-code:", "Ignoring "].iter().any(|harmless| line.starts_with(harmless))
}

/// The signal that killed the process, from the status or from an exit code as shells report it.
fn signal(exit: ExitStatus) -> Option<i32> {
    exit.signal
        .or_else(|| exit.code.filter(|code| (129..=159).contains(code)).map(|code| code - 128))
        .or_else(|| exit.code.filter(|code| *code < 0).map(i32::abs))
}

#[cfg(test)]
mod tests;

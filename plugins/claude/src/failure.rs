//! What a failure of Claude Code is: from its own error lines, the HTTP status behind them, and stderr.
//!
//! Never from what the model said: only lines that the CLI marks as errors come here. The order holds for all versions:
//! the CLI's own kind, then the status, then phrases of its text.

use wharf_adapter::{ErrorClass, Evidence, ExitStatus, Failure, Json, Retry};

/// What the CLI told about something that went wrong.
#[derive(Debug, Default, Clone)]
pub(crate) struct Trouble {
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
    /// What it says to people.
    pub(crate) text: String,
    /// When the limit that was hit is lifted, in seconds since 1970.
    pub(crate) resets_at: Option<u64>,
}

impl Trouble {
    /// What both the assistant's error line and the result may say; the result's word counts where it says anything.
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

    /// The failure behind it.
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
            // The API refused the request as such: the same request will be refused again.
            (ErrorClass::Provider, _) if status.is_some_and(|status| (400..500).contains(&status)) => {
                failure.retry(Retry::Never)
            }
            _ => failure,
        }
    }

    fn class(&self, status: Option<u16>) -> ErrorClass {
        // The second is said where compacting the history does not help any more.
        if matches!(self.reason.as_deref(), Some("prompt_too_long" | "blocking_limit")) {
            return ErrorClass::ContextLength;
        }
        let by_kind = self.kind.as_deref().and_then(|kind| class_of_kind(kind, self));
        // A 400 is any of several things, which only its text tells apart.
        let by_status =
            || status.filter(|status| *status != 400).and_then(|status| class_of_status(status, &self.text));
        let by_text = || class_of_text(&self.text);
        let rejected = || status.map(|_| ErrorClass::Provider);
        by_kind.or_else(by_status).or_else(by_text).or_else(rejected).unwrap_or(ErrorClass::Other)
    }
}

/// The kinds of `error` that say enough by themselves.
fn class_of_kind(kind: &str, trouble: &Trouble) -> Option<ErrorClass> {
    Some(match kind {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => ErrorClass::Auth,
        "billing_error" => ErrorClass::Quota,
        "rate_limit" => ErrorClass::RateLimit,
        "model_not_found" => ErrorClass::UnknownModel,
        // Also said of a server that cannot be reached, or that gives no answer.
        "server_error" if trouble.status.is_none() && is_network(trouble) => ErrorClass::Network,
        "overloaded" | "server_error" => ErrorClass::Provider,
        "max_output_tokens" => ErrorClass::Other,
        _ => return None,
    })
}

fn is_network(trouble: &Trouble) -> bool {
    trouble.code.as_deref() == Some("connection_failed") || class_of_text(&trouble.text) == Some(ErrorClass::Network)
}

fn class_of_status(status: u16, text: &str) -> Option<ErrorClass> {
    Some(match status {
        // A 403 is told as a failed login by every version that tells its kind.
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        404 if text.contains("model") => ErrorClass::UnknownModel,
        404 => ErrorClass::NotFound,
        408 => ErrorClass::Network,
        413 => ErrorClass::ContextLength,
        429 => ErrorClass::RateLimit,
        400..=599 => ErrorClass::Provider,
        _ => return None,
    })
}

/// Phrases of the CLI's own error texts, in all versions, most telling first.
const PHRASES: &[(&str, ErrorClass)] = &[
    ("No conversation found", ErrorClass::NoSession),
    ("--resume requires a valid session", ErrorClass::NoSession),
    ("cannot be used with root/sudo", ErrorClass::Permission),
    ("Error parsing streaming input", ErrorClass::Protocol),
    ("Invalid API key", ErrorClass::Auth),
    ("Not logged in", ErrorClass::Auth),
    ("Please run /login", ErrorClass::Auth),
    ("Failed to authenticate", ErrorClass::Auth),
    ("OAuth token", ErrorClass::Auth),
    ("Could not load", ErrorClass::Auth),
    ("Credit balance", ErrorClass::Quota),
    ("hit your ", ErrorClass::RateLimit),
    ("limit reached", ErrorClass::RateLimit),
    ("rejected (429)", ErrorClass::RateLimit),
    ("issue with the selected model", ErrorClass::UnknownModel),
    ("Prompt is too long", ErrorClass::ContextLength),
    ("prompt is too long", ErrorClass::ContextLength),
    ("exceed context limit", ErrorClass::ContextLength),
    ("Connection error", ErrorClass::Network),
    ("Connection refused", ErrorClass::Network),
    ("Connection dropped", ErrorClass::Network),
    ("Unable to connect", ErrorClass::Network),
    ("Can't reach the API", ErrorClass::Network),
    ("ECONNREFUSED", ErrorClass::Network),
    ("ECONNRESET", ErrorClass::Network),
    ("EAI_AGAIN", ErrorClass::Network),
    ("ENOTFOUND", ErrorClass::Network),
    ("timed out", ErrorClass::Network),
];

fn class_of_text(text: &str) -> Option<ErrorClass> {
    PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, class)| *class)
}

/// The status in "API Error: 404 {…}", "Request rejected (429)", "Repeated 529 Overloaded errors".
fn status_in(text: &str) -> Option<u16> {
    let after = ["API Error: ", "API Error (", "rejected (", "Repeated "];
    after.iter().find_map(|before| {
        let digits = text.split_once(before)?.1.get(..3)?;
        digits.parse().ok().filter(|status| (400..600).contains(status))
    })
}

/// The error's type in the JSON that old versions print after "API Error: 404".
fn type_in(text: &str) -> Option<String> {
    let (_, body) = text.split_once('{')?;
    let body = &text[text.len() - body.len() - 1..];
    Json::parse(body).at(&["error", "type"]).string()
}

fn root_advice() -> Retry {
    Retry::AfterUserAction(
        "run as another user, or set the option `sandboxed` where the machine itself is a sandbox".to_owned(),
    )
}

/// Phrases that only stderr has: the command line was not taken.
const REFUSALS: &[(&str, ErrorClass)] = &[
    ("Invalid MCP configuration", ErrorClass::InvalidOption),
    ("unknown option", ErrorClass::InvalidOption),
    ("is invalid", ErrorClass::InvalidOption),
    ("Invalid session ID", ErrorClass::InvalidOption),
    ("is already in use", ErrorClass::InvalidOption),
    ("can only be used with", ErrorClass::InvalidOption),
    ("requires --verbose", ErrorClass::InvalidOption),
    ("Cannot use both", ErrorClass::InvalidOption),
    ("Input must be provided", ErrorClass::InvalidOption),
    ("exceeds 10MB", ErrorClass::InvalidOption),
    ("not found", ErrorClass::NotFound),
    ("heap out of memory", ErrorClass::Crash),
    ("Segmentation fault", ErrorClass::Crash),
    ("Illegal instruction", ErrorClass::Crash),
    ("panicked", ErrorClass::Crash),
];

/// Nothing on stdout said how the turn went: stderr, then what was being retried when it ended, then the exit.
pub(crate) fn from_evidence(evidence: &Evidence, last: Option<&Trouble>) -> Option<Failure> {
    let lines = || evidence.stderr_tail.lines().map(str::trim).filter(|line| is_error(line));
    let known = lines().find_map(|line| {
        let refusal = || REFUSALS.iter().find(|(phrase, _)| line.contains(phrase)).map(|(_, class)| *class);
        Some((line, class_of_text(line).or_else(refusal)?))
    });
    if let Some((line, class)) = known {
        let failure = Failure::new(class, line.strip_prefix("Error: ").unwrap_or(line)).status(status_in(line));
        return Some(match class {
            ErrorClass::Permission => failure.retry(root_advice()),
            ErrorClass::InvalidOption if line.contains("already in use") => failure.retry(Retry::FreshSession),
            _ => failure,
        });
    }
    if let Some(trouble) = last {
        return Some(trouble.failure());
    }
    if let Some(signal) = signal(evidence.exit) {
        return Some(Failure::new(ErrorClass::Crash, format!("the process was ended by signal {signal}")));
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

/// Lines that the CLI also prints when all is well are no errors.
fn is_error(line: &str) -> bool {
    !line.is_empty() && !["Warning:", "[claude-code:", "Ignoring "].iter().any(|talk| line.starts_with(talk))
}

/// The signal that ended it, be it said as such or as a shell would say it.
fn signal(exit: ExitStatus) -> Option<i32> {
    exit.signal
        .or_else(|| exit.code.filter(|code| (129..=159).contains(code)).map(|code| code - 128))
        .or_else(|| exit.code.filter(|code| *code < 0).map(i32::abs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(kind: &str, status: Option<u16>, code: &str, text: &str) -> Trouble {
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Trouble { kind: filled(kind), status, code: filled(code), text: text.to_owned(), ..Trouble::default() }
    }

    /// Each row as the three versions print it, newest first.
    #[test]
    fn an_error_line_gives_its_class_in_every_version() {
        use ErrorClass as Class;
        let refused = r#"API Error: 403 {"type":"error","error":{"type":"permission_error","message":"no"}}"#;
        let gone = r#"API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#;
        let busy = r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        for (kind, status, code, text, class, shown_status) in [
            ("authentication_failed", Some(401), "", "Invalid API key · Fix external API key", Class::Auth, Some(401)),
            ("authentication_failed", None, "", "Invalid API key · Please run /login", Class::Auth, None),
            (
                "authentication_failed",
                Some(403),
                "",
                "Failed to authenticate. API Error: 403 x",
                Class::Auth,
                Some(403),
            ),
            ("authentication_failed", None, "", refused, Class::Auth, Some(403)),
            ("authentication_failed", None, "", "Not logged in · Please run /login", Class::Auth, None),
            ("unknown", Some(400), "", "API Error: 400 messages: bad thing", Class::Provider, Some(400)),
            ("billing_error", Some(400), "", "Credit balance is too low", Class::Quota, Some(400)),
            ("unknown", Some(400), "", "Credit balance is too low", Class::Quota, Some(400)),
            ("invalid_request", Some(400), "", "Prompt is too long · x", Class::ContextLength, Some(400)),
            (
                "model_not_found",
                Some(404),
                "",
                "There's an issue with the selected model (x).",
                Class::UnknownModel,
                Some(404),
            ),
            ("unknown", None, "", gone, Class::UnknownModel, Some(404)),
            ("rate_limit", Some(429), "", "API Error: Request rejected (429) · x", Class::RateLimit, Some(429)),
            ("unknown", None, "", "API Error: Request rejected (429) · x", Class::RateLimit, Some(429)),
            (
                "rate_limit",
                Some(429),
                "usage_limit_reached",
                "You've hit your 5-hour limit",
                Class::RateLimit,
                Some(429),
            ),
            ("server_error", Some(500), "", "API Error: 500 Internal server error.", Class::Provider, Some(500)),
            ("server_error", Some(529), "", "API Error: Repeated 529 Overloaded errors.", Class::Provider, Some(529)),
            ("server_error", None, "", "API Error: Repeated 529 Overloaded errors.", Class::Provider, Some(529)),
            ("unknown", None, "", busy, Class::Provider, Some(529)),
            (
                "server_error",
                None,
                "connection_failed",
                "API Error: Connection refused (ECONNREFUSED)",
                Class::Network,
                None,
            ),
            ("server_error", None, "", "API Error: Unable to connect to API (ConnectionRefused)", Class::Network, None),
            ("unknown", None, "", "API Error: Connection error.", Class::Network, None),
            ("server_error", None, "connection_failed", "API Error: Can't reach the API server", Class::Network, None),
            ("server_error", None, "", "Request timed out", Class::Network, None),
            (
                "max_output_tokens",
                None,
                "max_output_tokens",
                "API Error: Claude's response exceeded",
                Class::Other,
                None,
            ),
            ("cloud_credential_error", None, "", "API Error: Could not load AWS credentials", Class::Auth, None),
            ("unknown", None, "", "API Error: Could not load the default credentials.", Class::Auth, None),
            ("of_tomorrow", None, "", "something new", Class::Other, None),
        ] {
            let failure = trouble(kind, status, code, text).failure();
            assert_eq!((failure.class, failure.http_status), (class, shown_status), "{kind}: {text}");
            assert_eq!(failure.message, text);
        }
    }

    #[test]
    fn a_failure_says_what_retry_makes_sense() {
        let limit = trouble("rate_limit", Some(429), "usage_limit_reached", "You've hit your 5-hour limit");
        let limit = Trouble { resets_at: Some(1_794_800_000), ..limit };
        let in_use = "Error: Session ID 1 is already in use.";
        for (failure, retry) in [
            (limit.failure(), Retry::At(1_794_800_000)),
            (trouble("rate_limit", Some(429), "", "x").failure(), Retry::SameSession),
            (trouble("unknown", Some(400), "", "API Error: 400 x").failure(), Retry::Never),
            (trouble("server_error", Some(500), "", "x").failure(), Retry::SameSession),
            (from_evidence(&evidence(Some(1), in_use), None).expect("a failure"), Retry::FreshSession),
        ] {
            assert_eq!(failure.retry, retry, "{failure:?}");
        }
    }

    #[test]
    fn a_context_that_is_full_is_told_by_the_reason() {
        for reason in ["prompt_too_long", "blocking_limit"] {
            let full = trouble("invalid_request", None, "autocompact_thrashing", "Conversation too long");
            let full = Trouble { reason: Some(reason.to_owned()), ..full };
            assert_eq!(full.failure().class, ErrorClass::ContextLength, "{reason}");
        }
    }

    #[test]
    fn the_vendors_code_is_the_finest_there_is() {
        let old = r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#;
        for (trouble, code) in [
            (trouble("rate_limit", Some(429), "usage_limit_reached", "x"), Some("usage_limit_reached")),
            (trouble("rate_limit", Some(429), "", "x"), Some("rate_limit")),
            (trouble("unknown", None, "", old), Some("overloaded_error")),
            (trouble("unknown", None, "", "x {not json"), None),
        ] {
            assert_eq!(trouble.failure().code.as_deref(), code);
        }
    }

    fn evidence(code: Option<i32>, stderr: &str) -> Evidence {
        let exit = ExitStatus { code, signal: None };
        Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.to_owned() }
    }

    #[test]
    fn stderr_tells_why_nothing_was_started() {
        use ErrorClass as Class;
        for (stderr, class) in [
            ("No conversation found with session ID: 1\n", Class::NoSession),
            ("Error: --resume requires a valid session ID when used with --print\nUsage: x\n", Class::NoSession),
            ("Error: Session ID 1 is already in use.\n", Class::InvalidOption),
            ("Error: Invalid session ID. Must be a valid UUID.\n", Class::InvalidOption),
            ("Error: --session-id can only be used with --continue or --resume\n", Class::InvalidOption),
            ("error: unknown option '--effort'\n", Class::InvalidOption),
            ("error: option '--permission-mode <mode>' argument 'yolo' is invalid.\n", Class::InvalidOption),
            ("error: something about an argument\n", Class::InvalidOption),
            ("Error: When using --print, --output-format=stream-json requires --verbose\n", Class::InvalidOption),
            ("Error: Input must be provided either through stdin\n", Class::InvalidOption),
            ("Warning: no stdin data received in 3s\nError: Input must be provided\n", Class::InvalidOption),
            ("Error: piped stdin input exceeds 10MB.\n", Class::InvalidOption),
            ("Error: Invalid MCP configuration:\nMCP config file not found: /x\n", Class::InvalidOption),
            ("Error: Cannot use both --system-prompt and --system-prompt-file.\n", Class::InvalidOption),
            ("Error: Settings file not found: /x\n", Class::NotFound),
            ("--dangerously-skip-permissions cannot be used with root/sudo privileges\n", Class::Permission),
            ("Error parsing streaming input line (type=unknown, 16 chars): SyntaxError\n", Class::Protocol),
            ("FATAL ERROR: JavaScript heap out of memory\n", Class::Crash),
            ("TypeError: x is not a function\n", Class::Other),
        ] {
            let failure = from_evidence(&evidence(Some(1), stderr), None).expect("a failure");
            assert_eq!(failure.class, class, "{stderr}");
            assert!(!failure.message.is_empty());
        }
    }

    #[test]
    fn without_stderr_the_last_retry_and_the_exit_are_asked() {
        let retried = trouble("authentication_failed", Some(401), "", "HTTP 401, attempt 3 of 10");
        let class = |code, stderr: &str, last: Option<&Trouble>| {
            from_evidence(&evidence(code, stderr), last).map(|failure| failure.class)
        };
        assert_eq!(class(Some(143), "", Some(&retried)), Some(ErrorClass::Auth));
        assert_eq!(class(Some(143), "", None), Some(ErrorClass::Crash));
        assert_eq!(class(Some(-9), "", None), Some(ErrorClass::Crash));
        assert_eq!(class(Some(1), "Warning: something\n", None), None);
        assert_eq!(class(Some(0), "anything at all\n", None), None);
        assert_eq!(class(Some(0), "", None), None);
    }
}

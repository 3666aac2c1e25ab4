use super::*;

fn error(kind: &str, status: Option<u16>, code: &str, text: &str) -> AgentError {
    let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    AgentError { kind: filled(kind), status, code: filled(code), text: text.to_owned(), ..AgentError::default() }
}

/// Rows with the same cause are the versions, newest first.
#[test]
fn an_error_line_gives_its_class_in_every_version() {
    use ErrorClass as Class;
    let refused = r#"API Error: 403 {"type":"error","error":{"type":"permission_error","message":"no"}}"#;
    let missing = r#"API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#;
    let busy = r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for (kind, status, code, text, class, shown_status) in [
        ("authentication_failed", Some(401), "", "Invalid API key · Fix external API key", Class::Auth, Some(401)),
        ("authentication_failed", None, "", "Invalid API key · Please run /login", Class::Auth, None),
        ("authentication_failed", Some(403), "", "Failed to authenticate. API Error: 403 x", Class::Auth, Some(403)),
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
        ("unknown", None, "", missing, Class::UnknownModel, Some(404)),
        ("rate_limit", Some(429), "", "API Error: Request rejected (429) · x", Class::RateLimit, Some(429)),
        ("unknown", None, "", "API Error: Request rejected (429) · x", Class::RateLimit, Some(429)),
        ("rate_limit", Some(429), "usage_limit_reached", "You've hit your 5-hour limit", Class::RateLimit, Some(429)),
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
        ("max_output_tokens", None, "max_output_tokens", "API Error: Claude's response exceeded", Class::Other, None),
        ("cloud_credential_error", None, "", "API Error: Could not load AWS credentials", Class::Auth, None),
        ("unknown", None, "", "API Error: Could not load the default credentials.", Class::Auth, None),
        ("of_tomorrow", None, "", "something new", Class::Other, None),
    ] {
        let failure = error(kind, status, code, text).failure();
        assert_eq!((failure.class, failure.http_status), (class, shown_status), "{kind}: {text}");
        assert_eq!(failure.message, text);
    }
}

#[test]
fn a_failure_says_how_to_retry() {
    let limit = error("rate_limit", Some(429), "usage_limit_reached", "You've hit your 5-hour limit");
    let limit = AgentError { resets_at: Some(1_794_800_000), ..limit };
    let in_use = "Error: Session ID 1 is already in use.";
    for (failure, retry) in [
        (limit.failure(), Retry::At(1_794_800_000)),
        (error("rate_limit", Some(429), "", "x").failure(), Retry::SameSession),
        (error("unknown", Some(400), "", "API Error: 400 x").failure(), Retry::Never),
        (error("server_error", Some(500), "", "x").failure(), Retry::SameSession),
        (from_evidence(&evidence(Some(1), in_use), None).expect("a failure"), Retry::FreshSession),
    ] {
        assert_eq!(failure.retry, retry, "{failure:?}");
    }
}

#[test]
fn a_full_context_is_recognized_by_the_reason() {
    for reason in ["prompt_too_long", "blocking_limit"] {
        let full = error("invalid_request", None, "autocompact_thrashing", "Conversation too long");
        let full = AgentError { reason: Some(reason.to_owned()), ..full };
        assert_eq!(full.failure().class, ErrorClass::ContextLength, "{reason}");
    }
}

#[test]
fn the_most_specific_code_is_reported() {
    let old = r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#;
    for (error, code) in [
        (error("rate_limit", Some(429), "usage_limit_reached", "x"), Some("usage_limit_reached")),
        (error("rate_limit", Some(429), "", "x"), Some("rate_limit")),
        (error("unknown", None, "", old), Some("overloaded_error")),
        (error("unknown", None, "", "x {not json"), None),
    ] {
        assert_eq!(error.failure().code.as_deref(), code);
    }
}

fn evidence(code: Option<i32>, stderr: &str) -> Evidence {
    let exit = ExitStatus { code, signal: None };
    Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.to_owned() }
}

#[test]
fn stderr_says_why_the_turn_did_not_start() {
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
fn without_stderr_the_last_retry_and_the_exit_status_decide() {
    let retried = error("authentication_failed", Some(401), "", "HTTP 401, attempt 3 of 10");
    let class = |code, stderr: &str, last: Option<&AgentError>| {
        from_evidence(&evidence(code, stderr), last).map(|failure| failure.class)
    };
    assert_eq!(class(Some(143), "", Some(&retried)), Some(ErrorClass::Auth));
    assert_eq!(class(Some(143), "", None), Some(ErrorClass::Crash));
    assert_eq!(class(Some(-9), "", None), Some(ErrorClass::Crash));
    assert_eq!(class(Some(1), "Warning: something\n", None), None);
    assert_eq!(class(Some(0), "anything at all\n", None), None);
    assert_eq!(class(Some(0), "", None), None);
}

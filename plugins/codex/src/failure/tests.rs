//! The texts and kinds of errors of 0.142.0, 0.166.0 and 0.169.0.

use super::*;
use wharf_adapter::ExitStatus;

#[test]
fn texts_are_classified() {
    use ErrorClass as C;
    for (message, class, status) in [
        ("unexpected status 401 Unauthorized: Incorrect API key provided: x., url: http://h/v1", C::Auth, Some(401)),
        ("unexpected status 403 Forbidden: no., url: http://h/v1/responses", C::Permission, Some(403)),
        ("exceeded retry limit, last status: 429 Too Many Requests", C::RateLimit, Some(429)),
        ("Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)", C::RateLimit, Some(429)),
        ("Quota exceeded. Check your plan and billing details.", C::Quota, None),
        ("You've hit your usage limit. Try again later.", C::Quota, None),
        ("We’re currently experiencing high demand, which may cause temporary errors.", C::Provider, None),
        ("The model `x` does not exist or you do not have access to it.", C::UnknownModel, None),
        ("Codex ran out of room in the model's context window. Start a new thread.", C::ContextLength, None),
        (r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#, C::ContextLength, None),
        (
            r#"{"error": {"message": "bad field", "type": "invalid_request_error", "code": null}}"#,
            C::InvalidOption,
            None,
        ),
        ("stream disconnected before completion: error sending request for url (http://h/)", C::Network, None),
        ("stream disconnected before completion: stream closed before response.completed", C::Network, None),
        ("stream disconnected before completion: failed to lookup address information", C::Network, None),
        ("stream disconnected before completion: the provider failed", C::Provider, None),
        ("Reconnecting... waiting for network (Connection failed: error sending request)", C::Network, None),
        ("Missing environment variable: `LAB_KEY`.", C::Auth, None),
        ("something else", C::Other, None),
    ] {
        let failure = from_text(message);
        assert_eq!((failure.class, failure.http_status), (class, status), "{message}");
    }
}

#[test]
fn the_body_of_an_error_is_shown_as_its_message() {
    let failure = from_text(r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#);
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("too long", Some("context_length_exceeded")));
    let failure = from_text("{not json");
    assert_eq!(failure.message, "{not json");
}

#[test]
fn a_missing_variable_is_named_in_the_advice() {
    let failure = from_text("Missing environment variable: `LAB_KEY`.");
    assert_eq!(failure.retry, Retry::AfterUserAction("set the variable LAB_KEY".to_owned()));
}

#[test]
fn a_kind_decides_before_the_text_and_a_place_after_it() {
    use ErrorClass as C;
    for (error, class, code) in [
        (
            r#"{"message":"m","codexErrorInfo":"contextWindowExceeded"}"#,
            C::ContextLength,
            Some("contextWindowExceeded"),
        ),
        (r#"{"message":"m","codexErrorInfo":"usageLimitExceeded"}"#, C::Quota, Some("usageLimitExceeded")),
        (r#"{"message":"m","codexErrorInfo":"unauthorized"}"#, C::Auth, Some("unauthorized")),
        (r#"{"message":"m","codexErrorInfo":"modelNotFound"}"#, C::UnknownModel, Some("modelNotFound")),
        (r#"{"message":"m","codexErrorInfo":"badRequest"}"#, C::InvalidOption, Some("badRequest")),
        (
            r#"{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}"#,
            C::Auth,
            Some("httpConnectionFailed"),
        ),
        (
            r#"{"message":"m","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}"#,
            C::Network,
            Some("responseStreamDisconnected"),
        ),
        (r#"{"message":"Quota exceeded.","codexErrorInfo":"other"}"#, C::Quota, None),
        (r#"{"code":-32600,"message":"thread not found: x"}"#, C::NoSession, None),
        ("{}", C::Other, None),
    ] {
        let failure = from_error(Json::parse(error));
        assert_eq!((failure.class, failure.code.as_deref()), (class, code), "{error}");
    }
}

#[test]
fn what_the_rules_of_the_provider_forbid_is_a_refusal() {
    let ended =
        |kind: &str| outcome(from_error(Json::parse(&format!(r#"{{"message":"m","codexErrorInfo":"{kind}"}}"#))));
    assert_eq!(ended("cyberPolicy"), Outcome::Refused("m".to_owned()));
    assert_eq!(ended("sessionBudgetExceeded"), Outcome::Limit("budget".to_owned()));
    assert!(matches!(ended("internalServerError"), Outcome::Failed(_)));
}

#[test]
fn stderr_explains_a_process_that_said_nothing() {
    use ErrorClass as C;
    let log = "2026-11-15T23:43:17.721309Z ERROR codex_core::tools::router: error=unsupported call: x";
    for (code, stderr, class) in [
        (
            1,
            "Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)",
            Some(C::NoSession),
        ),
        (2, "error: unexpected argument '--nope' found\n\n  tip: to pass '--nope'", Some(C::InvalidOption)),
        (1, "Reading prompt from stdin...\nNo prompt provided via stdin.", Some(C::InvalidOption)),
        (1, "WARNING: proceeding\nError: Unknown feature flag: x", Some(C::InvalidOption)),
        (1, "Not inside a trusted directory and --skip-git-repo-check was not specified.", Some(C::InvalidOption)),
        (101, "thread 'main' panicked at src/main.rs", Some(C::Other)),
        (1, "Reading additional input from stdin...\n", None),
        (1, log, None),
        (0, "Error: too late", None),
        (1, "", None),
    ] {
        let exit = ExitStatus { code: Some(code), signal: None };
        let evidence = Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.into() };
        assert_eq!(from_evidence(&evidence).map(|failure| failure.class), class, "{stderr}");
    }
}

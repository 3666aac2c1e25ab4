use super::*;
use wharf_adapter::ExitStatus;

const EARLY: Moment = Moment { answered: false, at: Some(1_000) };

/// Captured from 1.15.4, 1.18.33 and Kilo 7.8.1; the quota and the times are made up in the same form.
#[test]
fn every_captured_error_has_its_class() {
    use ErrorClass as C;
    for (error, class, status, code) in [
        (
            r#"{"name":"APIError","data":{"message":"Incorrect API key provided: fake.","statusCode":401,"isRetryable":false,"responseBody":"{\"error\": {\"message\": \"Incorrect API key provided: fake.\", \"type\": \"invalid_request_error\", \"param\": null, \"code\": \"invalid_api_key\"}}"}}"#,
            C::Auth,
            Some(401),
            "invalid_api_key",
        ),
        (
            r#"{"name":"APIError","data":{"message":"Forbidden for lab.","statusCode":403,"isRetryable":false}}"#,
            C::Permission,
            Some(403),
            "APIError",
        ),
        (
            r#"{"name":"APIError","data":{"message":"The model `no-such-model` does not exist or you do not have access to it.","statusCode":404}}"#,
            C::UnknownModel,
            Some(404),
            "APIError",
        ),
        (
            r#"{"name":"APIError","data":{"message":"You exceeded it","statusCode":429,"responseBody":"{\"error\":{\"code\":\"insufficient_quota\"}}"}}"#,
            C::Quota,
            Some(429),
            "insufficient_quota",
        ),
        (
            r#"{"name":"ContextOverflowError","data":{"message":"This model's maximum context length is 1000 tokens.","responseBody":"{\"error\": {\"code\": \"context_length_exceeded\"}}"}}"#,
            C::ContextLength,
            None,
            "context_length_exceeded",
        ),
        (
            r#"{"name":"UnknownError","data":{"message":"Model not found: lab/not-in-config."}}"#,
            C::UnknownModel,
            None,
            "UnknownError",
        ),
        (
            r#"{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_e6d52f76"}}"#,
            C::UnknownModel,
            None,
            "UnknownError",
        ),
        (r#"{"name":"NewError","data":{}}"#, C::Other, None, "NewError"),
        ("7", C::Other, None, "unknown"),
    ] {
        let failure = read(Json::parse(error), EARLY);
        assert_eq!((failure.class, failure.http_status), (class, status), "{error}");
        assert_eq!(failure.code.as_deref(), Some(code), "{error}");
    }
    let text = read(Json::parse(r#""run ended without an assistant message; the model returned no output""#), EARLY);
    assert_eq!((text.class, text.code), (C::Provider, None));
}

#[test]
fn a_server_error_in_the_middle_of_a_turn_is_not_about_the_model() {
    let error =
        r#"{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details."}}"#;
    let failure = read(Json::parse(error), Moment { answered: true, at: None });
    assert_eq!(failure.class, ErrorClass::Other);
}

#[test]
fn the_advice_says_when_and_whether_a_retry_makes_sense() {
    let limited =
        r#"{"name":"APIError","data":{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"30"}}}"#;
    assert_eq!(read(Json::parse(limited), EARLY).retry, Retry::At(1_030));
    let bad = r#"{"name":"APIError","data":{"message":"nonsense","statusCode":400,"isRetryable":false}}"#;
    assert_eq!(read(Json::parse(bad), EARLY).retry, Retry::Never);
    let busy = r#"{"name":"APIError","data":{"message":"busy","statusCode":503,"isRetryable":true}}"#;
    assert_eq!(read(Json::parse(busy), EARLY).retry, Retry::SameSession);
}

#[test]
fn stderr_says_why_there_was_no_turn() {
    let from = |stderr: &str, code| {
        let exit = ExitStatus { code, signal: None };
        let (stdout_tail, stderr_tail) = (String::new(), stderr.to_owned());
        from_evidence(&Evidence { exit, stdout_tail, stderr_tail }).map(|failure| (failure.class, failure.message))
    };
    let marked = |text: &str| format!("\u{1b}[91m\u{1b}[1mError: \u{1b}[0m{text}\n");
    let unknown = from(&marked("Session not found"), Some(1));
    assert_eq!(unknown, Some((ErrorClass::NoSession, "Session not found".to_owned())));
    let empty = from(&marked("You must provide a message or a command"), Some(1)).map(|(class, _)| class);
    assert_eq!(empty, Some(ErrorClass::InvalidOption));
    let help = from("opencode run [message..]\n\nrun opencode with a message\n", Some(1)).map(|(class, _)| class);
    assert_eq!(help, Some(ErrorClass::InvalidOption));
    assert_eq!(from("", Some(0)).map(|(class, _)| class), Some(ErrorClass::Protocol));
    assert_eq!(from("", None), None, "the host knows what a signal means");
    let log =
        "timestamp=1 level=ERROR message=\"stream error\" small=false error.error=\"AI_APICallError: Unauthorized\"";
    assert_eq!(from(log, Some(0)).map(|(class, _)| class), Some(ErrorClass::Auth));
}

use super::*;
use wharf_adapter::ExitStatus;

#[test]
fn errors_of_model_calls_have_their_class_and_status() {
    use ErrorClass as C;
    for (text, class, status, message) in [
        (
            "[API Error: 401 Incorrect API key provided: fake.]",
            C::Auth,
            Some(401),
            "401 Incorrect API key provided: fake.",
        ),
        ("[API Error: 403 Forbidden for lab.]", C::Permission, Some(403), "403 Forbidden for lab."),
        ("[API Error: 402 Insufficient balance.]", C::Quota, Some(402), "402 Insufficient balance."),
        (
            "[API Error: 404 The model `x` does not exist or you do not have access to it.]",
            C::UnknownModel,
            Some(404),
            "404 The model `x` does not exist or you do not have access to it.",
        ),
        (
            "[API Error: 400 This model's maximum context length is 1000 tokens.]",
            C::ContextLength,
            Some(400),
            "400 This model's maximum context length is 1000 tokens.",
        ),
        ("[API Error: 400 bad [x] field]", C::Provider, Some(400), "400 bad [x] field"),
        (
            "[API Error: 429 Rate limit reached.]\nPossible quota limitations in place. Please wait.",
            C::RateLimit,
            Some(429),
            "429 Rate limit reached.",
        ),
        (
            "[API Error: 429 You exceeded your current quota, please check your plan.]",
            C::Quota,
            Some(429),
            "429 You exceeded your current quota, please check your plan.",
        ),
        ("[API Error: 500 The server had an error.]", C::Provider, Some(500), "500 The server had an error."),
        ("[API Error: model overloaded (Status: 503)]", C::Provider, Some(503), "model overloaded (Status: 503)"),
        (
            "[API Error: Connection error. (cause: fetch failed)]",
            C::Network,
            None,
            "Connection error. (cause: fetch failed)",
        ),
        (
            "No auth type is selected. Please configure an auth type",
            C::Auth,
            None,
            "No auth type is selected. Please configure an auth type",
        ),
        ("Something else", C::Other, None, "Something else"),
    ] {
        let failure = of_text(text);
        assert_eq!((failure.class, failure.http_status), (class, status), "{text}");
        assert_eq!(failure.message, message);
    }
    assert_eq!(of_text("[API Error: 400 bad]").retry, Retry::Never);
    assert_eq!(of_text("[API Error: 401 bad]").retry, Retry::AfterUserAction(LOGIN.to_owned()));
}

fn classified(code: Option<i32>, stderr: &str) -> Option<(ErrorClass, String)> {
    let mut read = Stderr::default();
    stderr.lines().for_each(|line| read.line(line));
    let exit = ExitStatus { code, signal: if code.is_none() { Some(15) } else { None } };
    // Only the end of it.
    let tail = stderr.chars().rev().take(200).collect::<String>().chars().rev().collect();
    let evidence = Evidence { exit, stdout_tail: String::new(), stderr_tail: tail };
    read.failure(&evidence).map(|failure| (failure.class, failure.message))
}

#[test]
fn stderr_is_classified_if_stdout_says_nothing() {
    use ErrorClass as C;
    let help = format!("Unknown arguments: max-tool-calls, maxToolCalls\nUsage: qwen\n{}", "  --flag\n".repeat(100));
    for (code, stderr, class) in [
        (Some(1), help.as_str(), Some(C::InvalidOption)),
        (Some(1), "No saved session found with ID 6. Run `qwen --resume` without an ID", Some(C::NoSession)),
        (Some(1), "Error: Session Id 1 already exists (active or archived).", Some(C::InvalidOption)),
        (Some(1), "Error: Session Id 1 is already in use.", Some(C::InvalidOption)),
        (Some(52), "\u{1b}[31mInvalid MCP configuration provided via --mcp-config: x\u{1b}[0m", Some(C::InvalidOption)),
        (Some(1), "Ripgrep not available: x\nsomething broke\n    at main (x.js:1)", Some(C::Other)),
        (Some(1), "Ripgrep not available: x\n", None),
        (Some(0), "anything", None),
        (None, "Error: write EPIPE\n    at x", None),
    ] {
        assert_eq!(classified(code, stderr).map(|(class, _)| class), class, "{stderr}");
    }
    let taken = classified(Some(1), "Error: Session Id 1 is already in use.").map(|(_, message)| message);
    assert_eq!(taken.as_deref(), Some("Session Id 1 is already in use."));
    assert_eq!(of_text("Session Id 1 is already in use.").retry, Retry::FreshSession);
    let broken = classified(Some(1), "Ripgrep not available: x\nsomething broke\n    at main (x.js:1)");
    assert_eq!(broken.map(|(_, message)| message).as_deref(), Some("something broke"));
}

//! Why a run ended without a result: by its exit code and stderr.
//!
//! Exit code 0 says nothing: so exits a CLI that was stopped by a signal.

use crate::failure::{Cause, LOGIN};
use crate::stderr;
use wharf_adapter::{ErrorClass, Evidence, Failure, Retry, text};

/// What to do about a custom address without a chosen way to log in.
pub(crate) const AUTH_TYPE: &str = "with GOOGLE_GEMINI_BASE_URL, put {\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}} \
into ~/.gemini/settings.json, or use the transport acp";

/// What the CLI prints before it exits, the class, and what to do if that is not obvious.
const PREFLIGHT: &[(&str, ErrorClass, &str)] = &[
    ("Invalid auth method selected", ErrorClass::Auth, AUTH_TYPE),
    ("you must specify the GEMINI_API_KEY", ErrorClass::Auth, LOGIN),
    ("Please set an Auth method", ErrorClass::Auth, LOGIN),
    ("Error resuming session", ErrorClass::NoSession, ""),
    ("Error starting session", ErrorClass::InvalidOption, ""),
    (
        "not running in a trusted directory",
        ErrorClass::Permission,
        "trust the workspace in `gemini`, or set the option trust-workspace",
    ),
    ("Unknown argument", ErrorClass::InvalidOption, ""),
    ("Invalid values:", ErrorClass::InvalidOption, ""),
    ("Not enough arguments following", ErrorClass::InvalidOption, ""),
    ("missing system prompt file", ErrorClass::InvalidOption, ""),
    ("No input provided via stdin", ErrorClass::InvalidOption, "give a prompt"),
];

/// The failure, if stderr or the exit code show one.
pub(crate) fn failure(evidence: &Evidence) -> Option<Failure> {
    let code = evidence.exit.code.filter(|code| *code != 0)?;
    let lines: Vec<String> = evidence.stderr_tail.lines().map(stderr::without_colors).collect();
    for (phrase, class, help) in PREFLIGHT {
        if let Some(line) = lines.iter().find(|line| text::contains(line, phrase)) {
            let failure = Failure::new(*class, line.trim());
            let action = Retry::AfterUserAction((*help).to_owned());
            return Some(if help.is_empty() { failure } else { failure.retry(action) });
        }
    }
    if let Some(cause) = lines.iter().rev().find_map(|line| stderr::cause(line)) {
        return Some(cause.failure(None, Some(code)));
    }
    let line = lines.iter().find(|line| !stderr::is_noise(line)).map_or("", |line| line.trim());
    let class = match code {
        41 => ErrorClass::Auth,
        42 | 52 => ErrorClass::InvalidOption,
        55 => ErrorClass::Permission,
        _ => {
            let failure = Cause::read(line).failure(None, Some(code));
            return Some(failure).filter(|failure| !line.is_empty() || failure.http_status.is_some());
        }
    };
    Some(Failure::new(class, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ExitStatus;

    fn found(code: i32, stderr: &str) -> Option<Failure> {
        let exit = ExitStatus { code: Some(code), signal: None };
        failure(&Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.to_owned() })
    }

    #[test]
    fn stderr_and_the_exit_code_are_classified() {
        use ErrorClass as C;
        const NOISE: &str =
            "Warning: 256-color support not detected.\nRipgrep is not available. Falling back to GrepTool.\n";
        for (code, stderr, class) in [
            (41, "Invalid auth method selected.\n", C::Auth),
            (
                41,
                "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nUpdate your",
                C::Auth,
            ),
            (41, "The enforced authentication type is 'x'\n", C::Auth),
            (42, "Error resuming session: Invalid session identifier \"x\".\n  Searched for", C::NoSession),
            (42, "Error starting session: Session ID \"x\" already exists. Use --resume", C::InvalidOption),
            (42, "No input provided via stdin. Input can be", C::InvalidOption),
            (52, "Error in /x/settings.json: bad\n", C::InvalidOption),
            (55, "\u{1b}[31mGemini CLI is not running in a trusted directory. To proceed\u{1b}[0m\n", C::Permission),
            (1, "Unknown argument: nope\nUsage: gemini [options] [command]\n", C::InvalidOption),
            (1, "Invalid values:\n  Argument: output-format\n", C::InvalidOption),
            (
                145,
                "Error when talking to Gemini API Full report available at: /t/x.json _ApiError: {\"error\":{\"code\":401,\"message\":\"no\"}}\n    at x",
                C::Auth,
            ),
            (147, "", C::Permission),
            (1, "boom\n", C::Other),
        ] {
            let failure = found(code, &format!("{NOISE}{stderr}")).expect(stderr);
            assert_eq!(failure.class, class, "{stderr}");
            assert!(!failure.message.contains('\u{1b}') && !failure.message.starts_with("Warning"), "{failure:?}");
        }
        assert_eq!(found(0, "boom"), None, "a CLI that was stopped exits with 0");
        assert_eq!(found(1, NOISE), None);
    }
}

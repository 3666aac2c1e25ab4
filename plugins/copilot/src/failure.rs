//! Classifies failures before anything reached stdout: by the text on stderr, and the exit status.
//!
//! Text that the model wrote is never used.

use crate::agent_error::{PHRASES, status_in};
use wharf_adapter::{ErrorClass, Evidence, Failure, Retry, text};

/// Phrases on stderr, the class of each, and advice if the class does not give it.
const PREFLIGHT: &[(&str, ErrorClass, &str)] = &[
    ("No prompt provided", ErrorClass::InvalidOption, ""),
    ("error: unexpected argument", ErrorClass::InvalidOption, ""),
    ("error: unknown option", ErrorClass::InvalidOption, ""),
    ("error: invalid value", ErrorClass::InvalidOption, ""),
    ("error: option", ErrorClass::InvalidOption, ""),
    ("error: a value is required", ErrorClass::InvalidOption, ""),
    ("Error: Reasoning effort", ErrorClass::InvalidOption, ""),
    ("BYOK providers require an explicit model", ErrorClass::InvalidOption, "name a model or set COPILOT_MODEL"),
    ("Offline mode requires", ErrorClass::InvalidOption, "set COPILOT_PROVIDER_BASE_URL or unset COPILOT_OFFLINE"),
    ("needs an interactive session picker", ErrorClass::InvalidOption, ""),
    (
        "No authentication information found",
        ErrorClass::Auth,
        "log in with `copilot login` or set COPILOT_GITHUB_TOKEN",
    ),
    ("Classic Personal Access Tokens", ErrorClass::Auth, "replace the classic token with a fine-grained one"),
    ("network fetch failed", ErrorClass::Network, ""),
    ("could not be validated", ErrorClass::Auth, ""),
    ("from --model flag is not available", ErrorClass::UnknownModel, ""),
    ("in interactive mode to enable this model", ErrorClass::Permission, "enable the model in an interactive session"),
    ("No session, task, or name matched", ErrorClass::NoSession, ""),
    ("No session or task matched", ErrorClass::NoSession, ""),
    ("Authentication failed", ErrorClass::Auth, ""),
    ("Failed to load models", ErrorClass::Provider, ""),
    ("requires Node.js", ErrorClass::NotFound, "install the Node.js version it names, or the native package"),
];

/// The failure, if stderr or the exit status show one.
pub(crate) fn from_evidence(evidence: &Evidence) -> Option<Failure> {
    let stderr = evidence.stderr_tail.as_str();
    if let Some((phrase, class, help)) = PREFLIGHT.iter().find(|(phrase, ..)| text::contains(stderr, phrase)) {
        // The known phrase may be on a line after the error itself.
        let errors = || stderr.lines().filter(|line| line.starts_with("Error: "));
        let status = errors().find_map(|line| status_in(&line["Error: ".len()..]));
        let message = errors().chain(stderr.lines().filter(|line| text::contains(line, phrase))).next();
        let failure = Failure::new(*class, message.unwrap_or(phrase).trim()).status(status);
        return Some(if help.is_empty() { failure } else { failure.retry(Retry::AfterUserAction((*help).to_owned())) });
    }
    match evidence.exit.code {
        Some(0) => return None,
        Some(127) => return Some(Failure::new(ErrorClass::NotFound, "the shell or loader did not find Copilot")),
        _ => {}
    }
    let starts = |line: &str, start: &str| line.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let texts = || stderr.lines().filter(|line| !line.trim().is_empty() && !starts(line, "warning"));
    let line = texts().find(|line| starts(line, "error")).or_else(|| texts().next_back())?.trim();
    let class = PHRASES.class_of(line).unwrap_or(ErrorClass::Other);
    Some(Failure::new(class, line).status(status_in(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::ExitStatus;

    #[test]
    fn stderr_is_classified_if_nothing_reached_stdout() {
        use ErrorClass as C;
        for (code, stderr, class) in [
            (1, "No prompt provided. Run in an interactive terminal or provide a prompt", Some(C::InvalidOption)),
            (1, "error: invalid value 'bogus' for '--reasoning-effort <level>'", Some(C::InvalidOption)),
            (
                1,
                "error: option '--effort, --reasoning-effort <level>' argument 'max' is invalid.",
                Some(C::InvalidOption),
            ),
            (1, "error: unexpected argument '--verbose' found\n\n  tip: x", Some(C::InvalidOption)),
            (1, "error: unknown option '--verbose'", Some(C::InvalidOption)),
            (1, "Error: Reasoning effort \"xhigh\" is not supported for model \"m\".", Some(C::InvalidOption)),
            (1, "BYOK providers require an explicit model. Run `copilot help providers`", Some(C::InvalidOption)),
            (1, "Offline mode requires a local model provider. Set COPILOT_PROVIDER_BASE_URL", Some(C::InvalidOption)),
            (1, "Error: No authentication information found.\n\nCopilot can be", Some(C::Auth)),
            (1, "Error: Classic Personal Access Tokens (ghp_) are not supported by Copilot.", Some(C::Auth)),
            (1, "Error: Authentication failed\n", Some(C::Auth)),
            (
                1,
                "Error: Authentication token found but could not be validated.\n\n  Failed to fetch PAT user login: network fetch failed: x",
                Some(C::Network),
            ),
            (1, "Error: Authentication token found but could not be validated.", Some(C::Auth)),
            (1, "Error: Failed to load models\n\nError: 500 models error", Some(C::Provider)),
            (1, "Error: Model \"x\" from --model flag is not available.", Some(C::UnknownModel)),
            (1, "Error: Run `copilot --model x` in interactive mode to enable this model", Some(C::Permission)),
            (1, "Error: No session, task, or name matched 'x'.", Some(C::NoSession)),
            (1, "Error: No session or task matched 'x'.", Some(C::NoSession)),
            (
                1,
                "Error: Multiple sessions are available and bare --resume needs an interactive session picker",
                Some(C::InvalidOption),
            ),
            (1, "Error executing prompt: Error: Nothing to compact.", Some(C::Other)),
            (1, "requires Node.js v24 or higher", Some(C::NotFound)),
            (127, "", Some(C::NotFound)),
            (1, "Warning: --config-dir is deprecated.\n", None),
            (0, "\nChanges +0 -0\nTokens 1.2k\n", None),
            (1, "", None),
        ] {
            let exit = ExitStatus { code: Some(code), signal: None };
            let evidence = Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr.into() };
            assert_eq!(from_evidence(&evidence).map(|failure| failure.class), class, "{stderr}");
        }
    }
}

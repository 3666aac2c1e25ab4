//! What an exit code and a message of Qwen Code mean for the turn.

use crate::failure::{self, Stderr};
use wharf_adapter::{ExitStatus, Outcome};

/// The limits that end a turn: how their message starts, and their name.
const LIMITS: [(&str, &str); 4] = [
    ("Reached max session turns", "max-turns"),
    ("Run aborted: tool-call budget", "max-tool-calls"),
    ("Run aborted: wall-clock budget", "max-wall-time"),
    ("Loop detection halted the run", "loop-detection"),
];

/// The limit that a message is about.
pub(crate) fn limit(message: &str) -> Option<&'static str> {
    LIMITS.iter().find(|(start, _)| message.starts_with(start)).map(|(_, name)| *name)
}

/// The outcome that the message of a failed result declares.
pub(crate) fn of_error(message: &str) -> Outcome {
    match limit(message) {
        Some(name) => Outcome::Limit(name.to_owned()),
        None if message == "Operation cancelled." => Outcome::Cancelled,
        None => Outcome::Failed(failure::of_text(message)),
    }
}

/// The outcome that the exit code declares, if stdout did not. Every other code is that of a failure.
pub(crate) fn of_exit(exit: ExitStatus, stderr: &Stderr) -> Option<Outcome> {
    match exit.code? {
        53 => Some(Outcome::Limit("max-turns".to_owned())),
        // Also used by other programs for other things: only if stderr names the limit.
        55 => stderr.limit().map(|name| Outcome::Limit(name.to_owned())),
        130 => Some(Outcome::Cancelled),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_and_messages_name_the_limit() {
        let exit = |code| ExitStatus { code: Some(code), signal: None };
        let mut stderr = Stderr::default();
        assert_eq!(of_exit(exit(55), &stderr), None);
        stderr.line("Run aborted: tool-call budget of 2 exceeded (--max-tool-calls); observed 3.");
        assert_eq!(of_exit(exit(55), &stderr), Some(Outcome::Limit("max-tool-calls".to_owned())));
        assert_eq!(of_exit(exit(53), &stderr), Some(Outcome::Limit("max-turns".to_owned())));
        assert_eq!(of_exit(exit(130), &stderr), Some(Outcome::Cancelled));
        assert_eq!(of_exit(exit(1), &stderr), None);
        assert_eq!(of_exit(ExitStatus { code: None, signal: Some(15) }, &stderr), None);
        let halted = "Loop detection halted the run (turn_tool_call_cap: x).";
        assert_eq!(of_error(halted), Outcome::Limit("loop-detection".to_owned()));
        assert_eq!(of_error("Operation cancelled."), Outcome::Cancelled);
    }
}

//! The prompt that is sent to Qwen Code.

use wharf_adapter::{ErrorClass, Failure, Retry, Turn};

/// The prompt, written so that it reaches the model: a text that starts with a slash would run as a command. Measured with
/// both transports: with a space before the slash it is plain text.
pub(crate) fn text(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    let is_command = turn.option("slash-commands").is_true();
    Ok(if turn.prompt.starts_with('/') && !is_command { format!(" {}", turn.prompt) } else { turn.prompt.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Qwen;
    use wharf_adapter::testing::{set_option, turn};

    #[test]
    fn a_prompt_that_starts_with_a_slash_is_no_command() {
        for (prompt, expected) in [("/status", " /status"), ("Say hi.\n", "Say hi.\n"), ("see /etc", "see /etc")] {
            assert_eq!(text(&turn::<Qwen>(prompt)), Ok(expected.to_owned()));
        }
        let mut command = turn::<Qwen>("/status");
        set_option(&mut command, "slash-commands", "true");
        assert_eq!(text(&command), Ok("/status".to_owned()));
        assert!(text(&turn::<Qwen>(" \n")).is_err());
    }
}

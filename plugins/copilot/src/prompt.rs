//! The prompt that is sent to the CLI.

use wharf_adapter::{ErrorClass, Failure, Retry, Turn};

/// The prompt, written so that it reaches the model.
pub(crate) fn text(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    Ok(match turn.system_prompt.as_deref().filter(|system| !system.is_empty()) {
        Some(system) => format!("<system>\n{system}\n</system>\n\n{}", turn.prompt),
        // The CLI may run a prompt that starts with a slash as a command, and not ask the model. Measured: words before
        // the slash prevent that. Spaces were not measured.
        None if turn.prompt.trim_start().starts_with('/') => format!("The request: {}", turn.prompt),
        None => turn.prompt.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Copilot;
    use wharf_adapter::testing::turn;

    #[test]
    fn the_prompt_reaches_the_model() {
        let cases = [
            (None, "Say hi.\n", "Say hi.\n"),
            (Some(""), "Say hi.", "Say hi."),
            (Some("Be brief."), "/compact", "<system>\nBe brief.\n</system>\n\n/compact"),
            (None, "/compact", "The request: /compact"),
            (None, " /autopilot on", "The request:  /autopilot on"),
            (None, "see /etc", "see /etc"),
        ];
        for (system, prompt, expected) in cases {
            let mut turn = turn::<Copilot>(prompt);
            turn.system_prompt = system.map(str::to_owned);
            assert_eq!(text(&turn), Ok(expected.to_owned()));
        }
        assert!(text(&turn::<Copilot>(" \n")).is_err());
    }
}

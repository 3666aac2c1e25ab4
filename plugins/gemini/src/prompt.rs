//! The prompt that is sent to the CLI.

use wharf_adapter::{ErrorClass, Failure, Retry, Turn};

/// The option that says where the system prompt goes, and its value for "before the prompt".
const MODE: &str = "system-prompt-mode";
const IN_PROMPT: &str = "prompt";

/// The system prompt, if it replaces the CLI's own. Empty counts as none.
pub(crate) fn replacement(turn: &Turn) -> Option<&str> {
    turn.system_prompt.as_deref().filter(|system| !system.is_empty() && !turn.option(MODE).is(IN_PROMPT))
}

/// The prompt, with the system prompt before it if the turn says so.
pub(crate) fn text(turn: &Turn) -> Result<String, Failure> {
    if turn.prompt.trim().is_empty() {
        let retry = Retry::AfterUserAction("give a prompt".to_owned());
        return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
    }
    Ok(match turn.system_prompt.as_deref() {
        Some(system) if !system.is_empty() && replacement(turn).is_none() => {
            format!("<system>\n{system}\n</system>\n\n{}", turn.prompt)
        }
        _ => turn.prompt.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gemini;
    use wharf_adapter::testing::{set_option, turn};

    #[test]
    fn the_system_prompt_replaces_the_clis_own_or_goes_before_the_prompt() {
        for (mode, system, expected, replaces) in [
            ("\"replace\"", Some("Be brief."), "Say hi.", true),
            ("\"prompt\"", Some("Be brief."), "<system>\nBe brief.\n</system>\n\nSay hi.", false),
            ("\"replace\"", Some(""), "Say hi.", false),
            ("\"prompt\"", None, "Say hi.", false),
        ] {
            let mut turn = turn::<Gemini>("Say hi.");
            turn.system_prompt = system.map(str::to_owned);
            set_option(&mut turn, MODE, mode);
            assert_eq!(text(&turn).as_deref(), Ok(expected));
            assert_eq!(replacement(&turn).is_some(), replaces, "{mode} {system:?}");
        }
        assert!(text(&turn::<Gemini>(" \n")).is_err());
    }
}

//! The prompt that is sent to Qwen Code.

use wharf_adapter::{Attachment, ErrorClass, Failure, Retry, Turn};

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

/// The same with the attached files. Qwen Code replaces the name of a file after an @ by its content, if the file is inside
/// of the workspace.
pub(crate) fn with_files(turn: &Turn) -> Result<String, Failure> {
    let mut prompt = text(turn)?;
    for file in turn.attachments.iter().filter(|file| is_attachable(file, turn)) {
        prompt.push_str("\n@");
        // A space ends the name.
        prompt.push_str(&file.path.as_deref().unwrap_or_default().replace(' ', "\\ "));
    }
    Ok(prompt)
}

/// Whether a file can be attached.
pub(crate) fn is_attachable(file: &Attachment, turn: &Turn) -> bool {
    let inside = file.path.as_deref().and_then(|path| path.strip_prefix(turn.workspace.trim_end_matches(['/', '\\'])));
    inside.is_some_and(|rest| rest.starts_with(['/', '\\']))
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

    #[test]
    fn files_of_the_workspace_are_named_in_the_prompt() {
        let mut turn = turn::<Qwen>("Look.");
        "/w/".clone_into(&mut turn.workspace);
        let file = |path: Option<&str>| Attachment {
            name: "a".to_owned(),
            media_type: "image/png".to_owned(),
            path: path.map(str::to_owned),
            bytes: None,
        };
        turn.attachments = vec![file(Some("/w/a b.png")), file(Some("/who/c.png")), file(None), file(Some("/w/d"))];
        assert_eq!(with_files(&turn).as_deref(), Ok("Look.\n@/w/a\\ b.png\n@/w/d"));
    }
}

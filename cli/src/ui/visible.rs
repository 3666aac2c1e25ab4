//! Foreign text as visible text: agents, models, projects and adapters must not control the terminal.

use std::borrow::Cow;

/// Text that cannot control the terminal: control characters, and those that change the direction of writing, are
/// replaced. Newlines and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(controls) { Cow::Owned(text.replace(controls, "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

/// The same in one line, for text that must not look like another line of ours.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

fn controls(character: char) -> bool {
    let direction = matches!(character, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    direction || (character.is_control() && character != '\n' && character != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_foreign_controls_the_terminal() {
        for (text, shown) in [
            ("plain ünïcode\n\tok", "plain ünïcode\n\tok"),
            ("\u{1b}]0;title\u{7}", "\u{FFFD}]0;title\u{FFFD}"),
            ("\u{9b}31m\r", "\u{FFFD}31m\u{FFFD}"),
            ("evil\u{202E}txt.exe\u{2066}", "evil\u{FFFD}txt.exe\u{FFFD}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_line("may I?\n  y = yes"), "may I?   y = yes");
    }
}

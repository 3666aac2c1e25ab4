//! Foreign text as visible text: agents, models, projects and adapters must not control the terminal, nor hide anything
//! from the person who reads it.
//!
//! A character that would do so is shown as an escape: `\n`, `\u{1b}`, in JSON `\u001b`. An escape, and not a replacement
//! character, because a person has to see what is there before allowing it. Backslashes stay as they are.

use std::fmt::Write as _;

/// The text in one line: it cannot look like another line.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |character| steers(character) || hides(character))
}

/// The text with its newlines and tabs.
pub(super) fn lines(text: &str) -> String {
    let hidden = |character| (steers(character) && !is_layout(character)) || hides(character);
    escaped(&text.replace("\r\n", "\n"), hidden)
}

/// Text for a program or a file, which may still be shown on a terminal: `| tee`, `| head`, `cat`. What would control it
/// is made visible. What only hides stays: it is part of emoji and of many scripts.
pub(super) fn data(text: &str) -> String {
    let part = |part| escaped(part, |character| steers(character) && !is_layout(character));
    text.split("\r\n").map(part).collect::<Vec<_>>().join("\r\n")
}

/// JSON with the same meaning. All that JSON allows outside of texts are spaces, tabs and the ends of lines.
pub(super) fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_layout(character) && (steers(character) || hides(character)) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// What a text of several lines consists of beside its characters.
fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t')
}

/// Whether it controls the terminal: the C0 and C1 controls, DEL, and what overrides the direction of writing.
pub(super) fn steers(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether it cannot be seen: what Unicode says may be ignored in display, line and paragraph separators, and interlinear
/// annotations. Not the variation selectors of emoji, which change only how the character before them looks.
fn hides(character: char) -> bool {
    matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{2029}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// For tests of what is printed on a terminal.
#[cfg(test)]
pub(crate) fn is_hidden(character: char) -> bool {
    steers(character) || hides(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind of character that must not reach a terminal.
    const HOSTILE: [char; 20] = [
        '\0',
        '\u{1b}',
        '\u{8}',
        '\r',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{ad}',
        '\u{61c}',
        '\u{180e}',
        '\u{200b}',
        '\u{200d}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{feff}',
        '\u{fffb}',
        '\u{e0041}',
    ];

    #[test]
    fn nothing_foreign_controls_the_terminal_or_is_hidden() {
        for hostile in HOSTILE {
            let text = format!("a{hostile}b");
            for shown in [line(&text), lines(&text), json(&text)] {
                assert!(!shown.contains(is_hidden), "{shown:?}");
                assert!(shown.starts_with("a\\") && shown.ends_with('b'), "{shown:?}");
            }
            assert!(!data(&text).contains(steers), "{text:?}");
        }
        assert_eq!(line("\u{1b}]0;title\u{7}"), r"\u{1b}]0;title\u{7}");
        assert_eq!(line("evil\u{202e}txt.exe"), r"evil\u{202e}txt.exe");
    }

    #[test]
    fn ordinary_text_is_not_changed() {
        let text = "plain ünïcode, עברית, 日本語, ✓ ❤\u{fe0f} C:\\new";
        for shown in [line(text), lines(text), data(text), json(text)] {
            assert_eq!(shown, text);
        }
    }

    #[test]
    fn only_a_text_of_several_lines_has_newlines_and_tabs() {
        let text = "may I?\r\n\ty = yes\rno";
        assert_eq!(line(text), r"may I?\r\n\ty = yes\rno");
        assert_eq!(lines(text), "may I?\n\ty = yes\\rno");
        assert_eq!(data(text), "may I?\r\n\ty = yes\\rno");
    }

    #[test]
    fn emoji_and_scripts_are_whole_in_data() {
        let text = "👩\u{200d}👩\u{200d}👧 می\u{200c}خواهم \u{200f}";
        assert_eq!(data(text), text);
    }

    #[test]
    fn json_means_the_same_after_it_was_made_visible() {
        let value = serde_json::json!({ "text": HOSTILE.iter().collect::<String>(), "other": ["\u{1F600}", 1] });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("plain data")] {
            let shown = json(&text);
            assert!(!shown.contains(|character| is_hidden(character) && character != '\n'), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
        }
    }
}

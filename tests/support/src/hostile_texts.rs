//! Components whose texts try to control a terminal.

/// What controls a terminal or hides something: the more important first.
const HOSTILE: [&str; 6] = ["\u{1b}[2K\r", "\u{9b}A", "\n", "\u{202e}", "\u{200b}", "\u{1b}]0;title\u{7}"];

/// A component with hostile texts in the place of some of its texts. They have the same length, so that it is still valid.
pub fn with_hostile_texts(mut component: Vec<u8>, texts: &[&str]) -> Vec<u8> {
    for text in texts {
        let hostile = hostile(text.len());
        let found: Vec<usize> = component
            .windows(text.len())
            .enumerate()
            .filter(|(_, at)| *at == text.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!found.is_empty(), "the component does not contain {text:?}");
        for at in found {
            component[at..at + hostile.len()].copy_from_slice(hostile.as_bytes());
        }
    }
    component
}

/// A hostile text of this many bytes.
fn hostile(length: usize) -> String {
    let mut text = String::with_capacity(length);
    for part in HOSTILE {
        if text.len() + part.len() <= length {
            text.push_str(part);
        }
    }
    text.push_str(&"x".repeat(length - text.len()));
    text
}

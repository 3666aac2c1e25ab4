//! A panic is a defect of wharf. Its text may contain what others sent, so it is printed like all other text.

use super::shell::print_stderr;
use super::text::{BAD, BOLD, Text, ours};
use std::backtrace::{Backtrace, BacktraceStatus};

/// From here on, this program prints its panics itself.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        print_stderr(message(&place, panic.payload_as_str().unwrap_or("without a text")));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            print_stderr(ours("backtrace:").in_style(BOLD).ours(" ").block(backtrace));
        }
    }));
}

fn message(place: &str, text: &str) -> Text {
    ours("error:").in_style(BAD).ours(" wharf panicked at ").foreign(place).ours(": ").block(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_panic_does_not_control_the_terminal() {
        let (bad, shown) = (BAD, message("src/a.rs:1:2", "no \u{9b}2K\r\nerror: none").render());
        assert_eq!(
            shown,
            format!("{bad}error:{bad:#} wharf panicked at src/a.rs:1:2: no \\u{{9b}}2K\n  │ error: none")
        );
    }
}

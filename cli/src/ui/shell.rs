//! The one place that prints. Stdout is data, stderr is for people; a reader that closed its end is not an error.

use super::common::{Color, Common};
use super::visible::visible;
use crate::exit;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use wharf::{Error, Result};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
pub(crate) const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold();
pub(crate) const ODD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
pub(crate) const TOOL: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));

/// Text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Prints.
pub(crate) struct Shell {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "only code that has a shell may print; commands end with its result"
)]
impl Shell {
    pub(crate) fn new(common: &Common) -> Shell {
        match common.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        Shell { quiet: common.quiet, verbose: common.verbose }
    }

    /// Whether stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// A piece of data, without a newline.
    pub(crate) fn piece(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// A line of data.
    pub(crate) fn line(&self, text: impl Display) {
        let _ = writeln!(anstream::stdout().lock(), "{text}");
    }

    /// Bytes, unchanged. Returns whether anybody still reads.
    pub(crate) fn raw(&self, bytes: &[u8]) -> bool {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).is_ok()
    }

    /// Bytes, unchanged, as the result of a command.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<ExitCode> {
        self.raw(bytes);
        Ok(ExitCode::SUCCESS)
    }

    /// JSON for people and programs, as the result of a command.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<ExitCode> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Error::system("writing JSON", error))?;
        self.raw(format!("{text}\n").as_bytes());
        Ok(ExitCode::SUCCESS)
    }

    /// From here on, text for stderr is dropped if writing it would block. One thread does everything then: see
    /// `output`.
    pub(crate) fn never_wait(&self) {
        NEVER_WAIT.store(true, Ordering::Relaxed);
    }

    /// A line for people, unless they want quiet.
    pub(crate) fn say(&self, text: impl Display) {
        if !self.quiet {
            print_stderr(&text.to_string());
        }
    }

    /// A warning.
    pub(crate) fn warn(&self, text: impl Display) {
        print_stderr(&format!("{} {}", styled(ODD, "warning:"), visible(&text.to_string())));
    }

    /// An error, with what to do about it.
    pub(crate) fn failed(&self, error: &Error) -> ExitCode {
        print_stderr(&format!("{} {}", styled(BAD, "error:"), visible(&error.to_string())));
        if let Some(hint) = error.hint() {
            print_stderr(&format!("{} {}", styled(BOLD, "hint:"), visible(hint)));
        }
        exit::of_error(error)
    }
}

/// Whether stderr must not block.
static NEVER_WAIT: AtomicBool = AtomicBool::new(false);

pub(super) fn print_stderr(text: &str) {
    if NEVER_WAIT.load(Ordering::Relaxed) && !std::io::stderr().is_terminal() {
        let coloured = anstream::ColorChoice::global() == anstream::ColorChoice::Always;
        let line = if coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        if super::output::print_stderr_now(&format!("{line}\n")) {
            return;
        }
    }
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

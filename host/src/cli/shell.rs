//! The one place that prints. Stdout is data, stderr is talk; a reader that went away is no error.

use super::arguments::{Colour, Common};
use super::exit;
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
    reason = "who may print has a shell; commands end with what it gives"
)]
impl Shell {
    pub(crate) fn new(common: &Common) -> Shell {
        match common.color {
            Colour::Auto => {}
            Colour::Always => anstream::ColorChoice::Always.write_global(),
            Colour::Never => anstream::ColorChoice::Never.write_global(),
        }
        let verbose = common.verbose;
        wharf::set_log(move |level, message| {
            if verbose || level >= wharf::Level::Warn {
                talk(&format!("adapter: {message}"));
            }
        });
        Shell { quiet: common.quiet, verbose }
    }

    /// Whether somebody reads stdout on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// A piece of data, without a line's end.
    pub(crate) fn piece(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// A line of data.
    pub(crate) fn line(&self, text: impl Display) {
        let _ = writeln!(anstream::stdout().lock(), "{text}");
    }

    /// Bytes as they are. Gives whether anybody still reads.
    pub(crate) fn raw(&self, bytes: &[u8]) -> bool {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).is_ok()
    }

    /// Bytes as they are, and nothing more to do.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<ExitCode> {
        self.raw(bytes);
        Ok(ExitCode::SUCCESS)
    }

    /// JSON for people and programs, and nothing more to do.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<ExitCode> {
        let text =
            serde_json::to_string_pretty(value).map_err(|why| Error::invalid(format!("it is no JSON: {why}")))?;
        self.raw(format!("{text}\n").as_bytes());
        Ok(ExitCode::SUCCESS)
    }

    /// From here on, what is said on stderr is lost rather than waited for. One thread does everything then: see
    /// `output`.
    pub(crate) fn never_wait(&self) {
        NEVER_WAIT.store(true, Ordering::Relaxed);
    }

    /// Something to read beside the data.
    pub(crate) fn say(&self, text: impl Display) {
        if !self.quiet {
            talk(&text.to_string());
        }
    }

    /// Something that should not be missed.
    pub(crate) fn warn(&self, text: impl Display) {
        talk(&format!("{} {text}", styled(ODD, "warning:")));
    }

    /// An error, with what to do about it.
    pub(crate) fn failed(&self, error: &Error) -> ExitCode {
        talk(&format!("{} {error}", styled(BAD, "error:")));
        if let Some(hint) = error.to_do() {
            talk(&format!("{} {hint}", styled(BOLD, "hint:")));
        }
        exit::of_error(error)
    }
}

/// Whether talk must not wait for its reader.
static NEVER_WAIT: AtomicBool = AtomicBool::new(false);

fn talk(text: &str) {
    if NEVER_WAIT.load(Ordering::Relaxed) && !std::io::stderr().is_terminal() {
        let coloured = anstream::ColorChoice::global() == anstream::ColorChoice::Always;
        let line = if coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        if super::output::talk_now(&format!("{line}\n")) {
            return;
        }
    }
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

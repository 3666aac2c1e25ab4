//! The one place that prints. Stdout is data, stderr is for people; a reader that closed its end is not an error.
//!
//! Everything for people is a `Text`, in which foreign text was made visible. JSON and bytes are for programs, and reach
//! them unchanged; on a terminal they are made visible too.

use super::common::{Color, Common};
use super::text::{BAD, BOLD, ODD, Text, ours};
use super::visible;
use crate::exit;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use wharf::{Error, Result};

/// Prints.
#[derive(Default)]
pub(crate) struct Shell {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// Whether stdout is a terminal.
    terminal: bool,
    sink: Sink,
}

/// Where everything goes.
#[derive(Default)]
enum Sink {
    /// To stdout and stderr.
    #[default]
    Streams,
    /// To a test.
    #[cfg(test)]
    Memory(std::sync::Mutex<String>),
}

#[expect(clippy::unnecessary_wraps, reason = "commands end with the shell's result")]
impl Shell {
    pub(crate) fn new(common: &Common) -> Shell {
        match common.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let terminal = std::io::stdout().is_terminal();
        Shell { quiet: common.quiet, verbose: common.verbose, terminal, sink: Sink::Streams }
    }

    /// Whether stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether a person can be asked: stdin and stderr are terminals.
    #[expect(clippy::unused_self, reason = "only code that has a shell may ask")]
    pub(crate) fn has_person(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// A piece of data, without a newline.
    pub(super) fn piece(&self, text: &Text) {
        self.print(&text.render());
    }

    /// A line of data.
    pub(crate) fn line(&self, text: Text) {
        self.print(&text.ours("\n").render());
    }

    /// Bytes, as the result of a command: unchanged, unless a person reads them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<ExitCode> {
        if self.terminal {
            self.print(&visible::lines(&String::from_utf8_lossy(bytes)));
        } else {
            self.print_raw(bytes);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// JSON for people and programs, as the result of a command.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<ExitCode> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Error::system("writing JSON", error))?;
        self.json_lines(format!("{text}\n").as_bytes());
        Ok(ExitCode::SUCCESS)
    }

    /// Lines of JSON. Returns whether anybody still reads.
    pub(crate) fn json_lines(&self, lines: &[u8]) -> bool {
        if self.terminal {
            self.print_raw(visible::json(&String::from_utf8_lossy(lines)).as_bytes())
        } else {
            self.print_raw(lines)
        }
    }

    /// From here on, text for stderr is dropped if writing it would block. One thread does everything then: see
    /// `output`.
    #[expect(clippy::unused_self, reason = "as for the rest")]
    pub(crate) fn never_wait(&self) {
        NEVER_WAIT.store(true, Ordering::Relaxed);
    }

    /// A line for people, unless they want quiet.
    pub(crate) fn say(&self, text: Text) {
        if !self.quiet {
            self.tell(text);
        }
    }

    /// A warning.
    pub(crate) fn warn(&self, text: Text) {
        self.tell(warning(text));
    }

    /// An error, with what to do about it.
    pub(crate) fn failed(&self, error: &Error) -> ExitCode {
        self.tell(ours("error:").in_style(BAD).ours(" ").block(error));
        if let Some(hint) = error.hint() {
            self.tell(ours("hint:").in_style(BOLD).ours(" ").block(hint));
        }
        exit::of_error(error)
    }

    /// Text with styles, on stdout.
    fn print(&self, rendered: &str) {
        match &self.sink {
            Sink::Streams => {
                let mut out = anstream::stdout().lock();
                let _ = out.write_all(rendered.as_bytes()).and_then(|()| out.flush());
            }
            #[cfg(test)]
            Sink::Memory(memory) => keep(memory, rendered),
        }
    }

    /// Bytes, on stdout. Returns whether anybody still reads.
    fn print_raw(&self, bytes: &[u8]) -> bool {
        match &self.sink {
            Sink::Streams => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush()).is_ok()
            }
            #[cfg(test)]
            Sink::Memory(memory) => {
                keep(memory, &String::from_utf8_lossy(bytes));
                true
            }
        }
    }

    /// A line on stderr.
    fn tell(&self, text: Text) {
        match &self.sink {
            Sink::Streams => print_stderr(text),
            #[cfg(test)]
            Sink::Memory(memory) => keep(memory, &text.ours("\n").render()),
        }
    }
}

/// Whether stderr must not block.
static NEVER_WAIT: AtomicBool = AtomicBool::new(false);

/// A line on stderr.
pub(super) fn print_stderr(text: Text) {
    let line = text.ours("\n").render();
    if NEVER_WAIT.load(Ordering::Relaxed) && !std::io::stderr().is_terminal() {
        let coloured = anstream::ColorChoice::global() == anstream::ColorChoice::Always;
        let line = if coloured { line.clone() } else { anstream::adapter::strip_str(&line).to_string() };
        if super::output::print_stderr_now(&line) {
            return;
        }
    }
    let _ = anstream::stderr().lock().write_all(line.as_bytes());
}

/// A line on stderr that starts with the word for warnings.
pub(super) fn print_warning(text: Text) {
    print_stderr(warning(text));
}

fn warning(text: Text) -> Text {
    ours("warning:").in_style(ODD).ours(" ").then(text)
}

#[cfg(test)]
fn keep(memory: &std::sync::Mutex<String>, text: &str) {
    memory.lock().expect("no test panicked with it").push_str(text);
}

#[cfg(test)]
impl Shell {
    /// A shell that keeps what it prints.
    pub(crate) fn capturing(verbose: bool, terminal: bool) -> Shell {
        Shell { quiet: false, verbose, terminal, sink: Sink::Memory(std::sync::Mutex::default()) }
    }

    /// What was printed since the last call.
    pub(crate) fn take(&self) -> String {
        let Sink::Memory(memory) = &self.sink else { panic!("it keeps nothing") };
        std::mem::take(&mut *memory.lock().expect("no test panicked with it"))
    }
}

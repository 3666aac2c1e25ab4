//! Scripts for the fake agent, which speak the echo adapter's protocol.

use std::fmt::Write as _;

/// The first line of a normal agent.
pub const HELLO: &str = r#"{"type":"hello","session":"s-1","model":"echo-1","version":"1.0.0"}"#;
/// A message: [`ANSWER`].
pub const SAY: &str = r#"{"type":"say","id":"1","text":"the work is done"}"#;
/// The last line of a normal agent.
pub const DONE: &str = r#"{"type":"done"}"#;
/// What [`SAY`] says.
pub const ANSWER: &str = "the work is done";

/// What the fake agent does, and the bytes that it writes to stdout in all.
#[derive(Debug, Clone, Default)]
pub struct Script {
    steps: String,
    stdout: Vec<u8>,
}

impl Script {
    /// An agent that does nothing.
    pub fn new() -> Script {
        Script::default()
    }

    /// A normal turn: [`HELLO`], [`SAY`], [`DONE`].
    pub fn normal() -> Script {
        Script::new().line(HELLO).line(SAY).line(DONE)
    }

    /// Writes one line.
    #[must_use]
    pub fn line(self, line: &str) -> Script {
        self.stdout(format!("{line}\n"))
    }

    /// Writes bytes.
    #[must_use]
    pub fn stdout(mut self, bytes: impl AsRef<[u8]>) -> Script {
        let step = bytes.as_ref().iter().fold("stdout ".to_owned(), |mut step, byte| {
            let _ = write!(step, "\\x{byte:02x}");
            step
        });
        self.stdout.extend_from_slice(bytes.as_ref());
        self.step(&step)
    }

    /// Writes one `delta` line of exactly this many bytes.
    #[must_use]
    pub fn big_line(mut self, bytes: usize) -> Script {
        let (head, tail) = (r#"{"type":"delta","id":"1","text":""#, "\"}\n");
        self.stdout.extend_from_slice(head.as_bytes());
        self.stdout.extend(std::iter::repeat_n(b'x', bytes - head.len() - tail.len()));
        self.stdout.extend_from_slice(tail.as_bytes());
        self.step(&format!("big-line {bytes}"))
    }

    /// Expects bytes that a step writes by itself.
    #[must_use]
    pub fn expecting(mut self, bytes: &[u8]) -> Script {
        self.stdout.extend_from_slice(bytes);
        self
    }

    /// A step that writes nothing to stdout, or whose output is not compared.
    #[must_use]
    pub fn step(mut self, step: &str) -> Script {
        self.steps.push_str(step);
        self.steps.push('\n');
        self
    }

    /// What the agent writes to stdout in all.
    pub fn written(&self) -> &[u8] {
        &self.stdout
    }

    /// The file for the agent. The tag is on the command line of every process that the agent starts.
    pub(crate) fn file(&self, tag: &str) -> String {
        format!("tag {tag}\n{}", self.steps)
    }
}

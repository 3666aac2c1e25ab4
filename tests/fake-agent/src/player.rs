//! Runs the steps of a script.

use crate::child;
use crate::output::Output;
use crate::script::{DELTA_HEAD, DELTA_TAIL, Step};
use crate::signal;
use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

/// The length of a line in a flood.
const FLOOD_LINE: usize = 1024;

/// The tag of children before any `tag` step.
const DEFAULT_TAG: &str = "fake-agent-child";

/// The state that steps share.
pub(crate) struct Player {
    stdout: Output<File>,
    stderr: Output<io::Stderr>,
    /// The input of the last reading step.
    input: Vec<u8>,
    tag: String,
}

impl Player {
    pub(crate) fn new() -> Result<Player, String> {
        // A separate handle, because std's stdout buffers by line.
        let stdout = io::stdout().as_fd().try_clone_to_owned().map_err(|error| format!("stdout: {error}"))?;
        Ok(Player {
            stdout: Output::new(File::from(stdout), "stdout"),
            stderr: Output::new(io::stderr(), "stderr"),
            input: Vec::new(),
            tag: DEFAULT_TAG.to_owned(),
        })
    }

    /// Runs all steps and returns the exit code.
    pub(crate) fn run(mut self, steps: &[Step]) -> Result<u8, String> {
        for step in steps {
            if let Some(code) = self.step(step)? {
                return Ok(code);
            }
        }
        Ok(0)
    }

    /// Runs one step. An exit code ends the script.
    fn step(&mut self, step: &Step) -> Result<Option<u8>, String> {
        match step {
            Step::Stdout(bytes) => self.stdout.write(bytes)?,
            Step::Stderr(bytes) => self.stderr.write(bytes)?,
            Step::Chunk(bytes) => self.stdout.set_chunk(*bytes),
            Step::Repeat(times, step) => {
                for _ in 0..*times {
                    if let Some(code) = self.step(step)? {
                        return Ok(Some(code));
                    }
                }
            }
            Step::BigLine(bytes) => self.stdout.write(delta_line(*bytes).as_bytes())?,
            Step::FloodStdout(bytes) => self.stdout.flood(&delta_line(FLOOD_LINE), *bytes)?,
            Step::FloodStderr(bytes) => {
                let line = "x".repeat(FLOOD_LINE - 1) + "\n";
                self.stderr.flood(&line, *bytes)?;
            }
            Step::CloseStdout => self.close_stdout().map_err(|error| format!("close-stdout: {error}"))?,
            Step::Sleep(time) => thread::sleep(*time),
            Step::Silence => loop {
                thread::sleep(Duration::from_hours(1));
            },
            Step::WaitFile(path) => {
                while !path.exists() {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            Step::ReadStdin => {
                self.input.clear();
                io::stdin().lock().read_to_end(&mut self.input).map_err(|error| format!("read-stdin: {error}"))?;
            }
            Step::ReadLine => {
                self.input.clear();
                let mut stdin = io::stdin().lock();
                stdin.read_until(b'\n', &mut self.input).map_err(|error| format!("read-line: {error}"))?;
            }
            Step::SayStdin => {
                let text = String::from_utf8_lossy(&self.input);
                let line = serde_json::json!({ "type": "say", "id": "stdin", "text": text });
                self.stdout.write(format!("{line}\n").as_bytes())?;
            }
            Step::IgnoreSigterm => signal::ignore_sigterm()?,
            Step::Tag(tag) => self.tag.clone_from(tag),
            Step::Child(spec) => child::start(spec, &self.tag)?,
            Step::WriteEnv(path) => {
                fs::write(path, environment()).map_err(|error| format!("write-env {}: {error}", path.display()))?;
            }
            Step::WriteFile(path, text) => {
                fs::write(path, text).map_err(|error| format!("write-file {}: {error}", path.display()))?;
            }
            Step::Exit(code) => return Ok(Some(*code)),
            Step::Die(signal) => return Err(signal::kill_self(*signal)),
        }
        Ok(None)
    }

    /// Closes stdout. The file descriptor stays in use, because a file that is opened later must not become stdout.
    fn close_stdout(&mut self) -> io::Result<()> {
        let null = File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null)?;
        self.stdout = Output::new(null, "stdout");
        Ok(())
    }
}

/// A `delta` line of this many bytes, the end of line included. The parser has checked the minimum.
fn delta_line(bytes: usize) -> String {
    let text = "x".repeat(bytes.saturating_sub(DELTA_HEAD.len() + DELTA_TAIL.len()));
    [DELTA_HEAD, &text, DELTA_TAIL].concat()
}

/// One `NAME=VALUE` per line, sorted. Line ends inside values are not escaped.
fn environment() -> Vec<u8> {
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.sort();
    let mut bytes = Vec::new();
    for (name, value) in variables {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\n"] {
            bytes.extend_from_slice(part);
        }
    }
    bytes
}

//! `wharf run --json` while it goes on: its events are read one at a time, and lines are written to it.

use crate::Finished;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A run that goes on.
#[derive(Debug)]
pub struct LiveRun {
    /// The process of `wharf`. Its stderr is a pipe, and its stdin too if it was started with one.
    pub child: Child,
    /// What it prints.
    pub stdout: BufReader<ChildStdout>,
    /// What was read of it so far.
    pub printed: String,
}

impl LiveRun {
    /// Starts it with nothing on stdin, unless the command says otherwise.
    pub fn start(command: &mut Command) -> LiveRun {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        LiveRun { child, stdout, printed: String::new() }
    }

    /// Starts it with a stdin to write to.
    pub fn start_with_stdin(command: &mut Command) -> LiveRun {
        LiveRun::start(command.stdin(Stdio::piped()))
    }

    /// The next event; none after the last.
    #[track_caller]
    pub fn next_event(&mut self) -> Option<Value> {
        let start = self.printed.len();
        self.stdout.read_line(&mut self.printed).expect("stdout can be read");
        let line = self.printed.get(start..).filter(|line| !line.is_empty())?;
        Some(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads to the first event of a type, and gives it.
    #[track_caller]
    pub fn read_until(&mut self, kind: &str) -> Value {
        loop {
            match self.next_event() {
                Some(event) if event["type"] == kind => return event,
                Some(_) => {}
                None => panic!("it ended before `{kind}`: {}", self.printed),
            }
        }
    }

    /// Writes a line to its stdin.
    #[track_caller]
    pub fn write_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("stdin is a pipe"), "{line}").expect("stdin is open");
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends it a signal.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        send_signal(&self.child, signal);
    }

    /// Reads until it exits.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        self.stdout.read_to_string(&mut self.printed).expect("events are UTF-8");
        let mut stderr = Vec::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            pipe.read_to_end(&mut stderr).expect("stderr can be read");
        }
        let status = self.child.wait().expect("it can be waited for");
        Finished::new(status.code(), self.printed, String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// Sends a signal to a child.
#[track_caller]
pub fn send_signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the process is alive");
}

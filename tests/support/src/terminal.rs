//! A person at a pseudo terminal.

use crate::{Finished, PATIENCE};
use pty_process::blocking::{self, Pty};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::time::Duration;

/// A program on a pseudo terminal, which is its stdin, stdout and stderr, and its controlling terminal.
#[derive(Debug)]
pub struct Terminal {
    pty: PtyOf,
    child: Child,
    screen: Vec<u8>,
    /// What was waited for is looked for after this.
    seen: usize,
}

/// The pty has no `Debug`.
struct PtyOf(Pty);

impl std::fmt::Debug for PtyOf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pty")
    }
}

impl Terminal {
    /// Starts a program on a new terminal.
    pub fn start(mut command: Command) -> Terminal {
        command.env("TERM", "dumb");
        let (pty, child_side) = blocking::open().expect("a pseudo terminal");
        let child = blocking::Command::from(command).spawn(child_side).expect("the program starts");
        Terminal { pty: PtyOf(pty), child, screen: Vec::new(), seen: 0 }
    }

    /// Waits until the program has shown a text that was not waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        loop {
            let new = &self.screen[self.seen..];
            if let Some(at) = new.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.seen += at + text.len();
                return;
            }
            assert!(self.read(), "it exited before it showed {text:?}: {}", self.shown());
        }
    }

    /// Types a line.
    #[track_caller]
    pub fn type_line(&mut self, line: &str) {
        self.pty.0.write_all(format!("{line}\n").as_bytes()).expect("the terminal takes it");
    }

    /// What the program has shown so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }

    /// Reads until the program exits. The screen is given as stderr.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        while self.read() {}
        let status = self.child.wait().expect("it can be waited for");
        Finished::new(status.code(), String::new(), self.shown())
    }

    /// Reads what comes next; false once the program has closed the terminal.
    #[track_caller]
    fn read(&mut self) -> bool {
        let timeout = Duration::from_secs(PATIENCE.as_secs()).try_into().expect("a short time");
        let ready = poll(&mut [PollFd::new(&self.pty.0, PollFlags::IN)], Some(&timeout)).expect("poll");
        assert!(ready > 0, "it shows nothing more: {}", self.shown());
        let mut piece = [0; 4096];
        // The read fails with EIO once the other side is closed.
        let length = self.pty.0.read(&mut piece).unwrap_or(0);
        self.screen.extend_from_slice(&piece[..length]);
        length > 0
    }
}

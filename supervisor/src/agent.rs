//! The agent itself on Unix, without what it starts: how it is started, its pipes, its end.
//!
//! On Linux it is cloned, where the system lets us. Elsewhere it is forked, by the standard library and tokio, which
//! copies the tables of our whole memory and is slower by as much as we are large.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::setsid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::Exit;
use super::platform::Nest;
#[cfg(target_os = "linux")]
use super::platform::Offspring;

/// An agent, running or ended.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    id: u32,
    handle: Handle,
}

/// Who waits for it.
#[derive(Debug)]
enum Handle {
    Forked(Box<tokio::process::Child>),
    #[cfg(target_os = "linux")]
    Cloned(Offspring),
}

impl Agent {
    /// Starts one that shall live in the nest, in a session of its own. `command` says the program, its arguments, its
    /// folder and its whole environment. Must be called within a tokio runtime.
    pub(super) fn start(command: Command, stdin: bool, nest: &Nest) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some((offspring, pipes)) = Offspring::start(&command, stdin, nest)? {
            return Ok(Self {
                stdin: pipes.stdin,
                stdout: Some(pipes.stdout),
                stderr: Some(pipes.stderr),
                id: offspring.id(),
                handle: Handle::Cloned(offspring),
            });
        }
        Self::fork(command, stdin, nest)
    }

    /// As where it cannot be cloned.
    pub(super) fn fork(mut command: Command, stdin: bool, nest: &Nest) -> io::Result<Self> {
        command.stdin(if stdin { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::piped());
        let door = nest.door();
        let hook = move || {
            setsid()?;
            door.enter()
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. The hook makes nothing but plain
        // system calls on values made before the fork: setsid, and in `enter` prctl, getppid and a write. None of
        // them allocates, locks or panics.
        #[expect(unsafe_code, reason = "a new session and the signal at the parent's death can be set only here")]
        unsafe {
            command.pre_exec(hook);
        }
        let mut child = tokio::process::Command::from(command).spawn()?;
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            id: child.id().expect("a child has an id until it was waited for"),
            handle: Handle::Forked(Box::new(child)),
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Whether it was in its nest's cgroup from the first, so that nobody need look it up.
    pub(super) fn born_inside(&self) -> bool {
        match self.handle {
            Handle::Forked(_) => false,
            #[cfg(target_os = "linux")]
            Handle::Cloned(_) => true,
        }
    }

    /// Waits for its end. May be cancelled, and called again, also after the end. Closes a stdin that nobody has taken.
    pub(super) async fn wait(&mut self) -> io::Result<Exit> {
        drop(self.stdin.take());
        match &mut self.handle {
            Handle::Forked(child) => child.wait().await.map(Exit::from),
            #[cfg(target_os = "linux")]
            Handle::Cloned(offspring) => offspring.wait().await,
        }
    }

    /// How it has ended, if it has.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        match &mut self.handle {
            Handle::Forked(child) => child.try_wait().map(|status| status.map(Exit::from)),
            #[cfg(target_os = "linux")]
            Handle::Cloned(offspring) => offspring.try_wait(),
        }
    }
}

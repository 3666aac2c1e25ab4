//! The agent process on Unix, without the processes that it starts: how it is started, its pipes, its exit.
//!
//! On Linux it is cloned if the system permits it. Otherwise the standard library and tokio fork it, which copies the
//! page tables of the host, so a large host starts agents more slowly.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::setsid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::exit::Exit;
#[cfg(target_os = "linux")]
use crate::platform::ClonedChild;
use crate::platform::PendingSpawn;

/// An agent, running or exited.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    id: u32,
    handle: Handle,
}

/// How the agent was started, and so how to wait for it.
#[derive(Debug)]
enum Handle {
    Forked(Box<tokio::process::Child>),
    #[cfg(target_os = "linux")]
    Cloned(ClonedChild),
}

impl Agent {
    /// Starts an agent in its own session and in the cgroup of `pending`. `command` holds the program, its arguments,
    /// its working directory and its complete environment. Must be called within a tokio runtime.
    pub(crate) fn start(command: Command, stdin: bool, pending: &PendingSpawn) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some((child, pipes)) = ClonedChild::start(&command, stdin, pending.cgroup())? {
            return Ok(Self {
                stdin: pipes.stdin,
                stdout: Some(pipes.stdout),
                stderr: Some(pipes.stderr),
                id: child.id(),
                handle: Handle::Cloned(child),
            });
        }
        Self::fork(command, stdin, pending)
    }

    /// The same without an attempt to clone.
    pub(crate) fn fork(mut command: Command, stdin: bool, pending: &PendingSpawn) -> io::Result<Self> {
        command.stdin(if stdin { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::piped());
        let setup = pending.child_setup();
        let hook = move || {
            setsid()?;
            setup.apply()
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. The hook makes only plain system
        // calls on values created before the fork: setsid, and in `apply` prctl, getppid and a write. None of them
        // allocates, locks or panics.
        #[expect(unsafe_code, reason = "only the child can open a session and request the parent death signal")]
        unsafe {
            command.pre_exec(hook);
        }
        let mut child = tokio::process::Command::from(command).spawn()?;
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            id: child.id().expect("a child has an id until it is waited for"),
            handle: Handle::Forked(Box::new(child)),
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether it was created inside its cgroup. If not, it joined by itself, and that may have failed.
    pub(crate) fn in_cgroup_from_start(&self) -> bool {
        match self.handle {
            Handle::Forked(_) => false,
            #[cfg(target_os = "linux")]
            Handle::Cloned(_) => true,
        }
    }

    /// Waits for its exit. May be cancelled and called again, also after the exit. Closes stdin if it was not taken.
    pub(crate) async fn wait(&mut self) -> io::Result<Exit> {
        drop(self.stdin.take());
        match &mut self.handle {
            Handle::Forked(child) => child.wait().await.map(Exit::from),
            #[cfg(target_os = "linux")]
            Handle::Cloned(child) => child.wait().await,
        }
    }

    /// Its exit status, if it has exited.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        match &mut self.handle {
            Handle::Forked(child) => child.try_wait().map(|status| status.map(Exit::from)),
            #[cfg(target_os = "linux")]
            Handle::Cloned(child) => child.try_wait(),
        }
    }
}

//! An agent that was started with `clone3`: its pipes, and its exit, which a pidfd reports.
//!
//! `tokio::process::Child` works only for a process that tokio has started. This is the equivalent for a cloned one.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use tokio::io::unix::AsyncFd;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::cgroup::Cgroup;
use super::child_setup::ChildSetup;
use super::clone::{ChildSpec, CloneError, clone, watch};
use crate::exit::Exit;

/// The pidfds of agents that were dropped before they exited. Their exit status is taken later.
static ABANDONED: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

/// How often to check whether a debugger has released an agent that has exited. There is no notification for that.
const TRACED_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A cloned child, running or exited.
#[derive(Debug)]
pub(crate) struct ClonedChild {
    id: u32,
    /// Readable once the child has exited.
    pidfd: AsyncFd<Arc<OwnedFd>>,
    /// Present once its exit status has been taken.
    exit: Option<Exit>,
}

/// Our ends of the child's pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl ClonedChild {
    /// Starts the command in the cgroup. Its stdin is a pipe or empty. `None` if it cannot be cloned, but a fork may
    /// work. Must be called within a tokio runtime.
    pub(crate) fn start(command: &Command, stdin: bool, cgroup: Option<&Cgroup>) -> io::Result<Option<(Self, Pipes)>> {
        let Ok(cgroup) = cgroup.map(Cgroup::folder).transpose() else { return Ok(None) };
        let (child_stdin, our_stdin) = if stdin {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            (read, Some(write))
        } else {
            (open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None)
        };
        let (our_stdout, child_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_stderr, child_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        // Before the child is created, because it may fail.
        let pipes = Pipes {
            stdin: our_stdin.map(|write| ChildStdin::from_std(write.into())).transpose()?,
            stdout: ChildStdout::from_std(our_stdout.into())?,
            stderr: ChildStderr::from_std(our_stderr.into())?,
        };
        let child_ends = [above_stdio(child_stdin)?, above_stdio(child_stdout)?, above_stdio(child_stderr)?];
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let spec = ChildSpec {
            program: c_string([command.get_program()])?,
            arguments: [command.get_program()]
                .into_iter()
                .chain(command.get_args())
                .map(|argument| c_string([argument]))
                .collect::<io::Result<_>>()?,
            environment: variables
                .map(|(name, value)| c_string([name, OsStr::new("="), value]))
                .collect::<io::Result<_>>()?,
            workspace: c_string([command.get_current_dir().map_or(OsStr::new("."), |folder| folder.as_os_str())])?,
            stdio: child_ends.each_ref().map(AsFd::as_fd),
            setup: ChildSetup::new(None),
            cgroup: cgroup.as_ref().map(AsFd::as_fd),
        };
        let (id, pidfd) = match clone(&spec) {
            Ok(child) => child,
            // The kernel is too old, system calls are filtered, the cgroup cannot be joined, or there are too many
            // processes. A fork works then, or reports what is wrong.
            Err(CloneError::NotCreated) => return Ok(None),
            // Some C libraries run a file of unknown format with the shell. A fork leaves that to them.
            Err(CloneError::Exec(error)) if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
                return Ok(None);
            }
            Err(CloneError::Exec(error)) => return Err(error),
        };
        match watch(Arc::new(pidfd)) {
            Ok(pidfd) => Ok(Some((Self { id, pidfd, exit: None }, pipes))),
            Err(error) => {
                let (pidfd, error) = error.into_parts();
                // No code could wait for it. The pending spawn cleans up what it may have started meanwhile.
                pidfd_send_signal(&*pidfd, Signal::KILL).ok();
                abandon(pidfd);
                Err(error)
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Waits for its exit. May be cancelled and called again, also after the exit.
    pub(crate) async fn wait(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        if self.pidfd.readable().await.is_err() {
            // The runtime that it was started in was shut down. Register with the current one.
            self.pidfd = watch(Arc::clone(self.pidfd.get_ref()))?;
            drop(self.pidfd.readable().await?);
        }
        loop {
            if let Some(exit) = self.try_wait()? {
                return Ok(exit);
            }
            tokio::time::sleep(TRACED_POLL_INTERVAL).await;
        }
    }

    /// Its exit status, if it has exited.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = reap(self.pidfd.get_ref())?;
        }
        Ok(self.exit)
    }
}

impl Drop for ClonedChild {
    fn drop(&mut self) {
        if matches!(self.try_wait(), Ok(None)) {
            abandon(Arc::clone(self.pidfd.get_ref()));
        }
    }
}

/// Takes the exit status of abandoned agents that have exited.
pub(super) fn reap_abandoned() {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain(|pidfd| matches!(reap(pidfd), Ok(None)));
}

fn abandon(pidfd: Arc<OwnedFd>) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(pidfd);
}

/// Takes the exit status, if the child has exited. An error means that other code in this process has waited for all
/// children.
fn reap(pidfd: &OwnedFd) -> io::Result<Option<Exit>> {
    let status = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?;
    Ok(status.map(|status| Exit { code: status.exit_status(), signal: status.terminating_signal() }))
}

/// The same descriptor with a number above stderr's. A lower one occurs if the host's own standard streams are closed.
fn above_stdio(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if descriptor.as_raw_fd() >= FIRST { Ok(descriptor) } else { Ok(fcntl_dupfd_cloexec(&descriptor, FIRST)?) }
}

/// The concatenated parts, terminated by a NUL for the kernel.
fn c_string<'a>(parts: impl IntoIterator<Item = &'a OsStr>) -> io::Result<CString> {
    let bytes: Vec<u8> = parts.into_iter().flat_map(OsStr::as_bytes).copied().collect();
    Ok(CString::new(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Instant;

    fn sleeper() -> Command {
        let mut command = Command::new("/bin/sleep");
        command.arg("60").env_clear();
        command
    }

    #[tokio::test]
    async fn the_exit_status_of_an_abandoned_agent_is_taken_later() {
        let Some((child, _pipes)) = ClonedChild::start(&sleeper(), false, None).expect("it starts") else { return };
        let folder = format!("/proc/{}", child.id());
        let pidfd = Arc::clone(child.pidfd.get_ref());
        drop(child);
        reap_abandoned();
        assert!(fs::exists(&folder).expect("readable"), "it is alive");
        pidfd_send_signal(&*pidfd, Signal::KILL).expect("our child");
        let begin = Instant::now();
        while fs::exists(&folder).expect("readable") {
            assert!(begin.elapsed() < Duration::from_secs(20), "a zombie is left");
            std::thread::sleep(Duration::from_millis(2));
            reap_abandoned();
        }
    }

    #[tokio::test]
    async fn a_folder_that_is_not_a_cgroup_is_left_to_the_fork() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wharf-fake");
        fs::create_dir(&path).expect("created");
        fs::write(path.join("cgroup.procs"), "").expect("written");
        let cgroup = Cgroup::of_dead_host(&path, "fake").expect("it looks like a cgroup");
        assert!(ClonedChild::start(&sleeper(), false, Some(&cgroup)).expect("no error").is_none());
        fs::remove_dir_all(&path).expect("our folder");
        assert!(ClonedChild::start(&sleeper(), false, Some(&cgroup)).expect("no error").is_none());
    }

    #[test]
    fn strings_with_a_nul_are_rejected() {
        assert_eq!(c_string([OsStr::new("A"), OsStr::new("=b")]).expect("valid").as_bytes(), b"A=b");
        let error = c_string([OsStr::new("a\0b")]).expect_err("not a C string");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

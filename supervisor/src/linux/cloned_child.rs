//! An agent that was cloned: its pipes, and its end, which a descriptor of it tells.
//!
//! `tokio::process::Child` cannot be had for a process that tokio has not started. This does what it does, no more.

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
use rustix::process::{Signal, WaitId, WaitIdOptions, getpid, pidfd_send_signal, waitid};
use tokio::io::unix::AsyncFd;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::super::Exit;
use super::cgroup::Cgroup;
use super::clone::{Failure, Plan, clone, watch};
use super::{Door, Nest};

/// Descriptors of agents that were dropped before they had ended, to take their status when they have.
static ABANDONED: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

/// How long to wait for a debugger to let go of an agent that has ended: nothing tells.
const UNTIL_UNTRACED: Duration = Duration::from_millis(20);

/// The agent, as long as its status was not taken.
#[derive(Debug)]
pub(in super::super) struct Offspring {
    id: u32,
    /// Readable once it has ended.
    descriptor: AsyncFd<Arc<OwnedFd>>,
    exit: Option<Exit>,
}

/// Our ends of its pipes.
#[derive(Debug)]
pub(in super::super) struct Pipes {
    pub(in super::super) stdin: Option<ChildStdin>,
    pub(in super::super) stdout: ChildStdout,
    pub(in super::super) stderr: ChildStderr,
}

impl Offspring {
    /// Starts what the command says in the nest's cgroup, with a pipe for stdin or nothing on it. None if it cannot be
    /// started in this way, but perhaps in another. Must be called within a tokio runtime.
    pub(in super::super) fn start(command: &Command, stdin: bool, nest: &Nest) -> io::Result<Option<(Self, Pipes)>> {
        let Ok(cgroup) = nest.cgroup.as_ref().map(Cgroup::folder).transpose() else { return Ok(None) };
        let (input, our_input) = if stdin {
            let (end, ours) = pipe_with(PipeFlags::CLOEXEC)?;
            (end, Some(ours))
        } else {
            (open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None)
        };
        let (our_output, output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_errors, errors) = pipe_with(PipeFlags::CLOEXEC)?;
        // Before there is a child, because it may fail.
        let pipes = Pipes {
            stdin: our_input.map(|end| ChildStdin::from_std(end.into())).transpose()?,
            stdout: ChildStdout::from_std(our_output.into())?,
            stderr: ChildStderr::from_std(our_errors.into())?,
        };
        let theirs = [above_stdio(input)?, above_stdio(output)?, above_stdio(errors)?];
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let plan = Plan {
            program: terminated([command.get_program()])?,
            arguments: [command.get_program()]
                .into_iter()
                .chain(command.get_args())
                .map(|word| terminated([word]))
                .collect::<io::Result<_>>()?,
            environment: variables
                .map(|(name, value)| terminated([name, OsStr::new("="), value]))
                .collect::<io::Result<_>>()?,
            workspace: terminated([command.get_current_dir().map_or(OsStr::new("."), |folder| folder.as_os_str())])?,
            stdio: theirs.each_ref().map(AsFd::as_fd),
            door: Door { host: getpid(), cgroup: None },
            cgroup: cgroup.as_ref().map(AsFd::as_fd),
        };
        let (id, descriptor) = match clone(&plan) {
            Ok(child) => child,
            // Too old a kernel, a filter of system calls, a cgroup that cannot be entered, or no room for a process:
            // a fork will do, or say what is wrong.
            Err(Failure::Clone) => return Ok(None),
            // Some C libraries hand a file without a known format to the shell. So they do for a forked agent.
            Err(Failure::Exec(error)) if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => return Ok(None),
            Err(Failure::Exec(error)) => return Err(error),
        };
        match watch(Arc::new(descriptor)) {
            Ok(descriptor) => Ok(Some((Self { id, descriptor, exit: None }, pipes))),
            Err(error) => {
                let (descriptor, error) = error.into_parts();
                // Nobody could wait for it. What it may have started meanwhile is the nest's to find.
                pidfd_send_signal(&*descriptor, Signal::KILL).ok();
                abandon(descriptor);
                Err(error)
            }
        }
    }

    pub(in super::super) fn id(&self) -> u32 {
        self.id
    }

    /// Waits for its end. May be cancelled, and called again, also after the end.
    pub(in super::super) async fn wait(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        if self.descriptor.readable().await.is_err() {
            // The runtime that it was started in is gone; the one that waits is not.
            self.descriptor = watch(Arc::clone(self.descriptor.get_ref()))?;
            drop(self.descriptor.readable().await?);
        }
        loop {
            if let Some(exit) = self.try_wait()? {
                return Ok(exit);
            }
            tokio::time::sleep(UNTIL_UNTRACED).await;
        }
    }

    /// How it has ended, if it has.
    pub(in super::super) fn try_wait(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = reap(self.descriptor.get_ref())?;
        }
        Ok(self.exit)
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        if matches!(self.try_wait(), Ok(None)) {
            abandon(Arc::clone(self.descriptor.get_ref()));
        }
    }
}

/// Takes the status of abandoned agents that have ended since.
pub(super) fn reap_abandoned() {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    abandoned.retain(|descriptor| matches!(reap(descriptor), Ok(None)));
}

fn abandon(descriptor: Arc<OwnedFd>) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(descriptor);
}

/// Takes the status, if it has ended. An error means that somebody else here has waited for all children.
fn reap(descriptor: &OwnedFd) -> io::Result<Option<Exit>> {
    let status = waitid(WaitId::PidFd(descriptor.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?;
    Ok(status.map(|status| Exit { code: status.exit_status(), signal: status.terminating_signal() }))
}

/// The same descriptor under a number that no standard one has, as where the host runs with its own closed.
fn above_stdio(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    if descriptor.as_raw_fd() >= FIRST { Ok(descriptor) } else { Ok(fcntl_dupfd_cloexec(&descriptor, FIRST)?) }
}

/// The parts in a row, as the kernel wants its strings.
fn terminated<'a>(parts: impl IntoIterator<Item = &'a OsStr>) -> io::Result<CString> {
    let bytes: Vec<u8> = parts.into_iter().flat_map(OsStr::as_bytes).copied().collect();
    Ok(CString::new(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;
    use std::fs;
    use std::time::Instant;

    fn order(run: &str) -> Order {
        Order {
            program: "/bin/sleep".into(),
            args: vec!["60".into()],
            workspace: "/".into(),
            environment: vec![],
            stdin: false,
            run: run.into(),
            registry: None,
            cgroup: false,
        }
    }

    fn sleeper() -> Command {
        let mut command = Command::new("/bin/sleep");
        command.arg("60").env_clear();
        command
    }

    #[tokio::test]
    async fn the_status_of_an_abandoned_agent_is_taken_later() {
        let nest = Nest::prepare(&order("abandoned")).expect("made");
        let Some((offspring, _pipes)) = Offspring::start(&sleeper(), false, &nest).expect("it starts") else { return };
        let place = format!("/proc/{}", offspring.id());
        let descriptor = Arc::clone(offspring.descriptor.get_ref());
        drop(offspring);
        reap_abandoned();
        assert!(fs::exists(&place).expect("readable"), "it lives, and is not waited for");
        pidfd_send_signal(&*descriptor, Signal::KILL).expect("ours");
        let begin = Instant::now();
        while fs::exists(&place).expect("readable") {
            assert!(begin.elapsed() < Duration::from_secs(20), "a zombie is left");
            std::thread::sleep(Duration::from_millis(2));
            reap_abandoned();
        }
    }

    #[tokio::test]
    async fn what_is_no_cgroup_is_left_to_the_other_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wharf-nowhere");
        fs::create_dir(&path).expect("made");
        fs::write(path.join("cgroup.procs"), "").expect("written");
        let mut nest = Nest::prepare(&order("nowhere")).expect("made");
        nest.cgroup = Cgroup::of_dead_host(&path, "nowhere");
        assert!(nest.cgroup.is_some());
        assert!(Offspring::start(&sleeper(), false, &nest).expect("no error").is_none());
        fs::remove_dir_all(&path).expect("ours");
        assert!(Offspring::start(&sleeper(), false, &nest).expect("no error").is_none());
        nest.cgroup = None;
    }

    #[test]
    fn strings_with_a_nul_are_refused() {
        assert_eq!(terminated([OsStr::new("A"), OsStr::new("=b")]).expect("sound").as_bytes(), b"A=b");
        let error = terminated([OsStr::new("a\0b")]).expect_err("not a string of C");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

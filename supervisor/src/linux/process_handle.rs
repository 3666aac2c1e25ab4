//! A process held by a descriptor, so that looking at it and signalling it concern the same one.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid};

use super::table::{Entry, Identity};

/// A process that was there, under its own number, when it was opened.
#[derive(Debug)]
pub(super) struct Target {
    entry: Entry,
    /// Absent where the kernel has no such descriptors (before 5.3, some sandboxes) or we have too many of them.
    handle: Option<OwnedFd>,
}

impl Target {
    /// Takes hold of a process, unless it is gone or its number is now another's: the descriptor comes first and keeps
    /// meaning the process it was opened on, so the start time read after it decides.
    pub(super) fn open(identity: Identity) -> Option<Self> {
        let handle = match pidfd_open(Pid::from_raw(identity.pid)?, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(rustix::io::Errno::SRCH) => return None,
            Err(_) => None,
        };
        let entry = Entry::of(identity.pid).ok()?;
        (entry.identity() == identity).then_some(Self { entry, handle })
    }

    /// As it was when it was opened.
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Sends a signal. Without a descriptor, the start time is compared once more, right before.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let gone = || io::Error::from(rustix::io::Errno::SRCH);
        match &self.handle {
            Some(handle) => Ok(pidfd_send_signal(handle, signal)?),
            None if Identity::of(self.entry.pid)? == self.entry.identity() => {
                Ok(kill_process(Pid::from_raw(self.entry.pid).ok_or_else(gone)?, signal)?)
            }
            None => Err(gone()),
        }
    }
}

/// Waits until one of them ends, not longer than `limit`. Which of them does not matter: whoever asks looks again.
pub(super) fn wait_for_any(targets: &[Target], limit: Duration) {
    let mut handles: Vec<PollFd<'_>> =
        targets.iter().filter_map(|target| Some(PollFd::new(target.handle.as_ref()?, PollFlags::IN))).collect();
    if handles.is_empty() {
        return std::thread::sleep(limit.min(Duration::from_millis(5)));
    }
    let limit = Timespec::try_from(limit).ok();
    // Interrupted is as good as ended: the next look tells.
    poll(&mut handles, limit.as_ref()).ok();
}

/// Takes the status of a child that has ended and that nobody else waits for.
pub(super) fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // An error means that it is not our child, or no longer: then there is nothing to take.
        waitpid(Some(pid), WaitOptions::NOHANG).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        Command::new("/bin/sleep")
            .arg("60")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sleep is everywhere")
    }

    fn identity(child: &Child) -> Identity {
        Identity::of(i32::try_from(child.id()).expect("small")).expect("it runs")
    }

    #[test]
    fn a_stranger_with_a_recycled_number_is_left_alone() {
        let mut stranger = sleeper();
        let mut mistaken = Entry::of(identity(&stranger).pid).expect("it runs");
        mistaken.start -= 1;
        assert!(Target::open(mistaken.identity()).is_none());
        // The same where there are no descriptors, with the mix-up after the opening.
        let target = Target { entry: mistaken, handle: None };
        assert!(target.signal(Signal::KILL).is_err());
        assert_eq!(stranger.try_wait().expect("our child"), None, "it lives");
        stranger.kill().expect("our child");
        stranger.wait().expect("our child");
    }

    #[test]
    fn the_right_one_is_killed_with_and_without_a_descriptor() {
        for held in [true, false] {
            let mut child = sleeper();
            let mut target = Target::open(identity(&child)).expect("it runs");
            if !held {
                target.handle = None;
            }
            target.signal(Signal::KILL).expect("our child");
            wait_for_any(&[target], Duration::from_secs(5));
            let status = child.wait().expect("our child");
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        }
    }

    #[test]
    fn what_is_gone_cannot_be_opened() {
        let mut child = sleeper();
        let identity = identity(&child);
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(Target::open(identity).is_none());
    }
}

//! A process held by a pidfd, so that looking at it and signalling it always mean the same process.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
    waitpid,
};

use super::process_table::{ProcessEntry, ProcessIdentity};

/// A process that existed, with this identity, when it was opened.
#[derive(Debug)]
pub(super) struct ProcessHandle {
    entry: ProcessEntry,
    /// Absent if the kernel has no pidfds (before 5.3, some sandboxes) or the host has too many descriptors open.
    pidfd: Option<OwnedFd>,
}

impl ProcessHandle {
    /// Opens a process. `None` if it has exited or its process id was reused. The pidfd is opened first and keeps
    /// meaning the same process, so the start time that is read after it decides.
    pub(super) fn open(identity: ProcessIdentity) -> Option<Self> {
        let pidfd = match pidfd_open(Pid::from_raw(identity.pid)?, PidfdFlags::empty()) {
            Ok(pidfd) => Some(pidfd),
            Err(rustix::io::Errno::SRCH) => return None,
            Err(_) => None,
        };
        let entry = ProcessEntry::of(identity.pid).ok()?;
        (entry.identity() == identity).then_some(Self { entry, pidfd })
    }

    /// The process as it was when it was opened.
    pub(super) fn entry(&self) -> &ProcessEntry {
        &self.entry
    }

    /// Sends a signal. Without a pidfd, the start time is compared again immediately before.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let exited = || io::Error::from(rustix::io::Errno::SRCH);
        match &self.pidfd {
            Some(pidfd) => Ok(pidfd_send_signal(pidfd, signal)?),
            None if ProcessIdentity::of(self.entry.pid)? == self.entry.identity() => {
                Ok(kill_process(Pid::from_raw(self.entry.pid).ok_or_else(exited)?, signal)?)
            }
            None => Err(exited()),
        }
    }
}

/// Waits until one of the processes exits, at most for `limit`. It does not say which one: the caller scans again.
pub(super) fn wait_for_any(processes: &[ProcessHandle], limit: Duration) {
    let mut pidfds: Vec<PollFd<'_>> =
        processes.iter().filter_map(|process| Some(PollFd::new(process.pidfd.as_ref()?, PollFlags::IN))).collect();
    if pidfds.is_empty() {
        return std::thread::sleep(limit.min(Duration::from_millis(5)));
    }
    let limit = Timespec::try_from(limit).ok();
    // An interrupted wait does no harm, because the caller scans again.
    poll(&mut pidfds, limit.as_ref()).ok();
}

/// Whether this process has a child, running or exited.
pub(super) fn any_child() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Takes the exit status of a child that no other code waits for, if it has exited.
pub(super) fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // An error means that it is not our child, or no longer: then there is no status to take.
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
            .expect("every system has sleep")
    }

    fn identity(child: &Child) -> ProcessIdentity {
        ProcessIdentity::of(i32::try_from(child.id()).expect("a pid fits")).expect("it runs")
    }

    #[test]
    fn an_unrelated_process_with_a_reused_id_is_not_signalled() {
        let mut unrelated = sleeper();
        let mut wrong = ProcessEntry::of(identity(&unrelated).pid).expect("it runs");
        wrong.start_time -= 1;
        assert!(ProcessHandle::open(wrong.identity()).is_none());
        // The same without pidfds, if the id is reused after the process was opened.
        let handle = ProcessHandle { entry: wrong, pidfd: None };
        assert!(handle.signal(Signal::KILL).is_err());
        assert_eq!(unrelated.try_wait().expect("our child"), None, "it is alive");
        unrelated.kill().expect("our child");
        unrelated.wait().expect("our child");
    }

    #[test]
    fn the_right_process_is_killed_with_and_without_a_pidfd() {
        for with_pidfd in [true, false] {
            let mut child = sleeper();
            let mut handle = ProcessHandle::open(identity(&child)).expect("it runs");
            if !with_pidfd {
                handle.pidfd = None;
            }
            handle.signal(Signal::KILL).expect("our child");
            wait_for_any(&[handle], Duration::from_secs(5));
            let status = child.wait().expect("our child");
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        }
    }

    #[test]
    fn a_process_that_has_exited_cannot_be_opened() {
        let mut child = sleeper();
        let identity = identity(&child);
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(ProcessHandle::open(identity).is_none());
    }
}

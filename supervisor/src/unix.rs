//! Unix systems other than Linux, such as macOS: the process group only, because there is no `/proc`.
//!
//! A process that opens its own session is not found, and orphans of dead hosts are not reaped.
//! [`Containment::Group`] tells the caller so.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::cleanup::{Cleanup, LeftoverProcess, ReapedRun};
use crate::containment::Containment;
use crate::error::SpawnError;
use crate::spawn_spec::{MARKER_HOST, MARKER_RUN, SpawnSpec};

/// These systems have no subreaper.
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Nothing is recorded here: without a start time, a process id may have been reused.
pub(crate) fn reap_orphans(_registry: &Path) -> Vec<ReapedRun> {
    Vec::new()
}

/// There is no process table to scan.
pub(crate) fn scan_live_runs() {}

/// Nothing has to be locked while an agent starts.
pub(crate) struct SpawnGuard;

pub(crate) fn begin_spawn() -> SpawnGuard {
    SpawnGuard
}

#[derive(Debug)]
pub(crate) struct Markers([(OsString, OsString); 2]);

impl Markers {
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

#[derive(Debug)]
pub(crate) struct PendingSpawn {
    markers: Markers,
}

impl PendingSpawn {
    #[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
    pub(crate) fn prepare(spec: &SpawnSpec) -> Result<Self, SpawnError> {
        let host = format!("{}:0", std::process::id());
        let run = spec.run.clone();
        Ok(Self { markers: Markers([(MARKER_RUN.into(), run.into()), (MARKER_HOST.into(), host.into())]) })
    }

    pub(crate) fn markers(&self) -> &Markers {
        &self.markers
    }

    #[expect(clippy::unused_self, reason = "same signature as on Linux")]
    pub(crate) fn child_setup(&self) -> ChildSetup {
        ChildSetup
    }

    #[expect(clippy::unused_self, reason = "same signature as on Linux")]
    pub(crate) fn finish(self, pid: u32, _in_cgroup_from_start: bool, _guard: SpawnGuard) -> Arc<ProcessTree> {
        Arc::new(ProcessTree { group: Pid::from_raw(pid.cast_signed()), agent_reaped: AtomicBool::new(false) })
    }
}

#[derive(Debug)]
pub(crate) struct ChildSetup;

impl ChildSetup {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "same signature as on Linux")]
    pub(crate) fn apply(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The process group of an agent.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    group: Option<Pid>,
    /// Whether the agent has been waited for.
    agent_reaped: AtomicBool,
}

impl ProcessTree {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "same signature as on Linux")]
    pub(crate) fn write_record(&self) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "same signature as on Linux")]
    pub(crate) fn containment(&self) -> Containment {
        Containment::Group
    }

    pub(crate) fn mark_agent_reaped(&self) {
        self.agent_reaped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.group {
            Some(group) if self.any_alive() => Ok(kill_process_group(group, signal)?),
            _ => Ok(()),
        }
    }

    /// The id of a group is not reused while the group has a member.
    pub(crate) fn any_alive(&self) -> bool {
        self.group.is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    pub(crate) fn clean_up(&self, limit: Duration) -> Cleanup {
        let group = || LeftoverProcess {
            pid: self.group.map_or(0, |group| group.as_raw_pid().unsigned_abs()),
            command: "[process group]".into(),
        };
        let deadline = Instant::now() + limit;
        let mut cleanup = Cleanup::default();
        while self.any_alive() {
            if Instant::now() >= deadline {
                return Cleanup { killed: Vec::new(), survivors: vec![group()] };
            }
            self.signal(Signal::KILL).ok();
            cleanup.killed = vec![group()];
            if !self.agent_reaped.load(Ordering::Relaxed) {
                // The agent's zombie keeps the group alive until tokio takes its status, which happens after this.
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        cleanup
    }
}

//! Other Unix systems, macOS among them: the process group, and nothing that `/proc` would tell. What opens a session
//! of its own is not found, orphans of dead hosts are not reaped, and [`Containment::Group`] says so.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::{Containment, MARKER_HOST, MARKER_RUN, Order, Reaped, Remnant, SpawnError, Swept};

/// There is no such thing here.
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Nothing was noted, because a number without a start time may be anybody's by now.
pub(super) fn reap_orphans(_registry: &Path) -> Vec<Reaped> {
    Vec::new()
}

/// Nothing to look at.
pub(super) fn look_after() {}

/// Nothing to hold while an agent starts.
pub(super) struct Start;

pub(super) fn start() -> Start {
    Start
}

#[derive(Debug)]
pub(super) struct Markers([(OsString, OsString); 2]);

impl Markers {
    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

#[derive(Debug)]
pub(super) struct Nest {
    markers: Markers,
}

impl Nest {
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn prepare(order: &Order) -> Result<Self, SpawnError> {
        let host = format!("{}:0", std::process::id());
        let run = order.run.clone();
        Ok(Self { markers: Markers([(MARKER_RUN.into(), run.into()), (MARKER_HOST.into(), host.into())]) })
    }

    pub(super) fn markers(&self) -> &Markers {
        &self.markers
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn door(&self) -> Door {
        Door
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn settle(self, pid: u32, _born_inside: bool, _start: Start) -> Arc<Tree> {
        Arc::new(Tree { group: Pid::from_raw(pid.cast_signed()), reaped: AtomicBool::new(false) })
    }
}

#[derive(Debug)]
pub(super) struct Door;

impl Door {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn enter(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The process group of an agent.
#[derive(Debug)]
pub(super) struct Tree {
    group: Option<Pid>,
    /// Whether the agent was waited for.
    reaped: AtomicBool,
}

impl Tree {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn note(&self) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn containment(&self) -> Containment {
        Containment::Group
    }

    pub(super) fn agent_reaped(&self) {
        self.reaped.store(true, Ordering::Relaxed);
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.group {
            Some(group) if self.remains() => Ok(kill_process_group(group, signal)?),
            _ => Ok(()),
        }
    }

    /// A group keeps its number from being used again for as long as it has a member.
    pub(super) fn remains(&self) -> bool {
        self.group.is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    pub(super) fn sweep(&self, limit: Duration) -> Swept {
        let remnant = || Remnant {
            pid: self.group.map_or(0, |group| group.as_raw_pid().unsigned_abs()),
            command: "[process group]".into(),
        };
        let deadline = Instant::now() + limit;
        let mut swept = Swept::default();
        while self.remains() {
            if Instant::now() >= deadline {
                return Swept { killed: Vec::new(), survivors: vec![remnant()] };
            }
            self.signal(Signal::KILL).ok();
            swept.killed = vec![remnant()];
            if !self.reaped.load(Ordering::Relaxed) {
                // The agent's own zombie keeps the group until tokio takes its status, after this.
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        swept
    }
}

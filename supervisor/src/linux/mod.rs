//! Linux: the process table in `/proc`, descriptors of processes, cgroups, and the folder of live runs.

mod cgroup;
mod clone;
mod family;
mod marker;
mod offspring;
mod pseudofile;
mod registry;
mod roster;
mod table;
mod target;
mod tree;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use super::{Order, SpawnError, SpawnErrorKind};
use cgroup::Cgroup;
use marker::Markers;
use registry::{Note, Place, Record};
use table::Identity;

#[cfg(test)]
pub(super) use clone::close_stdio;
pub(super) use offspring::Offspring;
pub(super) use registry::reap_orphans;
pub(super) use roster::{become_subreaper, look_after, start};
pub(super) use tree::Tree;

/// How long to look for what a failed start has left.
const FAILED_START_LIMIT: Duration = Duration::from_secs(1);

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

/// What is made ready before an agent starts, and taken away again if it does not.
#[derive(Debug)]
pub(super) struct Nest {
    record: Record,
    markers: Markers,
    cgroup: Option<Cgroup>,
    note: Option<Note>,
    /// Whether an agent lives in it, and its tree takes care.
    settled: bool,
}

impl Nest {
    /// Makes the cgroup, and notes the run: before the start, so that a host that dies in between is found out.
    pub(super) fn prepare(order: &Order) -> Result<Self, SpawnError> {
        let host = Identity::own().map_err(|error| {
            SpawnError::because(
                order,
                SpawnErrorKind::Other,
                "/proc cannot be read, so it could not be supervised",
                error,
            )
        })?;
        let cgroup = if order.cgroup { Cgroup::create(&order.run) } else { None };
        let record = Record {
            run: order.run.clone(),
            place: Place::here(),
            host_pid: host.pid,
            host_start: host.start,
            agent_pid: None,
            agent_start: None,
            cgroup: cgroup.as_ref().map(|cgroup| cgroup.path().to_owned()),
        };
        let note = order.registry.as_deref().map(|registry| Note::new(registry, &order.run));
        let nest = Self { record, markers: Markers::new(&order.run, host), cgroup, note, settled: false };
        if let Some(note) = &nest.note {
            note.write(&nest.record).map_err(|error| {
                SpawnError::because(
                    order,
                    SpawnErrorKind::Registry,
                    "it cannot be noted in the folder of live runs",
                    error,
                )
            })?;
        }
        Ok(nest)
    }

    pub(super) fn markers(&self) -> &Markers {
        &self.markers
    }

    /// What a forked agent does before exec.
    pub(super) fn door(&self) -> Door {
        Door { host: getpid(), cgroup: self.cgroup.as_ref().and_then(|cgroup| cgroup.door().ok()) }
    }

    /// The agent is running, or has ended and was not waited for. One that was `born_inside` is in the cgroup, if there
    /// is one; any other may have failed to enter it.
    pub(super) fn settle(mut self, pid: u32, born_inside: bool, start: roster::Start) -> Arc<Tree> {
        let pid = pid.cast_signed();
        let agent = Identity::of(pid).unwrap_or(Identity { pid, start: self.record.host_start });
        let mut cgroup = self.cgroup.take();
        if let Some(unused) = cgroup.take_if(|cgroup| !born_inside && !cgroup.holds(pid)) {
            unused.remove();
            self.record.cgroup = None;
        }
        let record = Record { agent_pid: Some(pid), agent_start: Some(agent.start), ..self.record.clone() };
        let tree = Arc::new(Tree::new(record, self.markers.clone(), cgroup, self.note.take()));
        start.enter(&tree, agent);
        self.settled = true;
        tree
    }
}

impl Drop for Nest {
    /// A start may fail after the fork, when tokio cannot take over the pipes; then the agent runs and nobody holds it.
    fn drop(&mut self) {
        if !self.settled {
            Tree::unattended(&self.record, self.cgroup.take(), self.note.take()).sweep(FAILED_START_LIMIT);
        }
    }
}

/// The way into the nest.
#[derive(Debug)]
pub(super) struct Door {
    host: Pid,
    cgroup: Option<File>,
}

impl Door {
    /// Runs in the child before exec: plain system calls only.
    ///
    /// A forked child enters the cgroup by itself, before it can start anything; were its number written by the host
    /// after the spawn, what it starts first would stay outside. Whether it worked is looked up afterwards.
    pub(super) fn enter(&self) -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // A host that died before the line above sends no signal any more.
        if getppid() != Some(self.host) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        if let Some(cgroup) = &self.cgroup {
            rustix::io::write(cgroup, b"0").ok();
        }
        Ok(())
    }
}

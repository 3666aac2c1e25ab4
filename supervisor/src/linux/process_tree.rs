//! All processes of a run: who they are at a given moment, and how to end them all.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::super::{Containment, Remnant, Swept};
use super::cgroup::Cgroup;
use super::family::{Claim, family};
use super::marker::Markers;
use super::registry::{Note, Record};
use super::table::{self, Entry, Identity};
use super::target::{self, Target};
use super::{own_pid, roster};

/// How many descriptors of killed processes are held at once, to wait on.
const HELD: usize = 64;
/// How long to wait for the killed before looking again.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(250);

/// The processes of one run.
#[derive(Debug)]
pub(in super::super) struct Tree {
    record: Record,
    markers: Markers,
    cgroup: Option<Cgroup>,
    /// Its file in the folder of live runs.
    note: Option<Note>,
    /// Held while that is written or removed: it is written by another thread than the one that removes it.
    noting: Mutex<()>,
    /// Whether this process has its agent for a child.
    ours: bool,
    /// Whether the agent was waited for, so that its number no longer is its own.
    reaped: AtomicBool,
    /// Whether a sweep found nothing left: from then on its numbers are anybody's.
    gone: AtomicBool,
    /// The members at the last look. Those that have ended are dropped: their children have other parents by then.
    known: Mutex<HashSet<Identity>>,
}

impl Tree {
    pub(super) fn new(record: Record, markers: Markers, cgroup: Option<Cgroup>, note: Option<Note>) -> Self {
        let (reaped, gone, known) = (AtomicBool::new(false), AtomicBool::new(false), Mutex::default());
        Self { record, markers, cgroup, note, noting: Mutex::default(), ours: true, reaped, gone, known }
    }

    /// One whose agent is nobody's child to be waited for: of a dead host, or of a start that failed.
    pub(super) fn unattended(record: &Record, cgroup: Option<Cgroup>, note: Option<Note>) -> Self {
        let markers = Markers::new(&record.run, record.host());
        let tree = Self::new(record.clone(), markers, cgroup, note);
        Self { ours: false, reaped: AtomicBool::new(true), ..tree }
    }

    /// Writes it into the folder of live runs, if it has one; not of a run that is over.
    pub(in super::super) fn note(&self) -> io::Result<()> {
        let _noting = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.note {
            Some(note) if !self.gone.load(Ordering::Relaxed) => note.write(&self.record),
            _ => Ok(()),
        }
    }

    pub(in super::super) fn containment(&self) -> Containment {
        if self.cgroup.is_some() { Containment::Cgroup } else { Containment::ProcessTable }
    }

    /// The agent was waited for.
    pub(in super::super) fn agent_reaped(&self) {
        self.reaped.store(true, Ordering::Relaxed);
        if let Some(agent) = self.record.agent() {
            roster::agent_reaped(agent);
        }
    }

    /// Nothing older belongs to the run.
    pub(super) fn since(&self) -> u64 {
        self.record.agent_start.unwrap_or(self.record.host_start)
    }

    /// Signals the agent's process group. Once the agent was waited for, the group's number may be another's, so then
    /// its former members are signalled one by one.
    pub(in super::super) fn signal(&self, signal: Signal) -> io::Result<()> {
        // While the tree is whole, because a signal may be the end of those whose children it shows.
        let members = self.look();
        if !self.reaped.load(Ordering::Relaxed) {
            let group = self.record.agent_pid.and_then(Pid::from_raw);
            return match group.map_or(Ok(()), |group| kill_process_group(group, signal)) {
                // Nobody is left to be signalled.
                Err(Errno::SRCH) => Ok(()),
                result => Ok(result?),
            };
        }
        let in_group = members.iter().filter(|entry| Some(entry.session) == self.record.agent_pid);
        for target in in_group.filter_map(|entry| Target::open(entry.identity())) {
            // Gone since the look is no failure.
            target.signal(signal).ok();
        }
        Ok(())
    }

    /// Whether anything of it lives.
    pub(in super::super) fn remains(&self) -> bool {
        // A cgroup knows without a look at all processes of the system; the sweep looks anyway.
        self.cgroup.as_ref().map_or_else(|| !self.look().is_empty(), Cgroup::populated)
    }

    /// Kills all that lives of it, until a look finds nothing or the time is over.
    ///
    /// One look at the table may miss a process that a dying one has just started. A cgroup that says it is empty is
    /// proof; without one, two looks in a row must find nothing.
    pub(in super::super) fn sweep(&self, limit: Duration) -> Swept {
        let deadline = Instant::now() + limit;
        let mut found: BTreeMap<Identity, Remnant> = BTreeMap::new();
        let enough = if self.cgroup.is_some() { 1 } else { 2 };
        let mut empty_looks = 0;
        loop {
            let living = self.look();
            if living.is_empty() && !self.cgroup.as_ref().is_some_and(Cgroup::populated) {
                empty_looks += 1;
                if empty_looks < enough {
                    continue;
                }
                self.dismiss();
                return Swept { killed: found.into_values().collect(), survivors: Vec::new() };
            }
            if Instant::now() >= deadline {
                let survive = |entry: &Entry| found.remove(&entry.identity()).unwrap_or_else(|| remnant(entry.pid));
                let mut survivors: Vec<Remnant> = living.iter().map(survive).collect();
                if survivors.is_empty() {
                    survivors.push(Remnant { pid: 0, command: "[in the cgroup, unseen in the process table]".into() });
                }
                return Swept { killed: found.into_values().collect(), survivors };
            }
            empty_looks = 0;
            let mut held = Vec::new();
            for entry in &living {
                // Described before it is opened: one that was not ending then still had a command line.
                let named = found.get(&entry.identity()).cloned().unwrap_or_else(|| remnant(entry.pid));
                let Some(target) = Target::open(entry.identity()) else { continue };
                if target.signal(Signal::KILL).is_ok() && !target.entry().ending {
                    found.insert(entry.identity(), named);
                }
                if held.len() < HELD {
                    held.push(target);
                }
            }
            // Whatever they have started since the look.
            if let Some(cgroup) = &self.cgroup {
                cgroup.kill();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            target::wait_for_any(&held, left.min(BETWEEN_ROUNDS));
        }
    }

    /// Nothing is left, so nothing needs to be remembered.
    fn dismiss(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        let noting = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        self.gone.store(true, Ordering::Relaxed);
        if let Some(note) = &self.note {
            note.remove();
        }
        drop(noting);
        roster::leave(self);
    }

    /// Takes note of the members, without the costly look into every environment.
    pub(super) fn observe(&self, table: &[Entry]) {
        self.members(table, &HashSet::new());
    }

    /// The living members, by all that tells them.
    fn look(&self) -> Vec<Entry> {
        if self.gone.load(Ordering::Relaxed) {
            return Vec::new();
        }
        // In this order: what is found out of the number of an entry after the table was read may at worst concern a
        // later process, which the start time then saves.
        let table = table::read();
        let mut marked = self.cgroup.as_ref().map(Cgroup::pids).unwrap_or_default();
        let recent = table.iter().filter(|entry| entry.living && entry.start >= self.since());
        let unknown: Vec<i32> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            recent.filter(|entry| !known.contains(&entry.identity())).map(|entry| entry.pid).collect()
        };
        marked.extend(unknown.into_iter().filter(|&pid| self.markers.on(pid)));
        let mut members = self.members(&table, &marked);
        members.retain(|entry| entry.living);
        members
    }

    fn members(&self, table: &[Entry], marked: &HashSet<i32>) -> Vec<Entry> {
        let host = own_pid();
        // With a cgroup, whoever is not in it is not ours.
        let adoption = if self.ours && self.cgroup.is_none() { roster::adoption(self) } else { None };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let claim = Claim {
            host,
            agent: self.record.agent(),
            session_is_fresh: self.ours,
            since: self.since(),
            known: &known,
            marked,
            adoption: adoption.as_ref(),
        };
        let members = family(table, &claim);
        *known = members.iter().map(Entry::identity).collect();
        drop(known);
        for entry in members.iter().filter(|entry| !entry.living && entry.parent == host) {
            // An agent's status is for whoever waits for the agent.
            if !roster::is_agent(entry.identity()) {
                target::reap(entry.pid);
            }
        }
        members
    }
}

fn remnant(pid: i32) -> Remnant {
    Remnant { pid: pid.unsigned_abs(), command: table::command(pid) }
}

//! All processes of a run: which they are at a given moment, and how to end them all.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::cgroup::Cgroup;
use super::live_runs::{self, LiveRun};
use super::markers::Markers;
use super::members::{Criteria, find_members};
use super::process_handle::{self, ProcessHandle};
use super::process_table::{self, ProcessEntry, ProcessIdentity, own_pid};
use super::run_record::{RunFile, RunRecord};
use crate::cleanup::{Cleanup, LeftoverProcess};
use crate::containment::Containment;

/// How many pidfds of killed processes are held at once to wait on.
const MAX_HANDLES: usize = 64;
/// How long to wait for killed processes before the next scan.
const KILL_WAIT: Duration = Duration::from_millis(250);

/// The processes of one run.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    record: RunRecord,
    markers: Markers,
    cgroup: Option<Cgroup>,
    /// The file in the folder of live runs.
    file: Option<RunFile>,
    /// Held while the file is written or removed, because two threads do that.
    file_lock: Mutex<()>,
    /// Whether the agent is a child of this process and has a [`Process`](crate::Process) that waits for it.
    has_owner: bool,
    /// Whether the agent has been waited for, so that its process id may be reused.
    agent_reaped: AtomicBool,
    /// Whether a cleanup found nothing left. After that, all its process ids may be reused.
    ended: AtomicBool,
    /// The members found by the last scan. Members that have exited are dropped: their children have new parents by
    /// then.
    known: Mutex<HashSet<ProcessIdentity>>,
}

impl ProcessTree {
    pub(super) fn new(record: RunRecord, markers: Markers, cgroup: Option<Cgroup>, file: Option<RunFile>) -> Self {
        Self {
            record,
            markers,
            cgroup,
            file,
            file_lock: Mutex::default(),
            has_owner: true,
            agent_reaped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            known: Mutex::default(),
        }
    }

    /// A tree whose agent no [`Process`](crate::Process) waits for: its host has died, or its start failed.
    pub(super) fn without_owner(record: &RunRecord, cgroup: Option<Cgroup>, file: Option<RunFile>) -> Self {
        let markers = Markers::new(&record.run, record.host());
        let tree = Self::new(record.clone(), markers, cgroup, file);
        Self { has_owner: false, agent_reaped: AtomicBool::new(true), ..tree }
    }

    /// Writes the record to the folder of live runs, if there is one and the run has not ended.
    pub(crate) fn write_record(&self) -> io::Result<()> {
        let _locked = self.file_lock.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.file {
            Some(file) if !self.ended.load(Ordering::Relaxed) => file.write(&self.record),
            _ => Ok(()),
        }
    }

    pub(crate) fn containment(&self) -> Containment {
        if self.cgroup.is_some() { Containment::Cgroup } else { Containment::ProcessTable }
    }

    /// Call it when the agent has been waited for.
    pub(crate) fn mark_agent_reaped(&self) {
        self.agent_reaped.store(true, Ordering::Relaxed);
        if let Some(agent) = self.record.agent() {
            live_runs::remove_agent(agent);
        }
    }

    /// Signals the agent's process group. Once the agent has been waited for, the id of the group may be reused, so
    /// its remaining members are signalled one by one.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        // Scan first: the signal may end processes through which their children are found.
        let members = self.scan();
        if !self.agent_reaped.load(Ordering::Relaxed) {
            let group = self.record.agent_pid.and_then(Pid::from_raw);
            return match group.map_or(Ok(()), |group| kill_process_group(group, signal)) {
                // No process is left to signal.
                Err(Errno::SRCH) => Ok(()),
                result => Ok(result?),
            };
        }
        let in_group = members.iter().filter(|entry| Some(entry.session) == self.record.agent_pid);
        for process in in_group.filter_map(|entry| ProcessHandle::open(entry.identity())) {
            // A process that has exited since the scan is not an error.
            process.signal(signal).ok();
        }
        Ok(())
    }

    /// Whether any process of the run is alive.
    pub(crate) fn any_alive(&self) -> bool {
        // A cgroup answers without a scan of all processes. The cleanup scans anyway.
        self.cgroup.as_ref().map_or_else(|| !self.scan().is_empty(), Cgroup::is_populated)
    }

    /// Kills all living processes of the run until a scan finds none or the time limit is reached.
    ///
    /// One scan may miss a process that a dying one has just started. A cgroup that reports to be empty is proof, if
    /// no process that left it can have become our child; without one, two scans in a row must find nothing.
    pub(crate) fn clean_up(&self, limit: Duration) -> Cleanup {
        let deadline = Instant::now() + limit;
        let mut killed: BTreeMap<ProcessIdentity, LeftoverProcess> = BTreeMap::new();
        let mut empty_scans = 0;
        loop {
            let alive = self.scan();
            if alive.is_empty() && !self.cgroup.as_ref().is_some_and(Cgroup::is_populated) {
                empty_scans += 1;
                let proof = self.cgroup.is_some() && !(live_runs::is_subreaper() && process_handle::any_child());
                if empty_scans < 2 && !proof {
                    continue;
                }
                self.release();
                return Cleanup { killed: killed.into_values().collect(), survivors: Vec::new() };
            }
            if Instant::now() >= deadline {
                let survivor =
                    |entry: &ProcessEntry| killed.remove(&entry.identity()).unwrap_or_else(|| leftover(entry.pid));
                let mut survivors: Vec<LeftoverProcess> = alive.iter().map(survivor).collect();
                if survivors.is_empty() {
                    let command = "[in the cgroup, but not in the process table]".into();
                    survivors.push(LeftoverProcess { pid: 0, command });
                }
                return Cleanup { killed: killed.into_values().collect(), survivors };
            }
            empty_scans = 0;
            let mut handles = Vec::new();
            for entry in &alive {
                // Described before it is opened: if it was not exiting then, it still had a command line.
                let described = killed.get(&entry.identity()).cloned().unwrap_or_else(|| leftover(entry.pid));
                let Some(process) = ProcessHandle::open(entry.identity()) else { continue };
                if process.signal(Signal::KILL).is_ok() && !process.entry().exiting {
                    killed.insert(entry.identity(), described);
                }
                if handles.len() < MAX_HANDLES {
                    handles.push(process);
                }
            }
            // Also kills what they have started since the scan.
            if let Some(cgroup) = &self.cgroup {
                cgroup.kill();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            process_handle::wait_for_any(&handles, left.min(KILL_WAIT));
        }
    }

    /// Removes the cgroup, the record and the registration of a run of which no process is left.
    fn release(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        let locked = self.file_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::Relaxed);
        if let Some(file) = &self.file {
            file.remove();
        }
        drop(locked);
        live_runs::unregister(self);
    }

    /// The living members, found by all criteria.
    fn scan(&self) -> Vec<ProcessEntry> {
        if self.ended.load(Ordering::Relaxed) {
            return Vec::new();
        }
        // The table must be read first. What is read about a process id after that may concern a later process with
        // the same id, but then the start time does not match and the process is not touched.
        let table = process_table::read();
        let mut marked = self.cgroup.as_ref().map(Cgroup::pids).unwrap_or_default();
        let recent = table.iter().filter(|entry| entry.alive && entry.start_time >= self.started_at());
        let unknown: Vec<i32> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            recent.filter(|entry| !known.contains(&entry.identity())).map(|entry| entry.pid).collect()
        };
        marked.extend(unknown.into_iter().filter(|&pid| self.markers.are_on(pid)));
        let mut members = self.members(&table, &marked);
        members.retain(|entry| entry.alive);
        members
    }

    fn members(&self, table: &[ProcessEntry], marked: &HashSet<i32>) -> Vec<ProcessEntry> {
        let host = own_pid();
        // Also with a cgroup: a process that may write to another one can leave it.
        let adoption = if self.has_owner { live_runs::adoption(self) } else { None };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let criteria = Criteria {
            host,
            agent: self.record.agent(),
            session_id_is_ours: self.has_owner,
            started_at: self.started_at(),
            known: &known,
            marked,
            adoption: adoption.as_ref(),
        };
        let members = find_members(table, &criteria);
        *known = members.iter().map(ProcessEntry::identity).collect();
        drop(known);
        for entry in members.iter().filter(|entry| !entry.alive && entry.parent == host) {
            // The exit status of an agent is left for the `Process` that waits for it.
            if !live_runs::is_agent(entry.identity()) {
                process_handle::reap(entry.pid);
            }
        }
        members
    }
}

impl LiveRun for ProcessTree {
    fn started_at(&self) -> u64 {
        self.record.agent_start.unwrap_or(self.record.host_start)
    }

    /// Skips the markers, because it is expensive to read every environment.
    fn observe(&self, table: &[ProcessEntry]) {
        self.members(table, &HashSet::new());
    }
}

fn leftover(pid: i32) -> LeftoverProcess {
    LeftoverProcess { pid: pid.unsigned_abs(), command: process_table::command(pid) }
}

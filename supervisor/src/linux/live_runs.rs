//! The runs of this process that are alive, and the agents whose exit status belongs to their
//! [`Process`](crate::Process).

use std::collections::HashSet;
use std::fmt::Debug;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::process::{getpid, set_child_subreaper};

use super::members::Adoption;
use super::process_table::{ProcessEntry, ProcessIdentity};

/// Whether orphans of runs become our children, and no other child of ours looks like one.
static SUBREAPER: AtomicBool = AtomicBool::new(false);

static LIVE_RUNS: Mutex<LiveRuns> = Mutex::new(LiveRuns { runs: Vec::new(), agents: None });

/// What this list needs to know about a run. A trait, so that this module does not depend on the process tree, which
/// uses it.
pub(super) trait LiveRun: Debug + Send + Sync {
    /// No process that started earlier belongs to the run.
    fn started_at(&self) -> u64;
    /// Remembers the members of the run in this table.
    fn observe(&self, table: &[ProcessEntry]);
}

struct LiveRuns {
    runs: Vec<Weak<dyn LiveRun>>,
    /// The agents that have not been waited for. (`HashSet::new` is not const.)
    agents: Option<HashSet<ProcessIdentity>>,
}

fn live_runs() -> MutexGuard<'static, LiveRuns> {
    LIVE_RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`crate::become_subreaper`].
pub(crate) fn become_subreaper() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    SUBREAPER.store(true, Ordering::Relaxed);
    Ok(())
}

/// Held while an agent starts. Code that has seen a new agent in the process table and then asks for the [`adoption`]
/// waits until the agent is registered. Otherwise the cleanup of another run could mistake it for an orphan.
pub(crate) struct SpawnGuard(MutexGuard<'static, LiveRuns>);

/// Call it before the agent is created.
pub(crate) fn begin_spawn() -> SpawnGuard {
    SpawnGuard(live_runs())
}

impl SpawnGuard {
    /// Adds a run and its agent.
    pub(super) fn register<R: LiveRun + 'static>(mut self, run: &Arc<R>, agent: ProcessIdentity) {
        let run = Arc::downgrade(run);
        self.0.runs.push(run);
        self.0.agents.get_or_insert_default().insert(agent);
    }
}

/// Removes a run of which no process is left.
pub(super) fn unregister(run: &dyn LiveRun) {
    live_runs().runs.retain(|other| !ptr::addr_eq(other.as_ptr(), run) && other.strong_count() > 0);
}

/// Call it when the agent has been waited for: its process id may be reused now.
pub(super) fn remove_agent(agent: ProcessIdentity) {
    live_runs().agents.get_or_insert_default().remove(&agent);
}

/// Whether it is an agent whose [`Process`](crate::Process) will wait for it.
pub(super) fn is_agent(process: ProcessIdentity) -> bool {
    live_runs().agents.get_or_insert_default().contains(&process)
}

/// Whether orphans become our children.
pub(super) fn is_subreaper() -> bool {
    SUBREAPER.load(Ordering::Relaxed)
}

/// How `run` may claim orphans, if this process is the subreaper. Must be called after the process table was read, see
/// [`SpawnGuard`].
pub(super) fn adoption(run: &dyn LiveRun) -> Option<Adoption> {
    if !is_subreaper() {
        return None;
    }
    let mut live_runs = live_runs();
    let agents = live_runs.agents.get_or_insert_default().clone();
    let others = live_runs.runs.iter().filter(|other| !ptr::addr_eq(other.as_ptr(), run));
    let other_runs = others.filter_map(Weak::upgrade).map(|other| other.started_at()).collect();
    Some(Adoption { agents, other_runs })
}

/// All live runs of this process.
pub(super) fn all() -> Vec<Arc<dyn LiveRun>> {
    live_runs().runs.iter().filter_map(Weak::upgrade).collect()
}

//! All trees that this process has in its care, and the agents whose status is not its own to take.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::family::Adoption;
use super::offspring;
use super::table::{self, Identity};
use super::target;
use super::tree::Tree;

/// Whether orphans of our runs become our children, and no other children of ours look like them.
static SUBREAPER: AtomicBool = AtomicBool::new(false);

static ROSTER: Mutex<Roster> = Mutex::new(Roster { trees: Vec::new(), agents: None });

struct Roster {
    trees: Vec<Weak<Tree>>,
    /// The agents that were not waited for yet. (`HashSet::new` is not const.)
    agents: Option<HashSet<Identity>>,
}

fn roster() -> MutexGuard<'static, Roster> {
    ROSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`super::super::become_subreaper`].
pub(in super::super) fn become_subreaper() -> std::io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    SUBREAPER.store(true, Ordering::Relaxed);
    Ok(())
}

/// Held while an agent starts. Whoever has seen a newborn agent in the table and then asks for the [`adoption`] waits
/// until it is on the roster; otherwise the sweep of another run would take it for an orphan.
pub(in super::super) struct Start(MutexGuard<'static, Roster>);

/// Begins a start.
pub(in super::super) fn start() -> Start {
    Start(roster())
}

impl Start {
    /// Takes a tree into care, with its agent.
    pub(super) fn enter(mut self, tree: &Arc<Tree>, agent: Identity) {
        self.0.trees.push(Arc::downgrade(tree));
        self.0.agents.get_or_insert_default().insert(agent);
    }
}

/// The tree is gone.
pub(super) fn leave(tree: &Tree) {
    roster().trees.retain(|other| !std::ptr::eq(other.as_ptr(), tree) && other.strong_count() > 0);
}

/// The agent was waited for: its number may be used again.
pub(super) fn agent_reaped(agent: Identity) {
    roster().agents.get_or_insert_default().remove(&agent);
}

/// Whether it is an agent whose [`Process`](super::super::Process) waits for it.
pub(super) fn is_agent(identity: Identity) -> bool {
    roster().agents.get_or_insert_default().contains(&identity)
}

/// How `tree` may claim orphans, if this process adopts them. To be asked after the table was read, see [`Start`].
pub(super) fn adoption(tree: &Tree) -> Option<Adoption> {
    if !SUBREAPER.load(Ordering::Relaxed) {
        return None;
    }
    let mut roster = roster();
    let own = roster.agents.get_or_insert_default().clone();
    let others = roster.trees.iter().filter(|other| !std::ptr::eq(other.as_ptr(), tree));
    let rivals = others.filter_map(Weak::upgrade).map(|other| other.since()).collect();
    Some(Adoption { own, rivals })
}

/// Notes who belongs to each tree now, while their parents still show it, and takes the status of orphans that ended.
pub(in super::super) fn look_after() {
    offspring::reap_abandoned();
    let trees: Vec<Arc<Tree>> = roster().trees.iter().filter_map(Weak::upgrade).collect();
    if trees.is_empty() {
        return;
    }
    let table = table::read();
    for tree in &trees {
        tree.observe(&table);
    }
    // An orphan that nothing else connects with one of several runs is nobody's until the last of them ends, but
    // once it has ended itself there is nothing left to decide.
    let Some(adoption) = trees.first().and_then(|tree| adoption(tree)) else { return };
    let host = super::own_pid();
    let session = table.iter().find(|entry| entry.pid == host).map(|entry| entry.session);
    for entry in table.iter().filter(|entry| !entry.living && adoption.adopted(entry, host, session)) {
        target::reap(entry.pid);
    }
}

//! The state between the preparation of a spawn and the running agent.

use std::sync::Arc;
use std::time::Duration;

use super::cgroup::Cgroup;
use super::child_setup::ChildSetup;
use super::live_runs::SpawnGuard;
use super::markers::Markers;
use super::process_table::ProcessIdentity;
use super::process_tree::ProcessTree;
use super::run_record::{PidScope, RunFile, RunRecord};
use crate::error::{SpawnError, SpawnErrorKind};
use crate::spawn_spec::SpawnSpec;

/// How long to clean up after a failed start.
const FAILED_START_LIMIT: Duration = Duration::from_secs(1);

/// What is prepared before an agent starts. If the start fails, dropping this undoes it.
#[derive(Debug)]
pub(crate) struct PendingSpawn {
    record: RunRecord,
    markers: Markers,
    cgroup: Option<Cgroup>,
    file: Option<RunFile>,
    /// Whether the agent runs, so that its tree is responsible for the rest.
    finished: bool,
}

impl PendingSpawn {
    /// Creates the cgroup and records the run, before the start, so that a host that dies in between can be found.
    pub(crate) fn prepare(spec: &SpawnSpec) -> Result<Self, SpawnError> {
        let host = ProcessIdentity::own().map_err(|error| {
            spec.error_with_source(
                SpawnErrorKind::Other,
                "/proc cannot be read, so the agent could not be supervised",
                error,
            )
        })?;
        let cgroup = if spec.cgroup { Cgroup::create(&spec.run) } else { None };
        let record = RunRecord {
            run: spec.run.clone(),
            pid_scope: PidScope::current(),
            host_pid: host.pid,
            host_start: host.start_time,
            agent_pid: None,
            agent_start: None,
            cgroup: cgroup.as_ref().map(|cgroup| cgroup.path().to_owned()),
        };
        let file = spec.registry.as_deref().map(|registry| RunFile::new(registry, &spec.run));
        let pending = Self { record, markers: Markers::new(&spec.run, host), cgroup, file, finished: false };
        if let Some(file) = &pending.file {
            file.write(&pending.record).map_err(|error| {
                spec.error_with_source(
                    SpawnErrorKind::Registry,
                    "the run cannot be recorded in the folder of live runs",
                    error,
                )
            })?;
        }
        Ok(pending)
    }

    pub(crate) fn markers(&self) -> &Markers {
        &self.markers
    }

    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// The setup for a forked child, which joins the cgroup by itself.
    pub(crate) fn child_setup(&self) -> ChildSetup {
        ChildSetup::new(self.cgroup.as_ref().and_then(|cgroup| cgroup.procs_file().ok()))
    }

    /// Call it when the agent is running, or has exited and was not waited for. An agent that is not
    /// `in_cgroup_from_start` may have failed to join the cgroup; then the run goes on without one.
    pub(crate) fn finish(mut self, pid: u32, in_cgroup_from_start: bool, guard: SpawnGuard) -> Arc<ProcessTree> {
        let pid = pid.cast_signed();
        let fallback = ProcessIdentity { pid, start_time: self.record.host_start };
        let agent = ProcessIdentity::of(pid).unwrap_or(fallback);
        let mut cgroup = self.cgroup.take();
        if let Some(unused) = cgroup.take_if(|cgroup| !in_cgroup_from_start && !cgroup.contains(pid)) {
            unused.remove();
            self.record.cgroup = None;
        }
        let record = RunRecord { agent_pid: Some(pid), agent_start: Some(agent.start_time), ..self.record.clone() };
        let tree = Arc::new(ProcessTree::new(record, self.markers.clone(), cgroup, self.file.take()));
        guard.register(&tree, agent);
        self.finished = true;
        tree
    }
}

impl Drop for PendingSpawn {
    /// A start may fail after the fork, if tokio cannot register the pipes. Then the agent runs without an owner.
    fn drop(&mut self) {
        if !self.finished {
            ProcessTree::without_owner(&self.record, self.cgroup.take(), self.file.take()).clean_up(FAILED_START_LIMIT);
        }
    }
}

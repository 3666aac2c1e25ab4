//! A running agent on Unix together with its [`ProcessTree`]: everything that it started.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::agent::Agent;
use crate::cleanup::Cleanup;
use crate::containment::Containment;
use crate::error::{SpawnError, SpawnErrorKind};
use crate::exit::Exit;
use crate::platform::{self, PendingSpawn, ProcessTree};
use crate::spawn_spec::SpawnSpec;
use crate::spawner;

/// How long a cleanup keeps killing before it reports survivors.
const CLEANUP_LIMIT: Duration = Duration::from_secs(5);
/// The same for a process that is dropped without a cleanup, because the drop blocks its caller.
const DROP_LIMIT: Duration = Duration::from_secs(2);
/// How much output of an agent the kernel may buffer for us.
#[cfg(target_os = "linux")]
const PIPE_SIZE: usize = 1 << 20;

/// Starts an agent: [`Agent::start`] or [`Agent::fork`].
type SpawnFn = fn(Command, bool, &PendingSpawn) -> io::Result<Agent>;

/// An agent, running or exited, and its process tree.
///
/// If it is dropped without a [`clean_up`](Process::clean_up), it kills the tree, but waits only briefly for it to exit.
#[derive(Debug)]
pub struct Process {
    agent: Agent,
    tree: Arc<ProcessTree>,
    /// Whether a cleanup has found that the whole tree exited.
    cleaned_up: bool,
}

impl Process {
    /// Starts an agent in its own session and process group. Must be called within a tokio runtime.
    pub async fn spawn(spec: SpawnSpec) -> Result<Self, SpawnError> {
        Self::spawn_with(Agent::start, spec).await
    }

    /// The same with a given function, for tests.
    pub(crate) async fn spawn_with(spawn_fn: SpawnFn, spec: SpawnSpec) -> Result<Self, SpawnError> {
        spec.check()?;
        let copy = spec.clone();
        match spawner::on_thread(move || Self::spawn_here(spawn_fn, &copy)).await {
            Ok(result) => result,
            Err(error) => {
                Err(spec.error_with_source(SpawnErrorKind::Other, "the thread that starts agents failed", error))
            }
        }
    }

    /// Must be called on the spawner thread.
    fn spawn_here(spawn_fn: SpawnFn, spec: &SpawnSpec) -> Result<Self, SpawnError> {
        let pending = PendingSpawn::prepare(spec)?;
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .current_dir(&spec.workspace)
            .env_clear()
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .envs(pending.markers().variables());
        let guard = platform::begin_spawn();
        let agent = spawn_fn(command, spec.stdin, &pending).map_err(|error| spec.system_error(error))?;
        let tree = pending.finish(agent.id(), agent.in_cgroup_from_start(), guard);
        // Adds the agent's process id to the record. The caller need not wait for that: the record written before the start
        // is enough to find the run, and it remains if this write fails.
        let recorded = Arc::clone(&tree);
        spawner::run_later(move || drop(recorded.write_record()));
        Ok(Self { agent, tree, cleaned_up: false })
    }

    /// The process id of the agent, which is also the id of its process group and session.
    pub fn id(&self) -> u32 {
        self.agent.id()
    }

    /// The agent's stdin. `None` if it was taken before or [`SpawnSpec::stdin`] is false. Drop it to close it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.agent.stdin.take()
    }

    /// The agent's stdout. `None` if it was taken before.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        let stdout = self.agent.stdout.take();
        // Some agents exit before their output is read, and lose what does not fit into the pipe: seen with Claude
        // Code 2.0. If the system does not grant the larger size, the default has to do.
        #[cfg(target_os = "linux")]
        if let Some(stdout) = &stdout {
            let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE_SIZE);
        }
        stdout
    }

    /// The agent's stderr. `None` if it was taken before.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.agent.stderr.take()
    }

    /// How the processes of the tree are held together.
    pub fn containment(&self) -> Containment {
        self.tree.containment()
    }

    /// Waits for the exit of the agent, but not of its tree: [`clean_up`](Process::clean_up) does that. May be cancelled
    /// and called again, also after the exit. Closes stdin if it was not taken.
    pub async fn wait(&mut self) -> Exit {
        match self.agent.wait().await {
            Ok(exit) => {
                self.tree.mark_agent_reaped();
                exit
            }
            // Other code in this program has waited for all children. The agent has exited, but its status is lost.
            Err(_) => Exit::default(),
        }
    }

    /// Sends SIGINT to the whole process group.
    ///
    /// If the host was started with SIGINT ignored, as shell scripts start background jobs, its agents ignore it too,
    /// unless the host installs a handler for it.
    pub fn interrupt(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::INT)
    }

    /// Sends SIGTERM to the whole process group.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::TERM)
    }

    /// Sends SIGKILL to the whole process group. Processes that have left the group are killed by the cleanup.
    pub fn kill(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::KILL)
    }

    /// Ends everything that is left of the tree, the agent included, and reports what that was.
    ///
    /// During `grace`, processes may exit by themselves, as tools do when their agent has just exited; then they are
    /// killed without warning. Returns when a scan finds nothing, or after some seconds of killing without success.
    pub async fn clean_up(&mut self, grace: Duration) -> Cleanup {
        let deadline = Instant::now() + grace;
        let mut pause = Duration::from_millis(2);
        loop {
            let exited = self.reap_agent();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || (exited && !self.any_alive().await) {
                break;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        let tree = Arc::clone(&self.tree);
        // A runtime that is shutting down takes no more blocking work. Then it is worth blocking it.
        let cleanup = match tokio::task::spawn_blocking(move || tree.clean_up(CLEANUP_LIMIT)).await {
            Ok(cleanup) => cleanup,
            Err(_) => self.tree.clean_up(CLEANUP_LIMIT),
        };
        self.cleaned_up = cleanup.survivors.is_empty();
        if self.cleaned_up {
            self.wait().await;
        }
        cleanup
    }

    /// Whether any process of the tree is alive. The scan is remembered and helps the cleanup.
    pub(crate) async fn any_alive(&self) -> bool {
        let tree = Arc::clone(&self.tree);
        tokio::task::spawn_blocking(move || tree.any_alive()).await.unwrap_or(true)
    }

    /// Takes the status of an agent that has exited, so that its zombie is not counted as alive. Returns whether it has
    /// exited.
    fn reap_agent(&mut self) -> bool {
        let exited = matches!(self.agent.try_wait(), Ok(Some(_)));
        if exited {
            self.tree.mark_agent_reaped();
        }
        exited
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.cleaned_up {
            self.tree.clean_up(DROP_LIMIT);
            self.reap_agent();
        }
    }
}

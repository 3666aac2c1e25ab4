//! A running agent on Unix, and through its [`Tree`] everything that it started.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::agent::Agent;
use super::platform::{self, Nest, Tree};
use super::{Containment, Exit, Order, SpawnError, SpawnErrorKind, Swept, spawner};

/// How long a sweep goes on killing before it reports survivors.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);
/// The same for a process that is dropped unswept, whose dropper is made to wait.
const DROP_LIMIT: Duration = Duration::from_secs(2);
/// How much of an agent's output the system may hold for us.
#[cfg(target_os = "linux")]
const PIPE_SIZE: usize = 1 << 20;

/// How an agent is started.
type Way = fn(Command, bool, &Nest) -> io::Result<Agent>;

/// An agent, running or ended, and its tree.
///
/// Dropped without a [`sweep`](Process::sweep), it kills the tree itself, as well as it can without waiting long.
#[derive(Debug)]
pub struct Process {
    agent: Agent,
    tree: Arc<Tree>,
    /// Whether a sweep has found the tree gone.
    swept: bool,
}

impl Process {
    /// Starts an agent in a session and process group of its own. Must be called within a tokio runtime.
    pub async fn spawn(order: Order) -> Result<Self, SpawnError> {
        Self::spawn_by(Agent::start, order).await
    }

    /// The same in one way or the other, for tests.
    pub(super) async fn spawn_by(way: Way, order: Order) -> Result<Self, SpawnError> {
        order.check()?;
        let copy = order.clone();
        match spawner::on_thread(move || Self::spawn_here(way, &copy)).await {
            Ok(result) => result,
            Err(error) => Err(SpawnError::because(&order, SpawnErrorKind::Other, "no thread to start it from", error)),
        }
    }

    /// To be called on the spawner's thread only.
    fn spawn_here(way: Way, order: &Order) -> Result<Self, SpawnError> {
        let nest = Nest::prepare(order)?;
        let mut command = Command::new(&order.program);
        command
            .args(&order.args)
            .current_dir(&order.workspace)
            .env_clear()
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .envs(nest.markers().variables());
        let start = platform::start();
        let agent = way(command, order.stdin, &nest).map_err(|error| SpawnError::from_system(order, error))?;
        let tree = nest.settle(agent.id(), agent.born_inside(), start);
        // With the agent's number. Nobody has to wait for it: what was noted before the start is enough to find the run,
        // and stays where this fails.
        let noted = Arc::clone(&tree);
        spawner::later(move || drop(noted.note()));
        Ok(Self { agent, tree, swept: false })
    }

    /// The process id of the agent, which is also that of its group and session.
    pub fn id(&self) -> u32 {
        self.agent.id()
    }

    /// The way to its stdin, once; none if the order had none. Closed by dropping it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.agent.stdin.take()
    }

    /// What it says, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        let stdout = self.agent.stdout.take();
        // Some agents exit without waiting for their output to be read, and lose what does not fit into the pipe: seen
        // with Claude Code 2.0. Where the system does not grant the larger one, the usual one has to do.
        #[cfg(target_os = "linux")]
        if let Some(stdout) = &stdout {
            let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE_SIZE);
        }
        stdout
    }

    /// What it complains about, once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.agent.stderr.take()
    }

    /// What holds the tree together.
    pub fn containment(&self) -> Containment {
        self.tree.containment()
    }

    /// Waits for the agent itself, not for its tree: that is the sweep's. May be cancelled and called again, also after
    /// the end. Closes a stdin that nobody has taken.
    pub async fn wait(&mut self) -> Exit {
        match self.agent.wait().await {
            Ok(exit) => {
                self.tree.agent_reaped();
                exit
            }
            // Somebody else in this program has waited for all children: the status is lost, the end is not.
            Err(_) => Exit::default(),
        }
    }

    /// Asks the whole group to stop what it does (SIGINT). A program that was started with SIGINT ignored, as scripts
    /// start what they put into the background, hands that on to its agents unless it has a handler for it.
    pub fn interrupt(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::INT)
    }

    /// Asks the whole group to end (SIGTERM).
    pub fn terminate(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::TERM)
    }

    /// Ends the whole group (SIGKILL). What has left the group is for the sweep.
    pub fn kill(&mut self) -> io::Result<()> {
        self.tree.signal(Signal::KILL)
    }

    /// Ends everything that is left of the tree, the agent too, and says what that was.
    ///
    /// For `grace`, what is left may end by itself, as tools do whose agent has just ended; then it is killed without
    /// further asking. Does not return before a look finds nothing, or some seconds of killing were in vain.
    pub async fn sweep(&mut self, grace: Duration) -> Swept {
        let deadline = Instant::now() + grace;
        let mut pause = Duration::from_millis(2);
        loop {
            let ended = self.reap_agent();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || (ended && !self.remains().await) {
                break;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        let tree = Arc::clone(&self.tree);
        // A runtime that is shutting down takes no more blocking work; killing is worth blocking it.
        let swept = match tokio::task::spawn_blocking(move || tree.sweep(SWEEP_LIMIT)).await {
            Ok(swept) => swept,
            Err(_) => self.tree.sweep(SWEEP_LIMIT),
        };
        self.swept = swept.survivors.is_empty();
        if self.swept {
            self.wait().await;
        }
        swept
    }

    /// Whether anything of the tree lives. The look is remembered, and helps the sweep.
    pub(super) async fn remains(&self) -> bool {
        let tree = Arc::clone(&self.tree);
        tokio::task::spawn_blocking(move || tree.remains()).await.unwrap_or(true)
    }

    /// Whether the agent has ended; a zombie is no remnant.
    fn reap_agent(&mut self) -> bool {
        let ended = matches!(self.agent.try_wait(), Ok(Some(_)));
        if ended {
            self.tree.agent_reaped();
        }
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.swept {
            self.tree.sweep(DROP_LIMIT);
            self.reap_agent();
        }
    }
}

//! Windows: a job object holds the agent and all that it starts, and ends them when its last handle is closed, so also
//! when the host dies. There are no signals: the polite way is the adapter's alone.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::{Containment, Exit, MARKER_HOST, MARKER_RUN, Order, Reaped, Remnant, SpawnError, Swept};

/// `CREATE_NO_WINDOW`, and `CREATE_NEW_PROCESS_GROUP` so that Ctrl-C in the host's console is the host's alone.
const FLAGS: u32 = 0x0800_0000 | 0x0000_0200;

/// There is no such thing here.
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// The job has ended with its host.
pub(super) fn reap_orphans(_registry: &Path) -> Vec<Reaped> {
    Vec::new()
}

/// An agent, running or ended, and its job. Dropped, it ends the job.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn ChildWrapper>,
    id: u32,
}

impl Process {
    /// Starts an agent in a job of its own. Must be called within a tokio runtime.
    #[expect(clippy::unused_async, reason = "as on Linux")]
    pub async fn spawn(order: Order) -> Result<Self, SpawnError> {
        order.check()?;
        let mut command = Command::new(&order.program);
        command
            .args(&order.args)
            .current_dir(&order.workspace)
            .env_clear()
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .env(MARKER_RUN, &order.run)
            .env(MARKER_HOST, format!("{}:0", std::process::id()))
            .stdin(if order.stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[expect(clippy::default_trait_access, reason = "the type is of a crate that nothing else here needs")]
        let mut flags = CreationFlags(Default::default());
        flags.0.0 = FLAGS;
        let mut command = CommandWrap::from(command);
        // The flags come first, because the job adds its own to them.
        command.wrap(flags).wrap(KillOnDrop).wrap(JobObject);
        let child = command.spawn().map_err(|error| SpawnError::from_system(&order, error))?;
        let id = child.id().expect("a child has an id until it was waited for");
        Ok(Self { child, id })
    }

    /// The process id of the agent.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The way to its stdin, once; none if the order had none. Closed by dropping it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin().take()
    }

    /// What it says, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// What it complains about, once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr().take()
    }

    /// What holds the tree together.
    pub fn containment(&self) -> Containment {
        Containment::Job
    }

    /// Waits for the agent itself, not for its job: that is the sweep's.
    pub async fn wait(&mut self) -> Exit {
        self.child.inner_mut().wait().await.map_or_else(|_| Exit::default(), Exit::from)
    }

    /// Not to be had here.
    pub fn interrupt(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not to be had here.
    pub fn terminate(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends the job.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.start_kill()
    }

    /// Ends everything that is left in the job when `grace` is over. The job does not name its members, so all of them
    /// are reported as one.
    pub async fn sweep(&mut self, grace: Duration) -> Swept {
        if let Ok(Ok(_)) = tokio::time::timeout(grace, self.child.wait()).await {
            return Swept::default();
        }
        let job = Remnant { pid: self.id, command: "[job]".into() };
        match self.child.start_kill() {
            Ok(()) => {
                self.wait().await;
                Swept { killed: vec![job], survivors: Vec::new() }
            }
            Err(_) => Swept { killed: Vec::new(), survivors: vec![job] },
        }
    }
}

//! Windows: a job object holds the agent and everything that it starts, and ends them when its last handle is closed,
//! so also when the host dies.
//!
//! There are no signals here. Only the adapter can ask an agent to stop.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::cleanup::{Cleanup, LeftoverProcess, ReapedRun};
use crate::containment::Containment;
use crate::error::SpawnError;
use crate::exit::Exit;
use crate::spawn_spec::{MARKER_HOST, MARKER_RUN, SpawnSpec};

/// `CREATE_NO_WINDOW`, and `CREATE_NEW_PROCESS_GROUP` so that Ctrl-C in the host's console reaches only the host.
const FLAGS: u32 = 0x0800_0000 | 0x0000_0200;

/// Windows has no subreaper.
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Jobs end with their host, so there are no orphans.
pub(crate) fn reap_orphans(_registry: &Path) -> Vec<ReapedRun> {
    Vec::new()
}

/// An agent, running or exited, and its job. Dropping it ends the job.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn ChildWrapper>,
    id: u32,
}

impl Process {
    /// Starts an agent in its own job. Must be called within a tokio runtime.
    #[expect(clippy::unused_async, reason = "same signature as on Linux")]
    pub async fn spawn(spec: SpawnSpec) -> Result<Self, SpawnError> {
        spec.check()?;
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .current_dir(&spec.workspace)
            .env_clear()
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .env(MARKER_RUN, &spec.run)
            .env(MARKER_HOST, format!("{}:0", std::process::id()))
            .stdin(if spec.stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[expect(clippy::default_trait_access, reason = "the type is from a crate that nothing else here needs")]
        let mut flags = CreationFlags(Default::default());
        flags.0.0 = FLAGS;
        let mut command = CommandWrap::from(command);
        // The flags come first, because the job adds its own to them.
        command.wrap(flags).wrap(KillOnDrop).wrap(JobObject);
        let child = command.spawn().map_err(|error| spec.system_error(error))?;
        let id = child.id().expect("a child has an id until it is waited for");
        Ok(Self { child, id })
    }

    /// The process id of the agent.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The agent's stdin. `None` if it was taken before or [`SpawnSpec::stdin`] is false. Drop it to close it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin().take()
    }

    /// The agent's stdout. `None` if it was taken before.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// The agent's stderr. `None` if it was taken before.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr().take()
    }

    /// How the processes of the tree are held together.
    pub fn containment(&self) -> Containment {
        Containment::Job
    }

    /// Waits for the exit of the agent, but not of its job: [`clean_up`](Process::clean_up) does that.
    pub async fn wait(&mut self) -> Exit {
        self.child.inner_mut().wait().await.map_or_else(|_| Exit::default(), Exit::from)
    }

    /// Unsupported on Windows: always an error.
    pub fn interrupt(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Unsupported on Windows: always an error.
    pub fn terminate(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends the job.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.start_kill()
    }

    /// Ends everything that is left in the job after `grace`. The job does not name its members, so all of them are
    /// reported as one process.
    pub async fn clean_up(&mut self, grace: Duration) -> Cleanup {
        if let Ok(Ok(_)) = tokio::time::timeout(grace, self.child.wait()).await {
            return Cleanup::default();
        }
        let job = LeftoverProcess { pid: self.id, command: "[job]".into() };
        match self.child.start_kill() {
            Ok(()) => {
                self.wait().await;
                Cleanup { killed: vec![job], survivors: Vec::new() }
            }
            Err(_) => Cleanup { killed: Vec::new(), survivors: vec![job] },
        }
    }
}

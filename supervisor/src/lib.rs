//! Starts coding agents and ends them, together with every process that they started.
//!
//! An agent starts tools, tools start daemons, and a host can be killed at any moment. Killing one process id is not
//! enough. So a [`Process`] represents the whole process tree of one run: [`Process::clean_up`] returns only when a
//! scan finds none of it left (or names the survivors), and [`reap_orphans`] does the same for runs whose host has died.
//!
//! ```no_run
//! use std::time::Duration;
//! use wharf_supervisor::{Process, SpawnSpec, reap_orphans};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = std::path::Path::new("/var/lib/example/live");
//! // Ends what a killed host has left. This call blocks.
//! for run in reap_orphans(registry) {
//!     eprintln!("run {}: killed {} leftover processes", run.run, run.cleanup.killed.len());
//! }
//!
//! let mut spec = SpawnSpec::new("/usr/bin/agent", "/home/me/project", "run-1");
//! spec.args = vec!["--print".into(), "hello".into()];
//! spec.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
//! spec.registry = Some(registry.to_owned());
//! let mut process = Process::spawn(spec).await?;
//! let mut stdout = process.take_stdout().expect("not taken before");
//! tokio::io::copy(&mut stdout, &mut tokio::io::stdout()).await?;
//!
//! let exit = process.wait().await;
//! // Tools get one second to exit by themselves, then they are killed.
//! let cleanup = process.clean_up(Duration::from_secs(1)).await;
//! println!("exit code {:?}, {} tools killed", exit.code, cleanup.killed.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Theory of operation (Linux)
//!
//! **Start.** [`Process::spawn`] checks the [`SpawnSpec`], creates a cgroup (version 2) for the run below the host's own
//! if the system permits it, and writes a record of the run to [`SpawnSpec::registry`]. Then it starts the agent: with
//! `clone3`, so that the agent is in its cgroup from its first instruction and none of the host's memory is copied; or,
//! if that is unavailable, with `fork`, and the child joins the cgroup before it executes the program. Either way the
//! agent leads its own session and process group, and gets SIGTERM when the host dies. The kernel ties that signal to
//! the *thread* that started the agent, so one thread that never exits starts all of them. Two environment variables,
//! [`MARKER_RUN`] and [`MARKER_HOST`], mark every process that inherits the environment.
//!
//! **Find.** A process belongs to a run if it is in the run's cgroup, carries both markers, shares a session with a
//! member, has a member as its parent, or was a member in an earlier scan. A scan of all live runs once a second
//! remembers processes whose parents will be dead later. A host that called [`become_subreaper`] also claims orphans
//! that became its children, even if they have left the cgroup, as a process with the right to write to another one can.
//! [`Process::containment`] says which of these methods is the strongest for a run.
//!
//! **End.** [`Process::interrupt`], [`Process::terminate`] and [`Process::kill`] signal the agent's process group.
//! [`Process::clean_up`] then kills what is left, the agent included, and scans again until nothing is found. An empty
//! cgroup is proof, if the host has no child left; otherwise two scans in a row must find nothing. A process is identified by process id *and*
//! start time, and signalled through a pidfd if the kernel has them, so a reused process id is never hit. A [`Process`]
//! that is dropped without a cleanup kills its tree, but waits only briefly.
//!
//! **On disk.** While a run is alive, the registry holds `<run id>.json`: the boot id and pid namespace, the host, the
//! agent and the cgroup. It is written before the agent starts, completed after, and removed when no process is left. A
//! record without a living host is an orphan. [`reap_orphans`] locks it, finds the processes by the cgroup and the
//! markers, and by the recorded agent and its session if the agent has one of these, kills them, and removes the record.
//! An agent can write to that folder; a forged record kills nothing that was not started for that run. Records of an earlier boot are deleted; records of
//! another pid namespace are kept, because their process ids mean nothing here.
//!
//! # Other systems
//!
//! - macOS and other Unix systems: the process group only ([`Containment::Group`]). A tool that opens its own session
//!   is not found, an agent gets no signal when the host dies, and [`reap_orphans`] does nothing.
//! - Windows: a job object ([`Containment::Job`]) holds the agent and everything it starts. The system ends the job
//!   when the host dies, so there is nothing to reap. There are no signals: [`Process::interrupt`] and
//!   [`Process::terminate`] return an error of kind [`Unsupported`](std::io::ErrorKind::Unsupported).
//!
//! # What it never does
//!
//! It never signals a process id that may have been reused, never waits for children that it does not know, and never
//! passes the host's environment to an agent. It knows nothing of adapters, turns or outcomes. It is a separate crate
//! because it contains everything that differs between systems: without the host's dependencies, any machine can
//! check it for all of them.

mod cleanup;
mod containment;
mod error;
mod exit;
mod spawn_spec;

#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod spawner;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(all(unix, not(target_os = "linux")))]
mod unix;
#[cfg(all(unix, not(target_os = "linux")))]
use unix as platform;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as platform;

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::io;
use std::path::Path;

pub use cleanup::{Cleanup, LeftoverProcess, ReapedRun};
pub use containment::Containment;
pub use error::{SpawnError, SpawnErrorKind};
pub use exit::Exit;
#[cfg(unix)]
pub use process::Process;
pub use spawn_spec::{MARKER_HOST, MARKER_RUN, SpawnSpec};
#[cfg(windows)]
pub use windows::Process;

/// Makes orphans of runs become children of this process instead of init, so that they are found by their parent.
///
/// Call it only in a program that starts all its children through this crate, as the `wharf` binary does: any other
/// child that opens its own session is then mistaken for a leftover process of a run. A program that embeds the library
/// must not call it. Does nothing on systems other than Linux.
pub fn become_subreaper() -> io::Result<()> {
    platform::become_subreaper()
}

/// Ends what is left of runs whose host has died, as recorded in the folder of live runs (see [`SpawnSpec::registry`]).
///
/// Blocks until it is done, at most some seconds per run. Any number of hosts may call it at the same time: each record
/// is locked while one of them works on it. Does nothing on systems other than Linux.
pub fn reap_orphans(registry: &Path) -> Vec<ReapedRun> {
    platform::reap_orphans(registry)
}

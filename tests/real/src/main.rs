//! The suite that drives real agents, through the real `wharf` and the real components, against a mock model.
//!
//! `cargo xtask real` starts this program twice: to install the agents, and to run them without any network but loopback.
//! What it must know of an agent is in one file of [`agents`]. A scenario is a function ([`scenarios`]) with its own
//! [`testbed`]: a workspace, a clean environment with fake keys, and methods that run `wharf` in it. Every recording is
//! replayed and must give the same events.

mod agent;
mod agents;
mod args;
mod by_hand;
mod install;
mod mcp_server;
mod offers;
mod page;
mod process;
mod results;
mod run_result;
mod scenarios;
mod subject;
mod suite;
mod testbed;

use args::{Args, InstallArgs, Task};
use clap::Parser as _;
use install::Install;
use std::io::Write as _;
use std::process::ExitCode;

/// Why a scenario did not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotPassed {
    /// A check failed: its message.
    Failed(String),
    /// This version of the agent does not support it, or would take too long: the reason.
    NotOffered(String),
}

impl From<String> for NotPassed {
    fn from(message: String) -> NotPassed {
        NotPassed::Failed(message)
    }
}

/// The result of a scenario.
pub(crate) type ScenarioResult = Result<(), NotPassed>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            log(&format!("wharf-real-suite: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// True if nothing failed.
fn run(args: &Args) -> Result<bool, String> {
    let runtime = || tokio::runtime::Runtime::new().map_err(|error| format!("cannot start the async runtime: {error}"));
    match &args.task {
        Task::Install(args) => install(args).map(|()| true),
        Task::Run(args) => suite::run(args, runtime()?.handle()),
        Task::ByHand(args) => by_hand::run(args, runtime()?.handle()),
        Task::ServeMcp => Ok(mcp_server::serve()),
    }
}

/// Installs what is selected. In CI, what cannot be installed is skipped.
fn install(args: &InstallArgs) -> Result<(), String> {
    for (agent, version) in args.selection.versions()? {
        match Install::new(&args.folder, agent, &version).ensure(agent, &version) {
            Err(error) if args.selection.ci => {
                log(&format!("{} {version}: skipped, it cannot be installed: {error}", agent.name()));
            }
            other => other?,
        }
    }
    Ok(())
}

/// Prints a line to stderr.
fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

//! The start of a turn with an agent that writes a few lines and exits, compared with spawning only that agent.
//!
//! Wall time, because somebody waits for it. Of the command `wharf`, with its cache (warm) and without (cold); and in a
//! process that uses the library, from the call of `Host::start` to its return, when the agent's process has started, and
//! to the report.
//!
//! The library is measured first, with few rounds, and no run is deleted in between: for minutes after files are deleted,
//! ext4 checks their inodes again before it creates a new one. After thousands of deleted files, creating a file takes
//! ten times as long. The document says so.

use crate::corpus::{AgentKind, Mix};
use crate::measure::Cost;
use crate::stage::{Agent, Stage};
use crate::statistics::median;
use crate::{Result, error, progress};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wharf::{Config, Dirs, Host, RunOptions, Turn};

/// How many turns are started in the process that uses the library, for each round.
pub(crate) const LIBRARY_TURNS: usize = 10;

/// Medians, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Only the agent, spawned and waited for.
    pub(crate) bare: f64,
    /// `wharf run --json`, warm, to its exit.
    pub(crate) warm: f64,
    /// The same without compiled adapters and without the agent's version.
    pub(crate) cold: f64,
    /// In a process that uses the library.
    pub(crate) library: LibraryStart,
}

/// Medians in a process that uses the library, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct LibraryStart {
    /// `Command::spawn` of the agent, to its return.
    pub(crate) bare_spawn: f64,
    /// The same, until the agent has exited.
    pub(crate) bare_exit: f64,
    /// `Host::start`, to its return.
    pub(crate) start: f64,
    /// The same, until the report.
    pub(crate) report: f64,
    /// `Host::start` without a recording.
    pub(crate) unrecorded_start: f64,
    /// The same, until the report.
    pub(crate) unrecorded_report: f64,
}

/// An agent that writes the few lines of an empty turn.
fn agent(stage: &Stage) -> Result<Agent> {
    stage.agent_with_turn(AgentKind::Copilot, Mix::Mixed, 0)
}

/// Measures the library, then the command, each in turn with only the agent.
pub(crate) fn run(stage: &Stage, rounds: usize) -> Result<Start> {
    let agent = agent(stage)?;
    progress("start: in a process that uses the library");
    // Compiles the adapter, and asks for the agent's version.
    wall(&mut stage.wharf_run(&agent, true))?;
    let output = stage
        .this_program(&["library", "start"])?
        .arg(stage.folder())
        .arg((rounds * LIBRARY_TURNS).to_string())
        .output()?;
    if !output.status.success() {
        return Err(error(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let library = serde_json::from_slice(&output.stdout)?;
    progress("start: the command, warm");
    let (mut bare, mut warm, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds * 10 {
        let (once_bare, once_warm) =
            (wall(&mut stage.command(&agent.program))?, wall(&mut stage.wharf_run(&agent, true))?);
        // The first is a warm-up.
        if round > 0 {
            bare.push(once_bare);
            warm.push(once_warm);
        }
    }
    progress("start: the command, cold");
    for _ in 0..rounds {
        stage.delete_cache()?;
        cold.push(wall(&mut stage.wharf_run(&agent, true))?);
    }
    stage.delete_runs()?;
    Ok(Start { bare: median(&bare), warm: median(&warm), cold: median(&cold), library })
}

/// Milliseconds from before the start of a command until it has exited.
fn wall(command: &mut Command) -> Result<f64> {
    let started_at = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = millis(started_at);
    if !status.success() {
        return Err(error(format!("{}: {status}", Path::new(command.get_program()).display())));
    }
    Ok(took)
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The part in a process that uses the library.
pub(crate) fn in_library(folder: &Path, turns: usize) -> Result<LibraryStart> {
    let stage = Stage::open(folder)?;
    let agent = agent(&stage)?;
    wharf::become_subreaper()?;
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let host = Host::new(Dirs::from_env()?, Config::default())?;
    let adapter = tokio.block_on(host.adapter(agent.kind.id()))?;
    let host = host.with_program(&adapter, agent.program.clone());
    let turn = async |unrecorded: bool| -> Result<(f64, f64)> {
        let started_at = Instant::now();
        let mut options = RunOptions::default();
        options.unrecorded = unrecorded;
        let run = host.start(&adapter, Turn::new("hello"), options).await?;
        let started = millis(started_at);
        let report = run.finish().await?;
        let reported = millis(started_at);
        if report.is_completed() {
            return Ok((started, reported));
        }
        Err(error(format!("the turn did not complete: {:?} {:?}", report.outcome, report.error)))
    };
    let mut rows = Vec::new();
    for round in 0..=turns {
        let started_at = Instant::now();
        let mut child = stage.command(&agent.program).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let spawned = millis(started_at);
        child.wait()?;
        let exited = millis(started_at);
        // In a task, as in an orchestrator.
        let (recorded, unrecorded) = tokio.block_on(async { (turn(false).await, turn(true).await) });
        let ((start, report), (unrecorded_start, unrecorded_report)) = (recorded?, unrecorded?);
        // The first asks for the agent's version.
        if round > 0 {
            rows.push([spawned, exited, start, report, unrecorded_start, unrecorded_report]);
        }
    }
    let column = |at: usize| median(&rows.iter().map(|row| row[at]).collect::<Vec<_>>());
    Ok(LibraryStart {
        bare_spawn: column(0),
        bare_exit: column(1),
        start: column(2),
        report: column(3),
        unrecorded_start: column(4),
        unrecorded_report: column(5),
    })
}

/// What an empty turn costs.
pub(crate) fn empty_turn(stage: &Stage) -> Result<Cost> {
    let cost = crate::measure::measure(&stage.wharf_run(&agent(stage)?, true))?;
    stage.delete_runs()?;
    Ok(cost)
}

//! The start of a turn, around an agent that says a few lines and exits, against spawning that agent bare.
//!
//! Wall time, because somebody waits for it. Of the command `wharf`, with what it remembers and compiled (warm) and
//! without (cold); and of a process that holds the library, from the call of `Host::start` to its return, when the
//! agent's process is up, and to the report.
//!
//! The library comes first, with few rounds, and no run is removed in between: for minutes after a file is deleted, ext4
//! looks at its inode again before each new one that it makes. After some thousand, making a file takes ten times as
//! long. The document says so.

use crate::corpus::{Mix, Runtime};
use crate::measure::Cost;
use crate::sample::median;
use crate::stage::{Agent, Stage};
use crate::{Result, failed, say};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wharf::{Config, Host, Places, RunOptions, Turn};

/// How many turns are started in a process that holds the library, for each round.
pub(crate) const HELD_ROUNDS: usize = 10;

/// Milliseconds, medians.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The agent alone, spawned and waited for.
    pub(crate) bare: f64,
    /// `wharf run --json`, warm, to its exit.
    pub(crate) warm: f64,
    /// The same, without compiled code and without knowing the agent's version.
    pub(crate) cold: f64,
    /// In a process that holds the library.
    pub(crate) held: Held,
}

/// Milliseconds in a process that holds the library, medians.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// `Command::spawn` of the agent, to its return.
    pub(crate) bare_spawn: f64,
    /// The same, and until it was waited for.
    pub(crate) bare_end: f64,
    /// `Host::start`, to its return.
    pub(crate) start: f64,
    /// The same, and until the report.
    pub(crate) report: f64,
    /// `Host::start` without a recording.
    pub(crate) unrecorded_start: f64,
    /// The same, and until the report.
    pub(crate) unrecorded_report: f64,
}

/// The measured agent: a turn of a few lines, so that the turn is completed.
fn agent(stage: &Stage) -> Result<Agent> {
    stage.agent_of(Runtime::Copilot, Mix::Mixed, 0)
}

/// The library, then the command; each interleaved with the bare agent.
pub(crate) fn run(stage: &Stage, rounds: usize) -> Result<Start> {
    let agent = agent(stage)?;
    say("start: in a process that holds the library");
    // Compiles, and asks for the agent's version.
    wall(&mut stage.wharf_run(&agent, true))?;
    let output =
        stage.ourselves(&["hold", "start"])?.arg(stage.folder()).arg((rounds * HELD_ROUNDS).to_string()).output()?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let held = serde_json::from_slice(&output.stdout)?;
    say("start: the command, warm");
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
    say("start: the command, cold");
    for _ in 0..rounds {
        stage.forget_cache()?;
        cold.push(wall(&mut stage.wharf_run(&agent, true))?);
    }
    stage.forget_runs()?;
    Ok(Start { bare: median(&bare), warm: median(&warm), cold: median(&cold), held })
}

/// Milliseconds from before the start of a command until it was waited for.
fn wall(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = millis(begun);
    if !status.success() {
        return Err(failed(format!("{}: {status}", Path::new(command.get_program()).display())));
    }
    Ok(took)
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The part in a process that holds the library.
pub(crate) fn hold(folder: &Path, rounds: usize) -> Result<Held> {
    let stage = Stage::open(folder)?;
    let agent = agent(&stage)?;
    wharf::become_subreaper()?;
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let host = Host::new(Places::of_user(), Config::default())?;
    let adapter = tokio.block_on(host.adapter(agent.runtime.id()))?;
    let host = host.with_program(&adapter, agent.program.clone());
    let turn = async |unrecorded: bool| -> Result<(f64, f64)> {
        let begun = Instant::now();
        let options = RunOptions { unrecorded, ..RunOptions::default() };
        let run = host.start(&adapter, Turn::new("hello"), options).await?;
        let started = millis(begun);
        let report = run.finish().await?;
        let reported = millis(begun);
        if report.is_completed() {
            return Ok((started, reported));
        }
        Err(failed(format!("the turn ended otherwise: {:?} {:?}", report.outcome, report.error)))
    };
    let mut rows = Vec::new();
    for round in 0..=rounds {
        let begun = Instant::now();
        let mut child = stage.command(&agent.program).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let spawned = millis(begun);
        child.wait()?;
        let ended = millis(begun);
        // In a task, as in an orchestrator.
        let (recorded, unrecorded) = tokio.block_on(async { (turn(false).await, turn(true).await) });
        let ((start, report), (unrecorded_start, unrecorded_report)) = (recorded?, unrecorded?);
        // The first round asks for the version.
        if round > 0 {
            rows.push([spawned, ended, start, report, unrecorded_start, unrecorded_report]);
        }
    }
    let column = |at: usize| median(&rows.iter().map(|row| row[at]).collect::<Vec<_>>());
    Ok(Held {
        bare_spawn: column(0),
        bare_end: column(1),
        start: column(2),
        report: column(3),
        unrecorded_start: column(4),
        unrecorded_report: column(5),
    })
}

/// One figure for the size of an empty turn.
pub(crate) fn empty_turn(stage: &Stage) -> Result<Cost> {
    let cost = crate::measure::measure(&stage.wharf_run(&agent(stage)?, true))?;
    stage.forget_runs()?;
    Ok(cost)
}

//! What live runs need in a process that uses the library: memory, descriptors, threads.
//!
//! The agent of each run has written 64 KiB of the mixed corpus and waits; all events were read. The agents' own memory is
//! not measured.

use crate::args::Allocation;
use crate::corpus::{self, AgentKind, Mix};
use crate::native;
use crate::stage::{Agent, Stage};
use crate::statistics::{median, number};
use crate::{Result, error, progress};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::path::Path;
use wharf::adapter::Adapter;
use wharf::event::EventKind;
use wharf::measure::Parser;
use wharf::{Config, Dirs, Host, Run, RunOptions, Turn};

/// Bytes that every agent has written.
const WRITTEN: usize = 64 << 10;

/// What one live run adds to the process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// How many were live at once.
    pub(crate) runs: f64,
    /// Bytes of memory. Pages that runs share, such as the initial memory of their adapter, count once for all.
    pub(crate) bytes: f64,
    /// Bytes of resident memory. Shared pages count for each run.
    pub(crate) resident: f64,
    /// Open file descriptors.
    pub(crate) descriptors: f64,
    pub(crate) threads: f64,
    /// Child processes; the agent is one.
    pub(crate) processes: f64,
}

/// Measures each number of live runs in a separate process.
pub(crate) fn run(stage: &Stage, counts: &[usize]) -> Result<Vec<Memory>> {
    let mut figures = Vec::new();
    for runs in counts {
        progress(format!("memory: {runs} live runs"));
        let output = stage.this_program(&["library", "memory"])?.arg(stage.folder()).arg(runs.to_string()).output()?;
        if !output.status.success() {
            return Err(error(String::from_utf8_lossy(&output.stderr).trim()));
        }
        figures.push(serde_json::from_slice(&output.stdout)?);
        stage.delete_runs()?;
    }
    Ok(figures)
}

/// The part in a process that uses the library.
pub(crate) fn in_library(folder: &Path, runs: usize) -> Result<Memory> {
    let stage = Stage::open(folder)?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    wharf::become_subreaper()?;
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tokio.block_on(measure(&stage, runs))
}

async fn measure(stage: &Stage, runs: usize) -> Result<Memory> {
    let (agent, events) = waiting_agent(stage)?;
    let gate = agent.folder().join("gate");
    let host = Host::new(Dirs::from_env()?, Config::default())?;
    let adapter = host.adapter(agent.kind.id()).await?;
    let host = host.with_program(&adapter, agent.program.clone());
    // One run before the first snapshot, for what a process allocates only once.
    release(vec![live(&host, &adapter, events).await?], &gate).await?;
    let before = Snapshot::take()?;
    let mut all = Vec::with_capacity(runs);
    for _ in 0..runs {
        all.push(
            live(&host, &adapter, events).await.map_err(|cause| error(format!("run {}: {cause}", all.len() + 1)))?,
        );
    }
    let after = Snapshot::take()?;
    release(all, &gate).await?;
    let each = |before: u64, after: u64| (number(after) - number(before)) / number(runs as u64);
    Ok(Memory {
        runs: number(runs as u64),
        bytes: each(before.memory, after.memory),
        resident: each(before.resident, after.resident),
        descriptors: each(before.descriptors, after.descriptors),
        threads: each(before.threads, after.threads),
        processes: each(before.processes, after.processes),
    })
}

/// What adapter instances need, without a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Instances {
    /// Where their memory comes from.
    pub(crate) name: String,
    /// Microseconds to start an instance, build a command line and drop the instance.
    pub(crate) start: f64,
    /// How many were live at once.
    pub(crate) live: f64,
    /// Bytes of memory of one instance, after 64 KiB of the mixed corpus.
    pub(crate) bytes: f64,
}

/// Measures both kinds of allocation, each in a separate process.
pub(crate) fn run_instances(stage: &Stage, live: usize) -> Result<Vec<Instances>> {
    let mut figures = Vec::new();
    for (name, arg) in [("allocated on demand, as in a run", "on-demand"), ("from a pool", "pool")] {
        progress(format!("memory: {live} instances, {name}"));
        let output = stage.this_program(&["library", "instances", arg])?.arg(live.to_string()).output()?;
        if !output.status.success() {
            return Err(error(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let instances: Instances = serde_json::from_slice(&output.stdout)?;
        figures.push(Instances { name: name.to_owned(), ..instances });
    }
    Ok(figures)
}

/// The part in a separate process.
pub(crate) fn of_instances(allocation: Allocation, live: usize) -> Result<Instances> {
    let pool = match allocation {
        Allocation::OnDemand => None,
        Allocation::Pool => Some(u32::try_from(live)? + 1),
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(async {
        let adapter = wharf::measure::pooled(AgentKind::Copilot.id(), pool).await?;
        let turn = corpus::turn(AgentKind::Copilot, Mix::Mixed, WRITTEN);
        let first = corpus::batches(&turn, WRITTEN)[0];
        let version = AgentKind::Copilot.version();
        let mut starts = Vec::new();
        for _ in 0..live {
            let started = std::time::Instant::now();
            drop(Parser::start(&adapter, version).await?);
            starts.push(started.elapsed().as_secs_f64() * 1e6);
        }
        let before = Snapshot::take()?;
        let mut parsers = Vec::with_capacity(live);
        for _ in 0..live {
            let mut parser = Parser::start(&adapter, version).await?;
            // In reads of the size that a run makes.
            for batch in corpus::batches(first, 16 << 10) {
                parser.parse(batch).await?;
            }
            parsers.push(parser);
        }
        let bytes = (number(Snapshot::take()?.memory) - number(before.memory)) / number(live as u64);
        Ok(Instances { name: format!("{allocation:?}"), start: median(&starts), live: number(live as u64), bytes })
    })
}

/// An agent in the middle of its turn, and the number of events until then.
fn waiting_agent(stage: &Stage) -> Result<(Agent, usize)> {
    let agent = stage.agent(AgentKind::Copilot, "memory")?;
    let turn = corpus::turn(AgentKind::Copilot, Mix::Mixed, WRITTEN);
    let first = corpus::batches(&turn, WRITTEN)[0];
    fs::write(agent.folder().join("output"), first)?;
    let gate = agent.folder().join("gate");
    if !gate.exists() {
        mknodat(CWD, &gate, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    }
    let mut parser = native::Parser::new(AgentKind::Copilot);
    // The first one is wharf's `run-started`.
    let mut events = 1;
    for line in first.lines() {
        parser.parse(line.as_bytes(), |_| events += 1);
    }
    Ok((agent, events))
}

/// Starts a run and reads all its events: an unread event would need memory.
async fn live(host: &Host, adapter: &Adapter, events: usize) -> Result<Run> {
    let mut run = host.start(adapter, Turn::new("hello"), RunOptions::default()).await?;
    for _ in 0..events {
        match run.next().await.map(|event| event.kind) {
            Some(EventKind::Report(report)) => return Err(error(format!("the run ended early: {:?}", report.error))),
            Some(_) => {}
            None => return Err(error("the run ended without a report")),
        }
    }
    Ok(run)
}

/// Lets the agents exit, and waits for all runs.
async fn release(runs: Vec<Run>, gate: &Path) -> Result<()> {
    // Opened for reading too, because otherwise opening would wait for a reader. Open until the last agent has exited.
    let open = OpenOptions::new().read(true).write(true).open(gate)?;
    for run in runs {
        run.finish().await?;
    }
    drop(open);
    Ok(())
}

/// What this process uses.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    memory: u64,
    resident: u64,
    descriptors: u64,
    threads: u64,
    processes: u64,
}

impl Snapshot {
    fn take() -> Result<Snapshot> {
        let rollup = fs::read_to_string("/proc/self/smaps_rollup")?;
        let bytes = |field: &str| -> Result<u64> {
            let line = rollup.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
            Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
        };
        let count = |path: &str| -> Result<u64> { Ok(fs::read_dir(path)?.count() as u64) };
        let mut processes = 0;
        for thread in fs::read_dir("/proc/self/task")? {
            // The thread may have exited in the meantime.
            let children = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
            processes += children.split_whitespace().count() as u64;
        }
        Ok(Snapshot {
            memory: bytes("Pss:")?,
            resident: bytes("Rss:")?,
            descriptors: count("/proc/self/fd")?,
            threads: count("/proc/self/task")?,
            processes,
        })
    }
}

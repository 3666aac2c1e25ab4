//! What live runs take in a process that holds the library: each has an agent that wrote 64 KiB of the mixed corpus, all
//! of which became events that were read, and now waits.
//!
//! Resident memory, descriptors and threads of that process; the agents' own memory is not ours.

use crate::corpus::{self, Mix, Runtime};
use crate::native;
use crate::sample::{median, number};
use crate::stage::{Agent, Stage};
use crate::{Result, failed, say};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::path::Path;
use wharf::measure::Parser;
use wharf::{Adapter, Config, Event, Host, Places, Run, RunOptions, Turn};

/// What every agent has written.
const WRITTEN: usize = 64 << 10;

/// What one live run adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// How many lived at once.
    pub(crate) runs: f64,
    /// Bytes of memory, each: what many runs share, as they do the initial memory of their adapter, counts once.
    pub(crate) bytes: f64,
    /// Bytes that are resident, each: what is shared counts for everyone.
    pub(crate) resident: f64,
    /// Open descriptors, each.
    pub(crate) descriptors: f64,
    /// Threads, each.
    pub(crate) threads: f64,
    /// Child processes, each: the agent is one.
    pub(crate) processes: f64,
}

/// So many live runs, each number in a process of its own.
pub(crate) fn run(stage: &Stage, counts: &[usize]) -> Result<Vec<Memory>> {
    let mut told = Vec::new();
    for runs in counts {
        say(format!("memory: {runs} live runs"));
        let output = stage.ourselves(&["hold", "memory"])?.arg(stage.folder()).arg(runs.to_string()).output()?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        told.push(serde_json::from_slice(&output.stdout)?);
        stage.forget_runs()?;
    }
    Ok(told)
}

/// The part in a process that holds the library.
pub(crate) fn hold(folder: &Path, runs: usize) -> Result<Memory> {
    let stage = Stage::open(folder)?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    wharf::become_subreaper()?;
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tokio.block_on(held(&stage, runs))
}

async fn held(stage: &Stage, runs: usize) -> Result<Memory> {
    let (agent, events) = waiting_agent(stage)?;
    let gate = agent.folder().join("gate");
    let host = Host::new(Places::of_user(), Config::default())?;
    let adapter = host.adapter(agent.runtime.id()).await?;
    let host = host.with_program(&adapter, agent.program.clone());
    // One first, so that what a process needs once is there when the first figures are taken.
    release(vec![live(&host, &adapter, events).await?], &gate).await?;
    let before = Snapshot::take()?;
    let mut all = Vec::with_capacity(runs);
    for _ in 0..runs {
        all.push(live(&host, &adapter, events).await.map_err(|why| failed(format!("run {}: {why}", all.len() + 1)))?);
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

/// What an instance takes whose memory is its own, or comes from a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Instances {
    /// Where its memory comes from.
    pub(crate) name: String,
    /// Microseconds from nothing to a command line built, and gone again.
    pub(crate) start: f64,
    /// How many lived at once.
    pub(crate) live: f64,
    /// Bytes of memory, each, after 64 KiB of the mixed corpus.
    pub(crate) bytes: f64,
}

/// Both ways, each in a process of its own.
pub(crate) fn run_instances(stage: &Stage, live: usize) -> Result<Vec<Instances>> {
    let mut told = Vec::new();
    for (name, word) in [("its own, as runs have it", "own"), ("from a pool", "pool")] {
        say(format!("memory: {live} instances, {name}"));
        let output = stage.ourselves(&["hold", "instances", word])?.arg(live.to_string()).output()?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let instances: Instances = serde_json::from_slice(&output.stdout)?;
        told.push(Instances { name: name.to_owned(), ..instances });
    }
    Ok(told)
}

/// The part in a process of its own.
pub(crate) fn hold_instances(word: &str, live: usize) -> Result<Instances> {
    let pool = if word == "pool" { Some(u32::try_from(live)? + 1) } else { None };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(async {
        let adapter = wharf::measure::pooled(Runtime::Copilot.id(), pool).await?;
        let turn = corpus::turn(Runtime::Copilot, Mix::Mixed, WRITTEN);
        let first = corpus::batches(&turn, WRITTEN)[0];
        let version = Runtime::Copilot.release();
        let mut starts = Vec::new();
        for _ in 0..live {
            let begun = std::time::Instant::now();
            drop(Parser::start(&adapter, version).await?);
            starts.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        let before = Snapshot::take()?;
        let mut parsers = Vec::with_capacity(live);
        for _ in 0..live {
            let mut parser = Parser::start(&adapter, version).await?;
            // As a run reads them.
            for batch in corpus::batches(first, 16 << 10) {
                parser.parse(batch).await?;
            }
            parsers.push(parser);
        }
        let bytes = (number(Snapshot::take()?.memory) - number(before.memory)) / number(live as u64);
        Ok(Instances { name: word.to_owned(), start: median(&starts), live: number(live as u64), bytes })
    })
}

/// An agent in the middle of its turn, and how many events come of what it has told.
fn waiting_agent(stage: &Stage) -> Result<(Agent, usize)> {
    let agent = stage.agent(Runtime::Copilot, "memory")?;
    let turn = corpus::turn(Runtime::Copilot, Mix::Mixed, WRITTEN);
    let first = corpus::batches(&turn, WRITTEN)[0];
    fs::write(agent.folder().join("output"), first)?;
    let gate = agent.folder().join("gate");
    if !gate.exists() {
        mknodat(CWD, &gate, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    }
    let mut events = 0;
    for line in first.lines() {
        native::parse(Runtime::Copilot, line.as_bytes(), |_| events += 1);
    }
    Ok((agent, events))
}

/// A run all of whose events have come: none waits for its reader, whose memory it would be.
async fn live(host: &Host, adapter: &Adapter, events: usize) -> Result<Run> {
    let mut run = host.start(adapter, Turn::new("hello"), RunOptions::default()).await?;
    for _ in 0..events {
        match run.next().await {
            Some(Event::Report(report)) => return Err(failed(format!("it ended early: {:?}", report.error))),
            Some(_) => {}
            None => return Err(failed("it ended without a report")),
        }
    }
    Ok(run)
}

/// Let the agents go, and wait for all of them.
async fn release(runs: Vec<Run>, gate: &Path) -> Result<()> {
    // For reading too, or the opening would wait for a reader; held until the last agent has come through.
    let open = OpenOptions::new().read(true).write(true).open(gate)?;
    for run in runs {
        run.finish().await?;
    }
    drop(open);
    Ok(())
}

/// What this process has.
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
            // A thread may have ended since.
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

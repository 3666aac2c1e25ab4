//! Parsing alone, in one process: the adapter's component, the same adapter compiled natively, `serde_json`.
//!
//! Each gets the same batches of whole lines, and the result is dropped. The component's effects are lifted and their
//! spans checked, as in a run; those of the native adapter are dropped without that.

use crate::corpus::{self, AgentKind, Mix};
use crate::measure::{Cost, Row, rows};
use crate::native;
use crate::statistics::number;
use crate::{Result, error, progress};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use wharf::adapter::Adapter as Component;
use wharf::measure::Parser;
use wharf::{Config, Dirs, Host};
use wharf_adapter::{Adapter, Chunk, Effects, Frames, Stream, testing};
use wharf_adapter_claude::Claude;
use wharf_adapter_copilot::Copilot;

/// The component in the sandbox.
pub(crate) const COMPONENT: &str = "component";
/// The baseline: without a sandbox.
pub(crate) const NATIVE: &str = "the same adapter, native";
const SERDE: &str = "serde_json, typed";

/// Bytes that an adapter gets in one call.
const BATCH: usize = 64 << 10;

/// One text through every parser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The id of the agent that writes the text.
    pub(crate) agent: String,
    /// What the text contains.
    pub(crate) mix: String,
    /// The length of the text.
    pub(crate) bytes: f64,
    /// The ratio of the native adapter is 1.
    pub(crate) rows: Vec<Row>,
}

/// Measures every corpus, and the transcripts of real agents, repeated to the same size.
pub(crate) fn run(folder: &Path, transcripts: &Path, size: usize, rounds: usize) -> Result<Vec<Table>> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = Host::new(Dirs::below(folder), Config::default())?;
    let mut tables = Vec::new();
    for kind in AgentKind::ALL {
        let adapter = tokio.block_on(host.adapter(kind.id()))?;
        let real = repeated_transcripts(&transcripts.join(kind.id()), size)?;
        let texts = Mix::ALL.map(|mix| (mix.name(), corpus::turn(kind, mix, size)));
        for (name, text) in texts.into_iter().chain([("transcripts", real)]) {
            progress(format!("parse: {} {name}", kind.id()));
            let batches = corpus::batches(&text, BATCH);
            let mut costs = Vec::new();
            for _ in 0..rounds {
                costs.push(vec![
                    cost(|| native_adapter(kind, &batches))?,
                    cost(|| tokio.block_on(component(&adapter, kind, &batches)))?,
                    cost(|| Ok(typed(kind, &batches)))?,
                ]);
            }
            tables.push(Table {
                agent: kind.id().to_owned(),
                mix: name.to_owned(),
                bytes: number(text.len() as u64),
                rows: rows(&[NATIVE, COMPONENT, SERDE], 0, &costs),
            });
        }
    }
    Ok(tables)
}

/// The CPU time of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// What some work in this process costs. Its memory cannot be measured apart.
fn cost(work: impl FnOnce() -> Result<usize>) -> Result<Cost> {
    let (cpu, wall) = (cpu_time(), Instant::now());
    if black_box(work()?) == 0 {
        return Err(error("nothing was parsed"));
    }
    let cpu = cpu_time().saturating_sub(cpu).as_secs_f64();
    Ok(Cost { cpu, wall: wall.elapsed().as_secs_f64(), peak: 0.0 })
}

async fn component(adapter: &Component, kind: AgentKind, batches: &[&str]) -> Result<usize> {
    let mut parser = Parser::start(adapter, kind.version()).await?;
    let mut effects = 0;
    for batch in batches {
        effects += parser.parse(batch).await?;
    }
    Ok(effects)
}

fn native_adapter(kind: AgentKind, batches: &[&str]) -> Result<usize> {
    match kind {
        AgentKind::Copilot => native_parse::<Copilot>(kind, batches),
        AgentKind::Claude => native_parse::<Claude>(kind, batches),
    }
}

fn native_parse<A: Adapter>(kind: AgentKind, batches: &[&str]) -> Result<usize> {
    let mut adapter = A::default();
    let (turn, binary) = (testing::turn::<A>("Do it."), testing::binary(kind.version()));
    adapter.build_args(&turn, &binary, "").map_err(|failure| error(failure.message))?;
    adapter.build_prompt(&turn, &binary, "").map_err(|failure| error(failure.message))?;
    let (mut effects, mut offset) = (0, 0);
    for batch in batches {
        // Copied, because the component gets a copy too.
        let chunk = Chunk { stream: Stream::Stdout, offset, data: Frames::Text((*batch).to_owned()) };
        offset += batch.len() as u64;
        let mut out = Effects::default();
        adapter.parse_chunk(&chunk, &mut out);
        effects += black_box(out).len();
    }
    Ok(effects)
}

fn typed(kind: AgentKind, batches: &[&str]) -> usize {
    let mut parser = native::Parser::new(kind);
    let mut events = 0;
    for line in batches.iter().flat_map(|batch| batch.split_inclusive('\n')) {
        parser.parse(line.as_bytes(), |event| {
            black_box(event);
            events += 1;
        });
    }
    events
}

/// The stdout of all transcripts of an agent, repeated to at least this size.
fn repeated_transcripts(folder: &Path, size: usize) -> Result<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .map_err(|cause| error(format!("reading {}: {cause}; run it in the repository", folder.display())))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "stdout.jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut text = String::new();
    for file in files {
        text.push_str(&String::from_utf8_lossy(&std::fs::read(file)?));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text.repeat(size.div_ceil(text.len().max(1)).max(1)))
}

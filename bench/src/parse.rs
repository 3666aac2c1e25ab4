//! Parsing alone, in one process: the adapter's component, the same adapter compiled natively, `serde_json`.
//!
//! Each is given the same batches of whole lines and drops what it gives. The component's effects are lifted and their
//! spans checked, as in a run; the natively compiled adapter's are dropped as the adapter made them.

use crate::corpus::{self, Mix, Runtime};
use crate::measure::{Cost, Row, rows};
use crate::native;
use crate::sample::number;
use crate::{Result, failed, say};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use wharf::measure::Parser;
use wharf::{Adapter as Component, Config, Host, Places};
use wharf_adapter::{Adapter, Chunk, Effects, Frames, Origin, testing};
use wharf_adapter_claude::Claude;
use wharf_adapter_copilot::Copilot;

/// The component in the sandbox.
pub(crate) const COMPONENT: &str = "component";
/// The baseline.
pub(crate) const NATIVE: &str = "the same adapter, native";
const SERDE: &str = "serde_json, typed";

/// How much goes to an adapter in one call.
const BATCH: usize = 64 << 10;

/// One text, parsed in every way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Whose stream.
    pub(crate) runtime: String,
    /// What is in it.
    pub(crate) mix: String,
    /// How long it is.
    pub(crate) bytes: f64,
    /// The natively compiled adapter is 1.
    pub(crate) rows: Vec<Row>,
}

/// Every corpus, and the transcripts of real agents, repeated to the same size.
pub(crate) fn run(folder: &Path, transcripts: &Path, size: usize, rounds: usize) -> Result<Vec<Table>> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let places = Places {
        config: folder.join("no-such-file"),
        data: folder.join("data"),
        cache: folder.join("cache"),
        adapters: folder.join("no-such-folder"),
    };
    let host = Host::new(places, Config::default())?;
    let mut tables = Vec::new();
    for runtime in Runtime::ALL {
        let adapter = tokio.block_on(host.adapter(runtime.id()))?;
        let real = transcripts_of(&transcripts.join(runtime.id()), size)?;
        let texts = Mix::ALL.map(|mix| (mix.name(), corpus::turn(runtime, mix, size)));
        for (name, text) in texts.into_iter().chain([("transcripts", real)]) {
            say(format!("parse: {} {name}", runtime.id()));
            let batches = corpus::batches(&text, BATCH);
            let mut costs = Vec::new();
            for _ in 0..rounds {
                costs.push(vec![
                    cost(|| native_adapter(runtime, &batches))?,
                    cost(|| tokio.block_on(component(&adapter, runtime, &batches)))?,
                    cost(|| Ok(typed(runtime, &batches)))?,
                ]);
            }
            tables.push(Table {
                runtime: runtime.id().to_owned(),
                mix: name.to_owned(),
                bytes: number(text.len() as u64),
                rows: rows(&[NATIVE, COMPONENT, SERDE], 0, &costs),
            });
        }
    }
    Ok(tables)
}

/// The processor time of this process, so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// What something takes in this process. Its memory is that of all of us, and not told.
fn cost(work: impl FnOnce() -> Result<usize>) -> Result<Cost> {
    let (cpu, wall) = (processor_time(), Instant::now());
    if black_box(work()?) == 0 {
        return Err(failed("nothing was parsed"));
    }
    let cpu = processor_time().saturating_sub(cpu).as_secs_f64();
    Ok(Cost { cpu, wall: wall.elapsed().as_secs_f64(), peak: 0.0 })
}

async fn component(adapter: &Component, runtime: Runtime, batches: &[&str]) -> Result<usize> {
    let mut parser = Parser::start(adapter, runtime.release()).await?;
    let mut effects = 0;
    for batch in batches {
        effects += parser.parse(batch).await?;
    }
    Ok(effects)
}

fn native_adapter(runtime: Runtime, batches: &[&str]) -> Result<usize> {
    match runtime {
        Runtime::Copilot => native_parse::<Copilot>(runtime, batches),
        Runtime::Claude => native_parse::<Claude>(runtime, batches),
    }
}

fn native_parse<A: Adapter>(runtime: Runtime, batches: &[&str]) -> Result<usize> {
    let mut adapter = A::default();
    let (turn, binary) = (testing::turn::<A>("Do it."), testing::binary(runtime.release()));
    adapter.build_args(&turn, &binary).map_err(|failure| failed(failure.message))?;
    adapter.build_prompt(&turn, &binary).map_err(|failure| failed(failure.message))?;
    let (mut effects, mut offset) = (0, 0);
    for batch in batches {
        // The component's text is copied as well.
        let chunk = Chunk { origin: Origin::Stdout, offset, data: Frames::Text((*batch).to_owned()) };
        offset += batch.len() as u64;
        let mut out = Effects::default();
        adapter.parse_chunk(&chunk, &mut out);
        effects += black_box(out).len();
    }
    Ok(effects)
}

fn typed(runtime: Runtime, batches: &[&str]) -> usize {
    let mut events = 0;
    for line in batches.iter().flat_map(|batch| batch.split_inclusive('\n')) {
        native::parse(runtime, line.as_bytes(), |event| {
            black_box(event);
            events += 1;
        });
    }
    events
}

/// What all transcripts of a runtime have on stdout, repeated to at least this size.
fn transcripts_of(folder: &Path, size: usize) -> Result<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .map_err(|why| failed(format!("reading {}: {why}; run it in the repository", folder.display())))?;
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

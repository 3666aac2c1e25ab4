//! The benchmark itself: one section after the other, then the figures, the document and the verdicts.

use crate::args::{BenchArgs, Section, Task};
use crate::bars::{self, Verdict};
use crate::figures::Figures;
use crate::machine::Machine;
use crate::pipeline::Interpreters;
use crate::stage::Stage;
use crate::{Result, error, progress};
use crate::{growth, latency, memory, operators, parse, pipeline, profile, report, start};
use std::fs;
use std::path::{Path, PathBuf};

/// The document of a complete benchmark, in the repository.
const DOCUMENT: &str = "docs/performance.md";

/// Where the operators are recorded, in the repository.
const OPERATORS: &str = "bench/operators.json";

/// Runs in the root of the repository. Returns false if `--check` was given and a bar is missed.
pub(crate) fn run(args: &BenchArgs) -> Result<bool> {
    let task = args.task()?;
    if !Path::new(OPERATORS).is_file() {
        return Err(error("the benchmark runs in the root of the repository; use `cargo xtask bench`"));
    }
    fs::create_dir_all(&args.folder)?;
    // Figures of a part do not replace those of a complete benchmark.
    let partial = task == Task::Measure && !args.is_complete();
    let file = args.folder.join(if partial { "figures-part.json" } else { "figures.json" });
    let figures = match task {
        Task::Record => return record(),
        Task::Profile => {
            let stage = Stage::new(&args.folder)?;
            profile::run(&stage, args.quick)?;
            stage.clean()?;
            return Ok(true);
        }
        Task::Report => {
            let unread = |cause| error(format!("reading {}: {cause}; measure first", file.display()));
            serde_json::from_slice(&fs::read(&file).map_err(unread)?)?
        }
        Task::Measure => {
            let stage = Stage::new(&args.folder)?;
            let figures = measure(&stage, args)?;
            stage.clean()?;
            fs::write(&file, serde_json::to_string_pretty(&figures)?)?;
            figures
        }
    };
    Ok(publish(&figures, &args.folder)? || !args.check)
}

fn record() -> Result<bool> {
    let counted = operators::count()?;
    fs::write(OPERATORS, format!("{}\n", serde_json::to_string_pretty(&counted)?))?;
    progress(format!("the operators per line are recorded in {OPERATORS}: {counted:?}"));
    Ok(true)
}

fn measure(stage: &Stage, args: &BenchArgs) -> Result<Figures> {
    let found = Interpreters::find();
    let mut figures = Figures {
        machine: Machine::current(&stage.wharf, Path::new(".")),
        complete: args.is_complete(),
        quick: args.quick,
        debug: cfg!(debug_assertions),
        rounds: args.rounds,
        ..Figures::default()
    };
    for (what, name, exists) in [
        ("the loop and the sidecar in Node", "node", found.node.is_some()),
        ("the loop in Python", "python3", found.python.is_some()),
    ] {
        if !exists {
            figures.skipped.push(format!("{what}: `{name}` is not in PATH"));
        }
    }
    figures.skipped.iter().for_each(|line| progress(format!("skipped: {line}")));
    for section in args.sections() {
        match section {
            Section::Operators => {
                figures.operators = operators::count()?;
                figures.recorded = operators::recorded()?;
            }
            Section::Parse => {
                let transcripts = Path::new("tests/transcripts");
                figures.parse = parse::run(stage.folder(), transcripts, args.parse_size(), args.rounds)?;
            }
            Section::Start => figures.start = Some(start::run(stage, args.rounds)?),
            Section::Latency => {
                figures.latency = latency::run(stage, &found, args.timed_lines(), args.rounds)?;
            }
            Section::Memory => {
                figures.memory = memory::run(stage, args.live_runs())?;
                let most = args.live_runs().iter().max().copied().unwrap_or_default();
                figures.instances = memory::run_instances(stage, most)?;
            }
            Section::Growth => figures.growth = growth::run(stage, args.growth_sizes(), args.rounds)?,
            Section::Pipeline => {
                figures.pipeline = pipeline::run(stage, &found, args.pipeline_size(), args.rounds)?;
            }
        }
    }
    Ok(figures)
}

/// Writes the document and prints the verdicts. Returns whether all bars that were measured are met. Figures of a part,
/// of small sizes or of a debug build do not go into the repository.
fn publish(figures: &Figures, folder: &Path) -> Result<bool> {
    let path = if figures.complete && !figures.debug { PathBuf::from(DOCUMENT) } else { folder.join("performance.md") };
    fs::write(&path, report::document(figures))?;
    let verdicts = bars::judge(figures);
    for Verdict { what, bar, figure, met } in &verdicts {
        if let (Some(figure), Some(met)) = (figure, met) {
            progress(format!("{} {what}: {figure} ({bar})", if *met { "met   " } else { "MISSED" }));
        }
    }
    progress(format!("the document is {}", path.display()));
    Ok(verdicts.iter().all(|verdict| verdict.met != Some(false)))
}

//! The benchmark itself: one section after the other, then the figures, the document and the verdict.

use crate::bars::{self, Verdict};
use crate::figures::Figures;
use crate::machine::Machine;
use crate::order::{Order, Section, Task};
use crate::pipeline::Interpreters;
use crate::stage::Stage;
use crate::{Result, failed, say};
use crate::{growth, latency, memory, operators, parse, pipeline, profile, report, start};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the document of a whole benchmark stands, in the repository.
const DOCUMENT: &str = "docs/performance.md";

/// Where the operators are recorded, in the repository.
const OPERATORS: &str = "bench/operators.json";

/// Do what was ordered, in the repository's root. Gives whether what was to be checked is in order.
pub(crate) fn run(order: &Order) -> Result<bool> {
    if !Path::new(OPERATORS).is_file() {
        return Err(failed("the benchmark runs in the root of the repository; `cargo xtask bench` goes there"));
    }
    fs::create_dir_all(&order.folder)?;
    // Figures of a part do not take the place of a whole benchmark's.
    let partial = order.task == Task::Measure && !order.is_whole();
    let kept = order.folder.join(if partial { "figures-part.json" } else { "figures.json" });
    let figures = match order.task {
        Task::Record => return record(),
        Task::Profile => {
            let stage = Stage::new(&order.folder)?;
            profile::run(&stage, order.quick)?;
            stage.clean()?;
            return Ok(true);
        }
        Task::Report => {
            let unread = |why| failed(format!("reading {}: {why}; measure first", kept.display()));
            serde_json::from_slice(&fs::read(&kept).map_err(unread)?)?
        }
        Task::Measure => {
            let stage = Stage::new(&order.folder)?;
            let figures = measure(&stage, order)?;
            stage.clean()?;
            fs::write(&kept, serde_json::to_string_pretty(&figures)?)?;
            figures
        }
    };
    Ok(tell(&figures, order)? || !order.check)
}

fn record() -> Result<bool> {
    let counted = operators::count()?;
    fs::write(OPERATORS, format!("{}\n", serde_json::to_string_pretty(&counted)?))?;
    say(format!("operators a line are recorded in {OPERATORS}: {counted:?}"));
    Ok(true)
}

fn measure(stage: &Stage, order: &Order) -> Result<Figures> {
    let found = Interpreters::find();
    let mut figures = Figures {
        machine: Machine::here(&stage.wharf, Path::new(".")),
        whole: order.is_whole(),
        quick: order.quick,
        debug: cfg!(debug_assertions),
        rounds: order.rounds,
        ..Figures::default()
    };
    for (what, name, there) in [
        ("the loop and the sidecar in Node", "node", found.node.is_some()),
        ("the loop in Python", "python3", found.python.is_some()),
    ] {
        if !there {
            figures.skipped.push(format!("{what}: there is no `{name}` in PATH"));
        }
    }
    figures.skipped.iter().for_each(|line| say(format!("skipped: {line}")));
    for section in &order.sections {
        match section {
            Section::Operators => {
                figures.operators = operators::count()?;
                figures.recorded = operators::recorded()?;
            }
            Section::Parse => {
                let transcripts = Path::new("tests/transcripts");
                figures.parse = parse::run(stage.folder(), transcripts, order.parse_size(), order.rounds)?;
            }
            Section::Start => figures.start = Some(start::run(stage, order.rounds)?),
            Section::Latency => {
                figures.latency = latency::run(stage, &found, order.timed_lines(), order.rounds)?;
            }
            Section::Memory => {
                figures.memory = memory::run(stage, order.live_runs())?;
                let most = order.live_runs().iter().max().copied().unwrap_or_default();
                figures.instances = memory::run_instances(stage, most)?;
            }
            Section::Growth => figures.growth = growth::run(stage, order.growth_sizes(), order.rounds)?,
            Section::Pipeline => {
                figures.pipeline = pipeline::run(stage, &found, order.pipeline_size(), order.rounds)?;
            }
        }
    }
    Ok(figures)
}

/// Write the document, say how each bar stands, give whether all that were measured are met. Figures of a part, or of
/// small sizes, do not go into the repository.
fn tell(figures: &Figures, order: &Order) -> Result<bool> {
    let path =
        if figures.whole && !figures.debug { PathBuf::from(DOCUMENT) } else { order.folder.join("performance.md") };
    fs::write(&path, report::document(figures))?;
    let verdicts = bars::judge(figures);
    for Verdict { what, bar, figure, met } in &verdicts {
        if let (Some(figure), Some(met)) = (figure, met) {
            say(format!("{} {what}: {figure} ({bar})", if *met { "met   " } else { "MISSED" }));
        }
    }
    say(format!("the document is {}", path.display()));
    Ok(verdicts.iter().all(|verdict| verdict.met != Some(false)))
}

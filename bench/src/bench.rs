//! The benchmark itself: one section after the other, then the figures, the document and the verdict.

use crate::bars::{self, Verdict};
use crate::figures::Figures;
use crate::machine::Machine;
use crate::order::{Order, Section};
use crate::pipeline::Interpreters;
use crate::stage::Stage;
use crate::{Result, Talk, failed};
use crate::{growth, latency, memory, operators, parse, pipeline, profile, report, start};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the document of a whole benchmark stands, in the repository.
const DOCUMENT: &str = "docs/performance.md";

/// Where the operators are recorded, in the repository.
const OPERATORS: &str = "bench/operators.json";

/// Do what was ordered, in the repository's root. Gives whether every bar that was looked at is met.
pub(crate) fn run(order: &Order, talk: &Talk) -> Result<bool> {
    if !Path::new("bench/operators.json").is_file() {
        return Err(failed("the benchmark runs in the root of the repository; `cargo xtask bench` goes there"));
    }
    fs::create_dir_all(&order.folder)?;
    if order.record {
        return record(talk);
    }
    let kept = order.folder.join("figures.json");
    if order.report {
        let text =
            fs::read(&kept).map_err(|why| failed(format!("reading {}: {why}; measure first", kept.display())))?;
        return tell(&serde_json::from_slice(&text)?, order, talk);
    }
    let stage = Stage::new(&order.folder)?;
    if order.profile {
        profile::run(&stage, order.quick, talk)?;
        stage.clean()?;
        return Ok(true);
    }
    let figures = measure(&stage, order, talk)?;
    stage.clean()?;
    fs::write(&kept, serde_json::to_string_pretty(&figures)?)?;
    tell(&figures, order, talk)
}

fn record(talk: &Talk) -> Result<bool> {
    let counted = operators::count()?;
    fs::write(OPERATORS, format!("{}\n", serde_json::to_string_pretty(&counted)?))?;
    talk.say(format!("operators a line are recorded in {OPERATORS}: {counted:?}"));
    Ok(true)
}

fn measure(stage: &Stage, order: &Order, talk: &Talk) -> Result<Figures> {
    let found = Interpreters::find();
    let mut figures = Figures {
        machine: Machine::here(&stage.wharf, Path::new(".")),
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
    figures.skipped.iter().for_each(|line| talk.say(format!("skipped: {line}")));
    for section in &order.sections {
        match section {
            Section::Operators => {
                figures.operators = operators::count()?;
                figures.recorded = operators::recorded()?;
            }
            Section::Parse => {
                let transcripts = Path::new("tests/transcripts");
                figures.parse = parse::run(stage.folder(), transcripts, order.parse_size(), order.rounds, talk)?;
            }
            Section::Start => figures.start = Some(start::run(stage, order.rounds, talk)?),
            Section::Latency => {
                figures.latency = latency::run(stage, &found, order.timed_lines(), order.rounds, talk)?;
            }
            Section::Memory => figures.memory = memory::run(stage, order.live_runs(), talk)?,
            Section::Growth => figures.growth = growth::run(stage, order.growth_sizes(), order.rounds, talk)?,
            Section::Pipeline => {
                figures.pipeline = pipeline::run(stage, &found, order.pipeline_size(), order.rounds, talk)?;
            }
        }
    }
    Ok(figures)
}

/// Write the document, say how each bar stands. Figures of a part, or of small sizes, do not go into the repository.
fn tell(figures: &Figures, order: &Order, talk: &Talk) -> Result<bool> {
    let whole = order.is_whole() && !figures.quick && !figures.debug;
    let path = if whole { PathBuf::from(DOCUMENT) } else { order.folder.join("performance.md") };
    fs::write(&path, report::document(figures))?;
    let verdicts = bars::judge(figures);
    for Verdict { what, bar, figure, met } in &verdicts {
        if let (Some(figure), Some(met)) = (figure, met) {
            talk.say(format!("{} {what}: {figure} ({bar})", if *met { "met   " } else { "MISSED" }));
        }
    }
    talk.say(format!("the document is {}", path.display()));
    Ok(verdicts.iter().all(|verdict| verdict.met != Some(false)))
}

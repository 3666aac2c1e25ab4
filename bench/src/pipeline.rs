//! The whole way: an agent's process, a pipe, and lines of events, which nobody reads.
//!
//! Every loop spawns the same agent and gives the same events; that they do is checked first, on a short turn.

use crate::corpus::{Mix, Runtime};
use crate::measure::{Cost, Row, measure, rows};
use crate::sample::number;
use crate::stage::{Agent, Stage};
use crate::tally::{self, Tally};
use crate::{Result, failed, say};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The baseline of every ratio.
pub(crate) const NATIVE: &str = "native serde_json";
/// As it comes.
pub(crate) const WHARF: &str = "wharf run --json";
/// Without its recording.
pub(crate) const UNRECORDED: &str = "wharf run --json --no-record";
/// A loop in Node.
pub(crate) const NODE: &str = "Node";
/// A process of Node instead of a component.
pub(crate) const SIDECAR: &str = "Node sidecar";
const PYTHON: &str = "Python";
/// A process that passes on what it reads.
pub(crate) const COPY: &str = "copy only";

/// How long the turn is on which the events are compared.
const CHECKED: usize = 2 << 20;

/// One corpus through every loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Whose stream.
    pub(crate) runtime: String,
    /// What is in it.
    pub(crate) mix: String,
    /// How long it is.
    pub(crate) bytes: f64,
    /// Native is 1.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// A row by name.
    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// The interpreters that are there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interpreters {
    pub(crate) node: Option<PathBuf>,
    pub(crate) python: Option<PathBuf>,
}

impl Interpreters {
    /// Those in the path, by what they say of themselves: the name may be that of a script that looks for them, whose
    /// time is not theirs.
    pub(crate) fn find() -> Interpreters {
        let find = |name: &str, words: [&str; 2]| {
            let output = Command::new(name).args(words).output().ok().filter(|output| output.status.success())?;
            Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
        };
        Interpreters {
            node: find("node", ["-p", "process.execPath"]),
            python: find("python3", ["-c", "import sys; print(sys.executable)"]),
        }
    }
}

/// The loops that can be run here, the baseline first.
fn loops(stage: &Stage, found: &Interpreters, agent: &Agent) -> Result<Vec<(&'static str, Command)>> {
    let runtime = agent.runtime.id();
    let script = |program: &Path, file: &str| {
        let mut command = stage.command(program);
        command.arg(stage.loop_file(file)).arg(runtime).arg(&agent.program);
        command
    };
    let ours = |words: &[&str]| -> Result<Command> {
        let mut command = stage.ourselves(words)?;
        command.arg(&agent.program);
        Ok(command)
    };
    let mut loops = vec![
        (NATIVE, ours(&["native", runtime])?),
        (UNRECORDED, stage.wharf_run(agent, false)),
        (WHARF, stage.wharf_run(agent, true)),
        (COPY, ours(&["copy"])?),
    ];
    if let Some(node) = &found.node {
        loops.push((NODE, script(node, "node.js")));
        loops.push((SIDECAR, relay(stage, node, agent)?));
    }
    if let Some(python) = &found.python {
        loops.push((PYTHON, script(python, "python.py")));
    }
    Ok(loops)
}

/// The sidecar behind its relay.
pub(crate) fn relay(stage: &Stage, node: &Path, agent: &Agent) -> Result<Command> {
    let mut command = stage.ourselves(&["relay"])?;
    command.arg(&agent.program).arg(node).arg(stage.loop_file("sidecar.js")).arg(agent.runtime.id());
    Ok(command)
}

/// All loops give the same events, or it is told which do not.
fn check(stage: &Stage, found: &Interpreters, runtime: Runtime, mix: Mix) -> Result<()> {
    let agent = stage.agent_of(runtime, mix, CHECKED)?;
    let mut first: Option<(&str, Tally)> = None;
    for (name, mut command) in loops(stage, found, &agent)?.into_iter().filter(|(name, _)| *name != COPY) {
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(failed(format!("{name}, {} {}: {} {said}", runtime.id(), mix.name(), output.status)));
        }
        let tally = tally::count(&String::from_utf8_lossy(&output.stdout))
            .map_err(|why| failed(format!("{name}, {} {}: {why}", runtime.id(), mix.name())))?;
        match &first {
            None if tally.values().sum::<usize>() < 100 => {
                return Err(failed(format!("{name} gave almost no events: {tally:?}")));
            }
            None => first = Some((name, tally)),
            Some((baseline, events)) => {
                if let Some(words) = tally::difference((baseline, events), (name, &tally)) {
                    return Err(failed(format!("other events, {} {}: {words}", runtime.id(), mix.name())));
                }
            }
        }
    }
    agent.remove()
}

/// Every corpus through every loop.
pub(crate) fn run(stage: &Stage, found: &Interpreters, size: usize, rounds: usize) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for runtime in Runtime::ALL {
        for mix in Mix::ALL {
            check(stage, found, runtime, mix)?;
            let agent = stage.agent_of(runtime, mix, size)?;
            let loops = loops(stage, found, &agent)?;
            let mut costs: Vec<Vec<Cost>> = Vec::new();
            for round in 0..rounds {
                say(format!("pipeline: {} {}, round {} of {rounds}", runtime.id(), mix.name(), round + 1));
                let mut row = Vec::new();
                for (_, command) in &loops {
                    row.push(measure(command)?);
                    stage.forget_runs()?;
                }
                costs.push(row);
            }
            let names: Vec<&str> = loops.iter().map(|(name, _)| *name).collect();
            let bytes = number(agent.size()?);
            agent.remove()?;
            tables.push(Table {
                runtime: runtime.id().to_owned(),
                mix: mix.name().to_owned(),
                bytes,
                rows: rows(&names, 0, &costs),
            });
        }
    }
    Ok(tables)
}

//! The whole pipeline: an agent's process, a pipe, and lines of events, which nobody reads.
//!
//! Every loop spawns the same agent and writes the same events. That is checked first, with a short turn.

use crate::corpus::{AgentKind, Mix};
use crate::events::{comparable, difference};
use crate::measure::{Cost, Row, measure, rows};
use crate::stage::{Agent, Stage};
use crate::statistics::number;
use crate::{Result, error, progress};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The baseline of every ratio.
pub(crate) const NATIVE: &str = "native serde_json";
/// As it is by default.
pub(crate) const WHARF: &str = "wharf run --json";
/// Without its recording.
pub(crate) const UNRECORDED: &str = "wharf run --json --no-record";
/// The loop in Node.
pub(crate) const NODE: &str = "Node";
/// A Node process instead of a component.
pub(crate) const SIDECAR: &str = "Node sidecar";
const PYTHON: &str = "Python";
/// A process that writes what it reads.
pub(crate) const COPY: &str = "copy only";

/// Bytes of the turn with which the events are compared.
const CHECKED: usize = 2 << 20;

/// One corpus through every loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The id of the agent that writes the corpus.
    pub(crate) agent: String,
    /// What the corpus contains.
    pub(crate) mix: String,
    /// The length of the corpus.
    pub(crate) bytes: f64,
    /// The ratio of the native loop is 1.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// The row of this name.
    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

/// The interpreters that are installed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interpreters {
    pub(crate) node: Option<PathBuf>,
    pub(crate) python: Option<PathBuf>,
}

impl Interpreters {
    /// Those in PATH, by the path that they report: the program in PATH may be a script that finds the interpreter,
    /// and its time would be measured too.
    pub(crate) fn find() -> Interpreters {
        let find = |name: &str, args: [&str; 2]| {
            let output = Command::new(name).args(args).output().ok().filter(|output| output.status.success())?;
            Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
        };
        Interpreters {
            node: find("node", ["-p", "process.execPath"]),
            python: find("python3", ["-c", "import sys; print(sys.executable)"]),
        }
    }
}

/// The loops that can run here, the baseline first.
fn loops(stage: &Stage, found: &Interpreters, agent: &Agent) -> Result<Vec<(&'static str, Command)>> {
    let kind = agent.kind.id();
    let script = |program: &Path, file: &str| {
        let mut command = stage.command(program);
        command.arg(stage.loop_file(file)).arg(kind).arg(&agent.program);
        command
    };
    let ours = |args: &[&str]| -> Result<Command> {
        let mut command = stage.this_program(args)?;
        command.arg(&agent.program);
        Ok(command)
    };
    let mut loops = vec![
        (NATIVE, ours(&["native", kind])?),
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

/// The sidecar and its relay.
pub(crate) fn relay(stage: &Stage, node: &Path, agent: &Agent) -> Result<Command> {
    let mut command = stage.this_program(&["relay"])?;
    command.arg(&agent.program).arg(node).arg(stage.loop_file("sidecar.js")).arg(agent.kind.id());
    Ok(command)
}

/// Fails if the loops do not all write the same events.
fn check(stage: &Stage, found: &Interpreters, kind: AgentKind, mix: Mix) -> Result<()> {
    let agent = stage.agent_with_turn(kind, mix, CHECKED)?;
    let corpus = format!("{} {}", kind.id(), mix.name());
    let mut first: Option<(&str, Vec<Value>)> = None;
    for (name, mut command) in loops(stage, found, &agent)?.into_iter().filter(|(name, _)| *name != COPY) {
        let output = command.output()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(error(format!("{name}, {corpus}: {} {stderr}", output.status)));
        }
        let events = comparable(&String::from_utf8_lossy(&output.stdout))
            .map_err(|cause| error(format!("{name}, {corpus}: {cause}")))?;
        match &first {
            None if events.len() < 100 => {
                return Err(error(format!("{name}, {corpus}: only {} events", events.len())));
            }
            None => first = Some((name, events)),
            Some((baseline, expected)) => {
                if let Some(difference) = difference((baseline, expected), (name, &events)) {
                    return Err(error(format!("the loops differ, {corpus}, {difference}")));
                }
            }
        }
    }
    agent.remove()
}

/// Every corpus through every loop.
pub(crate) fn run(stage: &Stage, found: &Interpreters, size: usize, rounds: usize) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for kind in AgentKind::ALL {
        for mix in Mix::ALL {
            check(stage, found, kind, mix)?;
            let agent = stage.agent_with_turn(kind, mix, size)?;
            let loops = loops(stage, found, &agent)?;
            let mut costs: Vec<Vec<Cost>> = Vec::new();
            for round in 0..rounds {
                progress(format!("pipeline: {} {}, round {} of {rounds}", kind.id(), mix.name(), round + 1));
                let mut row = Vec::new();
                for (_, command) in &loops {
                    row.push(measure(command)?);
                    stage.delete_runs()?;
                }
                costs.push(row);
            }
            let names: Vec<&str> = loops.iter().map(|(name, _)| *name).collect();
            let bytes = number(agent.size()?);
            agent.remove()?;
            tables.push(Table {
                agent: kind.id().to_owned(),
                mix: mix.name().to_owned(),
                bytes,
                rows: rows(&names, 0, &costs),
            });
        }
    }
    Ok(tables)
}

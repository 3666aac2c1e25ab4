//! What a command costs: CPU time of its processes, wall time, peak resident memory.
//!
//! The command is started by a small process of the benchmark (`wharf-bench measure -- COMMAND`), because Linux counts
//! the memory of the process that forks towards the child's peak, and the benchmark holds large corpora in memory.

use crate::statistics::{median, number, ratio};
use crate::{Result, error};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4 as _;

/// What one run of a command cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Seconds of CPU time, user and system, of the command and of the processes that it waited for.
    pub(crate) cpu: f64,
    /// Seconds from before its start to after its exit.
    pub(crate) wall: f64,
    /// Bytes of the largest resident set of these processes.
    pub(crate) peak: f64,
}

/// Runs the command without output. For the wrapper process.
pub(crate) fn run(command: &[OsString]) -> Result<Cost> {
    let Some((program, args)) = command.split_first() else {
        return Err(error("`measure` needs a command after `--`"));
    };
    let name = Path::new(program).display();
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let child = command.spawn().map_err(|cause| error(format!("starting {name}: {cause}")))?;
    let used = child.wait4().map_err(|cause| error(format!("waiting for {name}: {cause}")))?;
    let wall = started.elapsed().as_secs_f64();
    if !used.status.success() {
        return Err(error(format!("{name} failed: {}", used.status)));
    }
    let cpu = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    Ok(Cost { cpu, wall, peak: number(used.rusage.maxrss) })
}

/// Measures a command, with its environment and folder.
pub(crate) fn measure(command: &Command) -> Result<Cost> {
    let mut wrapper = Command::new(std::env::current_exe()?);
    wrapper.arg("measure").arg("--").arg(command.get_program()).args(command.get_args());
    wrapper.env_clear();
    for (name, value) in command.get_envs() {
        wrapper.env(name, value.unwrap_or_default());
    }
    if let Some(folder) = command.get_current_dir() {
        wrapper.current_dir(folder);
    }
    let output = wrapper.output()?;
    if !output.status.success() {
        return Err(error(String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A row of a table: one of the compared programs, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The first column of the table.
    pub(crate) name: String,
    /// Medians over the rounds.
    pub(crate) cost: Cost,
    /// The CPU time divided by the baseline's in the same round; the median of these.
    pub(crate) ratio: f64,
}

/// The rows of a table from the costs of each round, `rounds[round][row]`. `baseline` is the index of a row.
pub(crate) fn rows(names: &[&str], baseline: usize, rounds: &[Vec<Cost>]) -> Vec<Row> {
    let column =
        |row: usize, of: fn(&Cost) -> f64| -> Vec<f64> { rounds.iter().map(|costs| of(&costs[row])).collect() };
    let base = column(baseline, |cost| cost.cpu);
    names
        .iter()
        .enumerate()
        .map(|(row, name)| Row {
            name: (*name).to_owned(),
            cost: Cost {
                cpu: median(&column(row, |cost| cost.cpu)),
                wall: median(&column(row, |cost| cost.wall)),
                peak: median(&column(row, |cost| cost.peak)),
            },
            ratio: ratio(&column(row, |cost| cost.cpu), &base),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_command_is_measured_and_a_failing_command_is_an_error() {
        let command = |line: &[&str]| line.iter().map(OsString::from).collect::<Vec<_>>();
        let cost = run(&command(&["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])).expect("it works");
        assert!(cost.cpu > 0.0 && cost.wall > 0.0, "{cost:?}");
        assert!(cost.peak > 100_000.0, "{cost:?}");
        let error = run(&command(&["sh", "-c", "exit 3"])).expect_err("it fails").to_string();
        assert!(error.contains("sh failed") && error.contains('3'), "{error}");
        assert!(run(&command(&["/nonexistent/program"])).expect_err("no such").to_string().contains("/nonexistent"));
    }

    #[test]
    fn rows_are_compared_within_a_round() {
        let cost = |cpu| Cost { cpu, wall: 2.0 * cpu, peak: 1.0 };
        let rounds = [vec![cost(1.0), cost(2.0)], vec![cost(10.0), cost(21.0)], vec![cost(1.5), cost(3.0)]];
        let rows = rows(&["native", "wharf"], 0, &rounds);
        assert!((rows[1].ratio - 2.0).abs() < 1e-9 && (rows[0].ratio - 1.0).abs() < 1e-9, "{rows:?}");
        assert!((rows[1].cost.cpu - 3.0).abs() < 1e-9 && (rows[1].cost.wall - 6.0).abs() < 1e-9, "{rows:?}");
    }
}

//! What a command costs: processor time of it and of all it waited for, wall time, peak resident memory.
//!
//! The command is started by a small process of ourselves (`wharf-bench measure -- COMMAND`), because Linux counts the
//! memory of whoever forks towards the peak of the child, and the benchmark itself holds large corpora.

use crate::sample::{median, number, ratio};
use crate::{Result, failed};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4 as _;

/// What one run of a command took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Seconds of processor time, user and system, of the command and of what it waited for.
    pub(crate) cpu: f64,
    /// Seconds from before its start to after its end.
    pub(crate) wall: f64,
    /// Bytes of the largest resident set among them.
    pub(crate) peak: f64,
}

/// The wrapper's part: run the command, its output to nowhere, and tell what it took.
pub(crate) fn run(words: &[OsString]) -> Result<Cost> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed("`measure` needs a command after `--`"));
    };
    let name = Path::new(program).display();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let child = command.spawn().map_err(|why| failed(format!("starting {name}: {why}")))?;
    let used = child.wait4().map_err(|why| failed(format!("waiting for {name}: {why}")))?;
    let wall = begun.elapsed().as_secs_f64();
    if !used.status.success() {
        return Err(failed(format!("{name} did not do its work: {}", used.status)));
    }
    let cpu = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    Ok(Cost { cpu, wall, peak: number(used.rusage.maxrss) })
}

/// Measure a command, with its environment and folder.
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
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// One way to do something, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// Medians.
    pub(crate) cost: Cost,
    /// The median of the ratios of processor time to the baseline's in the same round.
    pub(crate) ratio: f64,
}

/// The rows of a table from the costs by round: `rounds[round][row]`, the baseline being the row of that number.
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
    fn a_command_costs_what_it_takes_and_a_failing_one_is_an_error() {
        let words = |line: &[&str]| line.iter().map(OsString::from).collect::<Vec<_>>();
        let cost = run(&words(&["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])).expect("it works");
        assert!(cost.cpu > 0.0 && cost.wall > 0.0, "{cost:?}");
        assert!(cost.peak > 100_000.0, "{cost:?}");
        let why = run(&words(&["sh", "-c", "exit 3"])).expect_err("it fails").to_string();
        assert!(why.contains("sh did not do its work") && why.contains('3'), "{why}");
        assert!(run(&words(&["/nonexistent/program"])).expect_err("no such").to_string().contains("/nonexistent"));
    }

    #[test]
    fn rows_compare_within_a_round() {
        let cost = |cpu| Cost { cpu, wall: 2.0 * cpu, peak: 1.0 };
        let rounds = [vec![cost(1.0), cost(2.0)], vec![cost(10.0), cost(21.0)], vec![cost(1.5), cost(3.0)]];
        let rows = rows(&["native", "wharf"], 0, &rounds);
        assert!((rows[1].ratio - 2.0).abs() < 1e-9 && (rows[0].ratio - 1.0).abs() < 1e-9, "{rows:?}");
        assert!((rows[1].cost.cpu - 3.0).abs() < 1e-9 && (rows[1].cost.wall - 6.0).abs() < 1e-9, "{rows:?}");
    }
}

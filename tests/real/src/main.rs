//! The suite that drives real agents, through the real `wharf` and the real components, against a mock model.
//!
//! `cargo xtask real` installs the agents and starts this program once for each version, without any network but
//! loopback. A scenario is a function ([`scenarios`]) with its own [`testbed`]: a workspace, a clean environment with
//! fake keys, and methods that run `wharf` in it. Every recording is replayed and must give the same events.

mod agent;
mod args;
mod mcp_server;
mod process;
mod run_result;
mod scenarios;
mod table;
mod testbed;

use agent::Agent;
use args::Args;
use clap::Parser as _;
use scenarios::Scenario;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use table::{Row, Table};
use testbed::Testbed;

/// Why a scenario did not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotPassed {
    /// A check failed: its message.
    Failed(String),
    /// This version of the agent does not support it, or would take too long: the reason.
    NotOffered(String),
}

impl From<String> for NotPassed {
    fn from(message: String) -> NotPassed {
        NotPassed::Failed(message)
    }
}

/// The result of a scenario.
pub(crate) type ScenarioResult = Result<(), NotPassed>;

/// How many scenarios run at once. Agents mostly wait, especially before their own retries.
const PARALLEL: usize = 3;

fn main() -> ExitCode {
    // The agents start this program as their MCP server.
    if std::env::args_os().nth(1).is_some_and(|arg| arg == mcp_server::ARG) {
        return mcp_server::serve();
    }
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            log(&format!("wharf-real-suite: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the suite. True if nothing failed and the adapter knew every native type.
fn run(args: &Args) -> Result<bool, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("cannot start the async runtime: {error}"))?;
    let agent = Agent::new(args);
    agent.prepare()?;
    let is_selected =
        |scenario: &&Scenario| args.scenario.as_ref().is_none_or(|name| scenario.name.contains(name.as_str()));
    let selected: Vec<&Scenario> = scenarios::ALL.iter().filter(is_selected).collect();
    if selected.is_empty() {
        return Err(format!("no scenario's name contains `{}`", args.scenario.as_deref().unwrap_or_default()));
    }
    let (next, rows, drift) = (Mutex::new(0), Mutex::new(vec![]), Mutex::new(BTreeMap::new()));
    // The first start unpacks the agent and compiles the adapter. Do that once, not in several scenarios at once.
    Testbed::new(&agent, "warm-up", runtime.handle(), &drift)?.warm_up()?;
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some((at, scenario)) = take(&next, &selected) {
                    let started = Instant::now();
                    let run = |name: &str| {
                        Testbed::new(&agent, name, runtime.handle(), &drift)
                            .map_err(NotPassed::Failed)
                            .and_then(|testbed| (scenario.run)(&testbed))
                    };
                    let mut result = run(scenario.name);
                    // Real agents on a busy machine sometimes miss a deadline. A real defect fails twice, and the first
                    // failure is printed.
                    if let Err(NotPassed::Failed(message)) = &result {
                        log(&format!("{}: {} failed, retrying: {message}", agent.title(), scenario.name));
                        result = run(&format!("{} again", scenario.name));
                    }
                    let row = Row::new(&agent, scenario.name, &result, started.elapsed());
                    log(&row.line(&result));
                    rows.lock().expect("no scenario panics while it holds the lock").push((at, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no scenario panics while it holds the lock");
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let drift = drift.into_inner().expect("no scenario panics while it holds the lock");
    report_drift(&agent, &drift);
    let passed = rows.iter().filter(|row| row.passed()).count();
    let failed = rows.iter().filter(|row| row.failed()).count();
    let others = rows.len() - passed - failed;
    log(&format!("{}: {passed} passed, {failed} failed, {others} not offered", agent.title()));
    if let Some(path) = &args.table {
        let names: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.name).collect();
        Table::read(path)?.with(&rows, &names).write(path)?;
    }
    // The versions are pinned, so a native type that the adapter does not know is a defect of the adapter, even if the
    // turn succeeded. CI, which writes no table, only reports it: an event that a real agent sends only sometimes must
    // not fail an unrelated change.
    Ok(failed == 0 && (drift.is_empty() || args.table.is_none()))
}

fn take<'a>(next: &Mutex<usize>, selected: &[&'a Scenario]) -> Option<(usize, &'a Scenario)> {
    let mut next = next.lock().expect("no scenario panics while it holds the lock");
    let at = *next;
    *next += 1;
    selected.get(at).map(|scenario| (at, *scenario))
}

/// Prints the native types that the adapter did not know.
fn report_drift(agent: &Agent, drift: &BTreeMap<String, u64>) {
    if drift.is_empty() {
        return log(&format!("{}: no drift", agent.title()));
    }
    for (native, count) in drift {
        log(&format!("{}: the adapter does not know `{native}` ({count} times)", agent.title()));
    }
}

/// Prints a line to stderr.
fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

//! The suite that drives real agents, through the real `wharf` and the real components, against a mock model.
//!
//! `cargo xtask real` installs the agents and starts this program, once for each version, where there is no network but
//! loopback. A scenario is a function ([`scenarios`]) that has a [`stage`] to itself: a workspace, a clean environment
//! with fake keys, and a way to run `wharf` on it. Every recording is replayed and must give the same events again.

mod agent;
mod options;
mod process;
mod ran;
mod scenarios;
mod stage;
mod table;
mod tide;

use agent::Agent;
use options::Options;
use scenarios::Scenario;
use stage::Stage;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use table::{Row, Table};

/// How a scenario did not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shortfall {
    /// What was not as it should be.
    Failed(String),
    /// This version of the agent does not have it, or it is not worth its time: why.
    NotOffered(String),
}

impl From<String> for Shortfall {
    fn from(why: String) -> Shortfall {
        Shortfall::Failed(why)
    }
}

/// What a scenario gives.
pub(crate) type Verdict = Result<(), Shortfall>;

/// How many scenarios run at once. Agents mostly wait, for their own retries above all.
const AT_ONCE: usize = 3;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The agents start this program themselves, as their MCP server.
    if words.first().is_some_and(|word| word == tide::WORD) {
        return tide::serve();
    }
    let options = match Options::parse(&words) {
        Ok(options) => options,
        Err(why) => {
            say(&format!("wharf-real-suite: {why}"));
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&format!("wharf-real-suite: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// Run the suite, and tell whether nothing failed and the adapter knew everything.
fn run(options: &Options) -> Result<bool, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|why| format!("no runtime: {why}"))?;
    let agent = Agent::new(options);
    agent.prepare()?;
    let wanted =
        |scenario: &&Scenario| options.scenario.as_ref().is_none_or(|name| scenario.name.contains(name.as_str()));
    let chosen: Vec<&Scenario> = scenarios::ALL.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(format!("no scenario is called `{}`", options.scenario.as_deref().unwrap_or_default()));
    }
    let (next, rows, drift) = (Mutex::new(0), Mutex::new(vec![]), Mutex::new(BTreeMap::new()));
    // The first start of an agent unpacks it, and that of an adapter compiles it: once, not in every scenario at once.
    Stage::new(&agent, "warm-up", runtime.handle(), &drift)?.warm_up()?;
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((at, scenario)) = take(&next, &chosen) {
                    let started = Instant::now();
                    let play = |stage: &str| {
                        Stage::new(&agent, stage, runtime.handle(), &drift)
                            .map_err(Shortfall::Failed)
                            .and_then(|stage| (scenario.run)(&stage))
                    };
                    let mut verdict = play(scenario.name);
                    // Real agents on a busy machine miss a moment now and then. What is broken fails twice, and what
                    // failed once is said.
                    if let Err(Shortfall::Failed(why)) = &verdict {
                        say(&format!("{}: {} failed, once more: {why}", agent.title(), scenario.name));
                        verdict = play(&format!("{} again", scenario.name));
                    }
                    let row = Row::new(&agent, scenario.name, &verdict, started.elapsed());
                    say(&row.line(&verdict));
                    rows.lock().expect("no scenario holds it").push((at, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no scenario holds it");
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let drift = drift.into_inner().expect("no scenario holds it");
    report_drift(&agent, &drift);
    let passed = rows.iter().filter(|row| row.passed()).count();
    let failed = rows.iter().filter(|row| row.failed()).count();
    let others = rows.len() - passed - failed;
    say(&format!("{}: {passed} passed, {failed} failed, {others} not offered", agent.title()));
    if let Some(path) = &options.table {
        let names: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.name).collect();
        Table::read(path)?.with(&rows, &names).write(path)?;
    }
    // The versions are pinned: a native type that the adapter does not know is the adapter's fault, even where the turn
    // went well without it. CI, which writes no table, tells of it and goes on: what a real agent says only now and then
    // must not stop a change that has nothing to do with it.
    Ok(failed == 0 && (drift.is_empty() || options.table.is_none()))
}

fn take<'a>(next: &Mutex<usize>, chosen: &[&'a Scenario]) -> Option<(usize, &'a Scenario)> {
    let mut next = next.lock().expect("no scenario holds it");
    let at = *next;
    *next += 1;
    chosen.get(at).map(|scenario| (at, *scenario))
}

/// Native types that the adapter did not know.
fn report_drift(agent: &Agent, drift: &BTreeMap<String, u64>) {
    if drift.is_empty() {
        return say(&format!("{}: no drift", agent.title()));
    }
    for (native, count) in drift {
        say(&format!("{}: the adapter does not know `{native}` ({count} times)", agent.title()));
    }
}

/// A line for people.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

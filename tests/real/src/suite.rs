//! Runs the scenarios of all subjects, several at once, and collects their results.

use crate::args::RunArgs;
use crate::results::{Outcome, Results, Row};
use crate::scenarios::{self, Scenario};
use crate::subject::Subject;
use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult, log, page};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;
use tokio::runtime::Handle;

/// How many scenarios run at once. Agents mostly wait, especially before their own retries.
const PARALLEL: usize = 3;

/// Runs the suite. True if nothing failed and the adapters knew every native type.
pub(crate) fn run(args: &RunArgs, handle: &Handle) -> Result<bool, String> {
    let subjects = subjects(args)?;
    let units = units(args, &subjects)?;
    let old = args.results.as_deref().map(Results::read).transpose()?.unwrap_or_default();
    let (next, rows) = (Mutex::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some((at, (subject, scenario))) = take(&next, &units) {
                    let started = Instant::now();
                    let result = run_twice(subject, scenario, handle);
                    let result = not_worse(&old, subject, scenario.name, result);
                    log(&line(subject, scenario.name, &result, started.elapsed().as_secs_f64()));
                    let row = Row::new(subject, scenario.name, &result);
                    rows.lock().expect("no scenario panics while it holds the lock").push((at, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no scenario panics while it holds the lock");
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let unknown: usize = subjects.iter().map(|subject| report(subject, &rows)).sum();
    if let (Some(results), Some(path)) = (&args.results, &args.page) {
        let names: Vec<&str> = scenarios::ALL.iter().map(|scenario| scenario.name).collect();
        let all = Results::read(results)?.with(&rows, &names);
        all.write(results)?;
        std::fs::write(path, page::page(&all, &names)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    // The versions are pinned, so a native type that the adapter does not know is a defect of the adapter, even if the
    // turn succeeded. CI only reports it: an event that a real agent sends only sometimes must not fail an unrelated
    // change.
    let failed = rows.iter().any(|row| row.outcome == Outcome::Failed);
    Ok(!failed && (unknown == 0 || args.selection.ci))
}

/// What to run. In CI, what is not installed is skipped.
fn subjects(args: &RunArgs) -> Result<Vec<Subject>, String> {
    let choices = args.selection.choices()?;
    if args.adapter.is_some() && choices.iter().any(|one| one.agent.id() != choices[0].agent.id()) {
        return Err("an adapter replaces that of one agent: name it with --agent".to_owned());
    }
    let help = Command::new(&args.wharf).args(["run", "--help"]).output();
    let chooses_transport = help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--transport"));
    let mut subjects = vec![];
    for choice in choices {
        let subject = Subject::new(choice, args);
        if !subject.is_best_transport() && !chooses_transport {
            log(&format!("{}: skipped, this wharf has no `--transport`", subject.title()));
        } else if !has_adapter(&subject) {
            log(&format!("{}: skipped, this wharf has no adapter `{}`", subject.title(), subject.agent.adapter()));
        } else if subject.is_installed() {
            subject.prepare()?;
            subjects.push(subject);
        } else if args.selection.ci {
            log(&format!("{}: skipped, it is not installed", subject.title()));
        } else {
            return Err(format!("{} is not installed", subject.title()));
        }
    }
    Ok(subjects)
}

fn has_adapter(subject: &Subject) -> bool {
    let shown = Command::new(&subject.wharf).args(["adapters", "show", subject.agent.adapter()]).output();
    subject.replaces_adapter() || shown.is_ok_and(|output| output.status.success())
}

type Unit<'a> = (&'a Subject, &'static Scenario);

/// Each subject with each of its scenarios.
fn units<'a>(args: &RunArgs, subjects: &'a [Subject]) -> Result<Vec<Unit<'a>>, String> {
    let named = |scenario: &Scenario| args.scenario.as_ref().is_none_or(|name| scenario.name.contains(name.as_str()));
    if !scenarios::ALL.iter().any(named) {
        return Err(format!("no scenario's name contains `{}`", args.scenario.as_deref().unwrap_or_default()));
    }
    let units = subjects.iter().flat_map(|subject| {
        let is_selected = move |scenario: &&'static Scenario| {
            named(scenario) && scenario.is_for(subject.agent) && (!args.selection.ci || scenario.is_in_ci(subject))
        };
        scenarios::ALL.iter().filter(is_selected).map(move |scenario| (subject, scenario))
    });
    Ok(units.collect())
}

fn take<'a, 'b>(next: &Mutex<usize>, units: &'b [Unit<'a>]) -> Option<(usize, &'b Unit<'a>)> {
    let mut next = next.lock().expect("no scenario panics while it holds the lock");
    let at = *next;
    *next += 1;
    units.get(at).map(|unit| (at, unit))
}

/// Real agents on a busy machine sometimes miss a deadline. A real defect fails twice, and the first failure is printed.
fn run_twice(subject: &Subject, scenario: &Scenario, handle: &Handle) -> ScenarioResult {
    let result = run_once(subject, scenario, scenario.name, handle);
    let Err(NotPassed::Failed(message)) = &result else { return result };
    if !matches!(subject.offers.get(), Some(Ok(_))) {
        return result;
    }
    log(&format!("{}: {} failed, retrying: {message}", subject.title(), scenario.name));
    run_once(subject, scenario, &format!("{} again", scenario.name), handle)
}

fn run_once(subject: &Subject, scenario: &Scenario, name: &str, handle: &Handle) -> ScenarioResult {
    // The first start unpacks the agent and compiles the adapter: once, not in several scenarios at once.
    let warm_up = || Testbed::new(subject, "warm-up", handle)?.warm_up();
    let offers = subject.offers.get_or_init(warm_up).as_ref().map_err(Clone::clone)?;
    if let Some(reason) = &offers.no_transport {
        // The newest version has all of the agent's transports.
        let is_newest = subject.agent.versions().first() == Some(&subject.version.as_str());
        return Err(if is_newest { NotPassed::Failed } else { NotPassed::NotOffered }(reason.clone()));
    }
    if let Some(reason) = subject.agent.cannot(scenario.name, &subject.version, subject.transport) {
        return Err(NotPassed::NotOffered(reason.to_owned()));
    }
    let testbed = Testbed::new(subject, name, handle)?;
    scenario.needs.map_or(Ok(()), |capability| testbed.needs(capability))?;
    match (scenario.run)(&testbed) {
        Err(NotPassed::Failed(_)) if testbed.refused_key() => {
            Err(NotPassed::NotOffered("it accepts no API key over this transport, and says so".to_owned()))
        }
        other => other,
    }
}

/// What passed before must not become "not offered" unnoticed.
fn not_worse(old: &Results, subject: &Subject, scenario: &str, result: ScenarioResult) -> ScenarioResult {
    match result {
        Err(NotPassed::NotOffered(reason)) if old.passed(&Row::new(subject, scenario, &Ok(()))) => {
            let advice = "if that is right now, remove its line from tests/real/results.jsonl";
            Err(NotPassed::Failed(format!("it passed before, and now it is not offered: {reason}; {advice}")))
        }
        other => other,
    }
}

/// The result as a line of progress.
fn line(subject: &Subject, scenario: &str, result: &ScenarioResult, seconds: f64) -> String {
    let outcome = match result {
        Ok(()) => "passed".to_owned(),
        Err(NotPassed::NotOffered(reason)) => format!("not offered: {reason}"),
        Err(NotPassed::Failed(message)) => format!("FAILED: {message}"),
    };
    format!("{:<32} {scenario:<38} {seconds:>5.1} s  {outcome}", subject.title())
}

/// Prints the sums of a subject and the native types that its adapter did not know; returns how many types.
fn report(subject: &Subject, rows: &[Row]) -> usize {
    let is_own = |row: &&Row| {
        (row.agent.as_str(), row.version.as_str(), row.transport.as_str())
            == (subject.agent.id(), subject.version.as_str(), subject.transport)
    };
    let own: Vec<&Row> = rows.iter().filter(is_own).collect();
    let [passed, others, failed] = [Outcome::Passed, Outcome::NotOffered, Outcome::Failed]
        .map(|outcome| own.iter().filter(|row| row.outcome == outcome).count());
    log(&format!("{}: {passed} passed, {failed} failed, {others} not offered", subject.title()));
    let drift = subject.drift.lock().expect("no scenario panics while it holds the lock");
    for (native, count) in drift.iter() {
        log(&format!("{}: the adapter does not know `{native}` ({count} times)", subject.title()));
    }
    drift.len()
}

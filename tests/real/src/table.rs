//! The table of docs/compatibility.md: what was run, on what, and how it went. This program writes it and reads it
//! back, so that a run of one agent leaves the rows of the others alone.

use crate::agent::Agent;
use crate::{Shortfall, Verdict};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    agent: String,
    version: String,
    scenario: String,
    outcome: String,
    seconds: String,
}

/// The whole of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(Vec<Row>);

const HEAD: &str = "\
# Compatibility

What the suite of real agents found: each scenario was run through `wharf run` against a mock model, with fake keys and,
where the system allows it, no network but loopback, and its recording was replayed to the same events. `cargo xtask real`
writes this page; do not edit it.

| agent | version | scenario | outcome | seconds |
|---|---|---|---|---|
";

impl Row {
    pub(crate) fn new(agent: &Agent, scenario: &str, verdict: &Verdict, took: Duration) -> Row {
        let outcome = match verdict {
            Ok(()) => "passed".to_owned(),
            Err(Shortfall::Failed(_)) => "**failed**".to_owned(),
            Err(Shortfall::NotOffered(why)) => format!("not offered: {why}"),
        };
        Row {
            agent: agent.name().to_owned(),
            version: agent.version.clone(),
            scenario: scenario.to_owned(),
            outcome,
            seconds: format!("{:.1}", took.as_secs_f64()),
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.outcome == "passed"
    }

    pub(crate) fn failed(&self) -> bool {
        self.outcome == "**failed**"
    }

    /// For whoever watches: with what went wrong.
    pub(crate) fn line(&self, verdict: &Verdict) -> String {
        let Row { agent, version, scenario, outcome, seconds } = self;
        let why = match verdict {
            Err(Shortfall::Failed(why)) => format!(": {why}"),
            _ => String::new(),
        };
        format!("{agent} {version:<8} {scenario:<38} {seconds:>5} s  {outcome}{why}")
    }

    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<String> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::to_owned).collect();
        let [agent, version, scenario, outcome, seconds] = <[String; 5]>::try_from(cells).ok()?;
        (agent != "agent").then_some(Row { agent, version, scenario, outcome, seconds })
    }
}

impl Table {
    /// The table of a file; a file that is not there has none.
    pub(crate) fn read(path: &Path) -> Result<Table, String> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Table::parse(&text)),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(Table::default()),
            Err(why) => Err(format!("{} cannot be read: {why}", path.display())),
        }
    }

    fn parse(text: &str) -> Table {
        Table(text.lines().filter_map(Row::parse).collect())
    }

    /// With rows in the place of older ones of the same scenario. `scenarios` is the order, and those that it does not
    /// name are gone.
    pub(crate) fn with(self, rows: &[Row], scenarios: &[&str]) -> Table {
        let same = |one: &Row, other: &Row| {
            (&one.agent, &one.version, &one.scenario) == (&other.agent, &other.version, &other.scenario)
        };
        let kept = self.0.into_iter().filter(|old| !rows.iter().any(|new| same(old, new)));
        let mut all: Vec<Row> = kept.chain(rows.iter().cloned()).collect();
        let place = |row: &Row| scenarios.iter().position(|name| *name == row.scenario);
        all.retain(|row| place(row).is_some());
        all.sort_by_key(|row| (row.agent.clone(), std::cmp::Reverse(numbers(&row.version)), place(row)));
        Table(all)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        fs::write(path, self.text()).map_err(|why| format!("{} cannot be written: {why}", path.display()))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for Row { agent, version, scenario, outcome, seconds } in &self.0 {
            let _ = writeln!(text, "| {agent} | {version} | {scenario} | {outcome} | {seconds} |");
        }
        text
    }
}

/// A version as numbers, for 1.0.102 comes after 1.0.35.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: &str, scenario: &str, outcome: &str) -> Row {
        let [agent, version, scenario, outcome, seconds] = ["A", version, scenario, outcome, "1.0"].map(str::to_owned);
        Row { agent, version, scenario, outcome, seconds }
    }

    #[test]
    fn new_rows_replace_old_ones_and_leave_the_others() {
        let old = Table(vec![
            row("1.0.35", "one", "passed"),
            row("1.0.102", "one", "**failed**"),
            row("1.0.35", "gone", "x"),
        ]);
        let new = old.with(&[row("1.0.102", "one", "passed"), row("1.0.102", "zero", "passed")], &["zero", "one"]);
        let expected =
            [row("1.0.102", "zero", "passed"), row("1.0.102", "one", "passed"), row("1.0.35", "one", "passed")];
        assert_eq!(new.0, expected);
    }

    #[test]
    fn the_page_reads_back() {
        let table = Table(vec![row("1.0", "one", "passed"), row("1.0", "two", "not offered: no such flag")]);
        assert_eq!(Table::parse(&table.text()), table);
    }
}

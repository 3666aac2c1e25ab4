//! The table in docs/compatibility.md. This program writes it and reads it back, so that a run of one agent keeps the
//! rows of the others.

use crate::agent::{Agent, numbers};
use crate::{NotPassed, ScenarioResult};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A row: one scenario with one version of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    agent: String,
    version: String,
    scenario: String,
    outcome: String,
    seconds: String,
}

/// All rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table(Vec<Row>);

const HEAD: &str = "\
# Compatibility

The results of the suite of real agents. Each scenario ran through `wharf run` against a mock model, with fake keys and, if
the system allows it, no network but loopback. Its recording was replayed and gave the same events. `cargo xtask real`
writes this page; do not edit it.

| agent | version | scenario | outcome | seconds |
|---|---|---|---|---|
";

impl Row {
    pub(crate) fn new(agent: &Agent, scenario: &str, result: &ScenarioResult, duration: Duration) -> Row {
        let outcome = match result {
            Ok(()) => "passed".to_owned(),
            Err(NotPassed::Failed(_)) => "**failed**".to_owned(),
            Err(NotPassed::NotOffered(reason)) => format!("not offered: {reason}"),
        };
        Row {
            agent: agent.display_name().to_owned(),
            version: agent.version.clone(),
            scenario: scenario.to_owned(),
            outcome,
            seconds: format!("{:.1}", duration.as_secs_f64()),
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.outcome == "passed"
    }

    pub(crate) fn failed(&self) -> bool {
        self.outcome == "**failed**"
    }

    /// The row as a line of progress, with the message of a failure.
    pub(crate) fn line(&self, result: &ScenarioResult) -> String {
        let Row { agent, version, scenario, outcome, seconds } = self;
        let message = match result {
            Err(NotPassed::Failed(message)) => format!(": {message}"),
            _ => String::new(),
        };
        format!("{agent} {version:<8} {scenario:<38} {seconds:>5} s  {outcome}{message}")
    }

    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<String> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::to_owned).collect();
        let [agent, version, scenario, outcome, seconds] = <[String; 5]>::try_from(cells).ok()?;
        (agent != "agent").then_some(Row { agent, version, scenario, outcome, seconds })
    }
}

impl Table {
    /// Reads the table from a file. A missing file is an empty table.
    pub(crate) fn read(path: &Path) -> Result<Table, String> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Table::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Table::default()),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Table {
        Table(text.lines().filter_map(Row::parse).collect())
    }

    /// Replaces rows of the same agent, version and scenario. `scenarios` is the order; rows of scenarios that it does
    /// not contain are dropped.
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
        fs::write(path, self.text()).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for Row { agent, version, scenario, outcome, seconds } in &self.0 {
            let _ = writeln!(text, "| {agent} | {version} | {scenario} | {outcome} | {seconds} |");
        }
        text
    }
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
            row("1.0.35", "removed", "x"),
        ]);
        let new = old.with(&[row("1.0.102", "one", "passed"), row("1.0.102", "zero", "passed")], &["zero", "one"]);
        let expected =
            [row("1.0.102", "zero", "passed"), row("1.0.102", "one", "passed"), row("1.0.35", "one", "passed")];
        assert_eq!(new.0, expected);
    }

    #[test]
    fn the_page_can_be_read_back() {
        let table = Table(vec![row("1.0", "one", "passed"), row("1.0", "two", "not offered: no such flag")]);
        assert_eq!(Table::parse(&table.text()), table);
    }
}

//! docs/compatibility.md: the results as matrices. This program writes the page and never reads it.

use crate::agent::Agent;
use crate::agents;
use crate::results::{Outcome, Results, Row};
use std::fmt::Write as _;

const HEAD: &str = "\
# Compatibility

The results of the suite of real agents. Each scenario ran through `wharf run` against a mock model, with fake keys and, if
the system allows it, no network but loopback. Its recording was replayed and gave the same events. `cargo xtask real`
writes this page from `tests/real/results.jsonl`; do not edit it.

✓ passed · – not offered by this version over this transport, for the reason below its table · ✗ failed · empty: not run

## All agents

The newest tested version of each, over the transport that wharf chooses.

";

/// The page. `scenarios` is the order of the rows.
pub(crate) fn page(results: &Results, scenarios: &[&str]) -> String {
    let shown: Vec<&dyn Agent> =
        agents::ALL.iter().copied().filter(|agent| results.0.iter().any(|row| row.agent == agent.id())).collect();
    let mut page = HEAD.to_owned();
    let columns: Vec<Column<'_>> = shown
        .iter()
        .map(|agent| Column { agent: *agent, version: agent.versions()[0], transport: agent.transports()[0] })
        .collect();
    let titles: Vec<String> =
        columns.iter().map(|column| format!("{} {}", column.agent.name(), column.version)).collect();
    matrix(&mut page, results, scenarios, &columns, &titles, &mut |row| mark(row).to_owned());
    for agent in shown {
        let _ = write!(page, "\n## {}\n\n", agent.name());
        let columns: Vec<Column<'_>> = columns_of(agent, results);
        let titles: Vec<String> =
            columns.iter().map(|column| format!("{} {}", column.version, column.transport)).collect();
        let mut reasons: Vec<String> = vec![];
        let mut cell = |row: &Row| match &row.reason {
            Some(reason) => format!("– {}", number(&mut reasons, reason)),
            None => mark(row).to_owned(),
        };
        matrix(&mut page, results, scenarios, &columns, &titles, &mut cell);
        if !reasons.is_empty() {
            page.push('\n');
        }
        for (at, reason) in reasons.iter().enumerate() {
            let _ = writeln!(page, "{}. {reason}", at + 1);
        }
    }
    page
}

/// A version over a transport.
struct Column<'a> {
    agent: &'a dyn Agent,
    version: &'a str,
    transport: &'a str,
}

impl Column<'_> {
    fn find<'a>(&self, results: &'a Results, scenario: &str) -> Option<&'a Row> {
        results.0.iter().find(|row| {
            (row.agent.as_str(), row.version.as_str(), row.transport.as_str(), row.scenario.as_str())
                == (self.agent.id(), self.version, self.transport, scenario)
        })
    }
}

/// The columns of an agent that have results.
fn columns_of<'a>(agent: &'a dyn Agent, results: &Results) -> Vec<Column<'a>> {
    let all = agent
        .versions()
        .iter()
        .flat_map(|version| agent.transports().iter().map(move |transport| Column { agent, version, transport }));
    let has_results = |column: &Column<'_>| {
        results
            .0
            .iter()
            .any(|row| row.agent == agent.id() && row.version == column.version && row.transport == column.transport)
    };
    all.filter(has_results).collect()
}

fn matrix(
    page: &mut String,
    results: &Results,
    scenarios: &[&str],
    columns: &[Column<'_>],
    titles: &[String],
    cell: &mut dyn FnMut(&Row) -> String,
) {
    let _ = writeln!(page, "| scenario | {} |", titles.join(" | "));
    let _ = writeln!(page, "|---|{}", ":---:|".repeat(titles.len()));
    for scenario in scenarios {
        let rows: Vec<Option<&Row>> = columns.iter().map(|column| column.find(results, scenario)).collect();
        if rows.iter().all(Option::is_none) {
            continue;
        }
        let cells: Vec<String> = rows.into_iter().map(|row| row.map(&mut *cell).unwrap_or_default()).collect();
        let _ = writeln!(page, "| {scenario} | {} |", cells.join(" | "));
    }
    let count = |column: &Column<'_>, outcome: Outcome| {
        scenarios.iter().filter_map(|name| column.find(results, name)).filter(|row| row.outcome == outcome).count()
    };
    let sums: Vec<String> = columns
        .iter()
        .map(|column| {
            let [passed, others, failed] =
                [Outcome::Passed, Outcome::NotOffered, Outcome::Failed].map(|outcome| count(column, outcome));
            format!("{passed} ✓, {others} –, {failed} ✗")
        })
        .collect();
    let _ = writeln!(page, "| **sum** | {} |", sums.join(" | "));
}

fn mark(row: &Row) -> &'static str {
    match row.outcome {
        Outcome::Passed => "✓",
        Outcome::NotOffered => "–",
        Outcome::Failed => "**✗**",
    }
}

/// The number of a reason, which is added if it is new.
fn number(reasons: &mut Vec<String>, reason: &str) -> usize {
    if let Some(at) = reasons.iter().position(|one| one == reason) {
        return at + 1;
    }
    reasons.push(reason.to_owned());
    reasons.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::row;

    #[test]
    fn a_row_is_a_scenario_and_a_column_a_version() {
        let results = Results(vec![
            row(0, "one", Outcome::Passed),
            row(0, "two", Outcome::NotOffered),
            row(1, "one", Outcome::NotOffered),
            row(1, "two", Outcome::Failed),
        ]);
        let page = page(&results, &["one", "two", "not run"]);
        let (_, own) = page.split_once("\n## Copilot CLI\n\n").expect("a table of its own");
        let lines: Vec<&str> = own.lines().collect();
        assert_eq!(
            lines[2..],
            [
                "| one | ✓ | – 1 |",
                "| two | – 1 | **✗** |",
                "| **sum** | 1 ✓, 1 –, 0 ✗ | 0 ✓, 1 –, 1 ✗ |",
                "",
                "1. no such flag"
            ]
        );
        assert!(!page.contains("not run |"), "{page}");
    }
}

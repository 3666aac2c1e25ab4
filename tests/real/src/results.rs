//! The results of all runs, in a file of JSON lines: one line for each scenario of a version over a transport. The page
//! is made from it, and a run of one agent keeps the lines of the others.

use crate::agents;
use crate::subject::Subject;
use crate::{NotPassed, ScenarioResult};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// One scenario with one version of one agent over one transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) agent: String,
    pub(crate) version: String,
    pub(crate) transport: String,
    pub(crate) scenario: String,
    pub(crate) outcome: Outcome,
    /// Why it is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Passed,
    NotOffered,
    Failed,
}

/// All rows, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Results(pub(crate) Vec<Row>);

impl Row {
    pub(crate) fn new(subject: &Subject, scenario: &str, result: &ScenarioResult) -> Row {
        let (outcome, reason) = match result {
            Ok(()) => (Outcome::Passed, None),
            Err(NotPassed::Failed(_)) => (Outcome::Failed, None),
            Err(NotPassed::NotOffered(reason)) => (Outcome::NotOffered, Some(reason.clone())),
        };
        Row {
            agent: subject.agent.id().to_owned(),
            version: subject.version.clone(),
            transport: subject.transport.to_owned(),
            scenario: scenario.to_owned(),
            outcome,
            reason,
        }
    }

    fn key(&self) -> (&str, &str, &str, &str) {
        (&self.agent, &self.version, &self.transport, &self.scenario)
    }
}

impl Results {
    /// Reads the file. A missing file is empty.
    pub(crate) fn read(path: &Path) -> Result<Results, String> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Results::default()),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let rows: Result<Vec<Row>, String> = text
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{}: {error}: {line}", path.display())))
            .collect();
        rows.map(Results)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let text: String = self.0.iter().map(|row| serde_json::json!(row).to_string() + "\n").collect();
        fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// Whether this scenario passed before.
    pub(crate) fn passed(&self, row: &Row) -> bool {
        self.0.iter().any(|old| old.key() == row.key() && old.outcome == Outcome::Passed)
    }

    /// Replaces rows of the same agent, version, transport and scenario. `scenarios` is the order; rows of scenarios that
    /// it does not contain, and of versions and transports that are not pinned, are dropped.
    pub(crate) fn with(self, rows: &[Row], scenarios: &[&str]) -> Results {
        let kept = self.0.into_iter().filter(|old| !rows.iter().any(|new| new.key() == old.key()));
        let mut all: Vec<(_, Row)> =
            kept.chain(rows.iter().cloned()).filter_map(|row| Some((place(&row, scenarios)?, row))).collect();
        all.sort_by_key(|(place, _)| *place);
        Results(all.into_iter().map(|(_, row)| row).collect())
    }
}

/// Where a row belongs: its agent, version, transport and scenario by their positions.
fn place(row: &Row, scenarios: &[&str]) -> Option<[usize; 4]> {
    let at = |list: &[&str], name: &str| list.iter().position(|one| *one == name);
    let agent = agents::ALL.iter().position(|agent| agent.id() == row.agent)?;
    let known = agents::ALL[agent];
    Some([
        agent,
        at(known.versions(), &row.version)?,
        at(known.transports(), &row.transport)?,
        at(scenarios, &row.scenario)?,
    ])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(version: usize, scenario: &str, outcome: Outcome) -> Row {
        let agent = agents::ALL[0];
        Row {
            agent: agent.id().to_owned(),
            version: agent.versions()[version].to_owned(),
            transport: agent.transports()[0].to_owned(),
            scenario: scenario.to_owned(),
            reason: (outcome == Outcome::NotOffered).then(|| "no such flag".to_owned()),
            outcome,
        }
    }

    #[test]
    fn new_rows_replace_old_ones_and_leave_the_others() {
        let old = Results(vec![
            row(1, "one", Outcome::Passed),
            row(0, "one", Outcome::Failed),
            row(1, "removed", Outcome::Passed),
            Row { version: "0.0.1".to_owned(), ..row(0, "one", Outcome::Passed) },
        ]);
        assert!(old.passed(&row(1, "one", Outcome::NotOffered)) && !old.passed(&row(0, "one", Outcome::Passed)));
        let new = old.with(&[row(0, "one", Outcome::Passed), row(0, "zero", Outcome::Passed)], &["zero", "one"]);
        let expected =
            [row(0, "zero", Outcome::Passed), row(0, "one", Outcome::Passed), row(1, "one", Outcome::Passed)];
        assert_eq!(new.0, expected);
    }

    #[test]
    fn the_committed_results_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results.jsonl");
        let results = Results::read(&path).expect("readable");
        assert!(results.0.iter().all(|row| row.reason.is_some() == (row.outcome == Outcome::NotOffered)));
    }
}

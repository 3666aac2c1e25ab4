//! What runs have used: one row for each recorded run, and sums over them. What is unknown is counted, never zero.

use super::store::{Sessions, json, parse, seconds};
use crate::error::{Error, Result};
use rusqlite::{Row, params};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;
use wharf_core::model::{Labels, Outcome, Prices, Usage, time};
use wharf_core::turn::add;

/// What one run used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunUsage {
    pub(crate) run: String,
    pub(crate) started: SystemTime,
    pub(crate) adapter: String,
    pub(crate) model: Option<String>,
    pub(crate) outcome: Outcome,
    pub(crate) labels: Labels,
    pub(crate) usage: Option<Usage>,
}

/// What runs are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageKey {
    /// The day on which they started, in UTC.
    Day,
    /// The adapter.
    Adapter,
    /// The model that answered.
    Model,
    /// The value of the label with this name.
    Label(String),
}

impl fmt::Display for UsageKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsageKey::Day => formatter.pad("day"),
            UsageKey::Adapter => formatter.pad("adapter"),
            UsageKey::Model => formatter.pad("model"),
            UsageKey::Label(name) => formatter.pad(&format!("label:{name}")),
        }
    }
}

impl FromStr for UsageKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<UsageKey> {
        match (text, text.strip_prefix("label:")) {
            ("day", _) => Ok(UsageKey::Day),
            ("adapter", _) => Ok(UsageKey::Adapter),
            ("model", _) => Ok(UsageKey::Model),
            (_, Some(name)) if !name.is_empty() => Ok(UsageKey::Label(name.to_owned())),
            _ => Err(Error::invalid(format!("`{text}` is nothing that usage is grouped by"))
                .with_hint("day, adapter, model, or label:NAME")),
        }
    }
}

/// Which runs to add up, and how. The default adds up all of them into one group.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct UsageQuery {
    /// What they are grouped by, in this order.
    pub by: Vec<UsageKey>,
    /// Only runs that started at this time or later.
    pub since: Option<SystemTime>,
    /// Only runs of this adapter.
    pub adapter: Option<String>,
    /// Only runs that have all these labels.
    pub labels: Labels,
    /// Prices for runs whose cost is unknown.
    pub prices: Prices,
}

/// What a group of runs has used.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct UsageGroup {
    /// The values that the runs share, by `day`, `adapter`, `model` or `label:NAME`; null if the runs have none.
    pub group: BTreeMap<String, Option<String>>,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs whose input or output tokens are unknown: they are missing in the sum.
    pub unknown_tokens: u64,
    /// The number of runs whose cost is unknown: they are missing in the sum.
    pub unknown_cost: u64,
    /// The sum over the others. A field that no run reported is unknown, not zero.
    pub usage: Usage,
}

impl Sessions {
    /// Notes what a run used, in place of what was noted for it before.
    pub(crate) fn count_usage(&self, run: &RunUsage) -> Result<()> {
        self.change("write", |transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO run_usage (run, started, adapter, model, outcome, labels, usage)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        run.run,
                        seconds(run.started),
                        run.adapter,
                        run.model,
                        json(&run.outcome)?,
                        json(&run.labels)?,
                        run.usage.as_ref().map(json).transpose()?,
                    ],
                )
                .map(drop)
        })
    }

    /// What the recorded runs have used, also those whose recordings were deleted since.
    pub fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageGroup>> {
        let since = query.since.map(seconds);
        let runs: Vec<RunUsage> = self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT run, started, adapter, model, outcome, labels, usage FROM run_usage
                WHERE started >= coalesce(?1, started) AND adapter = coalesce(?2, adapter) ORDER BY started, run",
            )?;
            statement.query_map(params![since, query.adapter], read_run)?.collect()
        })?;
        Ok(group(runs, query))
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<RunUsage> {
    let usage: Option<String> = row.get(6)?;
    Ok(RunUsage {
        run: row.get(0)?,
        started: time::from_unix_seconds(row.get::<_, i64>(1)?.unsigned_abs()),
        adapter: row.get(2)?,
        model: row.get(3)?,
        outcome: parse(4, &row.get::<_, String>(4)?)?,
        labels: parse(5, &row.get::<_, String>(5)?)?,
        usage: usage.map(|text| parse(6, &text)).transpose()?,
    })
}

/// The sums of the runs that have all labels, by what they are grouped by.
fn group(runs: Vec<RunUsage>, query: &UsageQuery) -> Vec<UsageGroup> {
    let mut groups: BTreeMap<Vec<Option<String>>, UsageGroup> = BTreeMap::new();
    let labelled = |run: &RunUsage| query.labels.iter().all(|(name, value)| run.labels.get(name) == Some(value));
    for run in runs.into_iter().filter(labelled) {
        let values: Vec<Option<String>> = query.by.iter().map(|key| value(key, &run)).collect();
        let names = query.by.iter().map(ToString::to_string);
        let group = groups.entry(values.clone()).or_insert_with(|| UsageGroup {
            group: names.zip(values).collect(),
            runs: 0,
            unknown_tokens: 0,
            unknown_cost: 0,
            usage: Usage::default(),
        });
        let mut usage = run.usage.unwrap_or_default();
        query.prices.estimate(run.model.as_deref(), &mut usage);
        let input = usage.input.or(usage.input_uncached);
        group.runs += 1;
        group.unknown_tokens += u64::from(input.is_none() || usage.output.is_none());
        group.unknown_cost += u64::from(usage.cost.is_none());
        group.usage = add(&group.usage, &usage);
    }
    groups.into_values().collect()
}

fn value(key: &UsageKey, run: &RunUsage) -> Option<String> {
    match key {
        UsageKey::Day => Some(time::utc_day(run.started)),
        UsageKey::Adapter => Some(run.adapter.clone()),
        UsageKey::Model => run.model.clone(),
        UsageKey::Label(name) => run.labels.get(name).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::{CostSource, Money};

    fn run(id: &str, day: u64, model: Option<&str>, task: &str, usage: Option<(u64, u64, Option<u64>)>) -> RunUsage {
        RunUsage {
            run: id.to_owned(),
            started: time::from_unix_seconds(day * 86_400 + 7),
            adapter: "echo".to_owned(),
            model: model.map(str::to_owned),
            outcome: Outcome::Completed,
            labels: Labels::from([("task".to_owned(), task.to_owned())]),
            usage: usage.map(|(input, output, cost)| {
                let mut usage = Usage::default();
                (usage.input, usage.output, usage.cost) = (Some(input), Some(output), cost.map(Money::usd));
                usage.cost_source = cost.map(|_| CostSource::Agent);
                usage
            }),
        }
    }

    fn sessions() -> (tempfile::TempDir, Sessions) {
        let folder = tempfile::tempdir().expect("a folder");
        let sessions = Sessions::open(&folder.path().join("sessions.db")).expect("a new file");
        for run in [
            run("a", 1, Some("m"), "1", Some((10, 1, Some(100)))),
            run("b", 2, Some("m"), "1", Some((20, 2, None))),
            run("c", 2, None, "2", None),
            // Noted twice: as torn, and again.
            run("c", 2, None, "2", None),
        ] {
            sessions.count_usage(&run).expect("written");
        }
        (folder, sessions)
    }

    #[test]
    fn what_is_unknown_is_counted_and_not_zero() {
        let (_folder, sessions) = sessions();
        let all = sessions.usage(&UsageQuery::default()).expect("read");
        let [all] = &all[..] else { panic!("{all:?}") };
        assert_eq!((all.runs, all.unknown_tokens, all.unknown_cost), (3, 1, 2));
        assert_eq!((all.usage.input, all.usage.output, all.usage.cost), (Some(30), Some(3), Some(Money::usd(100))));
        assert_eq!(all.usage.cost_source, Some(CostSource::Agent));
        let unknown = UsageQuery { by: vec![UsageKey::Model], ..UsageQuery::default() };
        let unknown = sessions.usage(&unknown).expect("read").remove(0);
        assert_eq!((unknown.group["model"].as_deref(), unknown.usage.input), (None, None));
    }

    #[test]
    fn prices_fill_in_what_the_agent_did_not_report_as_an_estimate() {
        let (_folder, sessions) = sessions();
        let prices = serde_json::from_str(r#"{"m": {"input": 2, "output": 5}}"#).expect("prices");
        let all = sessions.usage(&UsageQuery { prices, ..UsageQuery::default() }).expect("read").remove(0);
        assert_eq!((all.usage.cost, all.unknown_cost), (Some(Money::usd(150)), 1));
        assert_eq!(all.usage.cost_source, Some(CostSource::Prices), "a sum with an estimate in it is an estimate");
    }

    #[test]
    fn runs_are_grouped_and_filtered() {
        let (_folder, sessions) = sessions();
        let ask = |by: &str, since: Option<u64>, task: Option<&str>| {
            let query = UsageQuery {
                by: by.split(',').map(|key| key.parse().expect("a key")).collect(),
                since: since.map(|day| time::from_unix_seconds(day * 86_400)),
                labels: task.map(|task| ("task".to_owned(), task.to_owned())).into_iter().collect(),
                ..UsageQuery::default()
            };
            let groups = sessions.usage(&query).expect("read");
            let text = |group: &UsageGroup| {
                let values: Vec<&str> = group.group.values().map(|value| value.as_deref().unwrap_or("-")).collect();
                format!("{} {}", values.join(" "), group.runs)
            };
            groups.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(ask("day", None, None), ["1970-01-02 1", "1970-01-03 2"]);
        assert_eq!(ask("day,label:task", Some(2), None), ["1970-01-03 1 1", "1970-01-03 2 1"]);
        assert_eq!(ask("adapter,label:none", None, Some("1")), ["echo - 2"]);
        assert!("weekday".parse::<UsageKey>().is_err() && "label:".parse::<UsageKey>().is_err());
    }
}

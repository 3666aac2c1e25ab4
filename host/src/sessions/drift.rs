//! Drift: what the adapters did not know, counted by the versions of the adapter and of its agent.

use rusqlite::params;
use serde::Serialize;

use super::store::{Sessions, integer};
use crate::error::Result;
use wharf_core::model::Drift;

/// The largest count that is added at once. No run reports as much; it keeps the sums within the integers of `SQLite`.
const COUNT_LIMIT: u64 = 1 << 40;

/// What an adapter did not know about one version of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftRow {
    /// The id of the adapter.
    pub adapter: String,
    /// The version of the adapter.
    pub adapter_version: String,
    /// The agent's version, if it is known.
    pub agent_version: Option<String>,
    /// What it did not know, over all turns.
    pub drift: Drift,
}

impl Sessions {
    /// Adds what an adapter did not know in a turn.
    pub(crate) fn count_drift(
        &self,
        adapter: &str,
        adapter_version: &str,
        agent_version: Option<&str>,
        drift: &Drift,
    ) -> Result<()> {
        if drift.is_empty() {
            return Ok(());
        }
        self.change("write", |transaction| {
            let mut add = transaction.prepare(
                "INSERT INTO drift (adapter, adapter_version, agent_version, native, count) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO UPDATE SET count = count + excluded.count",
            )?;
            let unknown = drift.unknown.iter().map(|(native, count)| (Some(native), *count));
            for (native, count) in unknown.chain([(None, drift.malformed)]).filter(|(_, count)| *count > 0) {
                let count = integer(count.min(COUNT_LIMIT));
                add.execute(params![adapter, adapter_version, agent_version, native, count])?;
            }
            Ok(())
        })
    }

    /// What an adapter did not know, by version. The version whose drift was counted first comes first.
    pub fn drift(&self, adapter: &str) -> Result<Vec<DriftRow>> {
        type Line = (String, Option<String>, Option<String>, i64);
        let lines: Vec<Line> = self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT adapter_version, agent_version, native, count FROM drift WHERE adapter = ?1
                ORDER BY min(number) OVER (PARTITION BY adapter_version, agent_version), native",
            )?;
            let line = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            statement.query_map([adapter], line)?.collect()
        })?;
        let mut rows: Vec<DriftRow> = Vec::new();
        for (adapter_version, agent_version, native, count) in lines {
            let same =
                |row: &&mut DriftRow| row.adapter_version == adapter_version && row.agent_version == agent_version;
            let row = match rows.last_mut().filter(same) {
                Some(row) => row,
                None => rows.push_mut(DriftRow {
                    adapter: adapter.to_owned(),
                    adapter_version,
                    agent_version,
                    drift: Drift::default(),
                }),
            };
            match native {
                Some(native) => drop(row.drift.unknown.insert(native, count.unsigned_abs())),
                None => row.drift.malformed = count.unsigned_abs(),
            }
        }
        Ok(rows)
    }
}

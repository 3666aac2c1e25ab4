//! Which run uses which session. Two runs on one session would mix their turns in the agent's own file of it.
//!
//! A row counts only while its run is live, which the caller finds out by the lock of the run. So a killed host leaves
//! nothing that has to be cleaned up.

use super::store::Sessions;
use crate::error::Result;
use rusqlite::{OptionalExtension as _, Transaction, params};

/// Every id of the session that has the id ?2, and that id itself.
const IDS: &str = "SELECT id FROM session_ids WHERE adapter = ?1 AND session =
        (SELECT session FROM session_ids WHERE adapter = ?1 AND id = ?2)
    UNION SELECT ?2";

impl Sessions {
    /// Notes that a run uses a session. If a live run uses it already, nothing is changed and that run is returned.
    pub(crate) fn claim(
        &self,
        adapter: &str,
        id: &str,
        run: &str,
        is_live: impl Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        self.change("write", |transaction| {
            let holders = holders(transaction, adapter, id)?;
            if let Some(holder) = holders.into_iter().find(|holder| holder != run && is_live(holder)) {
                return Ok(Some(holder));
            }
            transaction.execute(
                "INSERT OR REPLACE INTO live_sessions (adapter, id, run) VALUES (?1, ?2, ?3)",
                params![adapter, id, run],
            )?;
            Ok(None)
        })
    }

    /// A run has ended and uses no session any more.
    pub(crate) fn release(&self, run: &str) -> Result<()> {
        self.change("write", |transaction| {
            transaction.execute("DELETE FROM live_sessions WHERE run = ?1", [run]).map(drop)
        })
    }

    /// Whether a session has this run.
    pub(crate) fn knows_run(&self, run: &str) -> Result<bool> {
        self.read(|connection| {
            let found = connection.query_row("SELECT 1 FROM session_runs WHERE run = ?1", [run], |_| Ok(()));
            found.optional().map(|found| found.is_some())
        })
    }
}

fn holders(transaction: &Transaction<'_>, adapter: &str, id: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        transaction.prepare(&format!("SELECT run FROM live_sessions WHERE adapter = ?1 AND id IN ({IDS})"))?;
    statement.query_map([adapter, id], |row| row.get(0))?.collect()
}

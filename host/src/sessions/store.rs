//! The file of sessions: reads and writes entries.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wharf_core::model::time;

use super::database;
use super::entry::{SessionEntry, SessionFilter};
#[cfg(test)]
use super::merge;
use super::merge::SessionTurn;
use crate::error::{Error, Result};

/// How many sessions the error about an ambiguous prefix lists.
const MOST_LISTED: usize = 10;

/// The columns of an entry, in the order in which `read_entry` reads them.
const SELECT: &str = "SELECT number, adapter, adapter_version, agent_version, workspace, model, outcome, turns, usage,
    session_usage, created, updated, labels,
    (SELECT json_group_array(id) FROM (SELECT id FROM session_ids WHERE session = number ORDER BY position)),
    (SELECT json_group_array(run) FROM (SELECT run FROM session_runs WHERE session = number ORDER BY position))
    FROM sessions";

/// The remembered sessions of a data folder.
#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    /// Shared by the runs of this process. Two threads must not use a connection at once.
    connection: Mutex<Connection>,
}

impl Sessions {
    /// Opens the file, and creates it and its folder if they are missing.
    pub(crate) fn open(path: &Path) -> Result<Sessions> {
        let connection = Mutex::new(database::open(path)?);
        Ok(Sessions { path: path.to_owned(), connection })
    }

    /// Writes the entry as it is, in place of the entries that have one of its ids.
    #[cfg(test)]
    pub(crate) fn remember(&self, entry: &SessionEntry) -> Result<()> {
        self.change("write", |transaction| {
            let mut entry = entry.clone();
            merge::put_last(&mut entry.ids, &entry.id);
            let mut number = None;
            for id in entry.ids.iter().rev() {
                number = number.or(find_number(transaction, &entry.adapter, id)?);
            }
            save(transaction, number, &entry)?;
            // The ids may have belonged to several entries.
            transaction.execute("DELETE FROM sessions WHERE number NOT IN (SELECT session FROM session_ids)", [])?;
            transaction.execute("DELETE FROM session_runs WHERE session NOT IN (SELECT number FROM sessions)", [])?;
            Ok(())
        })
    }

    /// Adds a turn to its session, and returns the updated entry. None if the agent named no session and the turn did
    /// not resume a known one.
    pub(crate) fn remember_turn(&self, turn: &SessionTurn) -> Result<Option<SessionEntry>> {
        self.change("write", |transaction| {
            let mut known = None;
            for id in turn.candidates() {
                if known.is_none()
                    && let Some(number) = find_number(transaction, &turn.adapter, id)?
                {
                    let entry = transaction.query_row(&format!("{SELECT} WHERE number = ?1"), [number], read_entry)?;
                    known = Some((number, entry));
                }
            }
            let (number, entry) = known.unzip();
            let merged = turn.merge(entry.as_ref());
            if let Some(entry) = &merged {
                save(transaction, number, entry)?;
            }
            Ok(merged)
        })
    }

    /// The sessions that pass a filter, most recent first.
    pub fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionEntry>> {
        let workspace = filter.workspace.as_deref().map(Path::to_string_lossy);
        let sql = format!(
            "{SELECT} WHERE adapter = coalesce(?1, adapter) AND workspace = coalesce(?2, workspace)
            ORDER BY touched DESC"
        );
        let labelled =
            |entry: &SessionEntry| filter.labels.iter().all(|(name, value)| entry.labels.get(name) == Some(value));
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let entries = statement.query_map(params![filter.adapter, workspace], read_entry)?;
            let passed = entries.filter(|entry| entry.as_ref().map_or(true, labelled));
            passed.take(filter.limit.unwrap_or(usize::MAX)).collect()
        })
    }

    /// Deletes a session. The agent keeps its own copy, and the runs are kept. Returns whether it was still known.
    pub fn delete(&self, session: &SessionEntry) -> Result<bool> {
        // Two adapters may have a session with the same id.
        let key = [&session.adapter, &session.id];
        self.change("change", |transaction| {
            let owned = "(SELECT session FROM session_ids WHERE adapter = ?1 AND id = ?2)";
            transaction.execute(&format!("DELETE FROM session_runs WHERE session IN {owned}"), key)?;
            let deleted = transaction.execute(&format!("DELETE FROM sessions WHERE number IN {owned}"), key)?;
            transaction.execute("DELETE FROM session_ids WHERE session NOT IN (SELECT number FROM sessions)", [])?;
            Ok(deleted > 0)
        })
    }

    /// The session that has or had this id, or an id that starts with it. None if wharf knows no such session, which is
    /// not an error: the agent may know a session that was started without wharf.
    pub fn find(&self, id_or_prefix: &str) -> Result<Option<SessionEntry>> {
        self.find_of(None, None, id_or_prefix)
    }

    /// The same among the sessions of an adapter. Of several that an id's beginning fits, the one in the workspace
    /// counts, if there is only one.
    pub fn find_of(
        &self,
        adapter: Option<&str>,
        workspace: Option<&Path>,
        id_or_prefix: &str,
    ) -> Result<Option<SessionEntry>> {
        if id_or_prefix.is_empty() {
            return Err(Error::invalid("the id of a session must not be empty").with_hint(HINT));
        }
        let matching = |condition: &str| {
            self.read(|connection| {
                let sql = format!(
                    "{SELECT} WHERE number IN (SELECT session FROM session_ids WHERE {condition}
                        AND adapter = coalesce(?2, adapter)) ORDER BY touched DESC"
                );
                let mut statement = connection.prepare(&sql)?;
                statement.query_map(params![id_or_prefix, adapter], read_entry)?.collect::<rusqlite::Result<Vec<_>>>()
            })
        };
        let mut found = matching("id = ?1")?;
        if found.is_empty() {
            found = matching("substr(id, 1, length(?1)) = ?1")?;
        }
        let here = |entry: &SessionEntry| workspace.is_some_and(|workspace| entry.workspace == workspace);
        if found.len() > 1 && found.iter().filter(|entry| here(entry)).count() == 1 {
            found.retain(here);
        }
        if found.len() > 1 {
            return Err(ambiguous(id_or_prefix, &found));
        }
        Ok(found.pop())
    }

    /// The most recent session, of an adapter and in a workspace if these are given.
    pub fn last(&self, adapter: Option<&str>, workspace: Option<&Path>) -> Result<Option<SessionEntry>> {
        let filter = SessionFilter {
            adapter: adapter.map(str::to_owned),
            workspace: workspace.map(Path::to_owned),
            limit: Some(1),
            ..SessionFilter::default()
        };
        Ok(self.list(&filter)?.pop())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked while it held the lock has rolled back its transaction.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        read(&self.connection()).map_err(|error| database::explain(&self.path, "read", &error))
    }

    /// Runs one transaction. It acquires the write lock at once: a transaction that starts with reads could find that
    /// another process has written meanwhile, and would have to start again.
    pub(super) fn change<T>(
        &self,
        attempt: &str,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut connection = self.connection();
        let apply = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        apply().map_err(|error| database::explain(&self.path, attempt, &error))
    }
}

const HINT: &str = "`wharf sessions` lists the sessions";

fn ambiguous(prefix: &str, found: &[SessionEntry]) -> Error {
    let mut lines = vec![format!("\"{prefix}\" matches {} sessions:", found.len())];
    let line = |entry: &SessionEntry| format!("{} ({}, {})", entry.id, entry.adapter, entry.workspace.display());
    lines.extend(found.iter().take(MOST_LISTED).map(line));
    if found.len() > MOST_LISTED {
        lines.push(format!("and {} more", found.len() - MOST_LISTED));
    }
    // Two adapters may have a session with the same id, of which no more can be given.
    let same_id = found.iter().all(|entry| entry.id == found[0].id);
    let hint = if same_id { "name the adapter too: --adapter" } else { "give more of the id, or name the adapter" };
    Error::invalid(lines.join("\n  ")).with_hint(hint)
}

fn find_number(connection: &Connection, adapter: &str, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .query_row("SELECT session FROM session_ids WHERE adapter = ?1 AND id = ?2", [adapter, id], |row| row.get(0))
        .optional()
}

/// Writes an entry, in place of the one with this number or as a new one, and makes it the most recent.
fn save(transaction: &Transaction<'_>, number: Option<i64>, entry: &SessionEntry) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR REPLACE INTO sessions (number, adapter, adapter_version, agent_version, workspace, model, outcome,
            turns, usage, session_usage, created, updated, labels, touched)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
            (SELECT coalesce(max(touched), 0) + 1 FROM sessions))",
        params![
            number,
            entry.adapter,
            entry.adapter_version,
            entry.agent_version,
            entry.workspace.to_string_lossy(),
            entry.model,
            json(&entry.outcome)?,
            integer(entry.turns),
            json(&entry.usage)?,
            entry.session_usage.as_ref().map(json).transpose()?,
            seconds(entry.created),
            seconds(entry.updated),
            json(&entry.labels)?,
        ],
    )?;
    let number = transaction.last_insert_rowid();
    transaction.execute("DELETE FROM session_ids WHERE session = ?1", [number])?;
    let mut insert = transaction
        .prepare("INSERT OR REPLACE INTO session_ids (adapter, id, session, position) VALUES (?1, ?2, ?3, ?4)")?;
    for (position, id) in (0_i64..).zip(&entry.ids) {
        insert.execute(params![entry.adapter, id, number, position])?;
    }
    let mut insert =
        transaction.prepare("INSERT OR REPLACE INTO session_runs (session, run, position) VALUES (?1, ?2, ?3)")?;
    for (position, run) in (0_i64..).zip(&entry.runs) {
        insert.execute(params![number, run, position])?;
    }
    Ok(())
}

/// Reads a row of `SELECT`.
fn read_entry(row: &Row<'_>) -> rusqlite::Result<SessionEntry> {
    let ids: Vec<String> = parse(13, &row.get::<_, String>(13)?)?;
    let session_usage: Option<String> = row.get(9)?;
    Ok(SessionEntry {
        id: ids.last().cloned().ok_or(rusqlite::Error::InvalidColumnType(13, "ids".to_owned(), Type::Null))?,
        ids,
        adapter: row.get(1)?,
        adapter_version: row.get(2)?,
        agent_version: row.get(3)?,
        workspace: PathBuf::from(row.get::<_, String>(4)?),
        model: row.get(5)?,
        outcome: parse(6, &row.get::<_, String>(6)?)?,
        turns: row.get::<_, i64>(7)?.unsigned_abs(),
        usage: parse(8, &row.get::<_, String>(8)?)?,
        session_usage: session_usage.map(|text| parse(9, &text)).transpose()?,
        created: time::from_unix_seconds(row.get::<_, i64>(10)?.unsigned_abs()),
        updated: time::from_unix_seconds(row.get::<_, i64>(11)?.unsigned_abs()),
        labels: parse(12, &row.get::<_, String>(12)?)?,
        runs: parse(14, &row.get::<_, String>(14)?)?,
    })
}

pub(super) fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(super) fn parse<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(super) fn seconds(time: SystemTime) -> i64 {
    integer(time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// The integers of `SQLite` are signed.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

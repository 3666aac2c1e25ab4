//! The sessions that wharf remembers: the runtimes' own conversations, by the ids that the runtimes gave them.
//!
//! A session is one entry, however often its id changes: it is found by every id it has had. What the adapters did not
//! know is counted here too, since it is the other thing that outlives a run. Both are in one `SQLite` file, which any
//! number of wharf processes may use at once. Nothing of a conversation is kept, only what it takes to go on with it.

mod database;
mod drift;
mod merge;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::event::{Outcome, Usage};

pub use drift::DriftRow;
pub(crate) use merge::SessionTurn;

/// As many sessions as an ambiguous prefix lists.
const MOST_LISTED: usize = 10;

/// The columns of an entry, in the order that `entry_of` reads them.
const SELECT: &str =
    "SELECT number, adapter, adapter_version, runtime_version, workspace, model, outcome, turns, usage,
    session_usage, created, updated, last_run,
    (SELECT json_group_array(id) FROM (SELECT id FROM session_ids WHERE session = number ORDER BY position))
    FROM sessions";

/// What is remembered of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEntry {
    /// The id that the runtime gave it last: the one to resume.
    pub id: String,
    /// All ids it has had, in order; the last is `id`.
    pub ids: Vec<String>,
    /// The adapter that ran it.
    pub adapter: String,
    /// The adapter's version, at the last turn.
    pub adapter_version: String,
    /// The runtime's version, as far as it was ever told.
    pub runtime_version: Option<String>,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    /// The model, as far as it was ever told.
    pub model: Option<String>,
    /// How the last turn ended.
    pub outcome: Outcome,
    /// How many turns wharf has run of it.
    pub turns: u64,
    /// The sum over those of these turns that told. A field that no turn told is unknown, not zero.
    pub usage: Usage,
    /// What the runtime itself says the session has used.
    pub session_usage: Option<Usage>,
    /// When wharf first saw it, in seconds since 1970.
    pub created: u64,
    /// When its last turn ended, in seconds since 1970.
    pub updated: u64,
    /// The run of its last turn.
    pub last_run: Option<String>,
}

/// The file of sessions.
#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    /// Many runs of one process share it. A connection must not be used by two threads at once.
    connection: Mutex<Connection>,
}

impl Sessions {
    /// Opens the file, and makes it and its folder where they are missing.
    pub fn open(path: &Path) -> Result<Sessions> {
        let connection = Mutex::new(database::open(path)?);
        Ok(Sessions { path: path.to_owned(), connection })
    }

    /// Writes the entry down as it stands, in place of whatever had one of its ids.
    pub fn remember(&self, entry: &SessionEntry) -> Result<()> {
        self.change("write", |transaction| {
            let mut entry = entry.clone();
            merge::put_last(&mut entry.ids, &entry.id);
            let mut number = None;
            for id in entry.ids.iter().rev() {
                number = number.or(number_of(transaction, &entry.adapter, id)?);
            }
            save(transaction, number, &entry)?;
            // The ids may have been those of several entries.
            transaction.execute("DELETE FROM sessions WHERE number NOT IN (SELECT session FROM session_ids)", [])?;
            Ok(())
        })
    }

    /// Takes a turn into account, and gives the entry of its session as it is now. None where the turn named no session
    /// and continued none that is known.
    pub fn remember_turn(&self, turn: &SessionTurn) -> Result<Option<SessionEntry>> {
        self.change("write", |transaction| {
            let mut known = None;
            for id in turn.candidates() {
                if known.is_none()
                    && let Some(number) = number_of(transaction, &turn.adapter, id)?
                {
                    let entry = transaction.query_row(&format!("{SELECT} WHERE number = ?1"), [number], entry_of)?;
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

    /// The sessions, the most recent first.
    pub fn list(&self, limit: usize) -> Result<Vec<SessionEntry>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare(&format!("{SELECT} ORDER BY touched DESC LIMIT ?1"))?;
            statement.query_map([limit], entry_of)?.collect()
        })
    }

    /// The session that has or had this id, or an id that begins with it. None where wharf knows none, which is not yet
    /// an error: the runtime may know a session that was not begun through wharf.
    pub fn find(&self, id_or_prefix: &str) -> Result<Option<SessionEntry>> {
        if id_or_prefix.is_empty() {
            return Err(Error::invalid("the id of a session must not be empty").hint(HINT));
        }
        let matching = |condition: &str| {
            self.read(|connection| {
                let sql = format!(
                    "{SELECT} WHERE number IN (SELECT session FROM session_ids WHERE {condition}) ORDER BY touched DESC"
                );
                connection.prepare(&sql)?.query_map([id_or_prefix], entry_of)?.collect::<rusqlite::Result<Vec<_>>>()
            })
        };
        let mut found = matching("id = ?1")?;
        if found.is_empty() {
            found = matching("substr(id, 1, length(?1)) = ?1")?;
        }
        if found.len() > 1 {
            return Err(ambiguous(id_or_prefix, &found));
        }
        Ok(found.pop())
    }

    /// The most recent session, of an adapter and in a workspace where these are given.
    pub fn last(&self, adapter: Option<&str>, workspace: Option<&Path>) -> Result<Option<SessionEntry>> {
        let workspace = workspace.map(Path::to_string_lossy);
        let sql = format!(
            "{SELECT} WHERE adapter = coalesce(?1, adapter) AND workspace = coalesce(?2, workspace)
            ORDER BY touched DESC LIMIT 1"
        );
        self.read(|connection| connection.query_row(&sql, params![adapter, workspace], entry_of).optional())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // Whoever panicked with it in hand has rolled back its transaction on the way.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        read(&self.connection()).map_err(|why| database::explain(&self.path, "read", &why))
    }

    /// One transaction. It takes the lock for writing at once: one that begins by reading could find that another
    /// process has written in between, and would have to begin again.
    fn change<T>(&self, attempt: &str, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let mut connection = self.connection();
        let apply = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        apply().map_err(|why| database::explain(&self.path, attempt, &why))
    }
}

const HINT: &str = "`wharf sessions` lists what there is";

fn ambiguous(prefix: &str, found: &[SessionEntry]) -> Error {
    let mut lines = vec![format!("\"{prefix}\" fits {} sessions:", found.len())];
    let line = |entry: &SessionEntry| format!("{} ({}, {})", entry.id, entry.adapter, entry.workspace.display());
    lines.extend(found.iter().take(MOST_LISTED).map(line));
    if found.len() > MOST_LISTED {
        lines.push(format!("and {} more", found.len() - MOST_LISTED));
    }
    Error::invalid(lines.join("\n  ")).hint("give more of the id")
}

fn number_of(connection: &Connection, adapter: &str, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .query_row("SELECT session FROM session_ids WHERE adapter = ?1 AND id = ?2", [adapter, id], |row| row.get(0))
        .optional()
}

/// Writes an entry, in place of that with the number or as a new one, and makes it the most recent.
fn save(transaction: &Transaction<'_>, number: Option<i64>, entry: &SessionEntry) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR REPLACE INTO sessions (number, adapter, adapter_version, runtime_version, workspace, model, outcome,
            turns, usage, session_usage, created, updated, last_run, touched)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
            (SELECT coalesce(max(touched), 0) + 1 FROM sessions))",
        params![
            number,
            entry.adapter,
            entry.adapter_version,
            entry.runtime_version,
            entry.workspace.to_string_lossy(),
            entry.model,
            json(&entry.outcome)?,
            integer(entry.turns),
            json(&entry.usage)?,
            entry.session_usage.as_ref().map(json).transpose()?,
            integer(entry.created),
            integer(entry.updated),
            entry.last_run,
        ],
    )?;
    let number = transaction.last_insert_rowid();
    transaction.execute("DELETE FROM session_ids WHERE session = ?1", [number])?;
    let mut insert = transaction
        .prepare("INSERT OR REPLACE INTO session_ids (adapter, id, session, position) VALUES (?1, ?2, ?3, ?4)")?;
    for (position, id) in (0_i64..).zip(&entry.ids) {
        insert.execute(params![entry.adapter, id, number, position])?;
    }
    Ok(())
}

/// Reads a row of `SELECT`.
fn entry_of(row: &Row<'_>) -> rusqlite::Result<SessionEntry> {
    let ids: Vec<String> = parse(13, &row.get::<_, String>(13)?)?;
    let session_usage: Option<String> = row.get(9)?;
    Ok(SessionEntry {
        id: ids.last().cloned().ok_or(rusqlite::Error::InvalidColumnType(13, "ids".to_owned(), Type::Null))?,
        ids,
        adapter: row.get(1)?,
        adapter_version: row.get(2)?,
        runtime_version: row.get(3)?,
        workspace: PathBuf::from(row.get::<_, String>(4)?),
        model: row.get(5)?,
        outcome: parse(6, &row.get::<_, String>(6)?)?,
        turns: row.get::<_, i64>(7)?.unsigned_abs(),
        usage: parse(8, &row.get::<_, String>(8)?)?,
        session_usage: session_usage.map(|text| parse(9, &text)).transpose()?,
        created: row.get::<_, i64>(10)?.unsigned_abs(),
        updated: row.get::<_, i64>(11)?.unsigned_abs(),
        last_run: row.get(12)?,
    })
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|why| rusqlite::Error::ToSqlConversionFailure(why.into()))
}

fn parse<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|why| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into()))
}

/// `SQLite`'s integers have a sign.
fn integer(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

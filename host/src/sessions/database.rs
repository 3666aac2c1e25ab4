//! The `SQLite` file: how it is created, opened and migrated, and what its errors mean.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::disk::{Links, open_plain_file_with, private_folder};
use crate::error::{Error, Result};

/// How long one process waits for another that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The steps from each version of the file to the next. The file's `user_version` is the number of steps that were
/// done. A released step is never changed; every change of the schema is a new step.
const STEPS: [&str; 5] = [
    "
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY,
        adapter TEXT NOT NULL,
        adapter_version TEXT NOT NULL,
        runtime_version TEXT,
        workspace TEXT NOT NULL,
        model TEXT,
        outcome TEXT NOT NULL,  -- JSON, as the events have it
        turns INTEGER NOT NULL,
        usage TEXT NOT NULL,    -- JSON, as the events have it
        session_usage TEXT,     -- JSON
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        last_run TEXT,
        touched INTEGER NOT NULL  -- the order of the last changes: seconds are too coarse, and clocks are set back
    ) STRICT;
    CREATE INDEX sessions_touched ON sessions (touched);

    CREATE TABLE session_ids (
        adapter TEXT NOT NULL,
        id TEXT NOT NULL,
        session INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (adapter, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX session_ids_session ON session_ids (session, position);

    CREATE TABLE drift (
        number INTEGER PRIMARY KEY,
        adapter TEXT NOT NULL,
        adapter_version TEXT NOT NULL,
        runtime_version TEXT,
        native TEXT,            -- the native type; null counts frames that were malformed
        count INTEGER NOT NULL
    ) STRICT;
    -- Two nulls are not equal in a unique index, so the index has whether there is one beside the text.
    CREATE UNIQUE INDEX drift_place ON drift (adapter, adapter_version, runtime_version IS NULL,
        ifnull(runtime_version, ''), native IS NULL, ifnull(native, ''));
",
    "
    ALTER TABLE sessions RENAME COLUMN runtime_version TO agent_version;
    ALTER TABLE drift RENAME COLUMN runtime_version TO agent_version;
    ALTER TABLE sessions ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';  -- JSON: the labels of its runs
    CREATE TABLE session_runs (
        session INTEGER NOT NULL,
        run TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (session, run)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO session_runs SELECT number, last_run, 0 FROM sessions WHERE last_run IS NOT NULL;
    ALTER TABLE sessions DROP COLUMN last_run;
",
    "
    CREATE TABLE live_sessions (
        adapter TEXT NOT NULL,
        id TEXT NOT NULL,
        run TEXT NOT NULL,      -- the run that uses the session; the row counts only while that run is live
        PRIMARY KEY (adapter, id)
    ) STRICT, WITHOUT ROWID;
",
    // `cost_micros` becomes `cost`, with its currency, and `api_millis` becomes `api_ms`. `->` gives the digits as they
    // are, where `json_extract` would round a large number. What is not JSON is reported when it is read.
    "
    UPDATE sessions SET usage = json_remove(json_set(usage,
            '$.cost', json(CASE json_type(usage, '$.cost_micros') WHEN 'integer'
                THEN '{\"micros\":' || (usage -> '$.cost_micros') || ',\"currency\":\"USD\"}' END),
            '$.api_ms', json(usage -> '$.api_millis')), '$.cost_micros', '$.api_millis')
        WHERE json_valid(usage);
    UPDATE sessions SET session_usage = json_remove(json_set(session_usage,
            '$.cost', json(CASE json_type(session_usage, '$.cost_micros') WHEN 'integer'
                THEN '{\"micros\":' || (session_usage -> '$.cost_micros') || ',\"currency\":\"USD\"}' END),
            '$.api_ms', json(session_usage -> '$.api_millis')), '$.cost_micros', '$.api_millis')
        WHERE json_valid(session_usage);
",
    "
    -- What each run used. It outlives the run's recording: a sum must not shrink when old recordings are deleted.
    CREATE TABLE run_usage (
        run TEXT PRIMARY KEY,
        started INTEGER NOT NULL,  -- seconds since 1970
        adapter TEXT NOT NULL,
        model TEXT,
        outcome TEXT NOT NULL,  -- JSON, as the events have it
        labels TEXT NOT NULL,   -- JSON
        usage TEXT              -- JSON; null if nothing is known
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_usage_started ON run_usage (started);
",
];

/// Why the file cannot be opened.
enum OpenError {
    Database(rusqlite::Error),
    /// The file has this version, which this program does not know.
    UnknownVersion(i64),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        OpenError::Database(error)
    }
}

/// Opens the file, and creates or migrates it if needed.
pub(super) fn open(path: &Path) -> Result<Connection> {
    create(path).map_err(|error| {
        let error = Error::system(format!("cannot create the sessions in {}", path.display()), error);
        error.with_hint("set WHARF_DATA to a folder that you may write to")
    })?;
    connect(path).map_err(|error| match error {
        OpenError::Database(error) => explain(path, "open", &error),
        OpenError::UnknownVersion(version) => {
            let newest = STEPS.len();
            let message = format!(
                "cannot open the sessions in {}: the file has version {version}, this wharf reads up to version {newest}",
                path.display()
            );
            Error::invalid(message).with_hint("use the wharf that wrote it, or set WHARF_DATA to another folder")
        }
    })
}

/// An error of the database, with a hint for the user.
pub(super) fn explain(path: &Path, attempt: &str, cause: &rusqlite::Error) -> Error {
    let place = path.display();
    let error = Error::system(format!("cannot {attempt} the sessions in {place}"), cause.to_string());
    let damaged = matches!(
        cause,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
    );
    match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => error.with_hint(how_to_reset(path)),
        None if damaged => error.with_hint(how_to_reset(path)),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            error.with_hint(format!("another program has been writing to {place} for {} s", BUSY_TIMEOUT.as_secs()))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            error.with_hint("set WHARF_DATA to a folder that you may write to")
        }
        _ => error,
    }
}

fn how_to_reset(path: &Path) -> String {
    format!(
        "the file is damaged or not a file of wharf: move {0} (with {0}-wal and {0}-shm) away and wharf creates a new one; \
         the agents keep their own sessions, which can still be resumed by their ids",
        path.display()
    )
}

/// Creates the folder and an empty file, which only their owner may read; `SQLite` gives its other files the same mode.
fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    if let Some(parent) = path.parent() {
        private_folder().recursive(true).create(parent)?;
    }
    open_plain_file_with(file.append(true).create(true), path, Links::Follow)?;
    // `SQLite` opens these by itself, and would wait for the other end of a pipe. They are not opened here: closing a
    // file gives up the locks that this process has on it.
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        if std::fs::metadata(&beside).is_ok_and(|found| !found.is_file()) {
            let beside = Path::new(&beside).display();
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{beside} is not a plain file: move it away"),
            ));
        }
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Checked before anything is written: the file of a newer wharf must not change.
    let done = steps_done(&connection)?;
    enable_wal(&connection)?;
    // With a write-ahead log, a power failure may lose the last turns, but never damages the file.
    connection.pragma_update(None, "synchronous", "normal")?;
    // Otherwise the last process that closes the file would copy the log into it, and wait for the disk twice. The log
    // is copied when it has grown.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 100)?;
    if done < STEPS.len() {
        migrate(&mut connection)?;
    }
    Ok(connection)
}

/// With a write-ahead log, readers and a writer do not wait for each other. On a file system that does not support it,
/// `SQLite` keeps its old mode, and they wait.
fn enable_wal(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            // The first change of the mode needs exclusive access, and SQLite does not wait for that by itself.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it while this one waited.
    let done = steps_done(&transaction)?;
    for (version, step) in (1_i64..).zip(STEPS).skip(done) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The number of steps that were done, which is the version of the file.
fn steps_done(connection: &Connection) -> Result<usize, OpenError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    usize::try_from(version).ok().filter(|done| *done <= STEPS.len()).ok_or(OpenError::UnknownVersion(version))
}

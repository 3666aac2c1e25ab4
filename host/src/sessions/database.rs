//! The `SQLite` file: how it is made, opened, brought up to date, and what its errors mean.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::{Error, Result};

/// How long one process waits for another that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What brings the file from each version to the next. The file's `user_version` is how many were done. What was
/// released is never changed here; a change is a further step.
const STEPS: [&str; 1] = ["
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
    -- Two nulls are not equal in a unique index, so whether there is one stands beside the text.
    CREATE UNIQUE INDEX drift_place ON drift (adapter, adapter_version, runtime_version IS NULL,
        ifnull(runtime_version, ''), native IS NULL, ifnull(native, ''));
"];

/// Why the file cannot be used.
enum Trouble {
    Database(rusqlite::Error),
    /// It has this version, which is beyond ours.
    Newer(i64),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Database(error)
    }
}

/// Opens the file, made and brought up to date where that is needed.
pub(super) fn open(path: &Path) -> Result<Connection> {
    make(path).map_err(|why| {
        let error = Error::system(format!("cannot make the file of sessions {}", path.display()), why);
        error.hint("set WHARF_DATA to a folder that you may write to")
    })?;
    connect(path).map_err(|trouble| match trouble {
        Trouble::Database(why) => explain(path, "open", &why),
        Trouble::Newer(version) => {
            let newest = STEPS.len();
            let message = format!(
                "cannot open the sessions in {}: the file has version {version}, this wharf knows up to {newest}",
                path.display()
            );
            Error::invalid(message).hint("use the wharf that wrote it, or set WHARF_DATA to another folder")
        }
    })
}

/// What an error of the database means for whoever has the file.
pub(super) fn explain(path: &Path, attempt: &str, why: &rusqlite::Error) -> Error {
    let place = path.display();
    let error = Error::system(format!("cannot {attempt} the sessions in {place}"), why);
    let damaged = matches!(
        why,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
    );
    match why.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => error.hint(begin_anew(path)),
        None if damaged => error.hint(begin_anew(path)),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            error.hint(format!("another program has been writing to {place} for {} s", PATIENCE.as_secs()))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            error.hint("set WHARF_DATA to a folder that you may write to")
        }
        _ => error,
    }
}

fn begin_anew(path: &Path) -> String {
    format!(
        "the file is damaged or no file of wharf's: move {0} (with {0}-wal and {0}-shm) away and wharf begins a new one; \
         the agents keep their own sessions, which can still be resumed by their ids",
        path.display()
    )
}

/// Makes the folder and an empty file, which only their owner may read; `SQLite` gives its other files the same mode.
fn make(path: &Path) -> io::Result<()> {
    let mut folder = DirBuilder::new();
    let mut file = OpenOptions::new();
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(parent) = path.parent() {
        folder.recursive(true).create(parent)?;
    }
    file.append(true).create(true).open(path)?;
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Before anything is written: a file of a newer wharf is left as it is.
    let done = steps_done(&connection)?;
    log_ahead(&connection)?;
    // With a log that is written ahead this may lose the last turns with the machine's power, but never the file.
    connection.pragma_update(None, "synchronous", "normal")?;
    // Whoever closes the file last would write the log into it, and wait for the disk twice: the log is as good a place,
    // and is written into the file when it has grown.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 100)?;
    if done < STEPS.len() {
        migrate(&mut connection)?;
    }
    Ok(connection)
}

/// Readers and a writer do not wait for each other. Where the file system cannot do it, `SQLite` stays as it was, and
/// they do wait.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            // The first change to it needs the file alone, and SQLite does not wait for that by itself.
            Err(why) if why.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn migrate(connection: &mut Connection) -> Result<(), Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited.
    let done = steps_done(&transaction)?;
    for (version, step) in (1_i64..).zip(STEPS).skip(done) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()?;
    Ok(())
}

/// At most as many as there are.
fn steps_done(connection: &Connection) -> Result<usize, Trouble> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    usize::try_from(version).ok().filter(|done| *done <= STEPS.len()).ok_or(Trouble::Newer(version))
}

//! The file of sessions: older and newer versions, damage, and files that are not databases.

use super::*;

#[test]
fn a_file_that_is_not_a_database_is_named_and_not_changed() {
    let (_folder, path) = new_path();
    fs::create_dir_all(path.parent().expect("a parent")).expect("written");
    for content in [&b"{\"sessions\": []}\n"[..], &[0xab; 10_000]] {
        fs::write(&path, content).expect("written");
        let error = Sessions::open(&path).expect_err("not a database");
        assert_eq!(error.kind(), ErrorKind::System);
        let message = error.to_string();
        assert!(message.starts_with("cannot open the sessions in ") && message.contains("sessions.db"), "{message}");
        let hint = error.hint().expect("a hint");
        assert!(hint.contains("move ") && hint.contains("sessions.db-wal"), "{hint}");
        assert_eq!(fs::read(&path).expect("it exists"), content);
    }
}

#[test]
fn a_damaged_file_is_an_error_and_not_a_panic() {
    let (_folder, path) = new_path();
    let sessions = Sessions::open(&path).expect("created");
    for number in 0..200 {
        remember(&sessions, &turn("", &format!("session-{number}"), 1));
    }
    drop(sessions);
    // Another program that closes the file copies the log into it.
    let other = rusqlite::Connection::open(&path).expect("a database");
    other.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0)).expect("readable");
    drop(other);
    let mut bytes = fs::read(&path).expect("it exists");
    assert!(bytes.len() > 3 * 4096, "it has pages to damage");
    bytes[4096..].fill(0x5a);
    fs::write(&path, bytes).expect("written");
    let error = Sessions::open(&path)
        .and_then(|sessions| sessions.list(&SessionFilter::default()))
        .expect_err("its pages are damaged");
    assert!(error.to_string().contains("sessions.db"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("move ")), "{:?}", error.hint());
}

#[test]
fn the_file_of_a_newer_wharf_is_not_changed() {
    let (_folder, path) = new_path();
    drop(Sessions::open(&path).expect("created"));
    for version in [6, -1] {
        let connection = Connection::open(&path).expect("it exists");
        connection.pragma_update(None, "user_version", version).expect("written");
        drop(connection);
        let before = fs::read(&path).expect("it exists");
        let error = Sessions::open(&path).expect_err("an unknown version");
        let message = error.to_string();
        assert!(message.contains("sessions.db") && message.contains(&format!("version {version},")), "{message}");
        assert!(error.hint().is_some_and(|hint| hint.contains("WHARF_DATA")), "{:?}", error.hint());
        assert_eq!(fs::read(&path).expect("it exists"), before);
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = new_path();
    let sessions = Sessions::open(&path).expect("created");
    remember(&sessions, &turn("", "a", 1));
    let folder = path.parent().expect("a parent");
    let files = fs::read_dir(folder).expect("it exists").map(|file| file.expect("it exists").path());
    for file in files.chain([folder.to_owned()]) {
        let mode = fs::metadata(&file).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o} {}", file.display());
    }
}

/// The schema of version 1, as it was released.
const VERSION_1: &str = "
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
";

#[test]
fn a_file_of_version_1_is_migrated_and_loses_nothing() {
    let (_folder, path) = new_path();
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    let old = Connection::open(&path).expect("a new database");
    old.execute_batch(VERSION_1).expect("the old schema");
    old.execute_batch(
        r#"INSERT INTO sessions VALUES
            (1, 'echo', '0.1.0', '2.0', '/work', 'large', '"limit"', 3, '{"input":5,"cost_micros":18446744073709551615,"units":{"requests":0.5}}',
                '{"output":7,"cost_micros":null,"api_millis":9}', 1700000000, 1700000009, '20261116T015713-ab12cd34', 2),
            (2, 'echo', '0.1.0', NULL, '/there', NULL, '"completed"', 1, '{}', NULL, 1700000001, 1700000002, NULL, 1);
        INSERT INTO session_ids VALUES ('echo', 'a', 1, 0), ('echo', 'b', 1, 1), ('echo', 'c', 2, 0);
        INSERT INTO drift VALUES (1, 'echo', '0.1.0', '2.0', 'new', 4), (2, 'echo', '0.1.0', NULL, NULL, 1);
        PRAGMA user_version = 1;"#,
    )
    .expect("the old rows");
    drop(old);

    let sessions = Sessions::open(&path).expect("migrated");
    let mut used = usage(Some(5), None);
    used.cost = Some(Money::usd(u64::MAX));
    used.units = BTreeMap::from([("requests".to_owned(), 0.5)]);
    let mut session_used = usage(None, Some(7));
    session_used.api_ms = Some(9);
    let first = SessionEntry {
        id: "b".to_owned(),
        ids: vec!["a".to_owned(), "b".to_owned()],
        adapter: "echo".to_owned(),
        adapter_version: "0.1.0".to_owned(),
        agent_version: Some("2.0".to_owned()),
        workspace: PathBuf::from("/work"),
        model: Some("large".to_owned()),
        outcome: Outcome::Limit,
        turns: 3,
        usage: used,
        session_usage: Some(session_used),
        created: time::from_unix_seconds(1_700_000_000),
        updated: time::from_unix_seconds(1_700_000_009),
        runs: vec!["20261116T015713-ab12cd34".to_owned()],
        labels: Labels::new(),
    };
    let all = list(&sessions);
    assert_eq!(ids(&all), ["b", "c"]);
    assert_eq!(all[0], first);
    assert_eq!((all[1].agent_version.as_deref(), all[1].runs.len()), (None, 0));
    // The version that was counted is still the key of the count.
    sessions.count_drift("echo", "0.1.0", Some("2.0"), &drift(&[("new", 1)], 0)).expect("written");
    let rows: Vec<_> = sessions.drift("echo").expect("readable").into_iter().map(|row| row.drift).collect();
    assert_eq!(rows, [drift(&[("new", 5)], 0), drift(&[], 1)]);
    // A turn after the migration adds to what was there.
    let next = SessionTurn { run: Some("next".to_owned()), labels: labels(&[("job", "7")]), ..turn("a", "d", 1) };
    let entry = remember(&sessions, &next);
    assert_eq!((entry.turns, entry.runs.len(), entry.ids.len()), (4, 2, 3));
    drop(sessions);
    let version: i64 = Connection::open(&path)
        .and_then(|connection| connection.pragma_query_value(None, "user_version", |row| row.get(0)))
        .expect("readable");
    assert_eq!(version, 5);
    assert_eq!(find(&Sessions::open(&path).expect("it is migrated already"), "c").map(|entry| entry.turns), Some(1));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_file_is_an_error_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sessions.db");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("every system has mkfifo").success());
    assert!(Sessions::open(&path).is_err());
}

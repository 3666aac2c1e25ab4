//! Runs whose host was killed: what their sessions need to know is read from the events that they had written.
//!
//! The lock file of such a run is left, and nobody holds the lock. It is removed when the session is remembered, so this
//! happens once.

use super::finish::{run_usage, session_turn};
use super::folder::{EVENTS, Lock, RECORDING, locked};
use super::records::LaunchRecord;
use crate::disk::{Links, open_plain_file};
use crate::error::{Error, Result};
use crate::sessions::Sessions;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use wharf_core::model::{Event, EventKind};
use wharf_core::turn::torn;

/// The types of the events that a session is remembered from. The others, which may be many, are not parsed.
const TYPES: [&str; 4] = ["session", "usage", "turn-started", "report"];

/// Where the type of an event is in its line, at the latest: after `seq` and `at`.
const TYPE_END: usize = 100;

/// Remembers the sessions of all runs below `root` whose host was killed.
pub(crate) fn remember_torn_runs(root: &Path, sessions: &Path) {
    let mut open = None;
    for id in locked(root) {
        let Ok(Some(lock)) = Lock::try_acquire(root, &id) else { continue };
        let folder = root.join(&id);
        // The folder of a run that is just being created is not there yet, and its lock file must stay.
        if !folder.is_dir() {
            lock.release();
            continue;
        }
        match remember(&id, &folder, sessions, &mut open) {
            Ok(()) => drop(lock),
            Err(error) => {
                tracing::warn!("the session of the run {id}, whose wharf was killed, is not remembered: {error}");
                // A recording that cannot be read stays unreadable. Anything else may work the next time.
                if error.kind() == crate::error::ErrorKind::System {
                    lock.release();
                }
            }
        }
    }
}

fn remember(run: &str, folder: &Path, path: &Path, open: &mut Option<Sessions>) -> Result<()> {
    let launch = LaunchRecord::read(&folder.join(RECORDING))?;
    let events = events(&folder.join(EVENTS))?;
    let result = torn(events, launch.turn.session.clone(), launch.used_before.clone(), launch.prices.clone());
    let mut report = result.report;
    report.run = Some(run.to_owned());
    let sessions = match open {
        Some(sessions) => sessions,
        None => open.insert(Sessions::open(path)?),
    };
    if !sessions.knows_run(run)? {
        sessions.remember_turn(&session_turn(&launch, &report, result.session_usage))?;
    }
    sessions.count_usage(&run_usage(run, &launch, &report))?;
    sessions.release(run)
}

/// The events that matter. A line that was cut off when the host was killed is not an event.
fn events(path: &Path) -> Result<Vec<EventKind>> {
    let failed = |error| Error::system(format!("reading the events {}", path.display()), error);
    let wanted = TYPES.map(|name| format!("\"type\":\"{name}\""));
    let mut events = Vec::new();
    let mut reader = BufReader::new(open_plain_file(path, Links::Refuse).map_err(failed)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        let head = &line[..line.len().min(TYPE_END)];
        if wanted.iter().any(|name| memchr::memmem::find(head, name.as_bytes()).is_some())
            && let Ok(event) = serde_json::from_slice::<Event>(&line)
        {
            events.push(event.kind);
        }
        line.clear();
    }
    Ok(events)
}

//! The recorded runs: listed, found by id or label, read, deleted. This module never starts or stops a run.

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;

use super::folder::{EVENTS, EVENTS_LIMIT, Lock, Place, RECEIPT, RECEIPT_LIMIT, RECORDING, places, size_of};
use super::prune::{self, Pruned, Removal};
use super::receipt::StoredReceipt;
use super::recorded_events::RecordedEvents;
use super::records::{LaunchRecord, Streams};
use crate::disk::{Links, open_plain_file, read_at_most, read_plain_file};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wharf_core::model::{Event, EventKind, Labels, Outcome, Report, SessionInfo, Usage, time};

/// How many runs an ambiguous prefix lists.
const MOST_LISTED: usize = 10;

/// The recorded runs of a data folder.
///
/// ```no_run
/// # fn example(host: &wharf::Host) -> wharf::Result<()> {
/// let run = host.runs().find("last")?;
/// assert!(run.receipt()?.verify()?.holds());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Runs {
    root: PathBuf,
}

/// Which runs to list. The default lists all.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunFilter {
    /// Only runs that have all these labels.
    pub labels: Labels,
    /// Only runs in this workspace.
    pub workspace: Option<PathBuf>,
    /// Only the newest of them.
    pub limit: Option<usize>,
}

impl Runs {
    pub(crate) fn new(root: PathBuf) -> Runs {
        Runs { root }
    }

    /// The folder that contains them.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Whether a run is being written. The system knows it, also after its host was killed.
    pub(crate) fn is_live(&self, id: &str) -> bool {
        Lock::is_held(&self.root, id)
    }

    /// The runs that pass a filter, newest first.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunEntry>> {
        let places = places(&self.root)?;
        let entries = places.into_iter().rev().map(|place| self.entry(place)).filter(|entry| {
            filter.labels.iter().all(|(name, value)| entry.labels.get(name) == Some(value))
                && filter.workspace.as_ref().is_none_or(|workspace| entry.workspace.as_ref() == Some(workspace))
        });
        Ok(entries.take(filter.limit.unwrap_or(usize::MAX)).map(with_events).collect())
    }

    /// The run with this id, or with an id that starts with the text, or the newest for `last`.
    pub fn find(&self, id_or_prefix: &str) -> Result<RecordedRun> {
        let mut places = places(&self.root)?;
        let root = self.root.display();
        if id_or_prefix != "last" {
            places.retain(|place| !id_or_prefix.is_empty() && place.id.starts_with(id_or_prefix));
            if places.len() > 1 {
                return Err(ambiguous(id_or_prefix, &places));
            }
        }
        match places.pop() {
            Some(Place { id, path, .. }) => Ok(RecordedRun { id, path }),
            None if id_or_prefix == "last" => Err(Error::invalid(format!("there is no run yet in {root}"))),
            None => Err(Error::invalid(format!("there is no run \"{id_or_prefix}\" in {root}"))
                .with_hint("`wharf runs` lists the runs")),
        }
    }

    /// Deletes a run. A run that is being written is refused.
    pub fn delete(&self, run: &RecordedRun) -> Result<()> {
        let attempt = || format!("deleting the run {}", run.path.display());
        match prune::remove(&self.root, &run.id) {
            Ok(Removal::Busy) => Err(Error::invalid(format!("the run {} is still running", run.id))
                .with_hint("stop it first, or wait until it has ended")),
            Ok(Removal::Done | Removal::DoneByAnother) => Ok(()),
            Err(error) => Err(Error::system(attempt(), error)),
        }
    }

    /// Deletes the oldest runs until no more than `keep_runs` with no more than `keep_bytes` are left.
    pub fn prune(&self, keep_runs: usize, keep_bytes: u64) -> Result<Pruned> {
        prune::prune(&self.root, keep_runs, keep_bytes, &[])
    }

    fn entry(&self, place: Place) -> RunEntry {
        // In this order: a run whose lock is free has its receipt by now, if it will ever have one.
        let held = Lock::is_held(&self.root, &place.id);
        let state = match read_plain_file(&place.path.join(RECEIPT), Links::Refuse, RECEIPT_LIMIT) {
            Ok(text) => state_from(&text),
            Err(error) if error.kind() != io::ErrorKind::NotFound => RunState::Unreadable { reason: error.to_string() },
            Err(_) if held => RunState::Running,
            // On a full disk the receipt is missing, though the run came to its end.
            Err(_) => match last_report(&place.path.join(EVENTS)) {
                Some((report, ended)) => RunState::Ended { outcome: report.outcome, ended },
                None => RunState::Torn,
            },
        };
        let launch = LaunchRecord::read(&place.path.join(RECORDING)).ok();
        // The id has only the second.
        let started = launch.as_ref().map_or_else(|| place.started.into(), |launch| launch.started.started);
        let (adapter, prompt, workspace, labels) = match launch {
            Some(LaunchRecord { started, .. }) => {
                (Some(started.adapter.id), Some(started.prompt), Some(started.workspace.into()), started.labels)
            }
            None => (None, None, None, Labels::new()),
        };
        RunEntry {
            started,
            bytes: size_of(&place.path),
            id: place.id,
            path: place.path,
            adapter,
            prompt,
            workspace,
            session: None,
            model: None,
            usage: None,
            labels,
            state,
        }
    }
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct RunEntry {
    /// The id of the run; ids sort by time.
    pub id: String,
    /// The folder of the run.
    pub path: PathBuf,
    /// When it started; RFC 3339 in JSON.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub started: SystemTime,
    /// The size of all its files.
    pub bytes: u64,
    /// The id of the adapter; null if the recording cannot be read.
    pub adapter: Option<String>,
    /// The prompt of the first turn.
    pub prompt: Option<String>,
    /// The folder that the agent worked in.
    pub workspace: Option<PathBuf>,
    /// The agent's session; null if the agent has not named one.
    pub session: Option<String>,
    /// The model that answered, if it is known.
    pub model: Option<String>,
    /// What the run used; null until it has ended, or if nothing is known.
    pub usage: Option<Usage>,
    /// The labels that the caller gave it.
    pub labels: Labels,
    /// Whether it is live, or how it ended.
    #[serde(flatten)]
    pub state: RunState,
}

/// Whether a run is live, or how it ended. In JSON the four fields `state`, `outcome`, `ended` and `reason` are always
/// there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "StateFields")]
#[non_exhaustive]
pub enum RunState {
    /// It has a receipt with this content, which is not verified here; or it has none because that could not be
    /// written, and its last event says so.
    Ended {
        /// How the turn ended.
        outcome: Outcome,
        /// When it ended.
        ended: SystemTime,
    },
    /// It is being written.
    Running,
    /// Its host was killed before it could write the receipt.
    Torn,
    /// It has a receipt that cannot be read.
    Unreadable {
        /// Why it cannot be read.
        reason: String,
    },
}

/// A state in JSON.
#[derive(Serialize, JsonSchema)]
struct StateFields {
    /// Whether it is live, or how it ended: `torn` if its host was killed before it could write the receipt,
    /// `unreadable` if the receipt cannot be read.
    state: StateName,
    /// How the turn ended; null if it did not end.
    outcome: Option<Outcome>,
    /// When it ended; null if it did not end.
    #[serde(with = "time::rfc3339_option")]
    #[schemars(with = "Option<time::Rfc3339>")]
    ended: Option<SystemTime>,
    /// Why the receipt cannot be read; null if it can.
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RunState")]
enum StateName {
    Ended,
    Running,
    Torn,
    Unreadable,
}

impl From<RunState> for StateFields {
    fn from(state: RunState) -> StateFields {
        let plain = |state| StateFields { state, outcome: None, ended: None, reason: None };
        match state {
            RunState::Ended { outcome, ended } => {
                StateFields { outcome: Some(outcome), ended: Some(ended), ..plain(StateName::Ended) }
            }
            RunState::Running => plain(StateName::Running),
            RunState::Torn => plain(StateName::Torn),
            RunState::Unreadable { reason } => StateFields { reason: Some(reason), ..plain(StateName::Unreadable) },
        }
    }
}

/// How the run ended, according to its receipt.
fn state_from(receipt: &[u8]) -> RunState {
    /// The members that every format of a receipt has.
    #[derive(Deserialize)]
    struct Head {
        outcome: Outcome,
        #[serde(with = "time::rfc3339")]
        ended: SystemTime,
    }
    match serde_json::from_slice(receipt) {
        Ok(Head { outcome, ended }) => RunState::Ended { outcome, ended },
        Err(error) => RunState::Unreadable { reason: error.to_string() },
    }
}

/// The entry with what the run's events say about it.
fn with_events(mut entry: RunEntry) -> RunEntry {
    let events = entry.path.join(EVENTS);
    if let Some((report, _)) = last_report(&events) {
        entry.session = report.session.map(|session| session.id);
        (entry.model, entry.usage) = (report.model, report.usage);
    } else if let Ok(session) = session_so_far(&events) {
        (entry.session, entry.model) = (session.id, session.model);
    }
    entry
}

/// The report of a run, and when it was written.
fn last_report(events: &Path) -> Option<(Report, SystemTime)> {
    /// How much of the end is looked at: most reports are short.
    const PIECES: [u64; 3] = [64 << 10, 1 << 20, 64 << 20];
    let mut file = open_plain_file(events, Links::Refuse).ok()?;
    let found = file.metadata().ok()?;
    for piece in PIECES {
        let start = found.len().saturating_sub(piece);
        file.seek(io::SeekFrom::Start(start)).ok()?;
        let end = read_at_most(&mut file, piece).ok()?;
        let lines = end.strip_suffix(b"\n")?;
        match lines.iter().rposition(|byte| *byte == b'\n') {
            None if start > 0 => {}
            newline => {
                let last = &lines[newline.map_or(0, |newline| newline + 1)..];
                return match serde_json::from_slice::<Event>(last).ok()?.kind {
                    EventKind::Report(report) => Some((*report, found.modified().ok()?)),
                    _ => None,
                };
            }
        }
    }
    None
}

/// What the first events of a run say about its session. Agents name it at their start.
fn session_so_far(events: &Path) -> io::Result<SessionInfo> {
    /// How much of the beginning is looked at.
    const HEAD: u64 = 1 << 20;
    let mut known = SessionInfo::default();
    let mut lines = io::BufReader::new(open_plain_file(events, Links::Refuse)?.take(HEAD));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let event = serde_json::from_slice::<Event>(&line).map(|event| event.kind);
        if let Ok(EventKind::Session(session)) = event {
            known.id = session.id.or(known.id);
            known.model = session.model.or(known.model);
        }
        line.clear();
    }
    Ok(known)
}

fn ambiguous(prefix: &str, found: &[Place]) -> Error {
    let mut lines = vec![format!("\"{prefix}\" matches {} runs:", found.len())];
    lines.extend(found.iter().rev().take(MOST_LISTED).map(|place| place.id.clone()));
    if found.len() > MOST_LISTED {
        lines.push(format!("and {} more", found.len() - MOST_LISTED));
    }
    Error::invalid(lines.join("\n  ")).with_hint("give more of the id")
}

/// A run that was recorded, or is being recorded.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    id: String,
    path: PathBuf,
}

impl RecordedRun {
    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was started, and how.
    pub fn launch(&self) -> Result<LaunchRecord> {
        LaunchRecord::read(&self.recording_path())
    }

    /// The agent's own output.
    pub fn streams(&self) -> Result<Streams> {
        Streams::read(&self.recording_path())
    }

    /// The events so far, and the lines that are none: the last one was cut off if the host was killed.
    pub fn events(&self) -> Result<RecordedEvents> {
        Ok(RecordedEvents::parse(&self.event_lines()?))
    }

    /// The same as lines of JSON, as `wharf run --json` prints them.
    pub fn event_lines(&self) -> Result<Vec<u8>> {
        let path = self.path.join(EVENTS);
        let content = read_plain_file(&path, Links::Refuse, EVENTS_LIMIT);
        content.map_err(|error| Error::system(format!("reading the events {}", path.display()), error))
    }

    /// The receipt: a run has one when it has ended.
    pub fn receipt(&self) -> Result<StoredReceipt> {
        StoredReceipt::read(&self.path)
    }

    /// The file of the recording.
    pub fn recording_path(&self) -> PathBuf {
        self.path.join(RECORDING)
    }
}

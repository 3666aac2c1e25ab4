//! What is kept of a run while it goes on: the recording, and the events beside it. Everything is on its way to the
//! disk before anybody hears of it, so that a host that is killed has lost nothing that it had said.

use crate::event::Event;
use crate::line;
use crate::recording::{Kind, RecordingWriter, Summary};
use crate::redact::Secrets;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Keeps a run; or keeps nothing, where recording is off.
pub(crate) struct Journal {
    start: Instant,
    kept: Option<Kept>,
    secrets: Secrets,
    events_digest: Sha256,
    events: u64,
    /// Why something could not be kept, to be said once.
    trouble: Option<String>,
}

struct Kept {
    writer: RecordingWriter,
    path: PathBuf,
    events: File,
}

/// What the events' file came to.
pub(crate) struct EventsSummary {
    pub(crate) count: u64,
    pub(crate) sha256: String,
}

impl Journal {
    pub(crate) fn new(files: Option<(RecordingWriter, PathBuf, File)>, secrets: Secrets) -> Journal {
        let kept = files.map(|(writer, path, events)| Kept { writer, path, events });
        Journal { start: Instant::now(), kept, secrets, events_digest: Sha256::new(), events: 0, trouble: None }
    }

    pub(crate) fn now(&self) -> std::time::Duration {
        self.start.elapsed()
    }

    /// The recording's file, to be read while it is written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Bytes that were redacted before.
    pub(crate) fn record(&mut self, kind: Kind, payload: &[u8]) {
        let micros = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(kept) = &mut self.kept
            && let Err(why) = kept.writer.append(kind, micros, payload)
        {
            self.trouble.get_or_insert(format!("the recording {} is cut short: {why}", kept.path.display()));
        }
    }

    /// Text that may have secrets in it.
    pub(crate) fn record_text(&mut self, kind: Kind, text: &str) {
        let clean = self.secrets.redact(text).into_owned();
        self.record(kind, clean.as_bytes());
    }

    /// Bytes that may have secrets in them, as a whole.
    pub(crate) fn record_bytes(&mut self, kind: Kind, bytes: &[u8]) {
        let clean = self.secrets.redact_bytes(bytes).into_owned();
        self.record(kind, &clean);
    }

    /// Events without secrets. The agent's output has lost them before; an adapter that read a variable, or put together
    /// what came in pieces, may bring them back.
    pub(crate) fn clean(&self, event: Event) -> Event {
        if self.secrets.is_empty() {
            return event;
        }
        let Ok(text) = serde_json::to_string(&event) else { return event };
        match self.secrets.redact(&text) {
            std::borrow::Cow::Borrowed(_) => event,
            std::borrow::Cow::Owned(clean) => serde_json::from_str(&clean).unwrap_or(event),
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Some events, in one write. They lose the secrets that were in them; gives them as lines, where somebody had to
    /// write them.
    pub(crate) fn events(&mut self, events: &mut [Event]) -> Option<Vec<u8>> {
        if self.kept.is_none() && self.secrets.is_empty() {
            return None;
        }
        let mut lines = line::lines(&*events);
        if self.secrets.are_in(&lines) {
            for event in &mut *events {
                *event = self.clean(event.clone());
            }
            lines = line::lines(&*events);
        }
        if let Some(kept) = &mut self.kept {
            self.events += events.len() as u64;
            self.events_digest.update(&lines);
            if let Err(why) = kept.events.write_all(&lines) {
                self.trouble.get_or_insert(format!("the events beside {} are cut short: {why}", kept.path.display()));
            }
        }
        Some(lines)
    }

    /// Why something could not be kept, once.
    pub(crate) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Ends the recording.
    pub(crate) fn close(self) -> (Option<Summary>, EventsSummary) {
        use std::fmt::Write as _;
        let sha256 = self.events_digest.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        (self.kept.and_then(|kept| kept.writer.close().ok()), EventsSummary { count: self.events, sha256 })
    }
}

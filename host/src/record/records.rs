//! The records of a recording that are JSON: what was started, what the host added, how it ended.

use super::format::{Kind, RecordingError};
use super::reader::RecordingReader;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use wharf_core::model::{Binary, EventKind, Exit, ExitBehavior, Framing, Prices, RunStarted, Transport, Turn, Usage};
use wharf_core::turn::EndFacts;

/// The first record of a recording: everything that a replay needs beside the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// What was started, as the first event has it.
    pub started: RunStarted,
    /// The version of the host.
    pub wharf: String,
    /// The agent's program, as the adapter found it.
    pub binary: Binary,
    /// The turn with everything filled in.
    pub turn: Turn,
    /// The command line, without secrets.
    pub args: Vec<String>,
    /// The names of the variables that the agent got.
    pub environment: Vec<String>,
    /// How the agent's output is cut into frames.
    pub framing: Framing,
    /// How the process exits.
    pub exit_behavior: ExitBehavior,
    /// The size limit of a frame.
    pub frame_limit: usize,
    /// What the session had used before.
    pub used_before: Usage,
    /// The prices by which a cost was estimated.
    #[serde(default, skip_serializing_if = "Prices::is_empty")]
    pub prices: Prices,
}

impl LaunchRecord {
    /// How the host talked to the agent.
    pub(crate) fn transport(&self) -> Transport {
        let name = &self.started.agent.transport;
        self.binary.transport(name).cloned().unwrap_or_else(|| Transport::named(name))
    }

    /// Reads the first record of a recording.
    pub(crate) fn read(path: &Path) -> Result<LaunchRecord> {
        let mut reader = RecordingReader::open(path).map_err(unreadable)?;
        let first = reader.find(|record| record.as_ref().is_ok_and(|record| record.kind == Kind::Launch));
        let payload = first.and_then(std::result::Result::ok).map(|record| record.payload).unwrap_or_default();
        serde_json::from_slice(&payload).map_err(|error| {
            Error::invalid(format!("the recording {} has no valid launch record: {error}", path.display()))
        })
    }
}

/// What the host added beside the streams, because neither the agent nor the adapter produced it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoteRecord {
    /// How the run ended.
    End(EndRecord),
    /// An event.
    Event(Box<EventKind>),
}

/// How a run ended, as far as its streams do not show it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EndRecord {
    #[serde(flatten)]
    pub(crate) facts: EndFacts,
    #[serde(default)]
    pub(crate) killed: Vec<String>,
}

/// The agent's own output, from a recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Streams {
    /// Everything that it wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything that it wrote to stderr.
    pub stderr: Vec<u8>,
    /// How it exited.
    pub exit: Exit,
}

impl Streams {
    pub(crate) fn read(path: &Path) -> Result<Streams> {
        let mut streams = Streams::default();
        for record in RecordingReader::open(path).map_err(unreadable)? {
            let record = record.map_err(unreadable)?;
            match record.kind {
                Kind::Stdout => streams.stdout.extend(record.payload),
                Kind::Stderr => streams.stderr.extend(record.payload),
                Kind::Exit => streams.exit = serde_json::from_slice(&record.payload).unwrap_or_default(),
                _ => {}
            }
        }
        Ok(streams)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
pub(super) fn unreadable(error: RecordingError) -> Error {
    Error::invalid(error.to_string())
}

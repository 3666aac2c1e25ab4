//! A recording as steps to replay. A replay and the recovery from a trap read the same steps, so that both produce the
//! events of the run.

use super::format::{Kind, Record};
use super::reader::{RecordingReader, Tail};
use super::records::{NoteRecord, unreadable};
use crate::error::{Error, Result};
use std::path::Path;
use std::time::Duration;
use wharf_core::model::Exit;
use wharf_core::turn::AdapterInput;

/// What happened next in a recording.
pub(crate) enum Step {
    /// The agent wrote this.
    Output { stderr: bool, bytes: Vec<u8> },
    /// The adapter was sent this.
    Input(AdapterInput),
    /// The host answered the adapter this.
    HostAnswer(String),
    /// The host added this.
    Note(NoteRecord),
    /// The process exited.
    Exit(Exit),
    /// The streams after this were not kept.
    Truncated,
}

/// Reads a recording step by step.
pub(crate) struct Playback {
    reader: RecordingReader,
}

impl Playback {
    pub(crate) fn open(path: &Path) -> Result<Playback> {
        Ok(Playback { reader: RecordingReader::open(path).map_err(unreadable)? })
    }

    /// The next step and its time. What a replay does not need is skipped.
    pub(crate) fn next(&mut self) -> Result<Option<(Duration, Step)>> {
        for record in &mut self.reader {
            let Record { kind, micros, payload } = record.map_err(unreadable)?;
            let step = match kind {
                Kind::Stdout | Kind::Stderr => Some(Step::Output { stderr: kind == Kind::Stderr, bytes: payload }),
                Kind::Input => Some(Step::Input(parse("an input to the adapter", &payload)?)),
                Kind::HostAnswer => Some(Step::HostAnswer(String::from_utf8_lossy(&payload).into_owned())),
                Kind::Note => Some(Step::Note(parse("a note", &payload)?)),
                Kind::Exit => Some(Step::Exit(serde_json::from_slice(&payload).unwrap_or_default())),
                Kind::Truncated => Some(Step::Truncated),
                Kind::Launch | Kind::Stdin | Kind::Restart => None,
            };
            if let Some(step) = step {
                return Ok(Some((Duration::from_micros(micros), step)));
            }
        }
        Ok(None)
    }

    /// At the end: whether the recording is incomplete.
    pub(crate) fn is_torn(&self) -> bool {
        !matches!(self.reader.tail(), Some(Tail::Complete))
    }
}

/// Where the first piece of a stream ends that contains at most one end of a frame, whatever the framing.
pub(crate) fn frame_end(bytes: &[u8]) -> usize {
    memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

/// Pieces of a stream, each with at most one end of a frame.
pub(crate) fn single_frames(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// A record that is skipped would make a replay show something that did not happen.
fn parse<T: serde::de::DeserializeOwned>(what: &str, payload: &[u8]) -> Result<T> {
    serde_json::from_slice(payload)
        .map_err(|error| Error::invalid(format!("the recording cannot be replayed: {what} cannot be read: {error}")))
}

//! The recording of a run: one append-only file with the raw bytes both ways, and what the host did.
//!
//! # Format, version 1
//! The line `wharf-recording 1\n`, then records until the end of the file. Integers are little-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | length of the payload, at most [`MAX_PAYLOAD`] |
//! | 1 | kind, an ASCII letter: see [`Kind`] |
//! | 8 | microseconds since the run's start |
//! | length | payload |
//! | 8 | checksum: the first bytes of the SHA-256 of all the file before it |
//!
//! `close` ends the file with a record of kind `Z`, whose payload is the number of bytes that were not kept (8 bytes).
//! Where it is missing, the host died before it could close, even if the last record before it is whole.
//!
//! A new kind or field means a new version: a reader may take an unknown kind for damage.
//!
//! # Why this checksum
//! The file's digest is needed for the receipt anyway, so a checksum taken from it costs one block of SHA-256 a record
//! and no further code. Since it covers all that came before, it also tells when a record was removed, repeated or
//! moved, which a CRC of each record would not. The price: after a damaged byte nothing more is trusted. The tear of a
//! killed host, which is what happens, is always at the end.

#[cfg(all(test, unix))]
mod crash_tests;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::PathBuf;

pub(crate) use reader::{RecordingReader, Tail};
use sha2::{Digest, Sha256};
pub(crate) use writer::{RecordingWriter, Summary};

/// The largest payload of a record. Nobody allocates more because a length says so.
pub(crate) const MAX_PAYLOAD: usize = 64 << 20;

const MAGIC: &[u8] = b"wharf-recording ";
const VERSION_LINE: &[u8] = b"wharf-recording 1\n";
/// Length, kind and time.
const HEADER_SIZE: usize = 13;
const CHECKSUM_SIZE: usize = 8;
/// The kind of the record that ends the file. It is no [`Kind`], since nobody but the writer and the reader sees it.
const END: u8 = b'Z';

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// JSON: what was started, and how.
    Launch = b'L',
    /// Bytes written to the agent.
    Stdin = b'I',
    /// Bytes read from the agent's stdout.
    Stdout = b'O',
    /// Bytes read from the agent's stderr.
    Stderr = b'E',
    /// JSON: what the host interface answered the adapter, in order.
    HostAnswer = b'H',
    /// JSON: what was said to the adapter: start, answer, message, cancel, timer.
    Reply = b'R',
    /// The adapter was replaced by a fresh instance.
    Restart = b'S',
    /// JSON: how the process ended.
    Exit = b'X',
    /// JSON: anything else worth keeping.
    Note = b'N',
    /// The size limit was reached: from here on, stdin, stdout and stderr are not kept.
    Truncated = b'T',
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Launch,
        Kind::Stdin,
        Kind::Stdout,
        Kind::Stderr,
        Kind::HostAnswer,
        Kind::Reply,
        Kind::Restart,
        Kind::Exit,
        Kind::Note,
        Kind::Truncated,
    ];

    fn letter(self) -> u8 {
        self as u8
    }

    fn from_letter(letter: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    /// Whether it is one of the agent's streams, which are as long as the agent likes. Only these fall under the limit.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Kind::Stdin | Kind::Stdout | Kind::Stderr)
    }
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// What it is about.
    pub kind: Kind,
    /// When, in microseconds since the run's start.
    pub micros: u64,
    /// JSON text or raw bytes, as the kind says.
    pub payload: Vec<u8>,
}

/// Why a recording could not be made or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingError {
    /// The file could not be made.
    #[error("cannot create the recording {path}: {why}; check that its folder exists and has room")]
    Create {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The file could not be opened.
    #[error("cannot open the recording {path}: {why}; `wharf runs` lists the runs that have one")]
    Open {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The file could not be read any further.
    #[error("cannot read the recording {path} at byte {offset}: {why}; all before it is readable")]
    Read {
        /// The recording.
        path: PathBuf,
        /// Where the record begins that could not be read.
        offset: u64,
        /// What the system said.
        why: io::Error,
    },
    /// The file has nothing in it, or not even a whole first line.
    #[error("cannot read the recording {path}: it is empty; the host died before it could write to it, so remove it")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error(
        "cannot read {path} as a recording: it does not begin with \"wharf-recording\"; \
         to replay a bare capture, name it with --stdout"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of wharf.
    #[error(
        "cannot read the recording {path}: its format is version {version}, this wharf reads version 1; \
         read it with the wharf that wrote it"
    )]
    Version {
        /// The recording.
        path: PathBuf,
        /// What stands in the file.
        version: String,
    },
}

/// The checksum that stands after all that `digest` has seen.
fn checksum(digest: &Sha256) -> [u8; CHECKSUM_SIZE] {
    let mut checksum = [0; CHECKSUM_SIZE];
    checksum.copy_from_slice(&digest.clone().finalize()[..CHECKSUM_SIZE]);
    checksum
}

fn hex(digest: Sha256) -> String {
    format!("{:x}", digest.finalize())
}

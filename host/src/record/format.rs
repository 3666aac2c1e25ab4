//! The recording of a run: one append-only file with the raw bytes in both directions, and what the host did.
//!
//! # Format, version 3
//! The line `wharf-recording 3\n`, then records until the end of the file. Integers are little-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | length of the payload, at most [`MAX_PAYLOAD`] |
//! | 1 | kind, an ASCII letter: see [`Kind`] |
//! | 8 | microseconds since the run started |
//! | length | payload |
//! | 8 | checksum: the first bytes of the SHA-256 of the whole file before it |
//!
//! `close` ends the file with a record of kind `Z`, whose payload is the number of bytes that were not kept (8 bytes).
//! If it is missing, the host was killed before it could close the file, even if the last record is complete.
//!
//! A new kind or field means a new version: a reader may treat an unknown kind as damage.
//!
//! # Why this checksum
//! The receipt needs the digest of the file anyway, so a checksum derived from it costs one block of SHA-256 per record
//! and no further code. Because it covers everything before it, it also detects a record that was removed, repeated or
//! moved, which a CRC of each record would not. The price: nothing after a damaged byte is trusted. In practice files
//! are damaged by a killed host, and then only at the end.

#[cfg(all(test, unix))]
#[path = "crash_tests.rs"]
mod crash_tests;
#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;

use std::io;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// The largest payload of a record. A reader never allocates more, whatever the length field says.
pub(crate) const MAX_PAYLOAD: usize = 64 << 20;

pub(super) const MAGIC: &[u8] = b"wharf-recording ";
pub(super) const VERSION_LINE: &[u8] = b"wharf-recording 3\n";
/// Length, kind and time.
pub(super) const HEADER_SIZE: usize = 13;
pub(super) const CHECKSUM_SIZE: usize = 8;
/// The kind of the record that ends the file. It is not a [`Kind`]: only the writer and the reader see it.
pub(super) const END: u8 = b'Z';

/// What a record contains.
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
    /// JSON: what was sent to the adapter: start, answer, message, cancel, timer.
    Input = b'R',
    /// The adapter was replaced by a fresh instance.
    Restart = b'S',
    /// JSON: how the process exited.
    Exit = b'X',
    /// JSON: what the host added beside the streams.
    Note = b'N',
    /// The size limit was reached: stdin, stdout and stderr after this are not kept.
    Truncated = b'T',
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Launch,
        Kind::Stdin,
        Kind::Stdout,
        Kind::Stderr,
        Kind::HostAnswer,
        Kind::Input,
        Kind::Restart,
        Kind::Exit,
        Kind::Note,
        Kind::Truncated,
    ];

    pub(super) fn letter(self) -> u8 {
        self as u8
    }

    pub(super) fn from_letter(letter: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    /// Whether it is one of the agent's streams, whose length only the agent decides. Only these are limited.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Kind::Stdin | Kind::Stdout | Kind::Stderr)
    }
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// What the payload is.
    pub kind: Kind,
    /// The time in microseconds since the run started.
    pub micros: u64,
    /// JSON text or raw bytes, depending on the kind.
    pub payload: Vec<u8>,
}

/// Why a recording could not be created or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingError {
    /// The file could not be created.
    #[error("cannot create the recording {path}: {error}; check that its folder exists and that the disk has space")]
    Create {
        /// The recording.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file could not be opened.
    #[error("cannot open the recording {path}: {error}; `wharf runs` lists the runs")]
    Open {
        /// The recording.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file could not be read to the end.
    #[error("cannot read the recording {path} at byte {offset}: {error}; everything before it is readable")]
    Read {
        /// The recording.
        path: PathBuf,
        /// Where the record starts that could not be read.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is empty, or its first line is incomplete.
    #[error(
        "cannot read the recording {path}: it is empty, because the host was killed before it wrote anything; delete it"
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a recording.
    #[error(
        "cannot read {path} as a recording: it does not begin with \"wharf-recording\"; \
         to replay captured output, pass it with --stdout"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of wharf.
    #[error(
        "cannot read the recording {path}: its format is version {version}, this wharf reads version 3; \
         read it with the wharf that wrote it"
    )]
    Version {
        /// The recording.
        path: PathBuf,
        /// The version in the file.
        version: String,
    },
}

/// The checksum that follows what `digest` covers.
pub(super) fn checksum(digest: &Sha256) -> [u8; CHECKSUM_SIZE] {
    let mut checksum = [0; CHECKSUM_SIZE];
    checksum.copy_from_slice(&digest.clone().finalize()[..CHECKSUM_SIZE]);
    checksum
}

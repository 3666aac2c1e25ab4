//! Reads a recording record by record, up to its end or the first damage.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::digest::hex;
use crate::disk::{Links, open_plain_file};
use sha2::{Digest, Sha256};

use super::format::{
    CHECKSUM_SIZE, END, HEADER_SIZE, Kind, MAGIC, MAX_PAYLOAD, Record, RecordingError, VERSION_LINE, checksum,
};

/// A first line longer than this is not the version line of a recording.
const LONGEST_VERSION_LINE: u64 = 40;

/// Reads the records of a file in order, one at a time, so the file may have any size.
#[derive(Debug)]
pub(crate) struct RecordingReader {
    path: PathBuf,
    file: BufReader<File>,
    /// Where the next record starts.
    offset: u64,
    /// Covers the file up to `offset`.
    digest: Sha256,
    /// How the recording ends, known after the last record.
    tail: Option<Tail>,
    failed: bool,
}

/// How a recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It was closed, and everything was kept.
    Complete,
    /// It was closed, but a part of the streams was not kept.
    Truncated {
        /// How many bytes are missing.
        dropped: u64,
    },
    /// It was not closed, because the host was killed or is still writing; or it is damaged.
    Torn {
        /// Where the last complete record ends.
        offset: u64,
        /// How many bytes follow it: none if the host was killed between two records.
        bytes: u64,
    },
}

/// What was found where a record was expected.
enum Found {
    Record(Record),
    End {
        dropped: u64,
    },
    /// Nothing complete and undamaged.
    Nothing,
}

impl RecordingReader {
    /// Opens a recording, and refuses any other file.
    pub(crate) fn open(path: &Path) -> Result<RecordingReader, RecordingError> {
        let path = path.to_owned();
        let (file, line) = match open_and_read_line(&path) {
            Ok(opened) => opened,
            Err(error) => return Err(RecordingError::Open { path, error }),
        };
        if line != VERSION_LINE {
            return Err(if VERSION_LINE.starts_with(&line) {
                RecordingError::Empty { path }
            } else if let Some(version) = line.strip_prefix(MAGIC) {
                RecordingError::Version { path, version: String::from_utf8_lossy(version).trim().to_owned() }
            } else {
                RecordingError::Foreign { path }
            });
        }
        let digest = Sha256::new_with_prefix(VERSION_LINE);
        Ok(RecordingReader { path, file, offset: VERSION_LINE.len() as u64, digest, tail: None, failed: false })
    }

    /// How the recording ends. None until all records were read, or if reading failed.
    pub(crate) fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// The SHA-256 of the file up to the end of the last record that was read, in hexadecimal. At the end of a file
    /// that is not torn, it is that of the whole file.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests of this module use it"))]
    pub(crate) fn sha256(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// Reads the next record. Only a complete one advances the offset and the digest.
    fn read(&mut self) -> io::Result<Found> {
        let mut header = [0; HEADER_SIZE];
        if !fill(&mut self.file, &mut header)? {
            return Ok(Found::Nothing);
        }
        let [l0, l1, l2, l3, letter, micros @ ..] = header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_PAYLOAD {
            return Ok(Found::Nothing);
        }
        // It grows with what the file really contains, whatever the length field says.
        let mut payload = Vec::with_capacity(length.min(1 << 16));
        self.file.by_ref().take(length as u64).read_to_end(&mut payload)?;
        let mut stored = [0; CHECKSUM_SIZE];
        if payload.len() < length || !fill(&mut self.file, &mut stored)? {
            return Ok(Found::Nothing);
        }
        let mut digest = self.digest.clone();
        digest.update(header);
        digest.update(&payload);
        if checksum(&digest) != stored {
            return Ok(Found::Nothing);
        }
        digest.update(stored);
        let found = match (Kind::from_letter(letter), <[u8; 8]>::try_from(payload.as_slice())) {
            (Some(kind), _) => Found::Record(Record { kind, micros: u64::from_le_bytes(micros), payload }),
            (None, Ok(dropped)) if letter == END => Found::End { dropped: u64::from_le_bytes(dropped) },
            (None, _) => return Ok(Found::Nothing),
        };
        self.digest = digest;
        self.offset += (HEADER_SIZE + length + CHECKSUM_SIZE) as u64;
        Ok(found)
    }

    /// The next record, or how the file ends.
    fn step(&mut self) -> io::Result<Result<Record, Tail>> {
        let found = self.read()?;
        if let Found::Record(record) = found {
            return Ok(Ok(record));
        }
        let bytes = self.file.get_ref().metadata()?.len().saturating_sub(self.offset);
        Ok(Err(match found {
            // Nothing may follow the end.
            Found::End { dropped: 0 } if bytes == 0 => Tail::Complete,
            Found::End { dropped } if bytes == 0 => Tail::Truncated { dropped },
            _ => Tail::Torn { offset: self.offset, bytes },
        }))
    }
}

impl Iterator for RecordingReader {
    type Item = Result<Record, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.tail.is_some() || self.failed {
            return None;
        }
        match self.step() {
            Ok(Ok(record)) => Some(Ok(record)),
            Ok(Err(tail)) => {
                self.tail = Some(tail);
                None
            }
            Err(error) => {
                self.failed = true;
                Some(Err(RecordingError::Read { path: self.path.clone(), offset: self.offset, error }))
            }
        }
    }
}

fn open_and_read_line(path: &Path) -> io::Result<(BufReader<File>, Vec<u8>)> {
    let mut file = BufReader::with_capacity(1 << 16, open_plain_file(path, Links::Follow)?);
    let mut line = Vec::new();
    file.by_ref().take(LONGEST_VERSION_LINE).read_until(b'\n', &mut line)?;
    Ok((file, line))
}

/// Whether the file had enough to fill the buffer.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

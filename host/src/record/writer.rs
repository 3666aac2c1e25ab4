//! Writes a recording during the run.
//!
//! # Why a killed host loses nothing
//! Each record is one `write` to the file, done before `append` returns, without a buffer in this process. What `write`
//! accepted is in the kernel's page cache and belongs to the file, not to the process: SIGKILL does not undo it. A
//! signal during a write leaves a part of a record, which was not acknowledged and which the reader reports as torn.
//! Only a crash of the machine can lose more; a sync for each record would cost more than a lost recording is worth.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;

use crate::digest::hex;
use sha2::{Digest, Sha256};

use super::format::{CHECKSUM_SIZE, END, HEADER_SIZE, Kind, MAX_PAYLOAD, RecordingError, VERSION_LINE, checksum};

/// Appends records to a new file.
#[derive(Debug)]
pub(crate) struct RecordingWriter {
    file: File,
    /// The length of the file up to the last complete record.
    bytes: u64,
    /// Covers those bytes.
    digest: Sha256,
    /// Streams are kept while the file is not longer than this.
    limit: u64,
    /// How many bytes of streams were not kept.
    dropped: u64,
    truncated: bool,
    /// A part of a stream could not be written.
    gap: bool,
    /// The file may end with a part of a record, after which nothing could be read.
    broken: bool,
}

/// The size and digest of a complete recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The length of the file.
    pub bytes: u64,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// How many bytes of stdin, stdout and stderr were not kept because of the limit.
    pub dropped: u64,
}

impl RecordingWriter {
    /// Starts a recording in a new file that only its owner may read. Streams are kept until the file would grow beyond
    /// `limit` bytes; everything else is always kept.
    pub(crate) fn create(path: &Path, limit: u64) -> Result<RecordingWriter, RecordingError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let create = || {
            let mut file = options.open(path)?;
            file.write_all(VERSION_LINE)?;
            Ok(file)
        };
        let file = create().map_err(|error| RecordingError::Create { path: path.to_owned(), error })?;
        Ok(RecordingWriter {
            file,
            bytes: VERSION_LINE.len() as u64,
            digest: Sha256::new_with_prefix(VERSION_LINE),
            limit,
            dropped: 0,
            truncated: false,
            gap: false,
            broken: false,
        })
    }

    /// Appends a record. When it returns, the record survives a killed host.
    ///
    /// Beyond the limit, a stream's payload is counted instead of kept, after one [`Kind::Truncated`] record. A
    /// stream's payload larger than [`MAX_PAYLOAD`] becomes several records; any other of that size is an error. After
    /// an error the part that was written is removed, and more records may be appended unless the removal failed.
    pub(crate) fn append(&mut self, kind: Kind, micros: u64, payload: &[u8]) -> io::Result<()> {
        if !kind.is_stream() {
            return self.write(kind.letter(), micros, payload);
        }
        if payload.len() > MAX_PAYLOAD {
            return payload.chunks(MAX_PAYLOAD).try_for_each(|part| self.append(kind, micros, part));
        }
        let size = (HEADER_SIZE + payload.len() + CHECKSUM_SIZE) as u64;
        if !self.truncated && (self.gap || self.bytes + size > self.limit) {
            self.write(Kind::Truncated.letter(), micros, &[])?;
            self.truncated = true;
        }
        if self.truncated {
            self.dropped += payload.len() as u64;
            return Ok(());
        }
        let written = self.write(kind.letter(), micros, payload);
        // After a gap the stream is no longer continuous: a `Truncated` record comes before anything else of it.
        self.gap |= written.is_err();
        written
    }

    /// How many bytes may be kept.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Closes the recording.
    pub(crate) fn close(mut self) -> io::Result<Summary> {
        self.write(END, 0, &self.dropped.to_le_bytes())?;
        Ok(Summary { bytes: self.bytes, sha256: hex(&self.digest.finalize()), dropped: self.dropped })
    }

    fn write(&mut self, kind: u8, micros: u64, payload: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("the recording ended at an earlier error"));
        }
        let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= MAX_PAYLOAD);
        let Some(length) = length else {
            let message = format!("a record of {} bytes exceeds the limit of {MAX_PAYLOAD} bytes", payload.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let mut header = [0; HEADER_SIZE];
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4] = kind;
        header[5..].copy_from_slice(&micros.to_le_bytes());
        let mut digest = self.digest.clone();
        digest.update(header);
        digest.update(payload);
        let checksum = checksum(&digest);
        digest.update(checksum);
        if let Err(error) = write_at_once(&mut self.file, [&header, payload, &checksum]) {
            // On a full disk a part may have been written. The file is open for appending, so the next write continues
            // where it is truncated.
            self.broken = self.file.set_len(self.bytes).is_err();
            return Err(error);
        }
        self.bytes += (HEADER_SIZE + payload.len() + CHECKSUM_SIZE) as u64;
        self.digest = digest;
        Ok(())
    }
}

/// Writes the parts in one call, if the system accepts them all at once.
fn write_at_once(file: &mut File, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut written = loop {
        match file.write_vectored(&parts.map(IoSlice::new)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    for part in parts {
        let done = written.min(part.len());
        file.write_all(&part[done..])?;
        written -= done;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_cannot_be_truncated_accepts_nothing_more() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut writer = RecordingWriter::create(&folder.path().join("run.rec"), u64::MAX).expect("a new file");
        // A device that is always full, and cannot be truncated either.
        let full = OpenOptions::new().append(true).open("/dev/full").expect("Linux has it");
        let file = std::mem::replace(&mut writer.file, full);
        let error = writer.append(Kind::Note, 0, b"lost").expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        writer.file = file;
        let error = writer.append(Kind::Note, 0, b"after the gap").expect_err("a part may have been written");
        assert!(error.to_string().contains("earlier error"), "{error}");
        writer.close().expect_err("it is incomplete");
    }
}

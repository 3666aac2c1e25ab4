//! Writes a recording as the run goes.
//!
//! # Why a killed host loses nothing
//! Each record is one `write` to the file, made before `append` returns, with no buffer of ours in between. What
//! `write` took is in the kernel's page cache and belongs to the file, not to the process: SIGKILL does not undo it. A
//! signal in mid-write leaves a record in part, which was not acknowledged and which the reader finds torn. Only a crash
//! of the machine itself can lose more; a sync for each record would cost more than a lost recording is worth.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{CHECKSUM_SIZE, END, HEADER_SIZE, Kind, MAX_PAYLOAD, RecordingError, VERSION_LINE, checksum, hex};

/// Appends records to a new file.
#[derive(Debug)]
pub(crate) struct RecordingWriter {
    file: File,
    /// The length of the file up to the last whole record.
    bytes: u64,
    /// Of those bytes.
    digest: Sha256,
    /// No stream may take the file beyond this.
    limit: u64,
    /// How many bytes of streams were not kept.
    dropped: u64,
    truncated: bool,
    /// Some of a stream could not be written.
    gap: bool,
    /// Set when the file may end in a part of a record, after which nothing could be read.
    broken: bool,
}

/// What a recording came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The length of the file.
    pub bytes: u64,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// How many bytes of stdin, stdout and stderr were beyond the limit and not kept.
    pub dropped: u64,
}

impl RecordingWriter {
    /// Begins a recording in a new file that only its owner may read. Streams are kept until the file would grow beyond
    /// `limit` bytes; everything else is always kept.
    pub(crate) fn create(path: &Path, limit: u64) -> Result<RecordingWriter, RecordingError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let begin = || {
            let mut file = options.open(path)?;
            file.write_all(VERSION_LINE)?;
            Ok(file)
        };
        let file = begin().map_err(|why| RecordingError::Create { path: path.to_owned(), why })?;
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

    /// Appends a record. When it returns, the record survives the host.
    ///
    /// Beyond the limit, a stream's payload is counted instead of kept, after one [`Kind::Truncated`] record. A
    /// stream's payload beyond [`MAX_PAYLOAD`] becomes several records, any other of that size is an error. An error
    /// leaves no part of a record behind, and more may be appended after it, unless even that failed.
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
        // What comes behind a gap is no part of the same stream any more. Whatever follows says so first.
        self.gap |= written.is_err();
        written
    }

    /// How long the file is.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the recording.
    pub(crate) fn close(mut self) -> io::Result<Summary> {
        self.write(END, 0, &self.dropped.to_le_bytes())?;
        Ok(Summary { bytes: self.bytes, sha256: hex(self.digest), dropped: self.dropped })
    }

    fn write(&mut self, kind: u8, micros: u64, payload: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("the recording broke off at an earlier error"));
        }
        let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= MAX_PAYLOAD);
        let Some(length) = length else {
            let message =
                format!("a record of {} bytes is more than the {MAX_PAYLOAD} that a recording takes", payload.len());
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
            // A full disk may have taken a part. The file is opened for appending, so it goes on where it is cut.
            self.broken = self.file.set_len(self.bytes).is_err();
            return Err(error);
        }
        self.bytes += (HEADER_SIZE + payload.len() + CHECKSUM_SIZE) as u64;
        self.digest = digest;
        Ok(())
    }
}

/// The parts in one call, as far as the system takes them.
fn write_at_once(file: &mut File, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut written = loop {
        match file.write_vectored(&parts.map(IoSlice::new)) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
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
    fn a_recording_that_cannot_be_mended_takes_nothing_more() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut writer = RecordingWriter::create(&folder.path().join("run.rec"), u64::MAX).expect("the file is new");
        // A device that is always full, and cannot be cut either.
        let full = OpenOptions::new().append(true).open("/dev/full").expect("Linux has it");
        let file = std::mem::replace(&mut writer.file, full);
        let error = writer.append(Kind::Note, 0, b"lost").expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        writer.file = file;
        let error = writer.append(Kind::Note, 0, b"after the gap").expect_err("a part may be there");
        assert!(error.to_string().contains("earlier error"), "{error}");
        writer.close().expect_err("it is not whole");
    }
}

//! The size, line count and digest of a file.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::digest::hex;
use crate::disk::{Links, open_plain_file};

/// The size, line count and digest of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measures {
    pub(super) bytes: u64,
    /// A last line without `\n` counts too.
    pub(super) lines: u64,
    pub(super) sha256: String,
}

impl Measures {
    /// Reads the file in pieces: it may have any size.
    pub(super) fn of(path: &Path) -> io::Result<Measures> {
        let mut file = open_plain_file(path, Links::Refuse)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let (mut bytes, mut lines, mut last) = (0, 0, b'\n');
        loop {
            let length = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length?,
            };
            let piece = &buffer[..length];
            let Some(end) = piece.last() else { break };
            last = *end;
            bytes += length as u64;
            lines += memchr::memchr_iter(b'\n', piece).count() as u64;
            digest.update(piece);
        }
        lines += u64::from(last != b'\n');
        Ok(Measures { bytes, lines, sha256: hex(&digest.finalize()) })
    }
}

//! SHA-256, as the receipts, the cache and the identity of components use it.

use crate::disk::{Links, open_plain_file};
use sha2::{Digest as _, Sha256};
use std::io::{self, Read as _};
use std::path::Path;

/// The SHA-256 of some bytes, in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of a file, without reading all of it into memory.
pub(crate) fn file_sha256(path: &Path) -> io::Result<String> {
    let mut file = open_plain_file(path, Links::Follow)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&buffer[..count]);
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

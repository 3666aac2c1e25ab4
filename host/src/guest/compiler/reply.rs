//! What the child writes to its stdout: a mark, a kind, the content, and a digest of all of it. A reply that is cut
//! short, or that another program wrote, is not read as code.

use sha2::{Digest as _, Sha256};
use std::io;

const MARK: &[u8; 8] = b"wharf-c1";

const DIGEST: usize = 32;

/// How a compilation ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The serialized code.
    Code(Vec<u8>),
    /// The component is not valid, with the compiler's words.
    Invalid(String),
    /// The memory was not enough.
    OutOfMemory,
}

impl Reply {
    pub(super) fn write(&self, target: &mut impl io::Write) -> io::Result<()> {
        let (kind, content): (u8, &[u8]) = match self {
            Reply::Code(code) => (b'c', code),
            Reply::Invalid(reason) => (b'i', reason.as_bytes()),
            Reply::OutOfMemory => (b'm', &[]),
        };
        let digest = Sha256::new().chain_update(MARK).chain_update([kind]).chain_update(content).finalize();
        for part in [MARK, &[kind][..], content, &digest] {
            target.write_all(part)?;
        }
        target.flush()
    }

    /// None if it is not a whole reply.
    pub(super) fn read(mut bytes: Vec<u8>) -> Option<Reply> {
        let end = bytes.len().checked_sub(DIGEST)?;
        let (content, digest) = bytes.split_at(end);
        if !content.starts_with(MARK) || Sha256::digest(content).as_slice() != digest {
            return None;
        }
        let kind = *content.get(MARK.len())?;
        bytes.truncate(end);
        bytes.drain(..=MARK.len());
        match kind {
            b'c' => Some(Reply::Code(bytes)),
            b'i' => Some(Reply::Invalid(String::from_utf8_lossy(&bytes).into_owned())),
            b'm' => Some(Reply::OutOfMemory),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_reply_is_read_and_no_part_of_it() {
        for reply in [Reply::Code(vec![0, 1, 2]), Reply::Invalid("not valid".to_owned()), Reply::OutOfMemory] {
            let mut bytes = Vec::new();
            reply.write(&mut bytes).expect("a vector takes all");
            for at in 0..bytes.len() {
                assert_eq!(Reply::read(bytes[..at].to_vec()), None, "cut at {at}");
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                assert_eq!(Reply::read(damaged), None, "a bit at {at}");
            }
            assert_eq!(Reply::read(bytes), Some(reply));
        }
    }
}

//! The end of a stream, bounded.

use std::collections::VecDeque;

/// The last bytes of a stream, as evidence of why a process exited.
#[derive(Debug, Clone)]
pub struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    /// A tail of at most `limit` bytes.
    pub fn new(limit: usize) -> Tail {
        Tail { bytes: VecDeque::new(), limit, truncated: false }
    }

    /// More of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.truncated |= self.bytes.len() + bytes.len() > self.limit;
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + bytes.len()).saturating_sub(self.limit);
        self.bytes.drain(..over.min(self.bytes.len()));
        self.bytes.extend(bytes);
    }

    /// Whether the stream was longer than what is kept.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The tail as text. If something before it was dropped, it starts with the first complete line.
    pub fn text(&self) -> String {
        let (first, second) = self.bytes.as_slices();
        let bytes = [first, second].concat();
        let start = if self.truncated { memchr::memchr(b'\n', &bytes).map_or(0, |at| at + 1) } else { 0 };
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_tail_starts_with_a_complete_line() {
        let mut tail = Tail::new(10);
        tail.push(b"one\ntwo\n");
        assert_eq!(tail.text(), "one\ntwo\n");
        tail.push(b"three\n");
        assert_eq!(tail.text(), "three\n");
        tail.push(&[b'x'; 100]);
        assert_eq!(tail.text(), "x".repeat(10));
    }
}

//! Splits a stream into bodies after headers that announce their length.
//!
//! Accepts what programs are known to get wrong, and always recovers: header names in any case and order, "\n" for
//! "\r\n", blank lines between frames, other output on the same stream. Other output ends at the next line that ends
//! with `content-length: N`, even if it does not start with it.

use memchr::memchr;

use super::output::{Output, Skipped};

/// The limit for the length of a header; a longer line is other output.
const LINE_SIZE: usize = 1024;

/// Splits by announced lengths. Between two pushes it holds one body, never more than the limit, or one header line.
#[derive(Debug)]
pub(super) struct ContentLength {
    limit: usize,
    stage: Stage,
}

/// What the next byte belongs to.
#[derive(Debug)]
enum Stage {
    Headers(Headers),
    /// A body that is passed on.
    Body {
        /// Where its frame starts.
        offset: u64,
        length: usize,
        /// The part of it in earlier pushes.
        partial: Vec<u8>,
    },
    /// A body beyond the limit, while it is being skipped.
    Skip {
        skipped: Skipped,
        left: u64,
    },
}

impl Default for Stage {
    /// Between two frames.
    fn default() -> Stage {
        Stage::Headers(Headers::default())
    }
}

impl ContentLength {
    pub(super) fn new(limit: usize) -> ContentLength {
        ContentLength { limit, stage: Stage::default() }
    }

    pub(super) fn push(&mut self, mut position: u64, mut bytes: &[u8], output: &mut Output) {
        while !bytes.is_empty() {
            let used;
            (self.stage, used) = match std::mem::take(&mut self.stage) {
                Stage::Headers(headers) => headers.read(position, bytes, self.limit, output),
                Stage::Body { offset, length, partial } => read_body(offset, length, partial, bytes, output),
                Stage::Skip { skipped, left } => skip_body(skipped, left, bytes, output),
            };
            position += used as u64;
            bytes = &bytes[used..];
        }
    }

    pub(super) fn finish(&mut self, output: &mut Output) {
        let torn = match std::mem::take(&mut self.stage) {
            Stage::Headers(headers) => headers.block.filter(|_| headers.any || !headers.line.trim_ascii().is_empty()),
            Stage::Body { offset, partial, .. } => {
                let mut skipped = Skipped::new(offset);
                skipped.add(&partial);
                Some(skipped)
            }
            Stage::Skip { skipped, .. } => Some(skipped),
        };
        if let Some(torn) = torn {
            output.push(torn.broken());
        }
    }

    /// How much memory the partial line or body takes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Headers(headers) => headers.line.capacity(),
            Stage::Body { partial, .. } => partial.capacity(),
            Stage::Skip { .. } => 0,
        }
    }
}

/// A block of headers, up to the blank line.
#[derive(Debug, Default)]
struct Headers {
    /// The block so far, in case it must be reported.
    block: Option<Skipped>,
    /// The end of the line that is being read, at most [`LINE_SIZE`] of it.
    line: Vec<u8>,
    /// Whether the start of the line was dropped.
    long: bool,
    /// Whether the block has any line.
    any: bool,
    /// Whether something in the block is not a header.
    stray: bool,
    /// The length of the body. The last one counts, because other output comes before the headers.
    announced: Option<u64>,
}

impl Headers {
    /// Reads at most to the end of the line.
    fn read(mut self, position: u64, bytes: &[u8], limit: usize, output: &mut Output) -> (Stage, usize) {
        let end = memchr(b'\n', bytes);
        let used = end.map_or(bytes.len(), |end| end + 1);
        let mut block = self.block.take().unwrap_or_else(|| Skipped::new(position));
        block.add(&bytes[..used]);
        self.keep(&bytes[..end.unwrap_or(used)]);
        let stage = if end.is_none() {
            Stage::Headers(Headers { block: Some(block), ..self })
        } else if self.line.strip_suffix(b"\r").unwrap_or(&self.line).is_empty() {
            self.end(block, limit, output)
        } else {
            let header = Header::read(&self.line, !self.long);
            self.line.clear();
            Stage::Headers(Headers {
                block: Some(block),
                line: self.line,
                long: false,
                any: true,
                stray: self.stray || header.stray,
                announced: header.announced.or(self.announced),
            })
        };
        (stage, used)
    }

    /// Adds to the line, and drops its start if it gets too long.
    fn keep(&mut self, bytes: &[u8]) {
        let excess = (self.line.len() + bytes.len()).saturating_sub(LINE_SIZE);
        self.long |= excess > 0;
        self.line.drain(..excess.min(self.line.len()));
        self.line.extend_from_slice(&bytes[bytes.len().saturating_sub(LINE_SIZE)..]);
    }

    /// After the blank line: what follows is the body, if one was announced.
    fn end(self, block: Skipped, limit: usize, output: &mut Output) -> Stage {
        let offset = block.offset();
        if self.any && (self.stray || self.announced.is_none()) {
            output.push(block.broken());
        }
        match self.announced {
            None => Stage::default(),
            Some(0) => {
                output.body(offset, b"");
                Stage::default()
            }
            Some(announced) => match usize::try_from(announced) {
                Ok(length) if length <= limit => Stage::Body { offset, length, partial: Vec::new() },
                _ => Stage::Skip { skipped: Skipped::new(offset), left: announced },
            },
        }
    }
}

/// The content of one line of a block.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    announced: Option<u64>,
    /// Whether the line is not a header, or more than one.
    stray: bool,
}

impl Header {
    /// `complete` says whether the start of the line was kept.
    fn read(line: &[u8], complete: bool) -> Header {
        const NAME: &[u8] = b"content-length";
        let nothing = Header { announced: None, stray: true };
        let Some(colon) = memchr::memrchr(b':', line) else { return nothing };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        let announced = name
            .len()
            .checked_sub(NAME.len())
            .filter(|start| name[*start..].eq_ignore_ascii_case(NAME))
            .and_then(|_| decimal(value));
        match announced {
            Some(_) => Header { announced, stray: !complete || name.len() > NAME.len() },
            // A value may contain colons too: what matters is that the line starts with a name.
            None => {
                Header { announced, stray: !complete || !line.split(|byte| *byte == b':').next().is_some_and(is_name) }
            }
        }
    }
}

/// Digits only: `parse` alone would accept a sign.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    digits?.parse().ok()
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn read_body(offset: u64, length: usize, mut partial: Vec<u8>, bytes: &[u8], output: &mut Output) -> (Stage, usize) {
    let used = bytes.len().min(length - partial.len());
    let now = &bytes[..used];
    if used == length && memchr(b'\n', now).is_none() {
        output.body(offset, now);
        return (Stage::default(), used);
    }
    partial.extend_from_slice(now);
    if partial.len() < length {
        return (Stage::Body { offset, length, partial }, used);
    }
    // One frame is one line: see `Frames::Text`.
    partial.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    partial.push(b'\n');
    output.own_line(offset, &mut partial);
    (Stage::default(), used)
}

fn skip_body(mut skipped: Skipped, left: u64, bytes: &[u8], output: &mut Output) -> (Stage, usize) {
    let used = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
    skipped.add(&bytes[..used]);
    let left = left - used as u64;
    if left > 0 {
        return (Stage::Skip { skipped, left }, used);
    }
    output.push(skipped.oversized());
    (Stage::default(), used)
}

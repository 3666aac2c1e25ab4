//! Bodies after headers that announce their length.
//!
//! Lenient where programs are known to be sloppy, and never lost for good: header names in any case and order, "\n" for
//! "\r\n", blank lines between frames, other output on the same stream. Other output ends at the next line that ends
//! in `content-length: N`, even if it does not begin with it.

use memchr::memchr;

use super::output::{Output, Skipped};

/// No header is longer than this; a longer line is other output.
const LINE_SIZE: usize = 1024;

/// Cuts by announced lengths. Between two pushes it holds one body, never more than the limit, or one header line.
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
        /// Where its frame begins.
        offset: u64,
        length: usize,
        /// What earlier pushes brought of it.
        begun: Vec<u8>,
    },
    /// A body beyond the limit, while it passes.
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
                Stage::Body { offset, length, begun } => read_body(offset, length, begun, bytes, output),
                Stage::Skip { skipped, left } => skip_body(skipped, left, bytes, output),
            };
            position += used as u64;
            bytes = &bytes[used..];
        }
    }

    pub(super) fn finish(&mut self, output: &mut Output) {
        let torn = match std::mem::take(&mut self.stage) {
            Stage::Headers(headers) => headers.block.filter(|_| headers.any || !headers.line.trim_ascii().is_empty()),
            Stage::Body { offset, begun, .. } => {
                let mut skipped = Skipped::new(offset);
                skipped.add(&begun);
                Some(skipped)
            }
            Stage::Skip { skipped, .. } => Some(skipped),
        };
        if let Some(torn) = torn {
            output.push(torn.broken());
        }
    }

    /// How much memory the line or the body that was begun takes.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Headers(headers) => headers.line.capacity(),
            Stage::Body { begun, .. } => begun.capacity(),
            Stage::Skip { .. } => 0,
        }
    }
}

/// A block of headers, up to its blank line.
#[derive(Debug, Default)]
struct Headers {
    /// All of the block so far, should it have to be reported.
    block: Option<Skipped>,
    /// The end of the line that is being read, at most [`LINE_SIZE`] of it.
    line: Vec<u8>,
    /// Whether the line is longer than what is kept of it.
    long: bool,
    /// Whether the block has any line.
    any: bool,
    /// Whether something in the block is no header.
    stray: bool,
    /// The length of the body. The last one counts, since other output comes before the headers.
    announced: Option<u64>,
}

impl Headers {
    /// Reads to the end of the line at most.
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

    /// Adds to the line; its beginning goes where it gets too long.
    fn keep(&mut self, bytes: &[u8]) {
        let excess = (self.line.len() + bytes.len()).saturating_sub(LINE_SIZE);
        self.long |= excess > 0;
        self.line.drain(..excess.min(self.line.len()));
        self.line.extend_from_slice(&bytes[bytes.len().saturating_sub(LINE_SIZE)..]);
    }

    /// The blank line has come: what follows is the body, if one was announced.
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
                Ok(length) if length <= limit => Stage::Body { offset, length, begun: Vec::new() },
                _ => Stage::Skip { skipped: Skipped::new(offset), left: announced },
            },
        }
    }
}

/// What one line of a block says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    announced: Option<u64>,
    /// Whether the line is no header, or not only one.
    stray: bool,
}

impl Header {
    /// `whole` says whether the line's beginning is there too.
    fn read(line: &[u8], whole: bool) -> Header {
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
            Some(_) => Header { announced, stray: !whole || name.len() > NAME.len() },
            // A value may have colons too: what matters is that the line begins with a name.
            None => {
                Header { announced, stray: !whole || !line.split(|byte| *byte == b':').next().is_some_and(is_name) }
            }
        }
    }
}

/// Digits only: `parse` alone would take a sign.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    digits?.parse().ok()
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn read_body(offset: u64, length: usize, mut begun: Vec<u8>, bytes: &[u8], output: &mut Output) -> (Stage, usize) {
    let used = bytes.len().min(length - begun.len());
    let now = &bytes[..used];
    if used == length && memchr(b'\n', now).is_none() {
        output.body(offset, now);
        return (Stage::default(), used);
    }
    begun.extend_from_slice(now);
    if begun.len() < length {
        return (Stage::Body { offset, length, begun }, used);
    }
    // One frame is one line: see `Frames::Text`.
    begun.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    begun.push(b'\n');
    output.own_line(offset, &mut begun);
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

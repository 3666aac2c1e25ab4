//! Cuts what an agent writes into frames: lines, content-length bodies, or raw bytes.
//!
//! Pure: bytes in, items out, no I/O and no clock. Whole frames come out in batches, as many as are there, so that the
//! adapter is called once for many lines. What cannot be given to an adapter (a frame beyond the limit, a body that the
//! end of the stream cut off) comes out in its place in the order, by its length and beginning, and the stream goes on.
//!
//! How the input was cut never matters: only where one batch ends and the next begins depends on it, not what all of
//! them say together. Memory is bounded by one frame of at most the limit, and what was pushed but not yet taken.

mod content_length;
mod lines;
mod output;
#[cfg(test)]
mod tests;

use content_length::ContentLength;
use lines::Lines;
use output::Output;

/// The longest frame that is passed on, unless the user sets another limit.
pub(crate) const DEFAULT_FRAME_LIMIT: usize = 16 << 20;

/// A batch takes no further frame beyond this size. A single frame may be larger, and repairing may add to it.
pub(crate) const BATCH_SIZE: usize = 1 << 20;

/// How much of a frame that is not passed on is shown.
pub(crate) const HEAD_SIZE: usize = 1024;

/// How a stream is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Each frame is a line, ended by "\n"; the last one perhaps by the end of the stream.
    Lines,
    /// Each frame is a body after headers that announce its length, as in the Language Server Protocol.
    ContentLength,
    /// There are no frames.
    Raw,
}

/// What came out of a stream, in the stream's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Whole frames.
    Batch(Batch),
    /// A frame beyond the limit, skipped.
    Oversized {
        /// Where the frame begins in the stream, headers included.
        offset: u64,
        /// How long the line is without its "\n", or the body.
        length: u64,
        /// Its first [`HEAD_SIZE`] bytes, repaired to UTF-8.
        head: String,
    },
    /// What is no whole frame where content-length frames were expected: a body that the end of the stream cut off, or
    /// a block of headers that announces no length or that has other output among it.
    Broken {
        /// Where the frame begins in the stream, headers included.
        offset: u64,
        /// How much of the body was there, or how long the block is.
        length: u64,
        /// Its first [`HEAD_SIZE`] bytes, repaired to UTF-8.
        head: String,
    },
}

/// Whole frames, one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Where the first frame begins in the stream, headers included.
    pub offset: u64,
    /// The frames themselves.
    pub data: Frames,
    /// How many of the frames had invalid UTF-8 replaced by U+FFFD.
    pub repaired: usize,
}

/// The frames of a batch, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frames {
    /// Lines with their "\n" (and a "\r" before it, where there was one), or bodies, each followed by "\n".
    ///
    /// A "\n" inside a body becomes a space, so that one frame is always one line: bodies are JSON, where a raw newline
    /// is nothing but white space.
    Text(String),
    /// Raw bytes.
    Bytes(Vec<u8>),
}

/// Cuts one stream.
///
/// ```text
/// while read(&mut buffer) { framer.push(&buffer); while let Some(item) = framer.take() { … } }
/// framer.finish();
/// while let Some(item) = framer.take() { … }
/// ```
#[derive(Debug)]
pub(crate) struct Framer {
    cutter: Cutter,
    output: Output,
    /// How much of the stream has been pushed.
    position: u64,
}

/// What differs between the framings.
#[derive(Debug)]
enum Cutter {
    Lines(Lines),
    ContentLength(ContentLength),
    Raw,
}

impl Framer {
    /// At the beginning of a stream, of which no frame beyond `limit` bytes shall be passed on. Raw bytes have no
    /// frames, and so no limit.
    pub(crate) fn new(framing: Framing, limit: usize) -> Framer {
        let cutter = match framing {
            Framing::Lines => Cutter::Lines(Lines::new(limit)),
            Framing::ContentLength => Cutter::ContentLength(ContentLength::new(limit)),
            Framing::Raw => Cutter::Raw,
        };
        Framer { cutter, output: Output::default(), position: 0 }
    }

    /// The next bytes of the stream. Whoever pushes takes all items before the next push, or they pile up.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match &mut self.cutter {
            Cutter::Lines(lines) => lines.push(self.position, bytes, &mut self.output),
            Cutter::ContentLength(bodies) => bodies.push(self.position, bytes, &mut self.output),
            Cutter::Raw => self.output.raw(self.position, bytes),
        }
        self.position += bytes.len() as u64;
    }

    /// The stream has ended: what is left of it becomes the last items.
    pub(crate) fn finish(&mut self) {
        match &mut self.cutter {
            Cutter::Lines(lines) => lines.finish(self.position, &mut self.output),
            Cutter::ContentLength(bodies) => bodies.finish(&mut self.output),
            Cutter::Raw => {}
        }
    }

    /// The next item, if one is whole.
    pub(crate) fn take(&mut self) -> Option<Item> {
        self.output.take()
    }
}

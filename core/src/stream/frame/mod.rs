//! Splits an agent's output into frames: lines, content-length bodies, or raw bytes.
//!
//! Pure: bytes in, items out, no I/O and no clock. Complete frames are returned in batches, as many as are available,
//! so that the adapter is called once for many lines. What cannot be given to an adapter (a frame beyond the limit, a
//! body that is incomplete at the end of the stream) is reported at its position, by its length and its first bytes,
//! and the stream continues.
//!
//! How the input was split into reads makes no difference to the frames: it only decides how they are grouped into
//! batches. Memory is bounded by one frame of at most the limit, and what was pushed but not yet taken.

mod content_length;
mod item;
mod lines;
mod output;
#[cfg(test)]
mod tests;

pub use item::{BATCH_SIZE, Batch, DEFAULT_FRAME_LIMIT, Frames, HEAD_SIZE, Item};

use content_length::ContentLength;
use lines::Lines;
use output::Output;

use crate::model::Framing;

/// Splits one stream into frames.
///
/// ```text
/// while read(&mut buffer) { framer.push(&buffer); while let Some(item) = framer.take() { … } }
/// framer.finish();
/// while let Some(item) = framer.take() { … }
/// ```
#[derive(Debug)]
pub struct Framer {
    splitter: Splitter,
    output: Output,
    /// How many bytes of the stream were pushed.
    position: u64,
}

/// What differs between the framings.
#[derive(Debug)]
enum Splitter {
    Lines(Lines),
    ContentLength(ContentLength),
    Raw,
}

impl Framer {
    /// A framer at the start of a stream. Frames longer than `limit` bytes are not passed on. Raw bytes have no frames,
    /// and so no limit.
    pub fn new(framing: Framing, limit: usize) -> Framer {
        let splitter = match framing {
            Framing::Lines => Splitter::Lines(Lines::new(limit)),
            Framing::ContentLength => Splitter::ContentLength(ContentLength::new(limit)),
            Framing::Raw => Splitter::Raw,
        };
        Framer { splitter, output: Output::default(), position: 0 }
    }

    /// Takes the next bytes of the stream. The caller takes all items before the next push, or they accumulate.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.splitter {
            Splitter::Lines(lines) => lines.push(self.position, bytes, &mut self.output),
            Splitter::ContentLength(bodies) => bodies.push(self.position, bytes, &mut self.output),
            Splitter::Raw => self.output.raw(self.position, bytes),
        }
        self.position += bytes.len() as u64;
    }

    /// The stream has ended: the rest of it becomes the last items.
    pub fn finish(&mut self) {
        match &mut self.splitter {
            Splitter::Lines(lines) => lines.finish(self.position, &mut self.output),
            Splitter::ContentLength(bodies) => bodies.finish(&mut self.output),
            Splitter::Raw => {}
        }
    }

    /// Whether there is a complete item.
    pub fn has_item(&self) -> bool {
        !self.output.is_empty()
    }

    /// The next complete item, if there is one.
    pub fn take(&mut self) -> Option<Item> {
        self.output.take()
    }
}

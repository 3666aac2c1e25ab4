//! What a framer returns: batches of frames, and what could not be passed on. Plain data.

/// The default limit for the length of a frame.
pub const DEFAULT_FRAME_LIMIT: usize = 16 << 20;

/// No frame is added to a batch beyond this size. A single frame may be larger, and repairing may make it longer.
pub const BATCH_SIZE: usize = 1 << 20;

/// How many bytes of a frame that is not passed on are reported.
pub const HEAD_SIZE: usize = 1024;

/// What a stream contains, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Complete frames.
    Batch(Batch),
    /// A frame beyond the limit, skipped.
    Oversized {
        /// Where the frame starts in the stream, headers included.
        offset: u64,
        /// The length of the line without its "\n", or of the body.
        length: u64,
        /// The first [`HEAD_SIZE`] bytes, repaired to UTF-8.
        head: String,
    },
    /// Not a complete content-length frame: a body that is incomplete at the end of the stream, or a block of headers
    /// without a length or with other output in it.
    Broken {
        /// Where the frame starts in the stream, headers included.
        offset: u64,
        /// How many bytes of the body were read, or the length of the block.
        length: u64,
        /// The first [`HEAD_SIZE`] bytes, repaired to UTF-8.
        head: String,
    },
}

/// Complete frames, one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where the first frame starts in the stream, headers included.
    pub offset: u64,
    /// The frames themselves.
    pub data: Frames,
    /// How many of the frames had invalid UTF-8 replaced by U+FFFD.
    pub repaired: usize,
}

/// The frames of a batch, concatenated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frames {
    /// Lines with their "\n" (and the "\r" before it, if there was one), or bodies, each followed by "\n".
    ///
    /// A "\n" inside a body becomes a space, so that one frame is always one line: bodies are JSON, where a raw newline
    /// is only whitespace.
    Text(String),
    /// Raw bytes.
    Bytes(Vec<u8>),
}

//! How far the recovery from a trap is: what the fresh instance is fed from, and what came of it. It feeds nothing by
//! itself.

use crate::guest::{Fault, Imports, Instance};
use crate::record::{Playback, frame_end};
use std::path::PathBuf;

/// How many bytes of new events and writes a recovery may produce, beside what the largest frames need. What came before
/// the trap is skipped, so they belong to the few frames at which the adapter trapped.
const NEW_BYTES: usize = 64 << 20;

/// A recovery that is not over.
pub(super) struct Recovery {
    pub(super) fault: Fault,
    pub(super) path: PathBuf,
    pub(super) imports: Option<Imports>,
    /// The fresh instance and what it is fed from, after the first step.
    pub(super) fresh: Option<(Instance, Playback)>,
    pub(super) output: Output,
    /// Whether the ends of the streams were reached.
    pub(super) ended: bool,
    /// How many bytes of new events and writes came so far.
    pub(super) bytes: usize,
    pub(super) limit: usize,
}

/// A recorded piece of a stream that is fed frame by frame.
#[derive(Default)]
pub(super) struct Output {
    pub(super) stderr: bool,
    pub(super) bytes: Vec<u8>,
    /// How many of them were fed.
    fed: usize,
}

impl Recovery {
    pub(super) fn new(fault: Fault, path: PathBuf, imports: Option<Imports>, frame_limit: usize) -> Recovery {
        Recovery {
            fault,
            path,
            imports,
            fresh: None,
            output: Output::default(),
            ended: false,
            bytes: 0,
            limit: NEW_BYTES.saturating_add(frame_limit.saturating_mul(4)),
        }
    }
}

impl Output {
    pub(super) fn new(stderr: bool, bytes: Vec<u8>) -> Output {
        Output { stderr, bytes, fed: 0 }
    }

    /// The next piece, with at most one end of a frame.
    pub(super) fn next_piece(&mut self) -> Option<&[u8]> {
        let start = self.fed;
        self.fed += frame_end(&self.bytes[start..]);
        (self.fed > start).then(|| &self.bytes[start..self.fed])
    }
}

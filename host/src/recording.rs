//! Recorded runs: recordings, receipts, and replaying them.

pub use crate::record::{
    Check, EventsDigest, LaunchRecord, Pruned, Receipt, ReceiptFile, ReceiptProgram, RecordedEvents, RecordedRun,
    RecordingDigest, RunEntry, RunFilter, RunState, Runs, StoredReceipt, Streams, UnreadableLine, Verified,
};
pub use crate::replay::{Capture, Replayed, anonymous};

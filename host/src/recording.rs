//! Recorded runs: recordings, receipts, and replaying them.

pub use crate::record::{
    Check, EventsDigest, LaunchRecord, Pruned, Receipt, ReceiptProgram, RecordedRun, RecordingDigest, RunEntry,
    RunFilter, RunState, Runs, StoredReceipt, Streams, Verified,
};
pub use crate::replay::{Capture, Replayed, anonymous};

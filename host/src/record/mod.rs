//! The files of a run: the recording of its raw bytes, its events, its receipt, and the folder that contains them.
//!
//! This room never starts a process and never calls an adapter.

mod event_file;
mod finish;
mod folder;
mod format;
mod journal;
mod playback;
mod prune;
mod reader;
mod receipt;
mod recorded_events;
mod records;
mod runs;
mod torn;
mod writer;

pub(crate) use finish::{Ended, RunRecord};
pub(crate) use folder::is_run_id;
pub(crate) use format::Kind;
pub(crate) use journal::Journal;
pub(crate) use playback::{Playback, Step, frame_end, single_frames};
pub use prune::Pruned;
pub use receipt::{
    Check, EventsDigest, Receipt, ReceiptFile, ReceiptProgram, RecordingDigest, StoredReceipt, Verified,
};
pub use recorded_events::{RecordedEvents, UnreadableLine};
pub(crate) use records::{EndRecord, NoteRecord};
pub use records::{LaunchRecord, Streams};
pub use runs::{RecordedRun, RunEntry, RunFilter, RunState, Runs};
pub(crate) use torn::remember_torn_runs;

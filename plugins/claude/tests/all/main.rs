//! The adapter from the outside, natively: single lines, the control protocol, and real output of three versions.

mod control;
mod conversations;
mod lines;
mod transcripts;

use std::path::{Path, PathBuf};
use wharf_adapter::Outcome;
use wharf_adapter::testing;

/// The folders of all transcripts: `tests/transcripts/claude/VERSION/NAME`.
fn transcripts() -> Vec<PathBuf> {
    testing::transcripts(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/claude"))
}

/// The name of an outcome in `expected.json`.
fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed(_) => "failed",
        Outcome::Cancelled => "cancelled",
        Outcome::Refused(_) => "refused",
        Outcome::Blocked(_) => "blocked",
        Outcome::Limit(_) => "limit",
    }
}

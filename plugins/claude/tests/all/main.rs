//! The adapter from the outside, natively: single lines, the control protocol, and real output of three versions.

mod control;
mod conversations;
mod lines;
mod transcripts;

use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::Outcome;

/// The folders of all transcripts: `tests/transcripts/claude/VERSION/NAME`.
fn transcripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/claude");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    };
    folders(&root).iter().flat_map(|version| folders(version)).collect()
}

/// A file of a transcript.
fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{}/{name}: {error}", folder.display()))
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

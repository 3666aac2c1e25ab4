//! The adapter from the outside, natively: real captures of both transports, and conversations with `app-server`.

mod conversations;
mod replay;
mod server;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{events, transcripts};
use wharf_adapter::{Effect, Event, Outcome, Usage};

/// The folders of the captures.
fn captures() -> Vec<PathBuf> {
    transcripts(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/codex"))
}

fn outcomes(effects: &[Effect]) -> Vec<Outcome> {
    let ends = events(effects).into_iter().filter_map(|event| match event {
        Event::TurnEnded(end) => Some(end.outcome.clone()),
        _ => None,
    });
    ends.collect()
}

fn usages(effects: &[Effect]) -> Vec<Usage> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    all.collect()
}

//! The adapter from the outside, natively: single lines, the Agent Client Protocol, real captures of the CLI, and what
//! other documents claim about it.

mod acp;
mod claims;
mod lines;
mod replay;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{binary, events, play, turn};
use wharf_adapter::{Adapter, Effect, Event, LogLevel, Outcome, SessionChoice, Stream, Usage};
use wharf_adapter_copilot::Copilot;

/// The folder of the captures, which has a folder for each version.
fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/copilot")
}

/// An adapter of this version that has built its command line.
fn started(version: &str, session: SessionChoice) -> Copilot {
    let mut turn = turn::<Copilot>("prompt");
    turn.session = session;
    let mut adapter = Copilot::default();
    adapter.build_args(&turn, &binary(version), "").expect("a command line");
    adapter
}

/// The effects of these lines, in a new session of 1.0.102.
fn run<S: AsRef<str>>(lines: &[S]) -> Vec<Effect> {
    let output: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
    play(&mut started("1.0.102", SessionChoice::Fresh(None)), Stream::Stdout, &output, 1)
}

/// A line with an event.
fn event(kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{data},"id":"i","timestamp":"2026-11-15T23:00:00.000Z","parentId":null}}"#)
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

fn notices(effects: &[Effect]) -> Vec<(LogLevel, &str)> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Notice(notice) => Some((notice.level, notice.text.as_str())),
        _ => None,
    });
    all.collect()
}

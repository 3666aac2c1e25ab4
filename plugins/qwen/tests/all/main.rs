//! The adapter from the outside, natively: single lines, the Agent Client Protocol, real captures of two versions, and what
//! other files claim about it.

mod acp;
mod claims;
mod lines;
mod replay;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{binary, events, inline, play, turn};
use wharf_adapter::{Adapter, Effect, Event, Outcome, SessionChoice, Stream, Usage};
use wharf_adapter_qwen::Qwen;

/// The folder of the captures, which has a folder for each version.
fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/qwen")
}

/// The effects of these lines, in a run with this session.
fn run_in<S: AsRef<str>>(session: SessionChoice, lines: &[S]) -> Vec<Effect> {
    let mut turn = turn::<Qwen>("prompt");
    turn.session = session;
    let mut adapter = Qwen::default();
    adapter.build_args(&turn, &binary("0.24.4"), "stream-json").expect("a command line");
    let output: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
    play(&mut adapter, Stream::Stdout, &output, 1)
}

/// The effects of these lines, in a new session.
fn run<S: AsRef<str>>(lines: &[S]) -> Vec<Effect> {
    run_in(SessionChoice::Fresh(None), lines)
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

/// The whole texts of the turn, with the tool call of the sub-agent that wrote each.
fn texts(effects: &[Effect]) -> Vec<(Option<&str>, &str)> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Message(part) | Event::Thinking(part) => Some((part.parent.as_ref().map(inline), inline(&part.text))),
        _ => None,
    });
    all.collect()
}

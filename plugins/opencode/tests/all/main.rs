//! The adapter from the outside, natively: captures of `OpenCode` and Kilo over both transports, and what they do not show.

mod acp;
mod lookup;
mod replay;
mod run;
mod settings;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{binary, events, turn};
use wharf_adapter::{Adapter, Effect, Effects, Event, Input, Outcome, SessionChoice, Turn, Usage};
use wharf_adapter_opencode::OpenCode;

/// The folder of the captures, which has a folder for each version.
fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/opencode")
}

/// A turn in a new session.
fn plain_turn() -> Turn {
    Turn { session: SessionChoice::Fresh(None), ..turn::<OpenCode>("go") }
}

/// An adapter that has built this turn over a transport.
fn built(turn: &Turn, version: &str, transport: &str) -> OpenCode {
    let mut adapter = OpenCode::default();
    adapter.build_args(turn, &binary(version), transport).expect("a command line");
    adapter.build_prompt(turn, &binary(version), transport).expect("a prompt");
    adapter
}

fn handle(adapter: &mut OpenCode, input: Input) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.handle(input, &mut out);
    out.into_vec()
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

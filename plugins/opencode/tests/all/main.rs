//! The adapter from the outside, natively: captures of OpenCode and Kilo over both transports, and what they do not show.

mod acp;
mod lookup;
mod replay;
mod run;
mod settings;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{binary, events, set_option, turn};
use wharf_adapter::{Adapter, Effect, Effects, Event, Input, Outcome, SessionChoice, Turn, Usage};
use wharf_adapter_opencode::OpenCode;

/// The folder of the captures, which has a folder for each version.
fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/opencode")
}

/// A turn over this transport.
fn turn_over(transport: &str) -> Turn {
    let mut turn = turn::<OpenCode>("go");
    turn.session = SessionChoice::Fresh(None);
    set_option(&mut turn, "transport", &format!("\"{transport}\""));
    turn
}

/// An adapter that has built this turn.
fn built(turn: &Turn, version: &str) -> OpenCode {
    let mut adapter = OpenCode::default();
    adapter.build_args(turn, &binary(version)).expect("a command line");
    adapter.build_prompt(turn, &binary(version)).expect("a prompt");
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

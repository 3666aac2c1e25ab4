//! The adapter from the outside, natively: captures of the CLI over both transports, single lines, and the protocol.

mod conversations;
mod lines;
mod replay;

use std::path::{Path, PathBuf};
use wharf_adapter::testing::{binary, play, turn};
use wharf_adapter::{Adapter, Effect, Stream, Turn};
use wharf_adapter_gemini::Gemini;

/// The folder of the captures, which has a folder for each version.
fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/gemini")
}

/// An adapter of 0.61.0 that has built its command line for stream-json.
fn started(change: impl FnOnce(&mut Turn)) -> Gemini {
    let mut turn = turn::<Gemini>("prompt");
    change(&mut turn);
    let mut adapter = Gemini::default();
    adapter.build_args(&turn, &binary("0.61.0"), "stream-json").expect("a command line");
    adapter.build_prompt(&turn, &binary("0.61.0"), "stream-json").expect("a prompt");
    adapter
}

/// The effects of these lines of stream-json.
fn run(adapter: &mut Gemini, lines: &[&str]) -> Vec<Effect> {
    let output: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
    play(adapter, Stream::Stdout, &output, 1)
}

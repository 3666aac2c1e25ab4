//! Real captures of the CLI, replayed: the report must match what a person read in the capture.
//!
//! `expected.json` of each capture was derived from its documented fields by a script that does not know this adapter,
//! and was then reviewed.

use crate::captures;
use std::path::PathBuf;
use wharf_adapter::testing::{FakeHost, Transcript, play, transcript, transcripts};
use wharf_adapter::{Adapter, Effects, ExitStatus, Stream};
use wharf_adapter_copilot::Copilot;

fn scenarios() -> Vec<PathBuf> {
    let mut all = transcripts(captures());
    all.retain(|scenario| scenario.join("expected.json").exists());
    assert!(all.len() > 100, "only {} captures were found", all.len());
    all
}

#[test]
fn every_capture_gives_the_expected_report() {
    let wrong: Vec<String> =
        scenarios().iter().flat_map(|scenario| transcript::<Copilot>(scenario).differences(scenario)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn neither_chunk_boundaries_nor_the_version_change_the_report() {
    for scenario in scenarios() {
        let mut capture = Transcript::at::<Copilot>(&scenario);
        let whole = capture.replay::<Copilot>();
        for lines in [1, 7] {
            capture.lines_per_chunk = lines;
            let split = capture.replay::<Copilot>();
            assert!(split.effects == whole.effects, "{} in chunks of {lines}", scenario.display());
        }
        capture.version = None;
        let unversioned = capture.replay::<Copilot>();
        assert_eq!(unversioned.report, whole.report, "{}", scenario.display());
    }
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in scenarios().iter().step_by(5) {
        let stdout = Transcript::at::<Copilot>(scenario).stdout;
        let mut adapter = Copilot::default();
        for (number, line) in stdout.lines().take(80).enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
            }
            // Known types with wrong contents, and unknown types with known contents.
            for (from, to) in [
                ("\"data\":{", "\"data\":[{"),
                ("\"data\":", "\"dada\":"),
                ("\":\"", "\":7,\"x\":\""),
                ("\"id\"", "\"jsonrpc\""),
            ] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: None, signal: Some(9) }, &mut Effects::default());
    }
}

//! Captures of `run --format json`, replayed: the report must match what the capture's own fields say.
//!
//! `expected.json` was derived from each capture by a script that does not know this adapter, and was then reviewed. Where
//! 1.15.4 exited before it wrote the end of its output, it says what is left.

use crate::captures;
use std::path::PathBuf;
use wharf_adapter::testing::{FakeHost, Transcript, play, transcript, transcripts};
use wharf_adapter::{Adapter, Effects, ExitStatus, Stream};
use wharf_adapter_opencode::OpenCode;

fn scenarios() -> Vec<PathBuf> {
    let mut all = transcripts(captures());
    all.retain(|scenario| scenario.join("expected.json").exists());
    assert!(all.len() > 70, "only {} captures were found", all.len());
    all
}

#[test]
fn every_capture_gives_the_expected_report() {
    let wrong: Vec<String> =
        scenarios().iter().flat_map(|scenario| transcript::<OpenCode>(scenario).differences(scenario)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn chunk_boundaries_do_not_change_the_report() {
    for scenario in scenarios() {
        let mut capture = Transcript::at::<OpenCode>(&scenario);
        let whole = capture.replay::<OpenCode>();
        for lines in [1, 2, 5] {
            capture.lines_per_chunk = lines;
            let split = capture.replay::<OpenCode>();
            assert!(split.effects == whole.effects, "{} in chunks of {lines}", scenario.display());
        }
    }
}

#[test]
fn a_killed_process_never_completes_its_turn() {
    for scenario in scenarios() {
        let mut capture = Transcript::at::<OpenCode>(&scenario);
        capture.exit = ExitStatus { code: None, signal: Some(9) };
        let report = capture.replay::<OpenCode>().report;
        assert_ne!(serde_json::json!(report.outcome), "completed", "{}", scenario.display());
    }
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in scenarios() {
        let capture = Transcript::at::<OpenCode>(&scenario);
        let mut adapter = OpenCode::default();
        for (number, line) in capture.stdout.lines().enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
            }
            for (from, to) in [
                ("\"part\":{", "\"part\":[{"),
                ("\"part\":", "\"prat\":"),
                ("\":\"", "\":7,\"x\":\""),
                ("\"sessionID\"", "\"jsonrpc\""),
                ("\"state\":{", "\"state\":[{"),
            ] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        for line in capture.stderr.lines() {
            let cut = (0..=line.len() / 2).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
            play(&mut adapter, Stream::Stderr, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 1);
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: Some(0), signal: None }, &mut Effects::default());
    }
}

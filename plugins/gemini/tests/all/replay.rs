//! Captures of the CLI, replayed: the report must match what is read in the capture.
//!
//! `expected.json` of each capture was derived from its fields by a script that does not know this adapter, and reviewed.
//! Captures over ACP have a `conversation.txt` instead: see `conversations`.

use crate::captures;
use std::path::PathBuf;
use wharf_adapter::testing::{FakeHost, Transcript, events, play, transcript, transcripts};
use wharf_adapter::{Adapter, Effects, Event, ExitStatus, Outcome, Stream, TurnEnd};
use wharf_adapter_gemini::Gemini;

fn scenarios() -> Vec<PathBuf> {
    let mut all = transcripts(captures());
    all.retain(|scenario| scenario.join("expected.json").exists());
    assert!(all.len() > 60, "only {} captures were found", all.len());
    all
}

#[test]
fn every_capture_gives_the_expected_report() {
    let wrong: Vec<String> =
        scenarios().iter().flat_map(|scenario| transcript::<Gemini>(scenario).differences(scenario)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn neither_chunk_boundaries_nor_the_version_change_the_report() {
    for scenario in transcripts(captures()) {
        let mut capture = Transcript::at::<Gemini>(&scenario);
        let whole = capture.replay::<Gemini>();
        for lines in [1, 7] {
            capture.lines_per_chunk = lines;
            let split = capture.replay::<Gemini>();
            assert!(split.effects == whole.effects, "{} in chunks of {lines}", scenario.display());
        }
        capture.version = None;
        let unversioned = capture.replay::<Gemini>();
        assert_eq!(unversioned.report.outcome, whole.report.outcome, "{}", scenario.display());
        assert_eq!(unversioned.report.answer, whole.report.answer, "{}", scenario.display());
    }
}

/// A recording may have only what the agent wrote: then the end of the history is recognized by what follows it.
#[test]
fn the_history_of_a_loaded_session_is_not_the_answer_even_without_our_requests() {
    for version in ["0.45.2", "0.61.0"] {
        let report = transcript::<Gemini>(&captures().join(version).join("acp_load")).report;
        assert_eq!(report.answer.as_deref(), Some("pong"), "{version}");
        assert!(report.tools.is_empty(), "{version}");
    }
}

/// The first two prompts of the capture failed with these.
#[test]
fn errors_of_the_model_over_acp_are_recognized_even_without_our_requests() {
    for version in ["0.45.2", "0.61.0"] {
        let replayed = transcript::<Gemini>(&captures().join(version).join("acp_errors"));
        let failures: Vec<Option<u16>> = events(&replayed.effects)
            .into_iter()
            .filter_map(|event| match event {
                Event::TurnEnded(TurnEnd { outcome: Outcome::Failed(failure), .. }) => Some(failure.http_status),
                _ => None,
            })
            .collect();
        assert_eq!(failures[..2], [Some(401), Some(400)], "{version}");
    }
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in transcripts(captures()).iter().step_by(3) {
        let stdout = Transcript::at::<Gemini>(scenario).stdout;
        let mut adapter = Gemini::default();
        for (number, line) in stdout.lines().take(80).enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
                play(&mut adapter, Stream::Stderr, &line[cut..], 1);
            }
            for (from, to) in [("\":{", "\":[{"), ("\":\"", "\":7,\"x\":\""), ("\"type\"", "\"jsonrpc\"")] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: None, signal: Some(9) }, &mut Effects::default());
    }
}

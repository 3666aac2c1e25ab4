//! Real captures of `codex exec`, replayed: the report must match what a person read in the capture.
//!
//! `expected.json` of each capture was derived from its lines by a script that does not know this adapter, with the classes
//! of errors from the scenarios that caused them. `resume` and `fork` are the sessions that the turn named.

use crate::{captures, outcomes};
use serde_json::json;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{FakeHost, Transcript, play, read};
use wharf_adapter::{Adapter, Effects, ErrorClass, ExitStatus, Outcome, SessionChoice, Stream};
use wharf_adapter_codex::Codex;

fn scenarios() -> Vec<PathBuf> {
    let mut all = captures();
    all.retain(|scenario| scenario.join("expected.json").exists());
    assert!(all.len() > 40, "only {} captures were found", all.len());
    all
}

/// The capture, with the session of its turn.
fn capture(scenario: &Path) -> Transcript {
    let mut capture = Transcript::at::<Codex>(scenario);
    "exec".clone_into(&mut capture.transport);
    let expected: serde_json::Value = serde_json::from_str(&read(scenario, "expected.json")).expect("JSON");
    let session = |key: &str| expected[key].as_str().map(str::to_owned);
    if let Some(session) = session("resume").map(SessionChoice::Resume).or(session("fork").map(SessionChoice::Fork)) {
        capture.turn.session = session;
    }
    capture
}

#[test]
fn every_capture_gives_the_expected_report() {
    let differences = |scenario: &PathBuf| capture(scenario).replay::<Codex>().differences(scenario);
    let wrong: Vec<String> = scenarios().iter().flat_map(differences).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn neither_chunk_boundaries_nor_the_version_change_the_report() {
    for scenario in scenarios() {
        let mut capture = capture(&scenario);
        let whole = capture.replay::<Codex>();
        for lines in [1, 2, 7] {
            capture.lines_per_chunk = lines;
            let split = capture.replay::<Codex>();
            assert!(split.effects == whole.effects, "{} in chunks of {lines}", scenario.display());
        }
        // Whether a fork can be one depends on the version.
        if !matches!(capture.turn.session, SessionChoice::Fork(_)) {
            capture.version = None;
            assert_eq!(capture.replay::<Codex>().report, whole.report, "{}", scenario.display());
        }
    }
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in scenarios().iter().step_by(3) {
        let stdout = Transcript::at::<Codex>(scenario).stdout;
        let mut adapter = Codex::default();
        for (number, line) in stdout.lines().take(80).enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
            }
            // Known types with wrong contents, and unknown types with known contents.
            for (from, to) in [
                ("\"item\":{", "\"item\":[{"),
                ("\"item\":", "\"iten\":"),
                ("\":\"", "\":7,\"x\":\""),
                ("\"type\"", "\"method\""),
                ("\"type\":\"item.", "\"type\":\"thing."),
            ] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: None, signal: Some(9) }, &mut Effects::default());
    }
}

/// What a provider answers may not say that it is about the model: only the model's name is in it.
#[test]
fn a_failure_that_names_a_model_which_codex_does_not_know_is_about_the_model() {
    let warning = "Model metadata for `no-such-model` not found. Defaulting to fallback metadata.";
    for (message, is_about_model) in [("model: no-such-model", true), ("something else", false)] {
        let lines = [
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": warning}}),
            json!({"type": "turn.failed", "error": {"message": message}}),
        ];
        let output = lines.map(|line| line.to_string()).join("\n");
        let effects = play(&mut Codex::default(), Stream::Stdout, &output, 1);
        let ends = outcomes(&effects);
        let [Outcome::Failed(failure)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!(failure.class == ErrorClass::UnknownModel, is_about_model, "{message}");
    }
}

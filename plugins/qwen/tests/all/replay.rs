//! Real captures of two versions, replayed: the report must match what a person reads in the capture.
//!
//! `expected.json` of each capture was derived from its documented fields by a script that does not know this adapter, and
//! was then reviewed.

use crate::captures;
use std::path::PathBuf;
use wharf_adapter::testing::{self, FakeHost, Transcript, play, transcript, transcripts};
use wharf_adapter::{Adapter, Effects, Event, ExitStatus, Stream, ToolStatus};
use wharf_adapter_qwen::Qwen;

fn scenarios() -> Vec<PathBuf> {
    let mut all = transcripts(captures());
    all.retain(|scenario| scenario.join("expected.json").exists());
    assert!(all.len() > 50, "only {} captures were found", all.len());
    all
}

#[test]
fn every_capture_gives_the_expected_report() {
    let wrong: Vec<String> =
        scenarios().iter().flat_map(|scenario| transcript::<Qwen>(scenario).differences(scenario)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_structured_answer_is_reported_as_json() {
    let mut found = 0;
    for scenario in scenarios() {
        let expected: serde_json::Value =
            serde_json::from_str(&testing::read(&scenario, "expected.json")).expect("JSON");
        if let Some(structured) = expected.get("structured") {
            found += 1;
            assert_eq!(transcript::<Qwen>(&scenario).report.structured_output.as_ref(), Some(structured));
        }
    }
    assert_eq!(found, 2, "one of each version");
}

#[test]
fn neither_chunk_boundaries_nor_the_version_change_the_report() {
    for scenario in scenarios() {
        let mut capture = Transcript::at::<Qwen>(&scenario);
        let whole = capture.replay::<Qwen>();
        for lines in [1, 2, 7] {
            capture.lines_per_chunk = lines;
            let split = capture.replay::<Qwen>();
            assert!(split.effects == whole.effects, "{} in chunks of {lines}", scenario.display());
        }
        capture.version = None;
        let unversioned = capture.replay::<Qwen>();
        assert_eq!(unversioned.report, whole.report, "{}", scenario.display());
    }
}

/// The result of the tool says it, and the result of the turn once more.
#[test]
fn a_denied_tool_is_reported_once() {
    let mut found = 0;
    for scenario in scenarios() {
        let effects = transcript::<Qwen>(&scenario).effects;
        let is_denied = |event: &&&Event| matches!(event, Event::Tool(call) if call.status == ToolStatus::Denied);
        let denied = testing::events(&effects).iter().filter(is_denied).count();
        assert!(denied <= 1, "{}", scenario.display());
        found += denied;
    }
    assert_eq!(found, 2, "one of each version");
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in scenarios() {
        let stdout = Transcript::at::<Qwen>(&scenario).stdout;
        let mut adapter = Qwen::default();
        for (number, line) in stdout.lines().take(60).enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
            }
            // Known types with wrong contents, and unknown types with known contents.
            for (from, to) in [
                ("\"message\":{", "\"message\":[{"),
                ("\"event\":", "\"evening\":"),
                ("\":\"", "\":7,\"x\":\""),
                ("\"uuid\"", "\"jsonrpc\""),
            ] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: None, signal: Some(9) }, &mut Effects::default());
    }
}

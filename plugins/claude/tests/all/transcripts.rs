//! Real output of three versions, replayed: the events must match what a person reads in it, in chunks of any size.
//!
//! Each folder in `tests/transcripts/claude` has the output and the exit status of a run of Claude Code, and its meaning
//! in `expected.json`, which was derived from the output and not by the adapter.

use crate::transcripts;
use wharf_adapter::testing::{self, Transcript, transcript};
use wharf_adapter::{Effect, Event, ToolStatus};
use wharf_adapter_claude::Claude;

#[test]
fn every_transcript_gives_the_expected_report() {
    let transcripts = transcripts();
    assert!(transcripts.len() > 100, "only {} transcripts were found", transcripts.len());
    let wrong: Vec<String> =
        transcripts.iter().flat_map(|folder| transcript::<Claude>(folder).differences(folder)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// 2.1.325 says it three times: in a line, in the tool's result, and in the result of the turn. Older versions do not
/// always say it before the end.
#[test]
fn a_denied_tool_is_reported_once() {
    for folder in transcripts() {
        let effects = transcript::<Claude>(&folder).effects;
        let ended = testing::events(&effects).into_iter().filter_map(|event| match event {
            Event::Tool(call) if call.status == ToolStatus::Denied => Some(testing::inline(&call.id)),
            _ => None,
        });
        let mut ids: Vec<&str> = ended.collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}", folder.display());
        let failed_first = |event: &&&Event| matches!(event, Event::Tool(call) if call.status == ToolStatus::Failed && ids.contains(&testing::inline(&call.id)));
        let explained = folder.ends_with("bd_can_use_tool") || folder.ends_with("bd_hooks");
        let failed = testing::events(&effects).iter().filter(failed_first).count();
        assert!(failed == 0 || explained, "{}: the host's answers are not in this replay", folder.display());
    }
}

#[test]
fn chunk_boundaries_do_not_matter() {
    for folder in transcripts() {
        let mut recorded = Transcript::at::<Claude>(&folder);
        let whole = recorded.replay::<Claude>().effects;
        for lines in [1, 7] {
            recorded.lines_per_chunk = lines;
            let split = recorded.replay::<Claude>().effects;
            assert!(split == whole, "{} in chunks of {lines} lines", folder.display());
        }
    }
}

/// A killed process leaves half a line, and a later version may print anything.
#[test]
fn broken_lines_are_malformed_and_never_panic() {
    for folder in transcripts() {
        let recorded = Transcript { stderr: String::new(), ..Transcript::at::<Claude>(&folder) };
        for line in recorded.stdout.split_inclusive('\n').filter(|line| line.starts_with('{')) {
            for part in [2, 3, 5] {
                let mut cut = line.len() - line.len() / part;
                while !line.is_char_boundary(cut) {
                    cut -= 1;
                }
                let effects_of = |stdout: String| Transcript { stdout, ..recorded.clone() }.replay::<Claude>().effects;
                let effects = effects_of(line[..cut].to_owned());
                let is_malformed = matches!(effects.as_slice(), [Effect::Emit(Event::Malformed(_))]);
                assert!(is_malformed, "{}: {effects:?}", folder.display());
                // Values of other types than expected.
                effects_of(line.replacen(":{", ":[{", part).replacen(":\"", ":7,\"x\":\"", part));
            }
        }
    }
}

//! What the adapter makes of conversations with real agents. `expected.json` was read from them by a script that does not
//! know the adapter, and was then reviewed. Texts of vendors, long lists and names of machines are cut out.

use crate::replay::{conversation, replay, summary};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use wharf_adapter::testing::transcripts;

fn scenarios() -> Vec<PathBuf> {
    let all = transcripts(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/transcripts/acp"));
    assert!(all.len() >= 40, "only {} conversations were found", all.len());
    all
}

fn expected(scenario: &std::path::Path) -> Value {
    let text = fs::read_to_string(scenario.join("expected.json")).expect("expected.json");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_turn_of_every_agent_is_reported_as_it_was() {
    let mut wrong = vec![];
    for scenario in scenarios() {
        let (replayed, expected) = (replay(&conversation(&scenario), 1), expected(&scenario));
        let turns = expected["turns"].as_array().expect("turns");
        let name = scenario.display();
        if replayed.turns.len() != turns.len() {
            wrong.push(format!("{name}: {} turns instead of {}", replayed.turns.len(), turns.len()));
        }
        let session = summary(&replayed.turns[0])["session"].clone();
        if session != expected["session"] {
            wrong.push(format!("{name}: session {session} instead of {}", expected["session"]));
        }
        for (number, (effects, turn)) in replayed.turns.iter().zip(turns).enumerate() {
            let found = summary(effects);
            for (what, value) in turn.as_object().expect("an object").iter().filter(|(what, _)| *what != "prompt") {
                if found[what] != *value {
                    wrong.push(format!("{name}: turn {number}: {what}: {} instead of {value}", found[what]));
                }
            }
            if found["unknown"] != serde_json::json!([]) {
                wrong.push(format!("{name}: turn {number}: {}", found["unknown"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn chunk_boundaries_change_nothing() {
    for scenario in scenarios() {
        let messages = conversation(&scenario);
        let whole: Vec<Value> = replay(&messages, usize::MAX).turns.iter().map(|turn| summary(turn)).collect();
        for lines in [1, 3] {
            let split: Vec<Value> = replay(&messages, lines).turns.iter().map(|turn| summary(turn)).collect();
            assert_eq!(split, whole, "{} in chunks of {lines}", scenario.display());
        }
    }
}

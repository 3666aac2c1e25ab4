//! The events as a program reads them: what the first one says, their numbers and times, and what a replay gives.

use crate::sandbox;
use serde_json::{Value, json};
use std::fs;
use wharf_test_support::{DONE, Finished, HELLO, SAY, Script, fake_agent, without_times};

/// Numbers without gaps, times that never decrease, `seq` and `at` first on each line.
#[track_caller]
fn check_order(lines: &str) {
    let mut last = 0;
    for (line, seq) in lines.lines().zip(1_u64..) {
        assert!(line.starts_with(&format!("{{\"seq\":{seq},\"at\":")), "{line}");
        let event: Value = serde_json::from_str(line).unwrap();
        let at = event["at"].as_u64().expect("milliseconds");
        assert!(at >= last, "{at} after {last}: {line}");
        last = at;
    }
}

#[test]
fn the_first_event_says_what_was_started() {
    let sandbox = sandbox();
    let more =
        ["--label", "task=42", "--label", "team=blue", "--model", "echo-loud", "--effort", "low", "--max-turns", "3"];
    let run = sandbox.run(&Script::normal(), &more);
    let started = &run.events()[0];
    assert_eq!((&started["type"], &started["seq"]), (&json!("run-started"), &json!(1)), "{started}");
    assert_eq!(started["run"], run.run_id());
    assert_eq!(started["prompt"], "go");
    assert_eq!(started["workspace"], json!(fs::canonicalize(sandbox.path("workspace")).unwrap()));
    assert_eq!(started["labels"], json!({ "task": "42", "team": "blue" }));
    assert_eq!(started["adapter"]["id"], "echo");
    for (field, length) in [("version", None), ("sha256", Some(64))] {
        let text = started["adapter"][field].as_str().unwrap_or_default();
        assert!(!text.is_empty() && length.is_none_or(|length| text.len() == length), "{field}: {started}");
    }
    assert_eq!(started["agent"], json!({ "program": fake_agent(), "version": "1.0.0", "transport": "lines" }));
    let settings = &started["settings"];
    assert_eq!((&settings["model"], &settings["max_turns"]), (&json!("echo-loud"), &json!(3)), "{settings}");
    assert!(settings["options"]["script"].is_string(), "{settings}");
    assert!(settings.get("prompt").is_none() && settings.get("fallback_model").is_none(), "{settings}");
    let unsupported: Vec<_> = started["unsupported"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(unsupported.contains(&&json!("effort")), "{unsupported:?}");
    assert!(started["unsupported"].as_array().unwrap().iter().all(|one| one["reason"].is_string()), "{started}");
    assert_eq!(started["unsupported"], run.report()["unsupported"]);
    assert!(started["started"].as_str().is_some_and(|time| time.ends_with('Z')), "{started}");
    assert_eq!(run.of_type("run-started").count(), 1);
}

#[test]
fn events_are_numbered_without_gaps_and_the_file_has_the_lines_that_were_printed() {
    let sandbox = sandbox();
    let delta = "repeat 500 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\\n";
    let script = Script::new().line(HELLO).step(delta).step("sleep 20").line(SAY).line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &[]));
    run.expect(0, "completed");
    assert!(run.events().len() > 500);
    check_order(&run.stdout);
    let file = sandbox.path("data/runs").join(run.run_id()).join("events.jsonl");
    assert_eq!(fs::read_to_string(file).unwrap(), run.stdout);
    assert_eq!(sandbox.text(&["show", run.run_id(), "--json"]), run.stdout);
    assert!(run.report()["at"].as_u64().unwrap() >= 20, "{}", run.report());
}

#[test]
fn events_of_an_unrecorded_run_are_numbered_too() {
    let run = Finished::of(&mut sandbox().run_command(&Script::normal(), &["--no-record"]));
    run.expect(0, "completed");
    assert_eq!(run.events()[0]["type"], "run-started");
    check_order(&run.stdout);
}

#[test]
fn a_tool_that_ended_has_a_duration_and_one_that_did_not_has_none() {
    let tool = |id: &str, status: &str| format!(r#"{{"type":"tool","id":"{id}","name":"shell","status":"{status}"}}"#);
    let script = Script::new()
        .line(HELLO)
        .line(&tool("slow", "running"))
        .line(&tool("open", "running"))
        .step("sleep 60")
        .line(&tool("slow", "succeeded"))
        .line(DONE);
    let run = sandbox().run(&script, &[]);
    run.expect(0, "completed");
    let ended: Vec<_> = run.of_type("tool").filter(|event| event["status"] == "succeeded").collect();
    assert_eq!(ended.len(), 1, "{:?}", run.events());
    let started = run.of_type("tool").find(|event| event["id"] == "slow").expect("it started");
    let between = ended[0]["at"].as_u64().zip(started["at"].as_u64()).map(|(end, start)| end - start);
    let duration = ended[0]["duration_ms"].as_u64();
    // Each of the times is in whole milliseconds.
    let apart = duration.zip(between).map(|(duration, between)| duration.abs_diff(between));
    assert!(apart.is_some_and(|apart| apart <= 1), "{started} {}", ended[0]);
    assert!(
        run.of_type("tool").filter(|event| event["status"] == "running").all(|event| event["duration_ms"].is_null())
    );
    let tools = run.report()["tools"].as_array().unwrap();
    assert_eq!(tools[0]["duration_ms"], ended[0]["duration_ms"]);
    assert_eq!((&tools[1]["id"], &tools[1]["duration_ms"]), (&json!("open"), &Value::Null));
}

#[test]
fn a_replay_gives_the_same_events_except_for_their_times() {
    let sandbox = sandbox();
    let tool = |status: &str| format!(r#"{{"type":"tool","id":"t","name":"shell","status":"{status}","input":{{}}}}"#);
    let script = Script::new()
        .line(HELLO)
        .line(&tool("running"))
        .step("sleep 30")
        .line(&tool("failed"))
        .line("not JSON")
        .line(SAY)
        .line(r#"{"type":"usage","input":3,"output":5}"#)
        .line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &["--label", "task=42"]));
    run.expect(0, "completed");
    for more in [&[][..], &["--chunk", "1"], &["--chunk", "7"]] {
        let replayed = sandbox.call([&["replay", run.run_id(), "--json"], more].concat());
        assert_eq!(without_times(&replayed.stdout), without_times(&run.stdout), "{more:?}");
        check_order(&replayed.stdout);
    }
}

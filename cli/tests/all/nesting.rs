//! JSON of an agent that means something to a parser, or is nested without end.

use crate::sandbox;
use serde_json::{Value, json};
use wharf_test_support::{DONE, Finished, HELLO, Script};

const RAW: &str = "$serde_json::private::RawValue";

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// JSON in the magic key, as often as it fits.
fn raw_bomb(times: usize) -> String {
    (0..times).fold(nested(120), |inner, _| json!({ RAW: inner }).to_string())
}

#[test]
fn every_event_can_be_read_again_and_the_text_of_the_agent_is_not_changed() {
    let inputs = [
        json!({ RAW: "[1,2]" }).to_string(),
        json!({ RAW: "{" }).to_string(),
        json!({ "$serde_json::private::Number": "1" }).to_string(),
        raw_bomb(8),
        nested(100),
        nested(101),
        nested(124),
        nested(127),
        nested(5000),
        "[".repeat(1 << 20) + "1" + &"]".repeat(1 << 20),
    ];
    let sandbox = sandbox();
    let mut script = Script::new().line(HELLO);
    for (number, input) in inputs.iter().enumerate() {
        let id = number.to_string();
        script = script.stdout(format!(
            "{{\"type\":\"tool\",\"id\":\"{id}\",\"name\":\"n{id}\",\"status\":\"running\",\"input\":{input}}}\n"
        ));
    }
    let run = sandbox.run(&script.line(DONE), &[]);
    run.expect(0, "completed");
    // `events` parses every line with serde_json.
    let tools: Vec<&Value> = run.of_type("tool").collect();
    for (number, input) in inputs.iter().enumerate() {
        let Some(tool) = tools.iter().find(|tool| tool["id"] == json!(number.to_string())) else {
            assert!(input.starts_with("[["), "only what is nested too deeply may be drift: {number}");
            continue;
        };
        let found = tool["input"].as_str().map_or_else(|| tool["input"].to_string(), str::to_owned);
        assert!(found == *input, "{number} was changed");
    }
    assert!(tools.len() >= 6, "{}", tools.len());
    assert_eq!(sandbox.call(["show", "last", "--json"]).success().stdout, run.stdout);
    let shown = sandbox.call(["show", "last"]).success();
    let shown = shown.stdout + &shown.stderr;
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        assert!(shown.contains(name), "{name} is missing in {} bytes", shown.len());
    }
    let diff = sandbox.call(["replay", "last", "--diff"]);
    assert_eq!(diff.code, Some(0), "{} {}", diff.stdout.len(), diff.stderr);
}

#[test]
fn a_schema_that_could_not_be_read_again_is_refused() {
    let sandbox = sandbox();
    let file = sandbox.write("schema.json", format!("{{\"a\":{}}}", nested(105)));
    let more = ["--output-schema", file.to_str().expect("UTF-8")];
    let run = Finished::of(&mut sandbox.run_command(&Script::normal(), &more));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("nested too deeply"), "{run:?}");
}

//! `wharf usage`: what the runs have used, by day, adapter, model and label.

use crate::sandbox;
use serde_json::json;
use wharf_test_support::{DONE, HELLO, LiveRun, SAY, Script};

const USAGE: &str = r#"{"type":"usage","input":100,"output":10}"#;

#[test]
fn usage_is_added_up_and_survives_the_recordings() {
    let sandbox = sandbox();
    let used = Script::new().line(HELLO).line(USAGE).line(SAY).line(DONE);
    for (script, task) in [(&used, "task=1"), (&used, "task=2"), (&Script::normal(), "task=2")] {
        sandbox.run(script, &["--label", task]).expect(0, "completed");
    }
    sandbox.text(&["runs", "rm", "last"]);
    let by_task = sandbox.json(&["usage", "--json", "--by", "label:task"]);
    let figures = |index: usize| {
        let group = &by_task[index];
        json!([
            group["group"]["label:task"],
            group["runs"],
            group["unknown_tokens"],
            group["unknown_cost"],
            group["usage"]["output"]
        ])
    };
    assert_eq!((figures(0), figures(1)), (json!(["1", 1, 0, 1, 10]), json!(["2", 2, 1, 2, 10])), "{by_task}");

    // Prices that are set later count for what was used before.
    sandbox.write("config.toml", "[prices.\"echo*\"]\ninput = 3\noutput = 15\n");
    let all = sandbox.json(&["usage", "--json", "--by", "adapter", "--since", "1h"]);
    assert_eq!((&all[0]["runs"], &all[0]["unknown_cost"]), (&json!(3), &json!(1)), "{all}");
    assert_eq!((&all[0]["usage"]["cost"]["micros"], &all[0]["usage"]["cost_source"]), (&json!(900), &json!("prices")));
    let text = sandbox.text(&["usage", "--by", "adapter,model", "--label", "task=1"]);
    assert!(text.starts_with("echo ") && text.contains("1 run · 100 in, 10 out tokens · about $0.0005"), "{text}");
    assert!(sandbox.json(&["usage", "--json", "--since", "2099-01-01"]).as_array().unwrap().is_empty());
}

#[test]
fn a_report_has_an_estimated_cost_if_the_model_has_a_price() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "[prices.\"echo*\"]\ninput = 3\noutput = 15\n");
    let run = sandbox.run(&Script::new().line(HELLO).line(USAGE).line(SAY).line(DONE), &[]);
    let usage = &run.report()["usage"];
    assert_eq!((&usage["cost"]["micros"], &usage["cost_source"]), (&json!(450), &json!("prices")), "{usage}");
}

#[test]
fn a_killed_wharf_has_its_usage_counted() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).line(USAGE).line(SAY).step("silence");
    let mut live = LiveRun::start(&mut sandbox.run_command(&script, &["--label", "task=1"]));
    live.read_until("message");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let usage = sandbox.json(&["usage", "--json", "--label", "task=1"]);
    assert_eq!((&usage[0]["runs"], &usage[0]["usage"]["input"]), (&json!(1), &json!(100)), "{usage}");
    let runs = sandbox.json(&["runs", "--json", "--label", "task=1"]);
    assert_eq!((&runs[0]["state"], &runs[0]["session"]), (&json!("torn"), &json!("s-1")), "{runs}");
}

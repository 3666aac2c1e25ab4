//! `[models]`: a shorthand becomes the agent's own name, and what may be another agent's is said.

use crate::sandbox;
use serde_json::{Value, json};
use wharf_test_support::{Finished, LiveRun, Sandbox};

const MODELS: &str = "[models]\nfast = { echo = \"echo-loud\", claude = \"haiku\" }\nbest = { claude = \"opus\" }\n";

fn with_models(more: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("config.toml", format!("{more}{MODELS}"));
    sandbox
}

fn notices(run: &Finished) -> Vec<String> {
    run.of_type("notice").filter_map(|event| event["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_shorthand_is_the_agents_own_name_in_the_run() {
    let sandbox = with_models("");
    let run = sandbox.call(["run", "--json", "-a", "echo", "--model", "fast", "hello"]);
    run.expect(0, "completed");
    assert_eq!(run.events()[0]["settings"]["model"], "echo-loud");
    assert_eq!(run.report()["answer"], "YOU SAID: HELLO");
    assert_eq!(notices(&run), Vec::<String>::new());
    sandbox.expect_replay(run.run_id());
    // The project may choose a shorthand, which only the user defines.
    sandbox.write("workspace/.wharf.toml", "model = \"fast\"\n");
    let run = sandbox.call(["run", "--json", "-a", "echo", "hello"]);
    assert_eq!(run.events()[0]["settings"]["model"], "echo-loud");
}

#[test]
fn a_name_that_is_doubtful_is_said_in_the_run_and_before_it() {
    let sandbox = with_models("");
    for (model, words) in [
        ("best", "the shorthand `best` in `[models]` has no entry for echo"),
        ("haiku", "the model haiku is claude's name for `fast` in `[models]`: echo may not know it"),
    ] {
        let run = sandbox.call(["run", "--json", "-a", "echo", "--model", model, "hello"]);
        run.expect(0, "completed");
        assert_eq!(run.events()[0]["settings"]["model"], model);
        assert!(notices(&run).iter().any(|text| text.contains(words)), "{:?}", notices(&run));
        sandbox.expect_replay(run.run_id());
        let args = ["explain", "--json", "-a", "echo", "--model", model, "hello"];
        let explained = sandbox.json(&args);
        assert!(explained["notices"][0].as_str().is_some_and(|text| text.contains(words)), "{explained}");
        let shown = sandbox.text(&["explain", "-a", "echo", "--model", model, "hello"]);
        assert!(shown.contains("notice") && shown.contains(words), "{shown}");
    }
    assert_eq!(sandbox.json(&["explain", "--json", "-a", "echo", "-m", "fast", "x"])["notices"], json!([]));
}

#[test]
fn the_fallback_model_and_the_next_turns_model_are_shorthands_too() {
    let sandbox = with_models("");
    let run = sandbox.call(["run", "--json", "-a", "echo", "--fallback-model", "fast", "hello"]);
    assert_eq!(run.events()[0]["settings"]["fallback_model"], "echo-loud");

    let args = ["run", "--json", "--control", "--keep-alive", "--approve", "--adapter", "echo", "one two"];
    let mut live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
    live.read_until("turn-ended");
    live.write_line(r#"{"type":"next-turn","prompt":"three","model":"fast"}"#);
    live.read_until("turn-ended");
    live.write_line(r#"{"type":"next-turn","prompt":"four","model":"best"}"#);
    live.read_until("turn-ended");
    live.close_stdin();
    let run = live.finish();
    run.expect(0, "completed");
    let answers: Vec<&Value> = run.of_type("message").map(|event| &event["text"]).collect();
    assert!(answers.contains(&&json!("YOU SAID: THREE")), "{answers:?}");
    assert!(notices(&run).iter().any(|text| text.contains("`best`")), "{:?}", notices(&run));
    sandbox.expect_replay(run.run_id());
}

#[test]
fn the_doctor_says_that_the_configured_model_is_not_of_this_agent() {
    let sandbox = with_models("model = \"best\"\n");
    let found = sandbox.json(&["doctor", "echo", "--json"]);
    assert!(found[0]["model"].as_str().is_some_and(|text| text.contains("no entry for echo")), "{found}");
    assert!(sandbox.text(&["doctor", "echo"]).contains("no entry for echo"));
    let sandbox = with_models("model = \"fast\"\n");
    assert_eq!(sandbox.json(&["doctor", "echo", "--json"])[0]["model"], Value::Null);
}

#[test]
fn the_models_are_listed_with_the_shorthands() {
    let sandbox = with_models("");
    let listed = sandbox.json(&["models", "echo", "--json"]);
    assert_eq!(listed["shorthands"], json!({ "fast": "echo-loud" }));
    assert_eq!(listed["state"], "models");
    let text = sandbox.text(&["models", "echo"]);
    assert!(text.lines().any(|line| line.contains("fast") && line.contains("echo-loud (shorthand)")), "{text}");
}

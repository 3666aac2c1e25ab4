//! `wharf schema`: every schema is one, everything that is printed is valid by its schema, and so are the documents.

use crate::sandbox;
use serde_json::{Value, json};
use std::path::Path;
use wharf_test_support::Sandbox;

/// A schema, ready to check values.
struct Schema {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
    name: &'static str,
}

impl Schema {
    fn of(sandbox: &Sandbox, name: &'static str) -> Schema {
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("schema.json", sandbox.call(["schema", name]).success().json()).expect("JSON");
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("schema.json", &mut schemas).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        Schema { schemas, index, name }
    }

    #[track_caller]
    fn accepts(&self, value: &Value) {
        let checked = self.schemas.validate(value, self.index);
        checked.unwrap_or_else(|error| panic!("{}: {value:#}\n{error:#}", self.name));
    }

    #[track_caller]
    fn refuses(&self, value: &Value) {
        assert!(self.schemas.validate(value, self.index).is_err(), "{}: {value}", self.name);
    }
}

#[test]
fn every_schema_that_is_listed_is_valid_and_has_its_own_title() {
    let sandbox = sandbox();
    let list = sandbox.text(&["schema", "--list"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 16, "{names:?}");
    let mut titles = Vec::new();
    for name in names {
        let schema: Value = sandbox.call(["schema", name]).success().json();
        let title = schema["title"].as_str().unwrap_or_default().to_owned();
        assert!(title.starts_with("Wharf") && !titles.contains(&title), "{name}: {title}");
        assert!(schema["$id"].as_str().is_some_and(|id| id.contains(name)), "{name}");
        titles.push(title);
    }
    assert_eq!(sandbox.text(&["schema"]), sandbox.text(&["schema", "event"]), "events are the default");
    let refused = sandbox.call(["schema", "no-such-schema"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("no-such-schema") && refused.stderr.contains("project-config"), "{refused:?}");
}

#[test]
fn everything_that_a_command_prints_as_json_is_valid_by_its_schema() {
    let sandbox = sandbox();
    let run = sandbox.call(["run", "-a", "echo", "--json", "--label", "task=42", "--max-cost", "1.5", "hello"]);
    let events = Schema::of(&sandbox, "event");
    run.events().iter().for_each(|event| events.accepts(event));
    assert_eq!(run.events()[0]["settings"]["max_cost"], json!({ "micros": 1_500_000, "currency": "USD" }));
    Schema::of(&sandbox, "labels").accepts(&run.events()[0]["labels"]);
    let id = run.run_id();
    let installed = r#"{"registry":"npm","package":"p","program":"p","installed":"2026-11-18T00:00:00Z"}"#;
    std::fs::create_dir_all(sandbox.path("data/agents/gemini/0.61.0")).unwrap();
    sandbox.write("data/agents/gemini/0.61.0/wharf.json", installed);
    for (name, args) in [
        ("runs", &["runs", "--json"][..]),
        ("usage", &["usage", "--json", "--by", "day,model,label:task"]),
        ("sessions", &["sessions", "--json"]),
        ("session", &["sessions", "last", "--json"]),
        ("adapters", &["adapters", "--json"]),
        ("adapter", &["adapters", "show", "claude", "--json"]),
        ("adapter", &["adapters", "show", "copilot", "--json"]),
        ("adapter", &["adapters", "show", "echo", "--json"]),
        ("agents", &["agent", "list", "--json"]),
        ("agent", &["agent", "install", "gemini@0.61.0", "--json"]),
        ("available-agents", &["agent", "list", "--available", "--json"]),
        ("models", &["models", "echo", "--json"]),
        ("explain", &["explain", "-a", "echo", "--json", "hello"]),
        ("explain", &["explain", "-a", "claude", "--json", "hello"]),
        ("doctor", &["doctor", "--json"]),
        ("receipt", &["receipt", id]),
        ("receipt", &["receipt", id, "--json"]),
        ("verification", &["receipt", id, "--verify", "--json"]),
    ] {
        let printed = sandbox.call(args);
        let value: Value = serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {printed:?}"));
        let schema = Schema::of(&sandbox, name);
        schema.accepts(&value);
        schema.refuses(&json!({ "no": "such thing" }));
    }
}

#[test]
fn a_run_without_a_receipt_has_the_fields_of_one_that_ended() {
    let sandbox = sandbox();
    let run = sandbox.call(["run", "-a", "echo", "--json", "hello"]);
    let keys = |listed: &serde_json::Value| listed[0].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let ended = sandbox.json(&["runs", "--json"]);
    assert_eq!((&ended[0]["state"], &ended[0]["outcome"]), (&json!("ended"), &json!("completed")), "{ended}");
    let folder = sandbox.path("data/runs").join(run.run_id());
    std::fs::remove_file(folder.join("receipt.json")).unwrap();
    std::fs::remove_file(folder.join("events.jsonl")).unwrap();
    let listed = sandbox.json(&["runs", "--json"]);
    assert_eq!((&listed[0]["state"], &listed[0]["outcome"]), (&json!("torn"), &json!(null)), "{listed}");
    assert_eq!(keys(&listed), keys(&ended));
    Schema::of(&sandbox, "runs").accepts(&listed);
    std::fs::write(folder.join("receipt.json"), "{").unwrap();
    let listed = sandbox.json(&["runs", "--json"]);
    assert_eq!(listed[0]["state"], "unreadable", "{listed}");
    Schema::of(&sandbox, "runs").accepts(&listed);
}

#[test]
fn the_schema_of_controls_accepts_what_wharf_understands() {
    let control = Schema::of(&sandbox(), "control");
    for line in [
        json!({ "type": "message", "text": "faster" }),
        json!({ "type": "answer", "ask": "1", "decision": "allow", "input": { "n": 1 }, "name": "anna" }),
        json!({ "type": "answer", "ask": "1", "decision": { "choice": "c2" } }),
        json!({ "type": "answer", "number": 1, "decision": "allow" }),
        json!({ "type": "next-turn", "prompt": "and now", "approvals": "ask" }),
        json!({ "type": "cancel" }),
    ] {
        control.accepts(&line);
    }
    for line in [
        json!({ "type": "answer", "ask": "1", "decision": "yes" }),
        json!({ "type": "answer", "number": "1", "decision": "allow" }),
        json!({ "type": "answer", "number": 1 }),
        json!({ "type": "shout", "text": "x" }),
        json!({}),
    ] {
        control.refuses(&line);
    }
}

/// A document of the repository.
fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_examples_in_the_document_about_the_configuration_are_valid_by_the_schemas() {
    let sandbox = sandbox();
    let text = document("configuration.md");
    let blocks = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let (rules, config): (Vec<&str>, Vec<&str>) = blocks.partition(|block| block.contains("[[rule]]"));
    assert!(!rules.is_empty() && !config.is_empty());
    for (name, blocks) in [("rules", rules), ("config", config)] {
        let schema = Schema::of(&sandbox, name);
        for block in blocks {
            schema.accepts(&toml::from_str(block).expect("TOML"));
        }
        schema.refuses(&json!({ "no-such-key": 1 }));
    }
    let project = Schema::of(&sandbox, "project-config");
    project.accepts(&json!({ "adapter": "claude", "model": "sonnet", "effort": "high" }));
    project.refuses(&json!({ "approvals": "allow-all" }));
}

/// Every event and every type of a field has a section in docs/events.md, with a row for each field and no other.
#[test]
fn the_page_about_events_names_every_field_of_the_schema_and_no_other() {
    let schema: Value = sandbox().call(["schema"]).success().json();
    let text = document("events.md");
    let mut wrong = Vec::new();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        let Some(properties) = definition["properties"].as_object() else {
            let words = definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            wrong.extend(
                words.filter(|word| !text.contains(&format!("`{word}`"))).map(|word| format!("{name}: {word}")),
            );
            continue;
        };
        let constant = ["type", "kind"].iter().find_map(|field| properties.get(*field)?["const"].as_str());
        let shared = |field: &&String| !matches!(field.as_str(), "seq" | "at" | "type");
        let heading = match constant {
            Some(kind) if name.ends_with("Event") => format!("### `{kind}`\n"),
            // The kinds of retries are one table.
            Some(kind) => {
                wrong.extend((!text.contains(&format!("| `{kind}` |"))).then(|| format!("{name}: {kind}")));
                continue;
            }
            None => format!("### {name}\n"),
        };
        let Some((_, section)) = text.split_once(&heading) else {
            wrong.push(format!("there is no section {heading:?}"));
            continue;
        };
        let section = section.split("\n### ").next().unwrap_or_default();
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut listed: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let mut expected: Vec<&str> = properties.keys().filter(shared).map(String::as_str).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        if listed != expected {
            wrong.push(format!("{name}: the page has {listed:?}, the schema {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "docs/events.md:\n{}", wrong.join("\n"));
}

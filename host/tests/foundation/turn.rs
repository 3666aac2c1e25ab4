//! A turn of the echo adapter, wherever its component comes from, speaks the JSON that `wharf schema` describes.

use crate::common::{Machine, Ran, echo_component, fake_agent, faulty_guest, root};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// The fields of the report, as documented. An interface of ours: it may grow, knowingly, and never shrink.
const REPORT: [&str; 16] = [
    "answer",
    "detail",
    "drift",
    "error",
    "exit",
    "files",
    "ignored",
    "killed",
    "model",
    "outcome",
    "run",
    "session",
    "structured_output",
    "tools",
    "type",
    "usage",
];

/// And those of its parts.
const PARTS: [(&str, &[&str]); 4] = [
    ("/session", &["id", "resumed"]),
    ("/usage", &["api_millis", "cache_read", "cache_write", "cost_micros", "input", "output", "reasoning", "units"]),
    ("/tools/0", &["exit_code", "id", "name", "parent", "status"]),
    ("/drift", &["malformed", "unknown"]),
];

/// A whole turn, in the few words that the guests of the tests know.
const SCRIPT: &str = r#"line {"type":"hello","session":"s"}
line {"type":"say","id":"1","text":"from the folder"}
line {"type":"done"}
"#;

fn keys(value: &Value) -> Vec<&str> {
    let keys: BTreeSet<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.into_iter().collect()
}

/// Panics unless every line is one that the binary's own schema allows.
fn assert_valid(machine: &Machine, events: &[Value]) {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("event.json", machine.run(["schema"]).good().json()).expect("a schema");
    let mut schemas = boon::Schemas::new();
    let schema = compiler.compile("event.json", &mut schemas).expect("a good schema");
    for event in events {
        schemas.validate(event, schema).unwrap_or_else(|why| panic!("{event}\n{why:#}"));
    }
    // A schema that allows everything would say nothing.
    for wrong in [r#"{"type":"no-such-event"}"#, r#"{"type":"message","id":1,"parent":null,"text":"x"}"#, "{}"] {
        let wrong: Value = serde_json::from_str(wrong).expect("JSON");
        assert!(schemas.validate(&wrong, schema).is_err(), "the schema allows {wrong}");
    }
}

/// What every whole turn of the echo agent must show.
fn assert_echoed(machine: &Machine, ran: &Ran) {
    let (events, report) = (ran.events(), ran.report());
    assert_valid(machine, &events);
    let reports = events.iter().filter(|event| event["type"] == "report").count();
    assert_eq!((ran.code, reports), (Some(0), 1), "{ran:?}");
    let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for kind in ["session", "thinking", "tool", "text-delta", "message", "usage", "turn-end"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["answer"], "You said: hello");
    assert_eq!(report["error"], Value::Null);
    assert_eq!(report["usage"]["input"], 1);
    assert_eq!(report["usage"]["cost_micros"], Value::Null, "unknown is not zero");
    assert_eq!(report["session"]["id"], events[0]["id"]);
    assert_eq!(keys(&report), REPORT);
    for (path, fields) in PARTS {
        assert_eq!(keys(report.pointer(path).expect(path)), fields, "{path}");
    }
}

#[test]
fn a_turn_of_the_bundled_adapter_is_valid_to_its_last_line() {
    let machine = Machine::new();
    assert_echoed(&machine, &machine.run(["run", "--adapter", "echo", "--json", "hello"]));
}

#[test]
fn a_turn_of_a_component_given_by_path_is_the_same() {
    let machine = Machine::new();
    let component = echo_component();
    let component = component.to_str().expect("UTF-8");
    assert_echoed(&machine, &machine.run(["run", "--adapter", component, "--json", "hello"]));
}

#[test]
fn a_component_of_the_adapters_folder_is_found_by_its_id() {
    let machine = Machine::new();
    let agent = fake_agent().to_str().expect("UTF-8");
    let script = machine.write("script", SCRIPT);
    let script = format!("script={}", script.display());
    let run =
        |adapter| machine.run(["run", "--adapter", adapter, "--program", agent, "-o", &script, "--json", "hello"]);

    let ran = run("faulty");
    assert_eq!(ran.code, Some(2), "it is not there yet: {ran:?}");
    fs::copy(faulty_guest(), machine.path("adapters/faulty.wasm")).expect("a copy");
    let ran = run("faulty").good();
    assert_valid(&machine, &ran.events());
    assert_eq!(ran.report()["answer"], "from the folder");

    fs::copy(faulty_guest(), machine.path("adapters/other.wasm")).expect("a copy");
    let ran = run("other");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("calls itself `faulty`") && ran.stderr.contains("other.wasm"), "{ran:?}");
}

#[test]
fn a_bundled_adapter_is_shadowed_only_where_the_configuration_says_so() {
    let machine = Machine::new();
    let file = machine.path("adapters/echo.wasm");
    fs::copy(echo_component(), &file).expect("a copy");
    let used = || {
        let shown = machine.run(["adapters", "show", "echo", "--json"]).good().json();
        (shown["source"].clone(), shown["granted"]["programs"].clone())
    };
    assert_eq!(used(), (json!("bundled"), json!(["wharf-echo-agent"])));
    let listed = machine.run(["adapters"]).good().stdout;
    assert!(listed.contains("echo.wasm is not used: `shadow` in the configuration decides"), "{listed}");

    machine.write("config.toml", "shadow = [\"echo\"]\n");
    assert_eq!(used(), (json!(file), json!([])), "what is granted to the bundled one is not granted to it");
    assert_echoed(&machine, &machine.run(["run", "--adapter", "echo", "--json", "hello"]));
    let listed = machine.run(["adapters", "--json"]).good().json();
    let rows = listed.as_array().expect("a list").iter().filter(|row| row["id"] == "echo");
    let rows: Vec<_> = rows.map(|row| (row["source"].clone(), row["shadowed"].clone())).collect();
    assert_eq!(rows, [(json!("bundled"), json!(true)), (json!(file), json!(false))]);
}

#[test]
fn the_component_of_the_first_release_still_runs() {
    let machine = Machine::new();
    let component = root().join("tests/components/echo-0.1.0.wasm");
    let component = component.to_str().expect("UTF-8");
    let shown = machine.run(["adapters", "show", component, "--json"]).good().json();
    assert_eq!(shown["info"]["version"], "0.1.0");
    // It is the very file that was committed then.
    let listed = fs::read_to_string(root().join("tests/components/README.md")).expect("the list of components");
    assert!(listed.contains(shown["digest"].as_str().expect("a digest")), "{}", shown["digest"]);
    assert_echoed(&machine, &machine.run(["run", "--adapter", component, "--json", "hello"]));
}

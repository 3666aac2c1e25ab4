//! A turn of the echo adapter prints the JSON that `wharf schema` describes, wherever its component comes from.

use crate::sandbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use wharf_test_support::{Finished, Sandbox, echo_component, fake_agent, faulty_guest, repository};

/// The fields of the report, as documented. This is a public interface: it may grow on purpose, and never shrink.
const REPORT: [&str; 19] = [
    "answer",
    "at",
    "detail",
    "drift",
    "error",
    "exit",
    "files",
    "killed",
    "model",
    "omitted",
    "outcome",
    "run",
    "seq",
    "session",
    "structured_output",
    "tools",
    "type",
    "unsupported",
    "usage",
];

/// And the fields of its parts.
const PARTS: [(&str, &[&str]); 4] = [
    ("/session", &["id", "resumed"]),
    (
        "/usage",
        &[
            "api_ms",
            "cache_read",
            "cache_write",
            "cost",
            "cost_source",
            "input",
            "input_uncached",
            "output",
            "reasoning",
            "rounds",
            "units",
        ],
    ),
    ("/tools/0", &["duration_ms", "exit_code", "id", "name", "parent", "status"]),
    ("/drift", &["malformed", "unknown"]),
];

/// A whole turn, in the few types of lines that the guests of the tests know.
const SCRIPT: &str = r#"line {"type":"hello","session":"s"}
line {"type":"say","id":"1","text":"from the folder"}
line {"type":"done"}
"#;

fn keys(value: &Value) -> Vec<&str> {
    let keys: BTreeSet<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.into_iter().collect()
}

/// Panics unless every line is one that the binary's own schema allows.
fn assert_valid(sandbox: &Sandbox, events: &[Value]) {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("event.json", sandbox.call(["schema"]).success().json()).expect("a schema");
    let mut schemas = boon::Schemas::new();
    let schema = compiler.compile("event.json", &mut schemas).expect("a valid schema");
    for event in events {
        schemas.validate(event, schema).unwrap_or_else(|error| panic!("{event}\n{error:#}"));
    }
    // The schema does not allow everything.
    for wrong in [
        r#"{"seq":1,"at":0,"type":"no-such-event"}"#,
        r#"{"seq":1,"at":0,"type":"message","id":1,"parent":null,"text":"x"}"#,
        r#"{"type":"message","id":"1","parent":null,"text":"x"}"#,
        "{}",
    ] {
        let wrong: Value = serde_json::from_str(wrong).expect("JSON");
        assert!(schemas.validate(&wrong, schema).is_err(), "the schema allows {wrong}");
    }
}

/// What every whole turn of the echo agent must show.
fn assert_echoed(sandbox: &Sandbox, run: &Finished) {
    let (events, report) = (run.events(), run.report());
    assert_valid(sandbox, events);
    let reports = events.iter().filter(|event| event["type"] == "report").count();
    assert_eq!((run.code, reports), (Some(0), 1), "{run:?}");
    let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for kind in ["run-started", "session", "thinking", "tool", "text-delta", "message", "usage", "turn-ended"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["answer"], "You said: hello");
    assert_eq!(report["error"], Value::Null);
    assert_eq!(report["usage"]["input"], 1);
    assert_eq!(report["usage"]["cost"], Value::Null, "unknown is not zero");
    let session = run.of_type("session").next().expect("a session");
    assert_eq!(report["session"]["id"], session["id"]);
    assert_eq!(keys(report), REPORT);
    for (path, fields) in PARTS {
        assert_eq!(keys(report.pointer(path).expect(path)), fields, "{path}");
    }
}

#[test]
fn a_turn_of_the_bundled_adapter_is_valid_to_its_last_line() {
    let sandbox = sandbox();
    assert_echoed(&sandbox, &sandbox.call(["run", "--adapter", "echo", "--json", "hello"]));
}

#[test]
fn a_turn_of_a_component_given_by_path_is_the_same() {
    let sandbox = sandbox();
    let component = echo_component();
    assert_echoed(&sandbox, &by_path(&sandbox, component.to_str().expect("UTF-8")));
}

/// A turn of a copy of the echo adapter. Only the bundled one finds its agent by itself.
fn by_path(sandbox: &Sandbox, component: &str) -> Finished {
    let wharf = env!("CARGO_BIN_EXE_wharf");
    sandbox.call(["run", "--adapter", component, "--program", wharf, "--json", "hello"])
}

#[test]
fn a_component_of_the_adapters_folder_is_found_by_its_id() {
    let sandbox = sandbox();
    let agent = fake_agent().to_str().expect("UTF-8");
    let script = sandbox.write("script", SCRIPT);
    let script = format!("script={}", script.display());
    let turn =
        |adapter| sandbox.call(["run", "--adapter", adapter, "--program", agent, "-o", &script, "--json", "hello"]);

    let run = turn("faulty");
    assert_eq!(run.code, Some(2), "it is not there yet: {run:?}");
    fs::copy(faulty_guest(), sandbox.path("adapters/faulty.wasm")).expect("a copy");
    let run = turn("faulty").success();
    assert_valid(&sandbox, run.events());
    assert_eq!(run.report()["answer"], "from the folder");

    fs::copy(faulty_guest(), sandbox.path("adapters/other.wasm")).expect("a copy");
    let run = turn("other");
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(["`faulty`", "`other`", "other.wasm"].iter().all(|part| run.stderr.contains(part)), "{run:?}");
}

#[test]
fn a_bundled_adapter_is_replaced_only_if_the_configuration_says_so() {
    let sandbox = sandbox();
    let file = sandbox.path("adapters/echo.wasm");
    fs::copy(echo_component(), &file).expect("a copy");
    let used = || {
        let shown = sandbox.call(["adapters", "show", "echo", "--json"]).success().json();
        (shown["source"].clone(), shown["granted"]["programs"].clone())
    };
    assert_eq!(used(), (json!("bundled"), json!(["wharf-echo-agent"])));
    let listed = sandbox.call(["adapters"]).success().stdout;
    assert!(listed.contains("echo.wasm is not used: list it in `shadow`"), "{listed}");

    sandbox.write("config.toml", "shadow = [\"echo\"]\n");
    assert_eq!(used(), (json!(file), json!([])), "what is granted to the bundled one is not granted to it");
    assert_echoed(&sandbox, &sandbox.call(["run", "--adapter", "echo", "--json", "hello"]));
    let listed = sandbox.call(["adapters", "--json"]).success().json();
    let rows = listed.as_array().expect("a list").iter().filter(|row| row["id"] == "echo");
    let rows: Vec<_> = rows.map(|row| (row["source"].clone(), row["shadowed"].clone())).collect();
    assert_eq!(rows, [(json!("bundled"), json!(true)), (json!(file), json!(false))]);
}

#[test]
fn the_component_of_the_first_release_still_runs() {
    let sandbox = sandbox();
    let component = repository().join("tests/components/echo-0.1.0.wasm");
    let component = component.to_str().expect("UTF-8");
    let shown = sandbox.call(["adapters", "show", component, "--json"]).success().json();
    assert_eq!(shown["info"]["version"], "0.1.0");
    // It is the file that was committed then.
    let listed = fs::read_to_string(repository().join("tests/components/README.md")).expect("the list of components");
    assert!(listed.contains(shown["digest"].as_str().expect("a digest")), "{}", shown["digest"]);
    assert_echoed(&sandbox, &by_path(&sandbox, component));
}

/// The agent runs in the workspace, and took a relative path for one there.
#[test]
fn a_relative_folder_meant_another_one_to_the_agent() {
    let sandbox = sandbox();
    for folder in ["workspace/inner", "workspace/shared"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    let run = sandbox.call(["run", "-a", "echo", "--json", "-C", "inner", "--add-dir", "shared", "hello"]);
    let started: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    let shared = sandbox.path("workspace/shared").canonicalize().unwrap();
    assert_eq!(started["settings"]["extra_dirs"], json!([shared]), "{started}");
}

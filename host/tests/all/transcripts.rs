//! Every committed transcript of a real CLI, through the real components and the whole host: the report must be what
//! `expected.json` says, whatever the size of the chunks.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wharf::Host;
use wharf::adapter::{Access, Adapter};
use wharf::event::{Exit, Report};
use wharf::recording::Capture;
use wharf_test_support::{Sandbox, repository};

fn root() -> PathBuf {
    repository().join("tests/transcripts")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn capture(scenario: &Path, version: &str, chunk: Option<usize>) -> Capture {
    let read = |name: &str| std::fs::read(scenario.join(name)).unwrap_or_default();
    let exit: i32 = String::from_utf8_lossy(&read("exit")).trim().parse().unwrap_or(0);
    let mut capture = Capture::default();
    capture.stdout = read("stdout.jsonl");
    capture.stderr = read("stderr.txt");
    capture.exit =
        if exit < 0 { Exit { code: None, signal: Some(-exit) } } else { Exit { code: Some(exit), signal: None } };
    capture.agent_version = Some(version.to_owned());
    capture.chunk = chunk;
    capture
}

/// What is in `expected.json`, with what the report says: the name, the expected value, the reported value.
fn compared(adapter: &str, report: &Report, expected: &Value) -> Vec<(&'static str, Value, Value)> {
    // A turn that the agent left without an outcome has failed; a limit is named with its kind.
    let outcome = match expected["outcome"].as_str().unwrap_or_default() {
        "unsaid" => "failed",
        other => other.split(' ').next().unwrap_or_default(),
    };
    let class = |error: &Value| if error.is_object() { error["class"].clone() } else { error.clone() };
    let mut compared = vec![
        ("outcome", json!(outcome), json!(report.outcome)),
        ("answer", expected["answer"].clone(), json!(report.answer)),
        ("session", expected["session"].clone(), json!(report.session.as_ref().map(|session| &session.id))),
        ("model", expected["model"].clone(), json!(report.model)),
        ("tools", expected["tools"].clone(), tools(report)),
    ];
    // Without a declaration the outcome table sets the class, which the transcript cannot know.
    if !class(&expected["error"]).is_null() {
        compared.push(("error", class(&expected["error"]), json!(report.error.as_ref().map(|error| error.class))));
    }
    let usage = json!(report.usage);
    for field in ["input", "output", "cache_read", "cache_write", "reasoning", "cost_micros"] {
        if let Some(expected) = expected["usage"].get(field) {
            let reported = usage.pointer(&reported_field(adapter, field)).cloned().unwrap_or_default();
            compared.push((field, expected.clone(), reported));
        }
    }
    compared
}

/// Where a report has a figure. The transcripts have the agents' own: Claude's input does not include what was cached.
fn reported_field(adapter: &str, field: &str) -> String {
    match (adapter, field) {
        ("claude", "input") => "/input_uncached".to_owned(),
        (_, "cost_micros") => "/cost/micros".to_owned(),
        (_, field) => format!("/{field}"),
    }
}

/// The tools of a report. A capture has no times, so no tool has a duration.
fn tools(report: &Report) -> Value {
    let mut tools = json!(report.tools);
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        assert_eq!(tool.remove("duration_ms"), Some(Value::Null));
    }
    tools
}

/// How many sizes of chunks a transcript tries that the next one does not.
const OWN_SIZES: usize = 8;

/// The sizes start again after this one.
const MOST_SIZES: usize = 1500;

async fn check(
    host: &Host,
    adapter: &Adapter,
    version: &str,
    (number, scenario): (usize, &Path),
    wrong: &mut Vec<String>,
) {
    let text = std::fs::read_to_string(scenario.join("expected.json")).expect("expected.json");
    let expected: Value = serde_json::from_str(&text).expect("JSON");
    let whole = host.replay_capture(adapter, capture(scenario, version, None)).await.expect("a replay");
    let report = whole.report().expect("a report");
    for (what, wanted, got) in compared(&adapter.info().id, report, &expected) {
        if wanted != got {
            wrong.push(format!("{}: {what}: expected {wanted}, got {got}", scenario.display()));
        }
    }
    // A slow pipe may give one byte at a time; for long captures that only takes long. In addition, each transcript has
    // other sizes, so that all of them together try every size from one byte on.
    let size = std::fs::metadata(scenario.join("stdout.jsonl")).map_or(0, |found| found.len());
    let usual: &[usize] = if size < 16_000 { &[1, 7, 4096] } else { &[997, 4096] };
    let own = (0..OWN_SIZES).map(|step| 1 + (number * OWN_SIZES + step) % MOST_SIZES);
    for chunk in usual.iter().copied().chain(own.filter(|_| size < 16_000)) {
        let cut = host.replay_capture(adapter, capture(scenario, version, Some(chunk))).await.expect("a replay");
        if cut.events != whole.events {
            wrong.push(format!("{}: other events in chunks of {chunk} bytes", scenario.display()));
        }
    }
}

async fn check_all(name: &str) {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter(name).await.expect("bundled");
    let mut wrong = Vec::new();
    let mut count = 0;
    for version in folders(&root().join(name)) {
        let version_name = version.file_name().expect("a name").to_string_lossy().into_owned();
        for scenario in folders(&version).iter().filter(|scenario| scenario.join("expected.json").exists()) {
            check(&host, &adapter, &version_name, (count, scenario), &mut wrong).await;
            count += 1;
        }
    }
    assert!(count > 200, "only {count} transcripts of {name} were found");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_of_copilot_give_the_expected_reports() {
    check_all("copilot").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_of_claude_give_the_expected_reports() {
    check_all("claude").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_adapters_are_granted_all_that_they_request() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    for entry in host.adapters().expect("a list") {
        let adapter = host.adapter(&entry.id).await.expect("it loads");
        assert_eq!(host.grants(&adapter).expect("grants").missing(), Access::default(), "{}", entry.id);
    }
}

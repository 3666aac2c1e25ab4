//! Every committed transcript of a real CLI, through the real components and the whole host: it must come to what was
//! read out of the transcript (`expected.json`), however its bytes are cut.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wharf::{Adapter, Capture, Config, Exit, Host, Places, Report};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn host(folder: &Path) -> Host {
    let places = Places {
        config: folder.join("config.toml"),
        data: folder.join("data"),
        cache: folder.join("cache"),
        adapters: folder.join("adapters"),
    };
    Host::new(places, Config::default()).expect("a host")
}

fn capture(scenario: &Path, version: &str, chunk: Option<usize>) -> Capture {
    let read = |name: &str| std::fs::read(scenario.join(name)).unwrap_or_default();
    let exit: i32 = String::from_utf8_lossy(&read("exit")).trim().parse().unwrap_or(0);
    Capture {
        stdout: read("stdout.jsonl"),
        stderr: read("stderr.txt"),
        exit: if exit < 0 { Exit { code: None, signal: Some(-exit) } } else { Exit { code: Some(exit), signal: None } },
        runtime_version: Some(version.to_owned()),
        cancelled: false,
        chunk,
        turn: None,
    }
}

/// What of the report stands in `expected.json`, in the words that are used there.
fn told(report: &Report, expected: &Value) -> Vec<(&'static str, Value, Value)> {
    let outcome = json!(report.outcome);
    // The table makes a failure of what the runtime left unsaid; a limit is named there with its kind.
    let wanted = match expected["outcome"].as_str().unwrap_or_default() {
        "unsaid" => "failed",
        other => other.split(' ').next().unwrap_or_default(),
    };
    let class = |error: &Value| if error.is_object() { error["class"].clone() } else { error.clone() };
    let mut told = vec![
        ("outcome", json!(wanted), outcome),
        ("answer", expected["answer"].clone(), json!(report.answer)),
        ("session", expected["session"].clone(), json!(report.session.as_ref().map(|session| &session.id))),
        ("model", expected["model"].clone(), json!(report.model)),
        ("tools", expected["tools"].clone(), json!(report.tools)),
    ];
    // Without a declaration the class is the table's own, which the transcript cannot know.
    let error = json!(report.error.as_ref().map(|error| error.class));
    if !class(&expected["error"]).is_null() {
        told.push(("error", class(&expected["error"]), error));
    }
    for field in ["input", "output", "cache_read", "cache_write", "reasoning", "cost_micros"] {
        if let Some(figure) = expected["usage"].get(field) {
            let usage = json!(report.usage);
            told.push((field, figure.clone(), usage[field].clone()));
        }
    }
    told
}

/// How many sizes of chunks a transcript tries that the next one does not.
const OWN_SIZES: usize = 8;

/// The sizes begin again after this one.
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
    for (what, wanted, got) in told(report, &expected) {
        if wanted != got {
            wrong.push(format!("{}: {what}: expected {wanted}, got {got}", scenario.display()));
        }
    }
    // One byte at a time is what a slow pipe may do; on long captures it only takes long. Beside that, each transcript
    // has sizes of its own, so that all of them together try every size from one byte on.
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
    let folder = tempfile::tempdir().expect("a folder");
    let host = host(folder.path());
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
async fn copilot_transcripts() {
    check_all("copilot").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_transcripts() {
    check_all("claude").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bundled_adapters_are_granted_all_that_they_ask_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let host = host(folder.path());
    for entry in host.adapters().expect("a listing") {
        let adapter = host.adapter(&entry.id).await.expect("it loads");
        assert_eq!(host.policy(&adapter).expect("a policy").missing(), wharf::Needs::default(), "{}", entry.id);
    }
}

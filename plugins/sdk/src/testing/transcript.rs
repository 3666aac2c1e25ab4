//! Recorded runs of an agent, replayed natively, with the report that the host would make of them.
//!
//! A folder has the output of one run: `stdout.jsonl`, `stderr.txt`, and in `exit` the exit code, negative for a signal.
//! Its `expected.json` says what the report must contain, read from the output by a person or a script, never from the
//! adapter. The folder above is named after the agent's version.

use super::{FakeHost, binary, events, lift, play, turn};
use crate::{Adapter, Effect, Effects, Event, Evidence, ExitStatus, Failure, SessionChoice, Stream, Turn};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wharf_core::model::{EventKind, Exit, Report};
use wharf_core::turn::{Driver, DriverConfig};

/// The folders below `root/VERSION/`, sorted.
pub fn transcripts(root: impl AsRef<Path>) -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    folders(root.as_ref()).iter().flat_map(|version| folders(version)).collect()
}

/// Replays a folder through an adapter, as one chunk.
pub fn transcript<A: Adapter>(folder: &Path) -> Replayed<A> {
    Transcript::at::<A>(folder).replay()
}

/// A recorded run, and how to replay it.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// What the agent wrote to stdout. Change it to test broken output.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// How it exited.
    pub exit: ExitStatus,
    /// The version that the adapter is told, if any.
    pub version: Option<String>,
    /// The turn that the adapter builds first.
    pub turn: Turn,
    /// The transport that the agent was run over; empty for the default.
    pub transport: String,
    /// How much of the output each call of the adapter gets.
    pub lines_per_chunk: usize,
}

impl Transcript {
    /// Reads a folder. The turn is a plain one.
    pub fn at<A: Adapter>(folder: &Path) -> Transcript {
        let code: i32 = read(folder, "exit").trim().parse().expect("the exit code");
        let (code, signal) = if code < 0 { (None, Some(-code)) } else { (Some(code), None) };
        let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        Transcript {
            stdout: read(folder, "stdout.jsonl"),
            stderr: read(folder, "stderr.txt"),
            exit: ExitStatus { code, signal },
            version: version.map(str::to_owned),
            turn: Turn { session: SessionChoice::Fresh(None), ..turn::<A>("go") },
            transport: String::new(),
            lines_per_chunk: usize::MAX,
        }
    }

    /// Feeds the output to a new adapter, as the host does.
    pub fn replay<A: Adapter>(&self) -> Replayed<A> {
        let mut adapter = A::default();
        let mut program = binary("");
        program.version.clone_from(&self.version);
        let launch = adapter.build_args(&self.turn, &program, &self.transport).expect("a command line");
        adapter.build_prompt(&self.turn, &program, &self.transport).expect("a prompt");
        let mut effects = play(&mut adapter, Stream::Stdout, &self.stdout, self.lines_per_chunk);
        effects.extend(play(&mut adapter, Stream::Stderr, &self.stderr, self.lines_per_chunk));
        let mut out = Effects::default();
        adapter.finish(&FakeHost::default(), self.exit, &mut out);
        effects.extend(out.into_vec());

        let mut driver = Driver::new(DriverConfig { timed: false, replay: true, ..DriverConfig::default() });
        let (mut sink, mut actions): (Vec<EventKind>, _) = (vec![], vec![]);
        for effect in effects.iter().cloned() {
            driver.apply(lift::effect(effect), Duration::ZERO, &mut actions, &mut sink);
        }
        let mut concluded = None;
        if driver.exited(Exit { code: self.exit.code, signal: self.exit.signal }) {
            let (stdout_tail, stderr_tail) = (self.stdout.clone(), self.stderr.clone());
            concluded = adapter.parse_error(&Evidence { exit: self.exit, stdout_tail, stderr_tail });
            driver.concluded(concluded.clone().map(lift::failure));
        }
        let mut report = driver.result().report;
        let unsupported = launch.unsupported.into_iter();
        report.unsupported = unsupported
            .map(|setting| wharf_core::model::UnsupportedSetting { name: setting.name, reason: setting.reason })
            .collect();
        Replayed { adapter, effects, concluded, report }
    }
}

/// What came of a replay.
#[derive(Debug)]
pub struct Replayed<A> {
    /// The adapter after the run.
    pub adapter: A,
    /// All its effects.
    pub effects: Vec<Effect>,
    /// What the adapter concluded from exit and stderr, if no event said how the turn ended.
    pub concluded: Option<Failure>,
    /// The report, by the host's own rules.
    pub report: Report,
}

impl<A> Replayed<A> {
    /// How the report differs from what the folder's `expected.json` says; empty if it does not.
    pub fn differences(&self, folder: &Path) -> Vec<String> {
        let expected: Value = serde_json::from_str(&read(folder, "expected.json")).expect("JSON");
        let compared = self.compared(&expected).into_iter().filter(|(_, expected, actual)| !is_same(expected, actual));
        let text = |what, expected, actual| format!("{}: {what}: expected {expected}, got {actual}", folder.display());
        compared.map(|(what, expected, actual)| text(what, expected, actual)).collect()
    }

    /// What `expected.json` has, with what the report says.
    fn compared(&self, expected: &Value) -> Vec<(&'static str, Value, Value)> {
        let report = &self.report;
        let mut compared = vec![];
        let mut add = |what, expected: &Value, actual: Value| compared.push((what, expected.clone(), actual));
        // A turn that the agent left without an outcome has failed; a limit may be named with its kind.
        let (outcome, detail) = match expected["outcome"].as_str().unwrap_or_default() {
            "unsaid" => ("failed", None),
            other => other.split_once(' ').map_or((other, None), |(outcome, detail)| (outcome, Some(detail))),
        };
        add("outcome", &json!(outcome), json!(report.outcome));
        if detail.is_some() {
            add("detail", &json!(detail), json!(report.detail));
        }
        add("answer", &expected["answer"], json!(report.answer));
        add("session", &expected["session"], json!(report.session.as_ref().map(|session| &session.id)));
        add("model", &expected["model"], json!(report.model));
        add("tools", &expected["tools"], tools(report));
        // Without a declaration the host's rules set the class, which the output cannot show.
        let error = &expected["error"];
        let class = error.get("class").unwrap_or(error);
        if !class.is_null() {
            add("error", class, json!(report.error.as_ref().map(|error| error.class)));
            let status = error.get("http_status").or(expected.get("status")).unwrap_or(&Value::Null);
            add("status", status, json!(report.error.as_ref().and_then(|error| error.http_status)));
        }
        if let Some(code) = expected.get("code") {
            add("code", code, json!(report.error.as_ref().and_then(|error| error.code.as_ref())));
        }
        if let Some(unknown) = expected.get("unknown") {
            let kinds: Vec<&String> = report.drift.unknown.keys().collect();
            let count = report.drift.unknown.values().sum::<u64>();
            add("unknown", unknown, if unknown.is_array() { json!(kinds) } else { json!(count) });
        }
        if let Some(malformed) = expected.get("malformed") {
            add("malformed", malformed, json!(report.drift.malformed));
        }
        if let Some(figures) = expected["usage"].as_object() {
            let usage = json!(report.usage.clone().unwrap_or_default());
            for field in ["input", "output", "cache_read", "cache_write", "reasoning", "cost_micros"] {
                let reported = match field {
                    "input" => &usage[self.input_field()],
                    "cost_micros" => &usage["cost"]["micros"],
                    _ => &usage[field],
                };
                add(field, figures.get(field).unwrap_or(&Value::Null), reported.clone());
            }
            for (unit, figure) in figures.iter().filter(|(name, _)| name.contains('-')) {
                add("units", figure, usage["units"][unit].clone());
            }
        }
        compared
    }

    /// The field of a report that has the agent's own input figure, which may not include what was cached.
    fn input_field(&self) -> &'static str {
        let excludes = |event: &&Event| matches!(event, Event::Usage(usage) if !usage.input_includes_cached);
        if events(&self.effects).iter().any(excludes) { "input_uncached" } else { "input" }
    }
}

/// The tools of a report. A transcript has no times, so no tool has a duration.
fn tools(report: &Report) -> Value {
    let mut tools = json!(report.tools);
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        tool.remove("duration_ms");
    }
    tools
}

/// Compares numbers by value, not by their text.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

/// A file of a folder.
pub fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{}/{file}: {error}", folder.display()))
}

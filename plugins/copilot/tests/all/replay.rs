//! Real captures of the CLI, replayed: the report must match what a person read in the capture.
//!
//! `expected.json` of each capture was derived from its documented fields by a script that does not know this adapter,
//! and was then reviewed.

use crate::captures;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{FakeHost, binary, events, inline, play, turn};
use wharf_adapter::{
    Adapter, Effect, Effects, Event, Evidence, ExitStatus, Failure, Outcome, SessionChoice, Stream, ToolCall, Usage,
    UsageScope,
};
use wharf_adapter_copilot::Copilot;

fn scenarios() -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut all: Vec<PathBuf> = list(&captures()).iter().flat_map(|version| list(version)).collect();
    all.retain(|scenario| scenario.join("expected.json").exists());
    all.sort();
    assert!(all.len() > 100, "only {} captures were found", all.len());
    all
}

fn read(scenario: &Path, file: &str) -> String {
    fs::read_to_string(scenario.join(file)).unwrap_or_else(|error| panic!("{}/{file}: {error}", scenario.display()))
}

/// The effects of a whole run, and the failure if nothing ended the turn.
fn replay(scenario: &Path, with_version: bool, lines_per_chunk: usize) -> (Vec<Effect>, Option<Failure>) {
    let version = scenario.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a version");
    let mut turn = turn::<Copilot>("prompt");
    turn.session = SessionChoice::Fresh(None);
    let mut program = binary(version);
    program.version = program.version.filter(|_| with_version);
    let mut adapter = Copilot::default();
    adapter.build_args(&turn, &program).expect("a command line");
    adapter.build_prompt(&turn, &program).expect("a prompt");
    let (stdout, stderr) = (read(scenario, "stdout.jsonl"), read(scenario, "stderr.txt"));
    let mut effects = play(&mut adapter, Stream::Stdout, &stdout, lines_per_chunk);
    effects.extend(play(&mut adapter, Stream::Stderr, &stderr, lines_per_chunk));
    let code: i32 = read(scenario, "exit").trim().parse().expect("a number");
    let exit = if code < 0 {
        ExitStatus { code: None, signal: Some(-code) }
    } else {
        ExitStatus { code: Some(code), signal: None }
    };
    let mut out = Effects::default();
    adapter.finish(&FakeHost::default(), exit, &mut out);
    effects.extend(out.into_vec());
    let failure = adapter.parse_error(&Evidence { exit, stdout_tail: String::new(), stderr_tail: stderr });
    (effects, failure)
}

fn name(value: &impl std::fmt::Debug) -> String {
    let mut name = String::new();
    for character in format!("{value:?}").split("::").last().expect("one part").chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(character.to_lowercase());
    }
    name
}

/// What is known of a tool call grows with each of its events.
fn update_tool(tools: &mut Vec<Value>, call: &ToolCall) {
    let at = tools.iter().position(|tool| tool["id"] == call.id.as_str()).unwrap_or_else(|| {
        tools.push(json!({"id": call.id, "parent": null, "name": null, "exit_code": null}));
        tools.len() - 1
    });
    let tool = &mut tools[at];
    tool["status"] = name(&call.status).into();
    if let Some(parent) = &call.parent {
        tool["parent"] = parent.as_str().into();
    }
    if let Some(name) = &call.name {
        tool["name"] = name.as_str().into();
    }
    if let Some(code) = call.exit_code {
        tool["exit_code"] = code.into();
    }
}

/// The figures of a run. A total replaces the deltas of the same field.
#[derive(Default)]
struct Figures {
    deltas: BTreeMap<&'static str, f64>,
    totals: BTreeMap<(String, Option<String>), BTreeMap<&'static str, f64>>,
}

impl Figures {
    fn add(&mut self, usage: &Usage) {
        let tokens = [
            ("input", usage.input),
            ("output", usage.output),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
            ("reasoning", usage.reasoning),
        ];
        #[expect(clippy::cast_precision_loss, reason = "token counts are small")]
        let figures = tokens.into_iter().filter_map(|(field, count)| Some((field, count? as f64)));
        if usage.scope == UsageScope::Delta {
            figures.for_each(|(field, count)| *self.deltas.entry(field).or_default() += count);
            return;
        }
        let mut total: BTreeMap<&str, f64> = figures.collect();
        for (unit, count) in &usage.units {
            assert_eq!(unit, "premium-requests");
            total.insert("premium-requests", *count);
        }
        self.totals.insert((usage.source.clone(), usage.model.clone()), total);
    }

    fn sum(self) -> BTreeMap<&'static str, f64> {
        let mut sum = BTreeMap::new();
        for (field, count) in self.totals.values().flatten() {
            *sum.entry(*field).or_default() += count;
        }
        for (field, count) in self.deltas {
            sum.entry(field).or_insert(count);
        }
        sum
    }
}

/// The report of a run, as the host makes it.
fn report(effects: &[Effect], failure: Option<Failure>) -> Value {
    let (mut session, mut model, mut message, mut answer) = (None, None, None, None);
    let mut tools: Vec<Value> = vec![];
    let mut figures = Figures::default();
    let mut outcome = None;
    let (mut unknown, mut malformed) = (0, 0);
    for event in events(effects) {
        match event {
            Event::Session(info) => {
                session = info.id.clone().or(session);
                model = info.model.clone().or(model);
            }
            Event::Message(part) if part.parent.is_none() && !inline(&part.text).is_empty() => {
                message = Some(inline(&part.text).to_owned());
            }
            Event::Tool(call) => update_tool(&mut tools, call),
            Event::Usage(usage) => figures.add(usage),
            Event::TurnEnded(end) => {
                answer = end.answer.as_ref().map(|text| inline(text).to_owned());
                outcome = Some(end.outcome.clone());
            }
            Event::Unknown(kind) => {
                unknown += 1;
                eprintln_unknown(kind);
            }
            Event::Malformed(_) => malformed += 1,
            _ => {}
        }
    }
    let error = match &outcome {
        Some(Outcome::Failed(failure)) => Some(failure.clone()),
        Some(_) => None,
        None => failure,
    };
    let status = error.as_ref().and_then(|failure| failure.http_status);
    let code = error.as_ref().and_then(|failure| failure.code.clone());
    let error = error.map(|failure| name(&failure.class));
    let outcome = match outcome {
        Some(Outcome::Completed) => "completed",
        Some(Outcome::Cancelled) => "cancelled",
        Some(Outcome::Limit(_)) => "limit",
        Some(Outcome::Refused(_)) => "refused",
        Some(Outcome::Blocked(_)) => "blocked",
        Some(Outcome::Failed(_)) | None => "failed",
    };
    json!({
        "outcome": outcome, "error": error, "status": status, "code": code, "answer": answer.or(message), "session": session, "model": model,
        "tools": tools, "usage": figures.sum(), "malformed": malformed, "unknown": unknown,
    })
}

#[expect(clippy::print_stderr, reason = "a failing test names the unknown type")]
fn eprintln_unknown(kind: &str) {
    eprintln!("unknown type {kind}");
}

/// Compares numbers by value, not by their text.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

#[test]
fn every_capture_gives_the_expected_report() {
    let mut wrong = vec![];
    for scenario in scenarios() {
        let expected: Value = serde_json::from_str(&read(&scenario, "expected.json")).expect("JSON");
        let (effects, failure) = replay(&scenario, true, usize::MAX);
        let actual = report(&effects, failure);
        for (key, value) in expected.as_object().expect("an object") {
            if !same(value, &actual[key]) {
                wrong.push(format!("{}: {key}: expected {value}, got {}", scenario.display(), actual[key]));
            }
        }
        assert_eq!(expected.as_object().map(serde_json::Map::len), actual.as_object().map(serde_json::Map::len));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn neither_chunk_boundaries_nor_the_version_change_the_report() {
    for scenario in scenarios() {
        let (whole, failure) = replay(&scenario, true, usize::MAX);
        for lines in [1, 7] {
            let (split, _) = replay(&scenario, true, lines);
            assert!(split == whole, "{} in chunks of {lines}", scenario.display());
        }
        let (unversioned, _) = replay(&scenario, false, 3);
        assert!(same(&report(&unversioned, failure.clone()), &report(&whole, failure)), "{}", scenario.display());
    }
}

#[test]
fn no_output_makes_the_adapter_panic() {
    for scenario in scenarios().iter().step_by(5) {
        let stdout = read(scenario, "stdout.jsonl");
        let mut adapter = Copilot::default();
        for (number, line) in stdout.lines().take(80).enumerate() {
            for cut in [line.len() / 3, line.len() / 2, line.len() - line.len().min(1 + number)] {
                let cut = (0..=cut).rev().find(|at| line.is_char_boundary(*at)).expect("zero is a boundary");
                play(&mut adapter, Stream::Stdout, &format!("{}\n{}\n", &line[..cut], &line[cut..]), 2);
            }
            // Known types with wrong contents, and unknown types with known contents.
            for (from, to) in [
                ("\"data\":{", "\"data\":[{"),
                ("\"data\":", "\"dada\":"),
                ("\":\"", "\":7,\"x\":\""),
                ("\"id\"", "\"jsonrpc\""),
            ] {
                play(&mut adapter, Stream::Stdout, &line.replace(from, to), 1);
            }
        }
        adapter.finish(&FakeHost::default(), ExitStatus { code: None, signal: Some(9) }, &mut Effects::default());
    }
}

//! Real output of three versions, replayed: the events must match what a person reads in it, in chunks of any size.
//!
//! Each folder in `tests/transcripts/claude` has the output and the exit status of a run of Claude Code, and its meaning
//! in `expected.json`, which was derived from the output and not by the adapter.

use crate::{outcome_name, read, transcripts};
use serde_json::{Map, Value, json};
use std::path::Path;
use wharf_adapter::testing::{self, FakeHost, inline};
use wharf_adapter::{
    Adapter, Effect, ErrorClass, Event, Evidence, ExitStatus, Failure, Outcome, Stream, ToolStatus, UsageScope,
};
use wharf_adapter_claude::Claude;

/// The adapter after a run, and all its effects.
fn replay(folder: &Path, stdout: &str, lines_per_chunk: usize) -> (Claude, Vec<Effect>) {
    let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a version");
    let mut adapter = Claude::default();
    let turn = testing::turn::<Claude>("go");
    let binary = testing::binary(version);
    adapter.build_args(&turn, &binary).expect("arguments");
    adapter.build_prompt(&turn, &binary).expect("a prompt");
    let mut effects = testing::play(&mut adapter, Stream::Stdout, stdout, lines_per_chunk);
    effects.extend(testing::finish(&mut adapter, &FakeHost::default(), 0));
    (adapter, effects)
}

/// The report that a host makes, from the events alone.
fn report(folder: &Path) -> Value {
    let stdout = read(folder, "stdout.jsonl");
    let (mut adapter, effects) = replay(folder, &stdout, usize::MAX);
    let mut report = Report::default();
    for effect in &effects {
        report.add(effect);
    }
    if report.outcome.is_none() {
        let code: i32 = read(folder, "exit").trim().parse().expect("an exit code");
        let exit =
            ExitStatus { code: Some(code).filter(|code| *code >= 0), signal: Some(-code).filter(|code| *code > 0) };
        let evidence = Evidence { exit, stdout_tail: stdout, stderr_tail: read(folder, "stderr.txt") };
        match adapter.parse_error(&evidence) {
            Some(failure) => report.fail(&failure),
            None => report.outcome = Some("unsaid".to_owned()),
        }
    }
    report.finish()
}

#[derive(Default)]
struct Report {
    outcome: Option<String>,
    answer: Option<String>,
    last_message: Option<String>,
    session: Value,
    model: Value,
    error: Value,
    tools: Vec<Map<String, Value>>,
    /// Figures by model.
    usage: Vec<(Option<String>, Value)>,
    unknown: Vec<String>,
    malformed: u64,
}

impl Report {
    fn add(&mut self, effect: &Effect) {
        let Effect::Emit(event) = effect else { return };
        match event {
            Event::Session(session) => {
                self.session = json!(session.id);
                if let Some(model) = &session.model {
                    self.model = json!(model);
                }
            }
            Event::Message(part) if part.parent.is_none() && !inline(&part.text).is_empty() => {
                self.last_message = Some(inline(&part.text).to_owned());
            }
            Event::Tool(call) => {
                let index = self.tools.iter().position(|tool| tool["id"] == *call.id).unwrap_or_else(|| {
                    let new = json!({"id": call.id, "parent": null, "name": null, "exit_code": null});
                    self.tools.push(new.as_object().expect("an object").clone());
                    self.tools.len() - 1
                });
                let tool = &mut self.tools[index];
                tool.insert("status".to_owned(), json!(status(call.status)));
                let known = [
                    ("parent", call.parent.as_ref().map(|parent| json!(parent))),
                    ("name", call.name.as_ref().map(|name| json!(name))),
                    ("exit_code", call.exit_code.map(|code| json!(code))),
                ];
                for (key, value) in known {
                    if let Some(value) = value {
                        tool.insert(key.to_owned(), value);
                    }
                }
            }
            Event::Usage(usage) if usage.source == "result" => {
                assert_eq!(usage.scope, UsageScope::TurnTotal);
                self.usage.retain(|(model, _)| *model != usage.model);
                let figures = json!({
                    "input": usage.input, "output": usage.output, "cache_read": usage.cache_read,
                    "cache_write": usage.cache_write, "reasoning": usage.reasoning, "cost_micros": usage.cost_micros,
                });
                self.usage.push((usage.model.clone(), figures));
            }
            Event::TurnEnded(end) => {
                self.answer = end.answer.as_ref().map(|answer| inline(answer).to_owned());
                self.error = Value::Null;
                self.outcome = Some(match &end.outcome {
                    Outcome::Limit(limit) => format!("limit {limit}"),
                    Outcome::Failed(failure) => return self.fail(failure),
                    other => outcome_name(other).to_owned(),
                });
            }
            Event::Unknown(kind) => self.unknown.push(kind.clone()),
            Event::Malformed(_) => self.malformed += 1,
            _ => {}
        }
    }

    fn fail(&mut self, failure: &Failure) {
        assert!(!failure.message.is_empty(), "a failure has a message");
        self.outcome = Some("failed".to_owned());
        self.error = json!({"class": class(failure.class), "http_status": failure.http_status});
    }

    fn finish(self) -> Value {
        let sum = |key: &str| -> Value {
            let figures: Option<Vec<u64>> = self.usage.iter().map(|(_, usage)| usage[key].as_u64()).collect();
            figures
                .filter(|figures| !figures.is_empty())
                .map_or(Value::Null, |figures| json!(figures.iter().sum::<u64>()))
        };
        let keys = ["input", "output", "cache_read", "cache_write", "reasoning", "cost_micros"];
        let usage: Map<String, Value> = keys.into_iter().map(|key| (key.to_owned(), sum(key))).collect();
        json!({
            "outcome": self.outcome,
            "answer": self.answer.or(self.last_message),
            "session": self.session,
            "model": self.model,
            "usage": if self.usage.is_empty() { Value::Null } else { Value::Object(usage) },
            "error": self.error,
            "tools": self.tools,
            "unknown": self.unknown,
            "malformed": self.malformed,
        })
    }
}

fn status(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending => "pending",
        ToolStatus::Running => "running",
        ToolStatus::Succeeded => "succeeded",
        ToolStatus::Failed => "failed",
        ToolStatus::Denied => "denied",
        ToolStatus::Cancelled => "cancelled",
    }
}

fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => "auth",
        ErrorClass::Permission => "permission",
        ErrorClass::UnknownModel => "unknown-model",
        ErrorClass::InvalidOption => "invalid-option",
        ErrorClass::RateLimit => "rate-limit",
        ErrorClass::Quota => "quota",
        ErrorClass::ContextLength => "context-length",
        ErrorClass::Network => "network",
        ErrorClass::Provider => "provider",
        ErrorClass::Crash => "crash",
        ErrorClass::Protocol => "protocol",
        ErrorClass::NotFound => "not-found",
        ErrorClass::NoSession => "no-session",
        ErrorClass::Other => "other",
    }
}

#[test]
fn every_transcript_gives_the_expected_report() {
    let transcripts = transcripts();
    assert!(transcripts.len() > 100, "only {} transcripts were found", transcripts.len());
    let mut wrong = vec![];
    for folder in &transcripts {
        let expected: Value = serde_json::from_str(&read(folder, "expected.json")).expect("JSON");
        let report = report(folder);
        for (key, expected) in expected.as_object().expect("an object") {
            if report[key] != *expected {
                wrong.push(format!("{}: {key} is {}, not {expected}", folder.display(), report[key]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// 2.1.325 says it three times: in a line, in the tool's result, and in the result of the turn. Older versions do not
/// always say it before the end.
#[test]
fn a_denied_tool_is_reported_once() {
    for folder in transcripts() {
        let (_, effects) = replay(&folder, &read(&folder, "stdout.jsonl"), usize::MAX);
        let ended = testing::events(&effects).into_iter().filter_map(|event| match event {
            Event::Tool(call) if call.status == ToolStatus::Denied => Some(call.id.clone()),
            _ => None,
        });
        let mut ids: Vec<String> = ended.collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}", folder.display());
        let failed_first = |event: &&&Event| matches!(event, Event::Tool(call) if call.status == ToolStatus::Failed && ids.contains(&call.id));
        let explained = folder.ends_with("bd_can_use_tool") || folder.ends_with("bd_hooks");
        let failed = testing::events(&effects).iter().filter(failed_first).count();
        assert!(failed == 0 || explained, "{}: the host's answers are not in this replay", folder.display());
    }
}

#[test]
fn chunk_boundaries_do_not_matter() {
    for folder in transcripts() {
        let stdout = read(&folder, "stdout.jsonl");
        let (_, whole) = replay(&folder, &stdout, usize::MAX);
        for lines in [1, 7] {
            assert!(replay(&folder, &stdout, lines).1 == whole, "{} in chunks of {lines} lines", folder.display());
        }
    }
}

/// A killed process leaves half a line, and a later version may print anything.
#[test]
fn broken_lines_are_malformed_and_never_panic() {
    for folder in transcripts() {
        for line in read(&folder, "stdout.jsonl").split_inclusive('\n').filter(|line| line.starts_with('{')) {
            for part in [2, 3, 5] {
                let mut cut = line.len() - line.len() / part;
                while !line.is_char_boundary(cut) {
                    cut -= 1;
                }
                let (_, effects) = replay(&folder, &line[..cut], 1);
                let is_malformed = matches!(effects.as_slice(), [Effect::Emit(Event::Malformed(_))]);
                assert!(is_malformed, "{}: {effects:?}", folder.display());
                // Values of other types than expected.
                let odd = line.replacen(":{", ":[{", part).replacen(":\"", ":7,\"x\":\"", part);
                replay(&folder, &odd, 1);
            }
        }
    }
}

//! The events as a program that embeds the library reads them.

use crate::events_of;
use serde_json::{Value, json};
use wharf::ask::{Answer, AnsweredBy, AskRule, AskRules, Decision, RuleAnswer};
use wharf::event::{Event, EventKind};
use wharf::{Approvals, Run, RunOptions, Timeouts};
use wharf_test_support::{DONE, HELLO, SAY, Sandbox, Script, fake_agent};

/// A turn with a bit of everything.
fn script() -> Script {
    Script::new()
        .line(HELLO)
        .step("repeat 200 stdout {\"type\":\"delta\",\"id\":\"1\",\"text\":\"a\"}\\n")
        .line(r#"{"type":"tool","id":"t","name":"shell","status":"running","input":{"command":"ls"}}"#)
        .line(r#"{"type":"tool","id":"t","status":"succeeded","output":"a \"quoted\" name"}"#)
        .line("not JSON")
        .line(SAY)
        .line(r#"{"type":"usage","input":3,"output":5}"#)
        .line(DONE)
}

fn json_lines(events: &[Event]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

/// All lines of a run, batch by batch.
async fn lines_of(mut run: Run) -> String {
    let mut lines = Vec::new();
    while let Some(batch) = run.next_batch().await {
        lines.extend(batch.into_json_lines());
    }
    String::from_utf8(lines).unwrap()
}

/// The lines without what differs between two runs of one turn.
fn comparable(lines: &str) -> Vec<Value> {
    let comparable = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        for field in ["at", "run", "started", "duration_ms"] {
            event.as_object_mut().unwrap().remove(field);
        }
        if event["type"] == "run-started" {
            event["settings"].as_object_mut().unwrap().remove("session");
        }
        if event["type"] == "report" {
            event["tools"][0].as_object_mut().unwrap().remove("duration_ms");
        }
        event
    };
    lines.lines().map(comparable).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_lines_and_the_file_are_the_same() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let start = async |lines_only, unrecorded| {
        let mut options = RunOptions::default();
        options.lines_only = lines_only;
        options.unrecorded = unrecorded;
        host.start(&adapter, sandbox.turn("script", &script()), options).await.unwrap()
    };
    let file = |id: &str| String::from_utf8(host.runs().find(id).unwrap().event_lines().unwrap()).unwrap();

    let run = start(false, false).await;
    let id = run.id().to_owned();
    let events = json_lines(&events_of(run).await);
    assert_eq!(events, file(&id), "as events");
    let run = start(false, false).await;
    let id = run.id().to_owned();
    let batches = lines_of(run).await;
    assert_eq!(batches, file(&id), "as batches of events");
    let run = start(true, false).await;
    let id = run.id().to_owned();
    let lines = lines_of(run).await;
    assert_eq!(lines, file(&id), "as lines");

    assert_eq!(comparable(&lines), comparable(&events));
    assert_eq!(comparable(&batches), comparable(&events));
    for lines_only in [false, true] {
        // Without a recording the report names none, which the removed field would say.
        assert_eq!(comparable(&lines_of(start(lines_only, true).await).await), comparable(&events), "{lines_only}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_numbered_without_gaps_and_their_times_never_decrease() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    for unrecorded in [false, true] {
        let mut options = RunOptions::default();
        options.unrecorded = unrecorded;
        let run = host.start(&adapter, sandbox.turn("script", &script()), options).await.unwrap();
        let events = events_of(run).await;
        assert!(events.len() > 200);
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
        assert!(events.is_sorted_by_key(|event| event.at));
        assert!(matches!(events.first().unwrap().kind, EventKind::RunStarted(_)));
        assert!(matches!(events.last().unwrap().kind, EventKind::Report(_)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_event_says_what_was_started() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut turn = sandbox.turn("script", &Script::normal()).with_model("echo-loud");
    turn.max_turns = Some(3);
    turn.mcp_servers = Some(json!({ "mcpServers": { "files": { "env": { "TOKEN": "not-for-events" } } } }));
    let mut options = RunOptions::default();
    options.labels.insert("task".into(), "42".into());
    let run = host.start(&adapter, turn, options).await.unwrap();
    let id = run.id().to_owned();
    let events = events_of(run).await;
    let EventKind::RunStarted(started) = &events[0].kind else { panic!("{:?}", events[0]) };
    assert_eq!((started.run.as_str(), started.prompt.as_str()), (id.as_str(), "go"));
    assert_eq!((started.adapter.id.as_str(), &started.adapter.version), ("echo", &adapter.info().version));
    assert_eq!(started.adapter.sha256, adapter.digest());
    assert_eq!(
        (started.agent.program.as_str(), started.agent.version.as_deref()),
        (fake_agent().to_str().unwrap(), Some("1.0.0"))
    );
    assert_eq!(std::path::Path::new(&started.workspace), sandbox.path("workspace").canonicalize().unwrap());
    assert_eq!(started.labels["task"], "42");
    assert_eq!((&started.settings["model"], &started.settings["max_turns"]), (&json!("echo-loud"), &json!(3)));
    assert_eq!(started.settings["mcp_servers"], json!(["files"]), "the names only");
    assert!(started.started.elapsed().is_ok());
    let recorded = host.runs().find(&id).unwrap();
    assert_eq!(recorded.launch().unwrap().started, **started);
    let EventKind::Report(report) = &events.last().unwrap().kind else { panic!("{events:?}") };
    assert_eq!(report.unsupported, started.unsupported);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_ask_says_by_whom_and_by_which_name() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"shell","input":{"command":"ls"}}"#;
    let script = Script::new().line(HELLO).step("read-line").line(ask).step("read-line").line(DONE);
    let rule = AskRule { tool: "sh*".into(), contains: Some("ls".into()), answer: RuleAnswer::Allow };
    let by_rule = AskRules { rules: vec![rule], default: RuleAnswer::Ask };
    for (rules, by, name, choice) in [
        (AskRules::default(), AnsweredBy::Caller, Some("policy bot"), "allow"),
        (by_rule, AnsweredBy::Rule, Some("sh* containing \"ls\""), "allow"),
        (AskRules { rules: vec![], default: RuleAnswer::Deny }, AnsweredBy::Rule, Some("default"), "deny"),
        (AskRules::default(), AnsweredBy::Timeout, None, "deny"),
    ] {
        let mut options = RunOptions::default();
        options.rules = rules;
        let mut timeouts = Timeouts::default();
        if by == AnsweredBy::Timeout {
            timeouts.ask = Some(std::time::Duration::from_millis(50));
        }
        options.timeouts = Some(timeouts);
        let turn = sandbox.turn("script", &script).with_approvals(Approvals::Ask);
        let mut run = host.start(&adapter, turn, options).await.unwrap();
        let mut answered = None;
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::Ask(ask) if by == AnsweredBy::Caller => {
                    drop(run.answer(Answer::new(ask.id, Decision::Allow).by("policy bot")));
                }
                EventKind::AskAnswered(answer) => answered = Some(answer),
                _ => {}
            }
        }
        let answered = answered.expect("an answer");
        assert_eq!((answered.by, answered.name.as_deref(), answered.choice.as_deref()), (by, name, Some(choice)));
    }
}

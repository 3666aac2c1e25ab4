//! The library as orchestrators use it: many runs in one process, runs that are dropped, readers that are late, several
//! turns in one run, and replays that do not depend on the size of the chunks.

use crate::events_of;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;
use wharf::ask::{Answer, Decision};
use wharf::event::{Event, EventKind, Exit, Outcome, Report};
use wharf::recording::{Capture, RunFilter};
use wharf::session::SessionFilter;
use wharf::{Approvals, NextTurn, Run, RunOptions, Turn};
use wharf_test_support::{DONE, HELLO, SAY, Sandbox, Script, wait_until};

/// Waits for a condition without blocking the other tasks.
fn wait(what: &str, holds: impl FnMut() -> bool) {
    tokio::task::block_in_place(|| wait_until(what, holds));
}

/// The report of a run's events.
fn report(events: &[Event]) -> &Report {
    let Some(EventKind::Report(report)) = events.last().map(|event| &event.kind) else { panic!("{events:?}") };
    report
}

/// The events without their times, which a replay does not compare.
fn kinds(events: &[Event]) -> Vec<(u64, &EventKind)> {
    events.iter().map(|event| (event.seq, &event.kind)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_reader_gets_what_the_agent_left_in_its_pipes() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    // More than the batches that wait for their reader, so that a pipe is still full when the agent exits.
    let script = Script::new().line(HELLO).step("flood-stdout 330000").line(DONE);
    let mut run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    wait("the agent has exited", || sandbox.processes().is_empty());
    // Longer than the pipes of an agent that has exited are read without progress.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (mut lines, mut outcome) = (0, None);
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::TextDelta(_) => lines += 1,
            EventKind::Report(report) => outcome = Some(report.outcome),
            _ => {}
        }
    }
    assert_eq!((lines, outcome), (330_000_u32.div_ceil(1024), Some(Outcome::Completed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_run_is_killed_with_all_that_it_started() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script =
        Script::new().step("ignore-sigterm").step("children 2 60").step("setsid-child 60").line(HELLO).step("silence");
    let mut run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    while !matches!(run.next().await.expect("an event").kind, EventKind::Session(_)) {}
    assert_eq!(sandbox.processes().len(), 4);
    drop(run);
    wait("all have exited", || sandbox.processes().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_dropped_before_its_first_output_is_killed_too() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().step("children 1 60").step("silence");
    for keep_controller in [false, true] {
        let run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
        wait("both have started", || sandbox.processes().len() == 2);
        let controller = keep_controller.then(|| run.controller());
        drop(run);
        wait("all have exited", || sandbox.processes().is_empty());
        drop(controller);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_runs_at_once_do_not_mix() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut runs = Vec::new();
    for number in 0..30 {
        let script = Script::new().line(&HELLO.replace("s-1", &format!("s-{number}"))).line(SAY).line(DONE);
        let turn = sandbox.turn(&format!("script-{number}"), &script);
        let run = host.start(&adapter, turn, RunOptions::default()).await.unwrap();
        runs.push(tokio::spawn(async move { (number, run.finish().await.unwrap()) }));
    }
    for run in runs {
        let (number, report) = run.await.unwrap();
        assert_eq!(report.outcome, Outcome::Completed);
        assert_eq!(report.session.unwrap().id, format!("s-{number}"));
    }
    assert_eq!(host.sessions().unwrap().list(&SessionFilter::default()).unwrap().len(), 30);
    sandbox.expect_no_process();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_and_sessions_are_found_by_label_and_deleted() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut ids = Vec::new();
    for (task, session) in [("41", "s-1"), ("42", "s-2"), ("42", "s-2")] {
        let script = Script::new().line(&HELLO.replace("s-1", session)).line(DONE);
        let mut options = RunOptions::default();
        options.labels.insert("task".to_owned(), task.to_owned());
        let run = host.start(&adapter, sandbox.turn("script", &script), options).await.unwrap();
        ids.push(run.id().to_owned());
        assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
    }
    let mut filter = RunFilter::default();
    filter.labels.insert("task".to_owned(), "42".to_owned());
    let found = |filter: &RunFilter| -> Vec<String> {
        host.runs().list(filter).unwrap().into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(found(&filter), [ids[2].as_str(), &ids[1]], "the newest first");
    let sessions = host.sessions().unwrap();
    let mut labelled = SessionFilter::default();
    labelled.labels.clone_from(&filter.labels);
    let entries = sessions.list(&labelled).unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((entries[0].id.as_str(), &entries[0].runs[..]), ("s-2", &ids[1..]));

    let run = host.runs().find(&ids[2]).unwrap();
    assert!(run.receipt().unwrap().verify().unwrap().holds());
    host.runs().delete(&run).unwrap();
    assert_eq!(found(&filter), [ids[1].as_str()]);
    assert!(sessions.delete(&entries[0]).unwrap() && !sessions.delete(&entries[0]).unwrap());
    assert_eq!(sessions.list(&SessionFilter::default()).unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_a_message_and_a_cancel_reach_the_agent() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"x","input":{"n":1}}"#;
    let read_and_say = |script: Script| script.step("read-line").step("say-stdin");
    let script = read_and_say(Script::new().line(HELLO)).line(ask);
    let script = read_and_say(read_and_say(read_and_say(script)));
    let turn = sandbox.turn("script", &script).with_approvals(Approvals::Ask);
    let mut run = host.start(&adapter, turn, RunOptions::default()).await.unwrap();
    let mut heard = Vec::new();
    let mut report = None;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Ask(ask) => {
                // An answer to an ask that is not open does no harm.
                drop(run.answer(Answer::new("no such ask", Decision::Allow)));
                drop(run.answer(Answer::new(ask.id, Decision::Allow).with_input(json!({ "n": 2 }))));
            }
            EventKind::Message(part) => {
                heard.push(part.text);
                match heard.len() {
                    2 => drop(run.message("one more thing")),
                    3 => drop(run.cancel()),
                    _ => {}
                }
            }
            EventKind::Report(last) => report = Some(last),
            _ => {}
        }
    }
    assert!(heard[0].contains("\"prompt\""), "{heard:?}");
    assert!(heard[1].contains("\"allow\":true") && heard[1].contains("{\"n\":2}"), "{heard:?}");
    assert!(heard[2].contains("one more thing"), "{heard:?}");
    assert!(heard[3].contains("\"cancel\""), "{heard:?}");
    assert_eq!(report.unwrap().outcome, Outcome::Cancelled);
}

/// A piece of an agent's output: a valid line, an invalid line, or any bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line = |text: &str| Just(format!("{text}\n").into_bytes());
    prop_oneof![
        4 => "\\PC{0,30}".prop_map(|text| {
            let line = json!({ "type": "say", "id": "1", "text": text });
            format!("{line}\n").into_bytes()
        }),
        2 => "\\PC{0,10}".prop_map(|text| {
            format!("{}\r\n", json!({ "type": "delta", "id": "2", "text": text })).into_bytes()
        }),
        1 => line(HELLO),
        1 => line(DONE),
        1 => line(r#"{"type":"tool","id":"t","name":"x","status":"running","input":{"a":[1,2]}}"#),
        1 => line(r#"{"type":"failed","class":"auth","text":"no"}"#),
        1 => line(r#"{"type":"unknown-type"}"#),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => proptest::collection::vec(any::<u8>(), 0..3),
    ]
}

#[test]
fn a_replay_does_not_depend_on_the_size_of_the_chunks() {
    let sandbox = Sandbox::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let host = sandbox.host();
    let adapter = runtime.block_on(host.adapter("echo")).unwrap();
    let turn = Turn::new("go").with_workspace(sandbox.path("workspace"));
    let replay = |stdout: &[u8], stderr: &[u8], code: i32, chunk: Option<usize>| {
        let mut capture = Capture::default();
        (capture.stdout, capture.stderr) = (stdout.to_vec(), stderr.to_vec());
        capture.exit = Exit { code: Some(code), signal: None };
        capture.chunk = chunk;
        capture.turn = Some(turn.clone());
        runtime.block_on(host.replay_capture(&adapter, capture)).unwrap().events
    };
    let pieces = || proptest::collection::vec(piece(), 0..20).prop_map(|pieces: Vec<Vec<u8>>| pieces.concat());
    let cases = (pieces(), pieces(), 0..3, 1_usize..200);
    // Failures are not kept in a file: the seed is printed.
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |((stdout, stderr, code, chunk) in cases)| {
        let whole = replay(&stdout, &stderr, code, None);
        prop_assert_eq!(&replay(&stdout, &stderr, code, Some(chunk)), &whole);
        prop_assert_eq!(&replay(&stdout, &stderr, code, Some(1)), &whole);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_replays_give_the_same_events() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::normal().step("stderr a word\\n").step("exit 1");
    let run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    let id = run.id().to_owned();
    let events = events_of(run).await;
    let recorded = host.runs().find(&id).unwrap();
    assert_eq!(kinds(&recorded.events().unwrap().events), kinds(&events));
    for chunk in [None, Some(1), Some(3), Some(1000)] {
        let replayed = host.replay(&adapter, &recorded, chunk).await.unwrap();
        assert_eq!(kinds(&replayed.events), kinds(&events), "{chunk:?}");
        assert!(!replayed.torn);
    }
}

fn keep_alive() -> RunOptions {
    let mut options = RunOptions::default();
    options.keep_alive = true;
    options
}

/// Reads a run whose process is kept alive. `at_end` is called at the end of each turn.
async fn converse(mut run: Run, mut at_end: impl FnMut(&Run, usize)) -> Vec<Event> {
    let (mut events, mut ends) = (Vec::new(), 0);
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::TurnEnded(_)) {
            ends += 1;
            at_end(&run, ends);
        }
        events.push(event);
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_turns_in_one_process_are_one_run() {
    let sandbox = Sandbox::new();
    let host = sandbox.echo_host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut turn = Turn::new("one two").with_workspace(sandbox.path("workspace"));
    turn.messages = true;
    let run = host.start(&adapter, turn, keep_alive()).await.unwrap();
    let id = run.id().to_owned();
    let events = converse(run, |run, ends| {
        let mut next = NextTurn::new("three");
        next.model = Some("echo-loud".into());
        drop(if ends == 1 { run.next_turn(next) } else { run.finish_after_turn() });
    })
    .await;
    let started = events.iter().map(|event| &event.kind).filter(|kind| matches!(kind, EventKind::TurnStarted { .. }));
    assert_eq!(started.collect::<Vec<_>>(), [&EventKind::TurnStarted { prompt: "three".into() }]);
    let report = report(&events);
    assert_eq!((report.outcome, report.answer.as_deref()), (Outcome::Completed, Some("YOU SAID: THREE")));
    assert_eq!(report.model.as_deref(), Some("echo-loud"));
    // Two words of the answer and the prompt, both times.
    let usage = report.usage.as_ref().unwrap();
    assert_eq!((usage.input, usage.output), (Some(3), Some(4 + 3)));
    assert_eq!(host.sessions().unwrap().list(&SessionFilter::default()).unwrap().len(), 1);
    let recorded = host.runs().find(&id).unwrap();
    for chunk in [None, Some(1), Some(100)] {
        let replayed = host.replay(&adapter, &recorded, chunk).await.unwrap();
        assert_eq!(kinds(&replayed.events), kinds(&events), "{chunk:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_in_its_second_turn_has_failed() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step("read-line").line(SAY).line(DONE).step("read-line").step("exit 3");
    let mut turn = sandbox.turn("script", &script);
    turn.messages = true;
    let run = host.start(&adapter, turn, keep_alive()).await.unwrap();
    let id = run.id().to_owned();
    let events = converse(run, |run, _| drop(run.next_turn(NextTurn::new("more")))).await;
    let report = report(&events);
    assert_eq!(
        (report.outcome, report.answer.as_deref()),
        (Outcome::Failed, None),
        "the first answer is another turn's"
    );
    let replayed = host.replay(&adapter, &host.runs().find(&id).unwrap(), None).await.unwrap();
    assert_eq!(kinds(&replayed.events), kinds(&events));
    sandbox.expect_nothing_left();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_the_report_finishes_a_run_that_is_kept_alive() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step("read-line").line(SAY).line(DONE).step("read-stdin");
    let mut turn = sandbox.turn("script", &script);
    turn.messages = true;
    let report = host.start(&adapter, turn, keep_alive()).await.unwrap().finish().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    sandbox.expect_nothing_left();
}

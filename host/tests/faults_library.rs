//! The library as orchestrators use it: many runs in one process, runs that are dropped, readers that are late, and
//! replays that do not depend on how the bytes were cut.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, SAY, Script, good, wait_until};
use proptest::prelude::*;
use std::time::Duration;
use wharf::{Answer, Approvals, Capture, Decision, Event, Exit, NextTurn, Outcome, RunOptions};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_comes_late_gets_what_the_agent_left_in_its_pipes() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    // More than the batches that wait for their reader, so that a pipe is left full when the agent ends.
    let script = Script::new().line(HELLO).step("flood-stdout 330000").line(DONE);
    let mut run = host.start(&adapter, place.turn("script", &script), RunOptions::default()).await.unwrap();
    tokio::task::block_in_place(|| wait_until("the agent has ended", || place.processes().is_empty()));
    // Longer than the pipes of an agent that has ended are read.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (mut lines, mut outcome) = (0, None);
    while let Some(event) = run.next().await {
        match event {
            Event::TextDelta(_) => lines += 1,
            Event::Report(report) => outcome = Some(report.outcome),
            _ => {}
        }
    }
    assert_eq!((lines, outcome), (330_000_u32.div_ceil(1024), Some(Outcome::Completed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_dropped_is_killed_with_all_it_started() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script =
        Script::new().step("ignore-sigterm").step("children 2 60").step("setsid-child 60").line(HELLO).step("silence");
    let mut run = host.start(&adapter, place.turn("script", &script), RunOptions::default()).await.unwrap();
    assert!(matches!(run.next().await, Some(Event::Session(_))));
    assert_eq!(place.processes().len(), 4);
    drop(run);
    tokio::task::block_in_place(|| wait_until("all are gone", || place.processes().is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_dropped_before_it_said_a_word_is_killed_too() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().step("children 1 60").step("silence");
    for keep_controller in [false, true] {
        let run = host.start(&adapter, place.turn("script", &script), RunOptions::default()).await.unwrap();
        tokio::task::block_in_place(|| wait_until("it is up", || place.processes().len() == 2));
        let controller = keep_controller.then(|| run.controller());
        drop(run);
        tokio::task::block_in_place(|| wait_until("all are gone", || place.processes().is_empty()));
        drop(controller);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_runs_at_once_do_not_mix() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let mut runs = Vec::new();
    for number in 0..30 {
        let script = Script::new().line(&HELLO.replace("s-1", &format!("s-{number}"))).line(SAY).line(DONE);
        let turn = place.turn(&format!("script-{number}"), &script);
        let run = host.start(&adapter, turn, RunOptions::default()).await.unwrap();
        runs.push(tokio::spawn(async move { (number, run.finish().await.unwrap()) }));
    }
    for run in runs {
        let (number, report) = run.await.unwrap();
        assert_eq!(report.outcome, Outcome::Completed);
        assert_eq!(report.session.unwrap().id, format!("s-{number}"));
    }
    assert_eq!(host.sessions().unwrap().list(100).unwrap().len(), 30);
    place.expect_no_process();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_a_message_and_a_cancel_reach_the_agent() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"x","input":{"n":1}}"#;
    let said = |step: Script| step.step("read-line").step("say-stdin");
    let script = said(said(said(said(Script::new().line(HELLO)).line(ask))));
    let turn = wharf::Turn { approvals: Approvals::Ask, ..place.turn("script", &script) };
    let mut run = host.start(&adapter, turn, RunOptions::default()).await.unwrap();
    let mut heard = Vec::new();
    let mut report = None;
    while let Some(event) = run.next().await {
        match event {
            Event::Ask(ask) => {
                // One that is not open is no harm.
                run.answer(Answer::new("no such ask", Decision::Allow));
                run.answer(Answer {
                    input: Some(serde_json::json!({ "n": 2 })),
                    ..Answer::new(ask.id, Decision::Allow)
                });
            }
            Event::Message(part) => {
                heard.push(part.text);
                match heard.len() {
                    2 => run.send("one thing more"),
                    3 => run.cancel(),
                    _ => {}
                }
            }
            Event::Report(last) => report = Some(last),
            _ => {}
        }
    }
    assert!(heard[0].contains("\"prompt\""), "{heard:?}");
    assert!(heard[1].contains("\"allow\":true") && heard[1].contains("{\"n\":2}"), "{heard:?}");
    assert!(heard[2].contains("one thing more"), "{heard:?}");
    assert!(heard[3].contains("\"cancel\""), "{heard:?}");
    assert_eq!(report.unwrap().outcome, Outcome::Cancelled);
}

/// A piece of an agent's output: a good line, a line that is none, or any bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line = |text: &str| Just(format!("{text}\n").into_bytes());
    prop_oneof![
        4 => "\\PC{0,30}".prop_map(|text| {
            let line = serde_json::json!({ "type": "say", "id": "1", "text": text });
            format!("{line}\n").into_bytes()
        }),
        2 => "\\PC{0,10}".prop_map(|text| {
            format!("{}\r\n", serde_json::json!({ "type": "delta", "id": "2", "text": text })).into_bytes()
        }),
        1 => line(HELLO),
        1 => line(DONE),
        1 => line(r#"{"type":"tool","id":"t","name":"x","status":"running","input":{"a":[1,2]}}"#),
        1 => line(r#"{"type":"failed","class":"auth","text":"no"}"#),
        1 => line(r#"{"type":"unheard-of"}"#),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => proptest::collection::vec(any::<u8>(), 0..3),
    ]
}

#[test]
fn a_replay_does_not_depend_on_how_the_bytes_were_cut() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let host = place.host();
    let adapter = runtime.block_on(host.adapter("echo")).unwrap();
    let turn = wharf::Turn { workspace: place.path("work"), ..wharf::Turn::new("go") };
    let replay = |stdout: &[u8], stderr: &[u8], code: i32, chunk: Option<usize>| {
        let (stdout, stderr) = (stdout.to_vec(), stderr.to_vec());
        let exit = Exit { code: Some(code), signal: None };
        let capture = Capture { stdout, stderr, exit, chunk, turn: Some(turn.clone()), ..Capture::default() };
        runtime.block_on(host.replay_capture(&adapter, capture)).unwrap().events
    };
    let pieces = || proptest::collection::vec(piece(), 0..20).prop_map(|pieces: Vec<Vec<u8>>| pieces.concat());
    let cases = (pieces(), pieces(), 0..3, 1_usize..200);
    // No file remembers failures: the seed is printed.
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |((stdout, stderr, code, chunk) in cases)| {
        let whole = replay(&stdout, &stderr, code, None);
        prop_assert_eq!(&replay(&stdout, &stderr, code, Some(chunk)), &whole);
        prop_assert_eq!(&replay(&stdout, &stderr, code, Some(1)), &whole);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_replays_say_the_same() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = good().step("stderr a word\\n").step("exit 1");
    let mut run = host.start(&adapter, place.turn("script", &script), RunOptions::default()).await.unwrap();
    let recording = host.runs_folder().join(run.id()).join("recording");
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    for chunk in [None, Some(1), Some(3), Some(1000)] {
        let replayed = host.replay(&adapter, &recording, chunk).await.unwrap();
        assert_eq!(replayed.events, events, "{chunk:?}");
        assert!(!replayed.torn);
    }
}

/// Goes through a run that stays: what happens at each end of a turn.
async fn converse(mut run: wharf::Run, mut at_end: impl FnMut(&wharf::Run, usize)) -> Vec<Event> {
    let (mut events, mut ends) = (Vec::new(), 0);
    while let Some(event) = run.next().await {
        if matches!(event, Event::TurnEnd { .. }) {
            ends += 1;
            at_end(&run, ends);
        }
        events.push(event);
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_turns_in_one_process_are_one_run() {
    let place = Place::new();
    // The bundled agent itself, which is the binary.
    let mut config = place.host().config().clone();
    config.programs.insert("echo".to_owned(), env!("CARGO_BIN_EXE_wharf").into());
    let host = wharf::Host::new(place.host().places().clone(), config).unwrap();
    let adapter = host.adapter("echo").await.unwrap();
    let turn = wharf::Turn { workspace: place.path("work"), messages: true, ..wharf::Turn::new("one two") };
    let options = RunOptions { stays: true, ..RunOptions::default() };
    let run = host.start(&adapter, turn, options).await.unwrap();
    let recording = host.runs_folder().join(run.id()).join("recording");
    let events = converse(run, |run, ends| match ends {
        1 => run.next_turn(NextTurn { model: Some("echo-loud".into()), ..NextTurn::new("three") }),
        _ => run.no_next_turn(),
    })
    .await;
    let begun: Vec<_> = events.iter().filter(|event| matches!(event, Event::TurnBegun { .. })).collect();
    assert_eq!(begun, [&Event::TurnBegun { prompt: "three".into() }]);
    let Some(Event::Report(report)) = events.last() else { panic!("{events:?}") };
    assert_eq!((report.outcome, report.answer.as_deref()), (Outcome::Completed, Some("YOU SAID: THREE")));
    assert_eq!(report.model.as_deref(), Some("echo-loud"));
    // "You said:" and the prompt, both times.
    let usage = report.usage.as_ref().unwrap();
    assert_eq!((usage.input, usage.output), (Some(3), Some(4 + 3)));
    assert_eq!(host.sessions().unwrap().list(10).unwrap().len(), 1);
    for chunk in [None, Some(1), Some(100)] {
        assert_eq!(host.replay(&adapter, &recording, chunk).await.unwrap().events, events, "{chunk:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_in_its_second_turn_has_failed() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step("read-line").line(SAY).line(DONE).step("read-line").step("exit 3");
    let turn = wharf::Turn { messages: true, ..place.turn("script", &script) };
    let options = RunOptions { stays: true, ..RunOptions::default() };
    let run = host.start(&adapter, turn, options).await.unwrap();
    let recording = host.runs_folder().join(run.id()).join("recording");
    let events = converse(run, |run, _| run.next_turn(NextTurn::new("more"))).await;
    let Some(Event::Report(report)) = events.last() else { panic!("{events:?}") };
    assert_eq!((report.outcome, report.answer.as_deref()), (Outcome::Failed, None), "the first answer is not its own");
    assert_eq!(host.replay(&adapter, &recording, None).await.unwrap().events, events);
    place.expect_alone();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_the_report_has_no_further_turn() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step("read-line").line(SAY).line(DONE).step("read-stdin");
    let turn = wharf::Turn { messages: true, ..place.turn("script", &script) };
    let options = RunOptions { stays: true, ..RunOptions::default() };
    let report = host.start(&adapter, turn, options).await.unwrap().finish().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    place.expect_alone();
}

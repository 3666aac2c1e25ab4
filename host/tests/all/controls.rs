//! What comes of a caller's controls, and the limit of live runs.

use std::pin::pin;
use wharf::ask::{Answer, Decision};
use wharf::event::{EventKind, Outcome};
use wharf::{Approvals, Delivery, ErrorKind, NextTurn, Run, RunOptions, WhenBusy};
use wharf_test_support::{DONE, HELLO, SAY, Sandbox, Script, wait_until};

/// Reads to an event of which something holds.
async fn read_until(run: &mut Run, holds: impl Fn(&EventKind) -> bool) -> EventKind {
    while let Some(event) = run.next().await {
        if holds(&event.kind) {
            return event.kind;
        }
    }
    panic!("the run ended before")
}

fn refused(delivery: Delivery, part: &str) {
    match delivery {
        Delivery::Refused(reason) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_says_whether_a_control_was_carried_out() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"x","input":{}}"#;
    let script = Script::new()
        .line(HELLO)
        .step("read-line")
        .line(ask)
        .step("read-line")
        .step("read-line")
        .line(SAY)
        .line(DONE)
        .step("read-line")
        .line(SAY)
        .step("read-line")
        .step("exit 0");
    let mut turn = sandbox.turn("script", &script).with_approvals(Approvals::Ask);
    turn.messages = true;
    let mut options = RunOptions::default();
    options.keep_alive = true;
    let mut run = host.start(&adapter, turn, options).await.unwrap();
    read_until(&mut run, |kind| matches!(kind, EventKind::Ask(_))).await;

    refused(run.answer(Answer::new("none", Decision::Allow)).await, "no such ask");
    refused(run.next_turn(NextTurn::new("too early")).await, "has not ended");
    assert_eq!(run.answer(Answer::new("a", Decision::Allow)).await, Delivery::Done);
    refused(run.answer(Answer::new("a", Decision::Allow)).await, "not open any more");
    assert_eq!(run.message("one more thing").await, Delivery::Done);
    read_until(&mut run, |kind| matches!(kind, EventKind::TurnEnded(_))).await;

    refused(run.message("too late").await, "the turn is over");
    refused(run.next_turn(NextTurn::new(" ")).await, "the prompt is empty");
    assert_eq!(run.next_turn(NextTurn::new("another")).await, Delivery::Done);
    read_until(&mut run, |kind| matches!(kind, EventKind::Message(_))).await;
    assert_eq!(run.cancel().await, Delivery::Done);
    let controller = run.controller();
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Cancelled);

    for ticket in [controller.cancel(), controller.message("too late"), controller.finish_after_turn()] {
        assert_eq!(ticket.await, Delivery::RunEnded);
    }
    assert_eq!(controller.answer(Answer::new("a", Decision::Deny)).await, Delivery::RunEnded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_an_agent_that_takes_none_is_refused() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step(&format!("wait-file {}", sandbox.path("go").display())).line(DONE);
    let mut run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    read_until(&mut run, |kind| matches!(kind, EventKind::Session(_))).await;
    refused(run.message("hello?").await, "takes no messages");
    refused(run.next_turn(NextTurn::new("more")).await, "the agent's stdin is closed");
    sandbox.write("go", "");
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_is_dropped_takes_nothing_back() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let script = Script::new().line(HELLO).step("silence");
    let mut run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    read_until(&mut run, |kind| matches!(kind, EventKind::Session(_))).await;
    drop(run.cancel());
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_beyond_the_limit_waits_or_is_refused() {
    let sandbox = Sandbox::new();
    let host = sandbox.host_with(|config| config.limits.runs = Some(2));
    let adapter = host.adapter("echo").await.unwrap();
    let waiting = Script::new().line(HELLO).step(&format!("wait-file {}", sandbox.path("go").display())).line(DONE);
    // Written once: an agent that is starting must not read a file that is being written again.
    let turn = sandbox.turn("script", &waiting);
    let start = |when_busy| {
        let mut options = RunOptions::default();
        options.when_busy = when_busy;
        host.start(&adapter, turn.clone(), options)
    };
    let first = start(WhenBusy::Refuse).await.unwrap();
    let second = start(WhenBusy::Wait).await.unwrap();

    let mut third = pin!(start(WhenBusy::Wait));
    // The third is polled first, and still waits when the fourth is refused.
    let error = tokio::select! {
        biased;
        _ = &mut third => panic!("a third run started"),
        refused = start(WhenBusy::Refuse) => refused.expect_err("two runs are live"),
    };
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("the limit of live runs (2)") && error.hint().is_some(), "{error}");
    tokio::task::block_in_place(|| wait_until("two agents run", || sandbox.agents().len() == 2));

    sandbox.write("go", "");
    assert_eq!(first.finish().await.unwrap().outcome, Outcome::Completed);
    let third = third.await.expect("there is room now");
    for run in [second, third] {
        assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
    }
    // A turn that cannot be started, and one that is dropped, give their places back.
    for _ in 0..3 {
        let turn = turn.clone().with_workspace("/no/such/folder");
        assert!(host.start(&adapter, turn, RunOptions::default()).await.is_err());
        drop(start(WhenBusy::Wait).await.unwrap());
    }
    assert_eq!(start(WhenBusy::Wait).await.unwrap().finish().await.unwrap().outcome, Outcome::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_is_awaited_instead_of_the_events_resolves_when_the_agent_has_exited() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let ask = r#"{"type":"ask","id":"a","title":"may I?","tool":"x","input":{}}"#;
    let mut script = Script::new().line(HELLO).line(ask);
    // Each write is one batch, as many as the channel takes, and the last one has no newline: it becomes an event only
    // after the exit, when the channel is full.
    for number in 0..4 {
        script = script.step("sleep 100").line(&format!(r#"{{"type":"say","id":"{number}","text":"x"}}"#));
    }
    let script = script.step(r#"stdout {"type":"say","id":"last","text":"x"}"#);
    let turn = sandbox.turn("script", &script).with_approvals(Approvals::Ask);
    let mut run = host.start(&adapter, turn, RunOptions::default()).await.unwrap();
    read_until(&mut run, |kind| matches!(kind, EventKind::Ask(_))).await;
    tokio::task::block_in_place(|| wait_until("the agent has exited", || sandbox.processes().is_empty()));
    let answered = run.answer(Answer::new("a", Decision::Allow));
    let delivery = tokio::time::timeout(std::time::Duration::from_secs(20), answered).await;
    assert!(delivery.is_ok(), "the ticket and the loop wait for each other");
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Failed);
}

//! A reader that stalls holds up the agent, and does not grow the host. Few in its file: one measures this process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]
#![expect(clippy::print_stdout, reason = "the figures are worth reading")]

mod harness;

use harness::{DONE, HELLO, Place, Script, resident, settled, written};
use wharf::{Event, Outcome, Run, RunOptions};

/// What the agent wants to write.
const FLOOD: u64 = 5_000_000_000;

/// What this process may grow by meanwhile.
const ROOM: u64 = 64 << 20;

/// What an agent may be ahead of its reader: what is in its pipe, in the batches that wait, and in what was read last.
const AHEAD: u64 = 4 << 20;

/// How much is read between two stalls.
const PART: u64 = 8 << 20;

/// Until the agent makes no progress any more; gives what it has written.
fn held_up(agent: u32, before: u64) -> u64 {
    tokio::task::block_in_place(|| {
        settled("the agent is held up", || {
            let grown = resident(std::process::id()).saturating_sub(before);
            assert!(grown < ROOM, "the host grew by {grown} bytes");
            written(agent)
        })
    })
}

/// Reads so many lines of 1024 bytes.
async fn read(run: &mut Run, lines: u64) {
    for _ in 0..lines {
        assert!(matches!(run.next().await, Some(Event::TextDelta(_))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stalls_holds_up_an_agent_that_would_write_5_gigabytes() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    // Once, so that what a first run needs is there.
    let warm = Script::new().line(HELLO).step("flood-stdout 1000000").line(DONE);
    let report = host.start(&adapter, place.turn("warm", &warm), RunOptions::default()).await.unwrap().finish().await;
    assert_eq!(report.unwrap().outcome, Outcome::Completed);

    let script = Script::new().line(HELLO).step(&format!("flood-stdout {FLOOD}")).line(DONE);
    let options = RunOptions { unrecorded: true, ..RunOptions::default() };
    let before = resident(std::process::id());
    let mut run = host.start(&adapter, place.turn("flood", &script), options).await.unwrap();
    assert!(matches!(run.next().await, Some(Event::Session(_))));
    let agent = place.agents()[0];
    for stall in 0..3 {
        let wrote = held_up(agent, before);
        let taken = stall * PART;
        println!("the agent wrote {wrote} bytes, {taken} of which were taken");
        assert!((taken..taken + AHEAD).contains(&wrote), "{taken} bytes were taken, and it wrote {wrote}");
        read(&mut run, PART / 1024).await;
    }
    run.cancel();
    let report = run.finish().await.unwrap();
    assert_eq!(report.outcome, Outcome::Cancelled);
    place.expect_alone();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stalled_gets_everything_in_the_end() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    let lines = 10_000;
    let script = Script::new().line(HELLO).step(&format!("flood-stdout {}", lines * 1024)).line(DONE);
    let mut run = host.start(&adapter, place.turn("script", &script), RunOptions::default()).await.unwrap();
    assert!(matches!(run.next().await, Some(Event::Session(_))));
    let agent = place.agents()[0];
    let wrote = tokio::task::block_in_place(|| settled("the agent is held up", || written(agent)));
    assert!(wrote < lines * 1024, "it was not held up");
    read(&mut run, lines).await;
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
    place.expect_alone();
}

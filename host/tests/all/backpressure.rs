//! A reader that stalls blocks the agent, and does not grow the host.

use wharf::event::{EventKind, Outcome};
use wharf::{Run, RunOptions};
use wharf_test_support::{
    DONE, HELLO, Sandbox, Script, bytes_written, in_own_process, resident_memory, wait_until_stable,
};

/// What the agent tries to write.
const FLOOD: u64 = 5_000_000_000;

/// What this process may grow by in the meantime.
const ROOM: u64 = 64 << 20;

/// How far an agent may be ahead of its reader: what is in its pipe, in the waiting batches, and in the last read.
const AHEAD: u64 = 4 << 20;

/// How much is read between two stalls.
const PART: u64 = 8 << 20;

/// Waits until the agent makes no more progress; gives what it has written.
fn blocked(agent: u32, before: u64) -> u64 {
    tokio::task::block_in_place(|| {
        wait_until_stable("the agent is blocked", || {
            let grown = resident_memory(std::process::id()).saturating_sub(before);
            assert!(grown < ROOM, "the host grew by {grown} bytes");
            bytes_written(agent)
        })
    })
}

/// Reads to the event that names the session.
async fn read_session(run: &mut Run) {
    while !matches!(run.next().await.expect("an event").kind, EventKind::Session(_)) {}
}

/// Reads so many lines of 1024 bytes.
async fn read(run: &mut Run, lines: u64) {
    for _ in 0..lines {
        assert!(matches!(run.next().await.expect("an event").kind, EventKind::TextDelta(_)));
    }
}

#[test]
fn a_stalled_reader_blocks_an_agent_that_would_write_5_gigabytes() {
    // It measures the memory of this process.
    in_own_process("backpressure::a_stalled_reader_blocks_an_agent_that_would_write_5_gigabytes", || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let flooded = runtime.spawn(flood());
        runtime.block_on(flooded).unwrap();
    });
}

async fn flood() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    // Once before, so that what a first run needs is there.
    let warm = Script::new().line(HELLO).step("flood-stdout 1000000").line(DONE);
    let run = host.start(&adapter, sandbox.turn("warm", &warm), RunOptions::default()).await.unwrap();
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);

    let script = Script::new().line(HELLO).step(&format!("flood-stdout {FLOOD}")).line(DONE);
    let mut options = RunOptions::default();
    options.unrecorded = true;
    let before = resident_memory(std::process::id());
    let mut run = host.start(&adapter, sandbox.turn("flood", &script), options).await.unwrap();
    read_session(&mut run).await;
    let agent = sandbox.agents()[0];
    for stall in 0..3 {
        let written = blocked(agent, before);
        let taken = stall * PART;
        assert!((taken..taken + AHEAD).contains(&written), "{taken} bytes were taken, and it wrote {written}");
        read(&mut run, PART / 1024).await;
    }
    drop(run.cancel());
    let report = run.finish().await.unwrap();
    assert_eq!(report.outcome, Outcome::Cancelled);
    sandbox.expect_nothing_left();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stalled_gets_everything_in_the_end() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let adapter = host.adapter("echo").await.unwrap();
    let lines = 10_000;
    let script = Script::new().line(HELLO).step(&format!("flood-stdout {}", lines * 1024)).line(DONE);
    let mut run = host.start(&adapter, sandbox.turn("script", &script), RunOptions::default()).await.unwrap();
    read_session(&mut run).await;
    let agent = sandbox.agents()[0];
    let written = tokio::task::block_in_place(|| wait_until_stable("the agent is blocked", || bytes_written(agent)));
    assert!(written < lines * 1024, "it was not blocked");
    read(&mut run, lines).await;
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Completed);
    sandbox.expect_nothing_left();
}

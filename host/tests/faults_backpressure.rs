//! A reader that stalls holds up the agent, and does not grow the host. Alone in its file: it measures this process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]
#![expect(clippy::print_stdout, reason = "the figures are worth reading")]

mod harness;

use harness::{DONE, HELLO, Place, Script};
use std::time::{Duration, Instant};
use wharf::{Event, Outcome, RunOptions};

/// What the agent writes.
const FLOOD: u64 = 200_000_000;

/// What this process may grow by meanwhile.
const ROOM: u64 = 64 << 20;

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_holds_up_the_agent_and_gets_everything_in_the_end() {
    let place = Place::new();
    let host = place.host();
    let adapter = host.adapter("echo").await.unwrap();
    // Once, so that what a first run needs is there.
    let warm = Script::new().line(HELLO).line(DONE);
    host.start(&adapter, place.turn("warm", &warm), RunOptions::default()).await.unwrap().finish().await.unwrap();

    let script = Script::new().line(HELLO).step(&format!("flood-stdout {FLOOD}")).line(DONE);
    let options = RunOptions { unrecorded: true, ..RunOptions::default() };
    let before = resident();
    let mut run = host.start(&adapter, place.turn("flood", &script), options).await.unwrap();
    let begun = Instant::now();
    let mut most = 0;
    while begun.elapsed() < Duration::from_secs(4) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(resident().saturating_sub(before));
    }
    assert_eq!(place.processes().len(), 1, "the agent waits for its reader");
    let (mut lines, mut completed) = (0, false);
    while let Some(event) = run.next().await {
        match event {
            Event::TextDelta(_) => lines += 1,
            Event::Report(report) => completed = report.outcome == Outcome::Completed,
            _ => {}
        }
        if lines % 1000 == 0 {
            most = most.max(resident().saturating_sub(before));
        }
    }
    assert!(completed);
    assert_eq!(lines, FLOOD.div_ceil(1024));
    assert!(most < ROOM, "it grew by {most} bytes");
    println!("{FLOOD} bytes in {:?}, the host grew by at most {most} bytes", begun.elapsed());
    place.expect_alone();
}

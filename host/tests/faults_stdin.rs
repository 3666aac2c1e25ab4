//! An adapter that answers everything at length, and agents that read the answers late or never. What waits for an agent
//! is bounded; nothing of it is lost to one that reads; one that does not is ended as any that does nothing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, Ran, Script, resident, settled, signal, wait_until, written};
use std::process::{Child, Stdio};

/// What the adapter says to each `delta`.
const ANSWER: u64 = 64 << 10;

/// What the host may have in all: itself, the sandbox, and what waits for the agent.
const HOST: u64 = 256 << 20;

const CHATTER: [&str; 4] = ["--adapter", "faulty", "--option", "fault=chatter"];

/// A run whose agent writes more than the host may hold answers for, and reads nothing.
fn stuck(place: &Place, more: &[&str]) -> Child {
    place.install_faulty();
    let script = Script::new().line(HELLO).step("flood-stdout 20000000");
    let mut order = place.order(&script, &[&CHATTER[..], more].concat());
    // A file takes all that is printed: it is not the reader of the events who stalls here.
    let events = std::fs::File::create(place.path("events")).unwrap();
    let child = order.stdout(events).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the agent is up", || !place.agents().is_empty());
    child
}

fn ended(place: &Place, child: Child) -> Ran {
    let mut output = child.wait_with_output().unwrap();
    output.stdout = std::fs::read(place.path("events")).unwrap();
    place.expect_alone();
    Ran::of(&output)
}

#[test]
fn an_agent_that_never_reads_does_not_grow_the_host_and_can_be_cancelled() {
    let place = Place::new();
    let child = stuck(&place, &["--no-record"]);
    let agent = place.agents()[0];
    let wrote = settled("the agent has been held up", || {
        let size = resident(child.id());
        assert!(size < HOST, "the host has {size} bytes");
        written(agent)
    });
    // What was answered, what was read at once, and what is in the pipe.
    assert!(wrote < 4 << 20, "it could write {wrote} bytes");
    signal(&child, "INT");
    let ran = ended(&place, child);
    ran.expect(130, "cancelled");
}

#[test]
fn an_agent_that_never_reads_is_ended_by_the_idle_clock() {
    let place = Place::new();
    let child = stuck(&place, &["--limit-idle", "1"]);
    let ran = ended(&place, child);
    ran.expect(6, "limit");
    assert_eq!(ran.report()["detail"], "the idle clock ran out");
    place.expect_replay(ran.run());
}

#[test]
fn an_agent_that_reads_late_gets_everything() {
    let place = Place::new();
    place.install_faulty();
    // More than may wait for it; as its own lines fit into the pipe, it is not held up before it reads.
    let lines = 600;
    let script = Script::new()
        .line(HELLO)
        .step(&format!("flood-stdout {}", lines * 1024))
        .step(&format!("repeat {lines} read-line"))
        .step("say-stdin")
        .line(DONE);
    let ran = Ran::of(&place.order(&script, &CHATTER).output().unwrap());
    ran.expect(0, "completed");
    assert_eq!(ran.of_type("text-delta").count(), lines);
    let said = ran.report()["answer"].as_str().unwrap();
    assert_eq!((said.len() as u64, said.trim_matches('y')), (ANSWER, "\n"));
    place.expect_replay(ran.run());
    place.expect_alone();
}

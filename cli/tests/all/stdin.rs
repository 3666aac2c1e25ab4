//! An adapter that answers every line with a long text, and agents that read the answers late or never. What waits for
//! an agent is bounded; an agent that reads gets all of it; one that does not is stopped like any idle agent.

use crate::sandbox;
use std::process::{Child, Stdio};
use wharf_test_support::{
    DONE, Finished, HELLO, Sandbox, Script, Signal, bytes_written, resident_memory, send_signal, wait_until,
    wait_until_stable,
};

/// The size of the adapter's answer to each `delta`.
const ANSWER: u64 = 64 << 10;

/// The memory that wharf may use in all: for itself, the sandbox, and what waits for the agent.
const HOST: u64 = 256 << 20;

const CHATTER: [&str; 4] = ["--adapter", "faulty", "--option", "fault=chatter"];

/// A run whose agent writes more than wharf can hold answers for, and reads nothing.
fn stuck(sandbox: &Sandbox, more: &[&str]) -> Child {
    sandbox.install_faulty();
    let script = Script::new().line(HELLO).step("flood-stdout 20000000");
    let mut command = sandbox.run_command(&script, &[&CHATTER[..], more].concat());
    // A file takes all that is printed: it is not the reader of the events that stalls here.
    let events = std::fs::File::create(sandbox.path("events")).unwrap();
    let child = command.stdout(events).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the agent has started", || !sandbox.agents().is_empty());
    child
}

fn finish(sandbox: &Sandbox, child: Child) -> Finished {
    let mut output = child.wait_with_output().unwrap();
    output.stdout = std::fs::read(sandbox.path("events")).unwrap();
    sandbox.expect_nothing_left();
    Finished::from(output)
}

#[test]
fn an_agent_that_never_reads_does_not_grow_wharf_and_can_be_cancelled() {
    let sandbox = sandbox();
    let child = stuck(&sandbox, &["--no-record"]);
    let agent = sandbox.agents()[0];
    let wrote = wait_until_stable("the agent cannot write any more", || {
        let size = resident_memory(child.id());
        assert!(size < HOST, "wharf uses {size} bytes");
        bytes_written(agent)
    });
    // What was answered, what was read at once, and what is in the pipe.
    assert!(wrote < 4 << 20, "it could write {wrote} bytes");
    send_signal(&child, Signal::INT);
    let run = finish(&sandbox, child);
    run.expect(130, "cancelled");
}

#[test]
fn an_agent_that_never_reads_is_stopped_by_the_idle_timeout() {
    let sandbox = sandbox();
    let child = stuck(&sandbox, &["--idle-timeout", "1"]);
    let run = finish(&sandbox, child);
    run.expect(6, "limit");
    assert_eq!(run.report()["detail"], "idle timeout");
    sandbox.expect_replay(run.run_id());
}

#[test]
fn an_agent_that_reads_late_gets_everything() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    // More than may wait for it; as its own lines fit into the pipe, it is not held up before it reads.
    let lines = 600;
    let script = Script::new()
        .line(HELLO)
        .step(&format!("flood-stdout {}", lines * 1024))
        .step(&format!("repeat {lines} read-line"))
        .step("say-stdin")
        .line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &CHATTER));
    run.expect(0, "completed");
    assert_eq!(run.of_type("text-delta").count(), lines);
    let answer = run.report()["answer"].as_str().unwrap();
    assert_eq!((answer.len() as u64, answer.trim_matches('y')), (ANSWER, "\n"));
    sandbox.expect_replay(run.run_id());
    sandbox.expect_nothing_left();
}

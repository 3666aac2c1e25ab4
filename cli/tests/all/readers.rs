//! The reader of stdout or stderr may be stuck, or have no room left.

use crate::sandbox;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use wharf_test_support::{DONE, Finished, HELLO, Script, Signal, files_containing, send_signal, wait_until};

#[test]
fn a_full_disk_under_stdout_is_an_error_and_the_agent_is_stopped() {
    let sandbox = sandbox();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let run = Finished::of(sandbox.run_command(&Script::normal(), &[]).stdout(full));
    assert_eq!(run.code, Some(7), "{run:?}");
    assert!(run.stderr.contains("standard output") && run.stderr.contains("No space left"), "{run:?}");
    sandbox.expect_nothing_left();
}

#[test]
fn two_signals_end_wharf_while_nobody_reads_and_the_run_is_recorded_completely() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("flood-stdout 50000000").line(DONE);
    let mut child = sandbox.run_command(&script, &[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Before the agent has started, a signal ends everything at once, and there is no run to record.
    let session = b"\"type\":\"session\"";
    wait_until("an event of the agent is recorded", || !files_containing(&sandbox.path("data"), session).is_empty());
    send_signal(&child, Signal::TERM);
    // Two signals that come together count as one: the second waits for the effect of the first.
    wait_until("the agent has exited", || sandbox.agents().is_empty());
    send_signal(&child, Signal::TERM);
    wait_until("wharf has exited", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let _ = sandbox.call(["receipt", "last", "--verify"]).success();
    sandbox.expect_nothing_left();
}

#[test]
fn warnings_that_nobody_reads_delay_no_timeout() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("silence");
    let mut command = sandbox.run_command(&script, &["--control", "--total-timeout", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // There is a warning about each of these on stderr, whose pipe holds only a small part of them.
    let writing = std::thread::spawn(move || {
        for number in 0..5000 {
            if writeln!(stdin, "this line is not JSON, and its number is {number}").is_err() {
                return;
            }
        }
    });
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6), "{printed}");
    writing.join().unwrap();
    sandbox.expect_nothing_left();
}

#[test]
fn an_escape_that_is_invalid_in_json_costs_one_character() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).line(r#"{"type":"say","id":"1","text":"C:\qux"}"#).line(DONE);
    let run = sandbox.run(&script, &[]);
    run.expect(0, "completed");
    assert_eq!(run.report()["answer"], "C:\u{FFFD}ux");
}

#[test]
fn a_line_of_stdin_that_is_not_utf_8_causes_a_warning_and_ends_nothing() {
    let sandbox = sandbox();
    let args = ["run", "--json", "--control", "--keep-alive", "--approve", "--adapter", "echo", "first"];
    let mut child =
        sandbox.wharf(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\xff\xfe\n{\"type\":\"next-turn\",\"prompt\":\"second\"}\n").unwrap();
    drop(stdin);
    let run = Finished::from(child.wait_with_output().unwrap());
    assert!(run.stderr.contains("not UTF-8"), "{run:?}");
    // It may be too early for a next turn, which is then rejected; the line before it did not end the input.
    let next = [r#""input":"next-turn""#, "turn-started"];
    assert!(next.iter().any(|text| run.stdout.contains(text)), "{run:?}");
}

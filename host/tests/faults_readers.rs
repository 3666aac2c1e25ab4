//! Whoever reads the lines of `--json`, or the talk beside them, may be stuck, or have no room.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, Script, good, signal, wait_until};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

#[test]
fn a_full_disk_behind_stdout_is_said_and_the_agent_ends() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = place.order(&good(), &[]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("standard output") && stderr.contains("No space left"), "{stderr}");
    place.expect_alone();
}

#[test]
fn two_signals_end_wharf_though_nobody_reads_and_the_run_is_kept_whole() {
    let place = Place::new();
    let script = Script::new().line(HELLO).step("flood-stdout 50000000").line(DONE);
    let mut child = place.order(&script, &[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Before the agent is up a signal ends everything at once, and there is no run to keep.
    let runs = || std::fs::read_dir(place.path("data").join("runs")).into_iter().flatten().flatten();
    let said = || runs().any(|run| run.path().join("events.jsonl").metadata().is_ok_and(|events| events.len() > 0));
    wait_until("the agent was heard", said);
    signal(&child, "TERM");
    // Two signals that come at once are one to the system: the second waits until the first was heard.
    wait_until("the agent is gone", || place.agents().is_empty());
    signal(&child, "TERM");
    wait_until("wharf has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let receipt = place.answer(&["receipt", "last", "--verify"]);
    assert!(receipt.status.success(), "{}", String::from_utf8_lossy(&receipt.stderr));
    place.expect_alone();
}

#[test]
fn talk_that_nobody_reads_stops_no_clock() {
    let place = Place::new();
    let script = Script::new().line(HELLO).step("silence");
    let mut order = place.order(&script, &["--messages", "--limit-total", "1"]);
    let mut child = order.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Each of these is complained about on stderr, whose pipe takes a small part of it all.
    let writing = std::thread::spawn(move || {
        for number in 0..5000 {
            if writeln!(stdin, "this line is no JSON, and its number is {number}").is_err() {
                return;
            }
        }
    });
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(6), "{printed}");
    writing.join().unwrap();
    place.expect_alone();
}

#[test]
fn an_escape_that_json_does_not_know_spoils_one_character() {
    let place = Place::new();
    let script = Script::new().line(HELLO).line(r#"{"type":"say","id":"1","text":"C:\qux"}"#).line(DONE);
    let ran = place.run(&script, &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["answer"], "C:\u{FFFD}ux");
}

#[test]
fn a_line_that_is_no_text_is_told_of_and_ends_nothing() {
    let place = Place::new();
    let words = ["run", "--json", "--messages", "--stay", "--approve", "--adapter", "echo", "first"];
    let mut child =
        place.wharf(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\xff\xfe\n{\"type\":\"next-turn\",\"prompt\":\"second\"}\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stderr.contains("not understood"), "{stderr}");
    // Too early for a next turn, which is said; what matters is that the line before it did not end the input.
    assert!(stdout.contains("another turn was not begun") || stdout.contains("turn-begun"), "{stdout}{stderr}");
}

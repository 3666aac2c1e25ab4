//! What agents do to their pipes: small writes, long lines, noise, floods, a stdin that is never read. After each run
//! the harness looks that every byte was recorded, that a replay says the same, and that nothing is left.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]

mod harness;

use harness::{DONE, HELLO, Place, SAY, Script, good};
use serde_json::json;

const DELTA: &str = r#"{"type":"delta","id":"1","text":"a"}"#;

#[test]
fn one_byte_at_a_time() {
    let place = Place::new();
    let script = Script::new().step("bytes 1").line(HELLO).line(DELTA).line(SAY).line(DONE);
    let ran = place.run(&script, &[]);
    ran.expect(0, "completed");
    let kinds: Vec<_> = ran.events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session", "text-delta", "message", "turn-end", "report"]);
}

#[test]
fn a_character_split_over_writes_is_one_character() {
    let text = "é, 漢字, 🦀, \u{301}";
    let line = json!({ "type": "say", "id": "1", "text": text }).to_string();
    let script = Script::new().step("bytes 1").line(HELLO).line(&line).step("bytes 3").line(&line).line(DONE);
    let ran = Place::new().run(&script, &[]);
    ran.expect(0, "completed");
    assert!(ran.of_type("message").count() == 2 && ran.of_type("message").all(|event| event["text"] == text));
    assert_eq!(ran.report()["drift"]["malformed"], 0);
}

#[test]
fn bytes_that_are_no_utf_8_are_repaired_and_recorded_as_they_were() {
    let script = Script::new()
        .line(HELLO)
        .stdout(b"{\"type\":\"say\",\"id\":\"1\",\"text\":\"a\xff\xfeb\"}\n")
        .stdout(b"\xc3\x28\x00\x80\n")
        .line(DONE);
    let ran = Place::new().run(&script, &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.of_type("message").next().unwrap()["text"], "a\u{fffd}\u{fffd}b");
    assert_eq!(ran.report()["drift"]["malformed"], 1);
}

#[test]
fn a_line_of_20_megabytes_is_skipped_and_reported_and_the_stream_goes_on() {
    let script = Script::new().line(HELLO).big_line(20_000_000).line(SAY).line(DONE);
    let ran = Place::new().run(&script, &[]);
    ran.expect(0, "completed");
    let skipped: Vec<_> = ran.of_type("oversized").collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0]["length"].as_u64(), skipped[0]["origin"].as_str()), (Some(19_999_999), Some("stdout")));
    let head = skipped[0]["head"].as_str().unwrap();
    assert!(head.starts_with(r#"{"type":"delta","id":"1","text":""#) && head.len() == 1024, "{head}");
    assert_eq!(ran.report()["answer"], "as you wish");
    assert_eq!(ran.report()["drift"]["malformed"], 1);
}

#[test]
fn the_longest_line_is_the_users_choice() {
    let script = Script::new().line(HELLO).big_line(2000).big_line(2001).line(DONE);
    // A line's end does not count.
    let ran = Place::new().run(&script, &["--limit-frame", "1999"]);
    ran.expect(0, "completed");
    assert_eq!((ran.of_type("text-delta").count(), ran.of_type("oversized").count()), (1, 1));
}

#[test]
fn garbage_between_lines_is_counted_and_passed_over() {
    let script = Script::new()
        .line("npm warn deprecated something@1.0.0")
        .line(HELLO)
        .stdout("\n\r\n  \n")
        .line("{\"type\":\"say\"")
        .line("[1, 2, 3]")
        .line("\u{1b}[31mred\u{1b}[0m")
        .line(r#"{"type":"brand-new","payload":{}}"#)
        .line(SAY)
        .line(DONE);
    let ran = Place::new().run(&script, &[]);
    ran.expect(0, "completed");
    assert_eq!(ran.report()["answer"], "as you wish");
    assert_eq!(ran.report()["drift"], json!({ "unknown": { "brand-new": 1 }, "malformed": 4 }), "{:?}", ran.events);
}

#[test]
fn a_last_line_without_its_end_counts() {
    let ran = Place::new().run(&Script::new().line(HELLO).stdout(DONE), &[]);
    ran.expect(0, "completed");
}

#[test]
fn an_agent_that_never_reads_its_stdin_gets_a_prompt_of_a_megabyte() {
    let place = Place::new();
    let prompt = place.write("prompt", "x".repeat(1 << 20));
    let ran = place.run(&good(), &["--file", prompt.to_str().unwrap()]);
    ran.expect(0, "completed");
    // And one that lives on without reading is still stopped.
    let place = Place::new();
    let prompt = place.write("prompt", "x".repeat(1 << 20));
    let script = Script::new().line(HELLO).step("silence");
    let ran = place.run(&script, &["--file", prompt.to_str().unwrap(), "--limit-idle", "0.3"]);
    ran.expect(6, "limit");
}

#[test]
fn an_agent_that_reads_its_stdin_to_the_end_gets_all_of_it() {
    let place = Place::new();
    let prompt = "é\n".repeat(1 << 18);
    let file = place.write("prompt", &prompt);
    let said = json!({ "type": "say", "id": "1", "text": prompt }).to_string();
    let script = Script::new().line(HELLO).step("read-stdin").step("say-stdin").line(DONE);
    let output = place.order(&script, &["--file", file.to_str().unwrap()]).output().unwrap();
    let ran = harness::Ran::of(&output);
    ran.expect(0, "completed");
    let text = ran.of_type("message").next().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text == prompt, "{} of {} bytes came through", text.len(), said.len());
    place.expect_alone();
    place.expect_replay(ran.run());
}

#[test]
fn a_flood_on_stderr_holds_nothing_up_and_is_recorded() {
    let place = Place::new();
    let script = Script::new().line(HELLO).step("flood-stderr 5000000").line(SAY).line(DONE);
    let ran = place.run(&script, &[]);
    ran.expect(0, "completed");
    let stderr = place.answer(&["show", ran.run(), "--stderr"]).stdout;
    assert!(stderr.len() >= 5_000_000 && stderr.len().is_multiple_of(1024), "{}", stderr.len());
    assert!(stderr.chunks(1024).all(|line| line.ends_with(b"\n") && line == &stderr[..1024]));
}

#[test]
fn a_stdout_that_is_closed_early_ends_nothing() {
    let script = Script::new()
        .line(HELLO)
        .step("close-stdout")
        .step("sleep 300")
        .step("stderr rate limit exceeded (429)\\n")
        .step("exit 1");
    let ran = Place::new().run(&script, &[]);
    ran.expect(1, "failed");
    assert_eq!(ran.report()["error"]["class"], "rate-limit");
}

#[test]
fn a_recording_that_is_full_says_so_and_the_turn_goes_on() {
    let place = Place::new();
    place.write("config.toml", "[recording]\nrun_bytes = 100000\n");
    let script = Script::new().line(HELLO).step("flood-stdout 1000000").line(DONE);
    let ran = harness::Ran::of(&place.order(&script, &[]).output().unwrap());
    ran.expect(0, "completed");
    place.expect_alone();
    let receipt = place.json(&["receipt", ran.run()]);
    assert!(receipt["recording"]["dropped"].as_u64().is_some_and(|dropped| dropped > 800_000), "{receipt}");
    assert!(receipt["recording"]["bytes"].as_u64().is_some_and(|bytes| bytes < 300_000), "{receipt}");
    assert!(place.answer(&["receipt", ran.run(), "--verify"]).status.success());
}

//! What agents do to their pipes: small writes, long lines, noise, floods, a stdin that is never read. After each run
//! the harness checks that every byte was recorded, that a replay gives the same events, and that nothing is left.

use crate::sandbox;
use serde_json::json;
use wharf_test_support::{ANSWER, DONE, Finished, HELLO, SAY, Script};

const DELTA: &str = r#"{"type":"delta","id":"1","text":"a"}"#;

#[test]
fn an_agent_that_writes_one_byte_at_a_time_is_understood() {
    let sandbox = sandbox();
    let script = Script::new().step("bytes 1").line(HELLO).line(DELTA).line(SAY).line(DONE);
    let run = sandbox.run(&script, &[]);
    run.expect(0, "completed");
    let kinds: Vec<_> = run.events().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run-started", "session", "text-delta", "message", "turn-ended", "report"]);
}

#[test]
fn a_character_split_over_writes_is_one_character() {
    let text = "é, 漢字, 🦀, \u{301}";
    let line = json!({ "type": "say", "id": "1", "text": text }).to_string();
    let script = Script::new().step("bytes 1").line(HELLO).line(&line).step("bytes 3").line(&line).line(DONE);
    let run = sandbox().run(&script, &[]);
    run.expect(0, "completed");
    assert!(run.of_type("message").count() == 2 && run.of_type("message").all(|event| event["text"] == text));
    assert_eq!(run.report()["drift"]["malformed"], 0);
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_and_recorded_unchanged() {
    let script = Script::new()
        .line(HELLO)
        .stdout(b"{\"type\":\"say\",\"id\":\"1\",\"text\":\"a\xff\xfeb\"}\n")
        .stdout(b"\xc3\x28\x00\x80\n")
        .line(DONE);
    let run = sandbox().run(&script, &[]);
    run.expect(0, "completed");
    assert_eq!(run.of_type("message").next().unwrap()["text"], "a\u{fffd}\u{fffd}b");
    assert_eq!(run.report()["drift"]["malformed"], 1);
}

#[test]
fn a_line_of_20_megabytes_is_skipped_and_reported_and_the_stream_continues() {
    let script = Script::new().line(HELLO).big_line(20_000_000).line(SAY).line(DONE);
    let run = sandbox().run(&script, &[]);
    run.expect(0, "completed");
    let skipped: Vec<_> = run.of_type("oversized").collect();
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0]["length"].as_u64(), skipped[0]["stream"].as_str()), (Some(19_999_999), Some("stdout")));
    let head = skipped[0]["head"].as_str().unwrap();
    assert!(head.starts_with(r#"{"type":"delta","id":"1","text":""#) && head.len() == 1024, "{head}");
    assert_eq!(run.report()["answer"], ANSWER);
    assert_eq!(run.report()["drift"]["malformed"], 1);
}

#[test]
fn the_user_can_set_the_size_limit_of_a_line() {
    let script = Script::new().line(HELLO).big_line(2000).big_line(2001).line(DONE);
    // The newline does not count.
    let run = sandbox().run(&script, &["--limit-frame", "1999"]);
    run.expect(0, "completed");
    assert_eq!((run.of_type("text-delta").count(), run.of_type("oversized").count()), (1, 1));
}

#[test]
fn garbage_between_lines_is_counted_and_skipped() {
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
    let run = sandbox().run(&script, &[]);
    run.expect(0, "completed");
    assert_eq!(run.report()["answer"], ANSWER);
    assert_eq!(run.report()["drift"], json!({ "unknown": { "brand-new": 1 }, "malformed": 4 }), "{:?}", run.events());
}

#[test]
fn a_last_line_without_a_newline_counts() {
    let run = sandbox().run(&Script::new().line(HELLO).stdout(DONE), &[]);
    run.expect(0, "completed");
}

#[test]
fn an_agent_that_never_reads_its_stdin_gets_a_prompt_of_a_megabyte() {
    let sandbox = sandbox();
    let prompt = sandbox.write("prompt", "x".repeat(1 << 20));
    let run = sandbox.run(&Script::normal(), &["--file", prompt.to_str().unwrap()]);
    run.expect(0, "completed");
    // And one that keeps running without reading is still stopped.
    let sandbox = crate::sandbox();
    let prompt = sandbox.write("prompt", "x".repeat(1 << 20));
    let script = Script::new().line(HELLO).step("silence");
    let run = sandbox.run(&script, &["--file", prompt.to_str().unwrap(), "--idle-timeout", "0.3"]);
    run.expect(6, "limit");
}

#[test]
fn an_agent_that_reads_its_stdin_to_the_end_gets_all_of_it() {
    let sandbox = sandbox();
    let prompt = "é\n".repeat(1 << 18);
    let file = sandbox.write("prompt", &prompt);
    let script = Script::new().line(HELLO).step("read-stdin").step("say-stdin").line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &["--file", file.to_str().unwrap()]));
    run.expect(0, "completed");
    let text = run.of_type("message").next().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text == prompt, "{} of {} bytes arrived", text.len(), prompt.len());
    sandbox.expect_nothing_left();
    sandbox.expect_replay(run.run_id());
}

#[test]
fn a_flood_on_stderr_blocks_nothing_and_is_recorded() {
    let sandbox = sandbox();
    let script = Script::new().line(HELLO).step("flood-stderr 5000000").line(SAY).line(DONE);
    let run = sandbox.run(&script, &[]);
    run.expect(0, "completed");
    let stderr = sandbox.output(&["show", run.run_id(), "--stderr"]).stdout;
    assert!(stderr.len() >= 5_000_000 && stderr.len().is_multiple_of(1024), "{}", stderr.len());
    assert!(stderr.chunks(1024).all(|line| line.ends_with(b"\n") && line == &stderr[..1024]));
}

#[test]
fn a_stdout_that_is_closed_early_does_not_end_the_run() {
    let script = Script::new()
        .line(HELLO)
        .step("close-stdout")
        .step("sleep 300")
        .step("stderr rate limit exceeded (429)\\n")
        .step("exit 1");
    let run = sandbox().run(&script, &[]);
    run.expect(1, "failed");
    assert_eq!(run.report()["error"]["class"], "rate-limit");
}

#[test]
fn a_full_recording_says_so_and_the_turn_continues() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "[recording]\nrun_bytes = 100000\n");
    let script = Script::new().line(HELLO).step("flood-stdout 1000000").line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &[]));
    run.expect(0, "completed");
    sandbox.expect_nothing_left();
    let receipt = sandbox.json(&["receipt", run.run_id()]);
    assert!(receipt["recording"]["dropped"].as_u64().is_some_and(|dropped| dropped > 800_000), "{receipt}");
    assert!(receipt["recording"]["bytes"].as_u64().is_some_and(|bytes| bytes < 300_000), "{receipt}");
    assert!(receipt["events"]["dropped"].as_u64().is_some_and(|dropped| dropped > 500), "{receipt}");
    assert!(sandbox.output(&["receipt", run.run_id(), "--verify"]).status.success());
}

#[test]
fn the_event_file_has_the_limit_of_the_recording_and_the_caller_gets_every_event() {
    const LIMIT: usize = 150_000;
    let sandbox = sandbox();
    sandbox.write("config.toml", format!("[recording]\nrun_bytes = {LIMIT}\n"));
    // Events are longer than these lines.
    let line = "{\"type\":\"delta\",\"id\":\"1\",\"text\":\"x\"}\n";
    let script = Script::new().line(HELLO).stdout(line.repeat(3000)).line(DONE);
    let run = Finished::of(&mut sandbox.run_command(&script, &[]));
    run.expect(0, "completed");
    assert_eq!(run.of_type("text-delta").count(), 3000);
    let told = |event: &serde_json::Value| event["text"].as_str().is_some_and(|text| text.contains("are not kept"));
    assert_eq!(run.of_type("notice").filter(|event| told(event)).count(), 1, "{}", run.stderr);
    let receipt = sandbox.json(&["receipt", run.run_id()]);
    assert_eq!(receipt["recording"]["dropped"], 0, "{receipt}");
    assert!(receipt["events"]["dropped"].as_u64().is_some_and(|dropped| dropped > 500), "{receipt}");
    let events = std::fs::read_to_string(sandbox.path("data/runs").join(run.run_id()).join("events.jsonl")).unwrap();
    let (kept, report) = events.trim_end().rsplit_once('\n').unwrap();
    assert!((LIMIT - 200..=LIMIT).contains(&(kept.len() + 1)), "{}", kept.len());
    assert!(report.contains("\"type\":\"report\""), "{report}");
    sandbox.check_run(&run, &script);
}

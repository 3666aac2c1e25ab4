//! What is sent to an agent in the middle of its turn, by a program that has only the command, and by a person at a
//! terminal; and that an agent that cannot take it is reported.

use crate::sandbox;
use serde_json::{Value, json};
use std::io::Write as _;
use wharf_test_support::{DONE, Finished, HELLO, LiveRun, Script, Terminal};

/// An agent that waits for its prompt and for one message, and repeats the line of the message.
fn listener() -> Script {
    Script::new().line(HELLO).step("read-line").step("read-line").step("say-stdin").line(DONE)
}

/// Reads a run to its end. `at` is called with each event.
fn read(mut live: LiveRun, mut at: impl FnMut(&mut LiveRun, &Value)) -> Finished {
    while let Some(event) = live.next_event() {
        at(&mut live, &event);
    }
    live.finish()
}

fn message(text: &str) -> String {
    json!({ "type": "message", "text": text }).to_string()
}

#[test]
fn a_line_of_json_on_stdin_reaches_the_agent_and_is_an_event() {
    let sandbox = sandbox();
    let mut live = LiveRun::start_with_stdin(&mut sandbox.run_command(&listener(), &["--control"]));
    live.write_line("this is not JSON");
    live.write_line(&message("mind\nthe gap"));
    let run = live.finish();
    run.expect(0, "completed");
    let answer = run.report()["answer"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(answer).unwrap(), json!({ "type": "message", "text": "mind\nthe gap" }));
    let sent: Vec<_> = run.of_type("message-sent").map(|event| &event["text"]).collect();
    assert_eq!(sent, ["mind\nthe gap"]);
    let rejected = run.of_type("input-rejected").next().unwrap();
    assert_eq!((&rejected["input"], &rejected["head"]), (&json!("line"), &json!("this is not JSON")));
    assert!(rejected["reason"].as_str().unwrap().contains("not understood"), "{rejected}");
    assert!(run.stderr.contains("not understood") && run.stderr.contains("this is not JSON"), "{}", run.stderr);
    sandbox.expect_nothing_left();
    sandbox.expect_replay(run.run_id());
}

#[test]
fn without_json_each_line_is_a_message() {
    let sandbox = sandbox();
    let command = sandbox.run_command(&listener(), &["--control"]);
    let args: Vec<_> = command.get_args().filter(|arg| *arg != "--json").collect();
    let mut live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
    live.write_line("mind the gap");
    let run = live.finish();
    assert!(run.stdout.contains(r#""text":"mind the gap""#), "{run:?}");
    assert!(run.stderr.contains("» mind the gap"), "{run:?}");
}

#[test]
fn the_example_agent_takes_messages_answers_and_a_cancel_through_the_command() {
    let args = ["run", "--json", "--control", "--ask", "--adapter", "echo", "count these words"];
    for (decision, status) in [("allow", "succeeded"), ("deny", "denied")] {
        let sandbox = sandbox();
        let live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
        // The agent waits for the answer, so it reads what is sent before the answer first.
        let run = read(live, |live, event| {
            if event["type"] == "ask" {
                live.write_line(&message("and these two"));
                let answer = json!({ "type": "answer", "ask": event["id"], "decision": decision, "name": "reviewer" });
                live.write_line(&answer.to_string());
            }
        });
        run.expect(0, "completed");
        let answered = run.of_type("ask-answered").next().unwrap();
        assert_eq!((&answered["by"], &answered["name"]), (&json!("caller"), &json!("reviewer")));
        let tools = run.report()["tools"].as_array().unwrap();
        assert_eq!(tools.iter().find(|tool| tool["name"] == "list_folder").unwrap()["status"], status);
        assert!(run.report()["answer"].as_str().unwrap().contains("and these two"), "{}", run.report());
        sandbox.expect_replay(run.run_id());
    }
    let sandbox = sandbox();
    let live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
    let run = read(live, |live, event| {
        if event["type"] == "ask" {
            live.write_line(r#"{"type":"cancel"}"#);
        }
    });
    run.expect(130, "cancelled");
}

#[test]
fn a_line_that_is_not_carried_out_leaves_the_ask_open_and_is_an_event_with_the_reason() {
    let sandbox = sandbox();
    let args = ["run", "--json", "--control", "--ask", "--adapter", "echo", "count these words"];
    let mut live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
    let id = live.read_until("ask")["id"].clone();
    let answer =
        |ask: &Value, decision: Value| json!({ "type": "answer", "ask": ask, "decision": decision }).to_string();
    for line in [
        answer(&id, json!("yes")),
        answer(&json!("nobody asked"), json!("allow")),
        answer(&id, json!({ "choice": "perhaps" })),
        r#"{"type":"dance"}"#.to_owned(),
        r#"{"type":"message","text":"a\u0000b"}"#.to_owned(),
        r#"{"type":"next-turn","prompt":"too early"}"#.to_owned(),
    ] {
        live.write_line(&line);
    }
    live.child.stdin.as_mut().unwrap().write_all(b"\xff\xfe\n\0\n").unwrap();
    live.write_line(&answer(&id, json!("allow")));
    let run = live.finish();
    run.expect(0, "completed");
    let rejected: Vec<_> = run.of_type("input-rejected").collect();
    let expected = [
        ("line", "yes"),
        ("answer", "not open"),
        ("answer", "no choice `perhaps`"),
        ("line", "dance"),
        ("line", "NUL"),
        ("next-turn", "has not ended"),
        ("line", "not UTF-8"),
        ("line", "NUL"),
    ];
    assert_eq!(rejected.len(), expected.len(), "{rejected:?}");
    for (event, (input, reason)) in rejected.iter().zip(expected) {
        assert!(event["input"] == input && event["reason"].as_str().unwrap().contains(reason), "{event}");
        assert!(run.stderr.contains(reason), "{reason}: {}", run.stderr);
    }
    assert_eq!(run.of_type("ask-answered").next().unwrap()["choice"], "allow");
    sandbox.expect_replay(run.run_id());
}

#[test]
fn messages_do_not_make_a_turn_ask() {
    for (flag, status) in [("--approve", "succeeded"), ("--deny", "denied")] {
        let sandbox = sandbox();
        let run = sandbox.call(["run", "--json", "--control", flag, "--adapter", "echo", "count these words"]);
        run.expect(0, "completed");
        assert_eq!(run.of_type("ask").count(), 0);
        let tools = run.report()["tools"].as_array().unwrap();
        assert_eq!(tools.iter().find(|tool| tool["name"] == "list_folder").unwrap()["status"], status);
        assert_eq!(run.report()["unsupported"], json!([]));
    }
}

#[test]
fn an_agent_that_takes_no_messages_rejects_each_and_reports_nothing_if_none_was_sent() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let script = Script::new().line(HELLO).step(&format!("wait-file {}", sandbox.path("go").display())).line(DONE);
    let command = &mut sandbox.run_command(&script, &["--adapter", "faulty", "--control"]);
    let mut live = LiveRun::start_with_stdin(command);
    live.write_line(&message("hello?"));
    let run = read(live, |_, event| {
        if event["type"] == "input-rejected" {
            sandbox.write("go", "");
        }
    });
    run.expect(0, "completed");
    let rejected = run.of_type("input-rejected").next().unwrap();
    assert_eq!((&rejected["input"], &rejected["head"]), (&json!("message"), &json!("hello?")));
    assert_eq!(rejected["reason"], "this agent takes no messages while it works on a turn");
    assert_eq!(run.of_type("message-sent").count(), 0);
    sandbox.expect_replay(run.run_id());

    let run = Finished::of(&mut sandbox.run_command(&script, &["--adapter", "faulty", "--control"]));
    run.expect(0, "completed");
    let unsupported = run.report()["unsupported"].to_string();
    assert!(!unsupported.contains("messages") && run.of_type("input-rejected").count() == 0, "{unsupported}");
    let program = wharf_test_support::fake_agent().to_str().unwrap();
    let explain = ["explain", "--json", "--adapter", "faulty", "--program", program, "--control", "go"];
    let explained = sandbox.json(&explain);
    let unsupported = explained["unsupported"].as_array().into_iter().flatten();
    assert!(unsupported.into_iter().any(|setting| setting["name"] == "messages"), "{explained}");
}

#[test]
fn a_program_that_has_only_the_command_can_have_several_turns_in_one_process() {
    let sandbox = sandbox();
    let args = ["run", "--json", "--control", "--keep-alive", "--approve", "--adapter", "echo", "one two"];
    let mut ends = 0;
    let run = read(LiveRun::start_with_stdin(&mut sandbox.wharf(args)), |live, event| {
        if event["type"] == "turn-ended" {
            ends += 1;
            if ends == 1 {
                live.write_line(r#"{"type":"next-turn","prompt":"three","model":"echo-loud"}"#);
            } else {
                live.close_stdin();
            }
        }
    });
    run.expect(0, "completed");
    assert_eq!((ends, run.of_type("turn-started").count(), run.of_type("session").count()), (2, 1, 2));
    assert_eq!(run.report()["answer"], "YOU SAID: THREE");
    assert_eq!(run.of_type("session").next().unwrap()["id"], run.report()["session"]["id"]);
    sandbox.expect_replay(run.run_id());
    assert_eq!(sandbox.json(&["runs", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_prompt_and_the_messages_cannot_both_be_on_stdin() {
    for prompt in [&[][..], &["-"]] {
        let run = sandbox().call([&["run", "--adapter", "echo", "--control"], prompt].concat());
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("--control") && run.stderr.contains("--file"), "{run:?}");
    }
}

#[test]
fn a_person_sends_a_message_while_the_agent_works() {
    let sandbox = sandbox();
    let ready = r#"{"type":"say","id":"0","text":"ready for messages"}"#;
    let script = Script::new().line(HELLO).step("read-line").line(ready).step("read-line").step("say-stdin").line(DONE);
    let command = sandbox.run_command(&script, &[]);
    let args: Vec<_> = command.get_args().filter(|arg| *arg != "--json").collect();
    let mut terminal = Terminal::start(sandbox.wharf(args));
    terminal.wait_for("ready for messages");
    terminal.type_line("mind the gap");
    let on_terminal = terminal.finish();
    assert_eq!(on_terminal.code, Some(0), "{on_terminal:?}");
    assert!(on_terminal.stderr.contains("» mind the gap"), "{on_terminal:?}");
    let events = Finished::new(Some(0), sandbox.text(&["show", "last", "--json"]), String::new());
    let sent: Vec<_> = events.of_type("message-sent").map(|event| &event["text"]).collect();
    assert_eq!(sent, ["mind the gap"]);
    sandbox.expect_replay("last");
    sandbox.expect_nothing_left();
}

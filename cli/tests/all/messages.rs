//! What is sent to an agent in the middle of its turn, by a program that has only the command, and by a person at a
//! terminal; and that an agent that cannot take it is reported.

use crate::sandbox;
use serde_json::{Value, json};
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
    let mut live = LiveRun::start_with_stdin(&mut sandbox.run_command(&listener(), &["--messages"]));
    live.write_line("this is not JSON");
    live.write_line(&message("mind\nthe gap"));
    let run = live.finish();
    run.expect(0, "completed");
    let answer = run.report()["answer"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(answer).unwrap(), json!({ "type": "message", "text": "mind\nthe gap" }));
    let sent: Vec<_> = run.of_type("message-sent").map(|event| &event["text"]).collect();
    assert_eq!(sent, ["mind\nthe gap"]);
    assert!(run.stderr.contains("not understood") && run.stderr.contains("this is not JSON"), "{}", run.stderr);
    sandbox.expect_nothing_left();
    sandbox.expect_replay(run.run_id());
}

#[test]
fn without_json_each_line_is_a_message() {
    let sandbox = sandbox();
    let command = sandbox.run_command(&listener(), &["--messages"]);
    let args: Vec<_> = command.get_args().filter(|arg| *arg != "--json").collect();
    let mut live = LiveRun::start_with_stdin(&mut sandbox.wharf(args));
    live.write_line("mind the gap");
    let run = live.finish();
    assert!(run.stdout.contains(r#""text":"mind the gap""#), "{run:?}");
    assert!(run.stderr.contains("» mind the gap"), "{run:?}");
}

#[test]
fn the_example_agent_takes_messages_answers_and_a_cancel_through_the_command() {
    let args = ["run", "--json", "--messages", "--ask", "--adapter", "echo", "count these words"];
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
fn messages_do_not_make_a_turn_ask() {
    for (flag, status) in [("--approve", "succeeded"), ("--deny", "denied")] {
        let sandbox = sandbox();
        let run = sandbox.call(["run", "--json", "--messages", flag, "--adapter", "echo", "count these words"]);
        run.expect(0, "completed");
        assert_eq!(run.of_type("ask").count(), 0);
        let tools = run.report()["tools"].as_array().unwrap();
        assert_eq!(tools.iter().find(|tool| tool["name"] == "list_folder").unwrap()["status"], status);
        assert_eq!(run.report()["unsupported"], json!([]));
    }
}

#[test]
fn an_agent_that_takes_no_messages_is_reported_at_the_start_and_for_each_message() {
    let sandbox = sandbox();
    sandbox.install_faulty();
    let script = Script::new().line(HELLO).step(&format!("wait-file {}", sandbox.path("go").display())).line(DONE);
    let command = &mut sandbox.run_command(&script, &["--adapter", "faulty", "--messages"]);
    let mut live = LiveRun::start_with_stdin(command);
    live.write_line(&message("hello?"));
    let run = read(live, |_, event| {
        if event["type"] == "notice" {
            sandbox.write("go", "");
        }
    });
    run.expect(0, "completed");
    let notices: Vec<_> = run.of_type("notice").map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(notices, ["a message was not sent: the agent's stdin is closed"]);
    assert_eq!(run.of_type("message-sent").count(), 0);
    for event in [run.report(), &run.events()[0]] {
        assert_eq!(event["unsupported"][0]["name"], "messages", "{event}");
    }
    sandbox.expect_replay(run.run_id());
}

#[test]
fn a_program_that_has_only_the_command_can_have_several_turns_in_one_process() {
    let sandbox = sandbox();
    let args = ["run", "--json", "--messages", "--keep-alive", "--approve", "--adapter", "echo", "one two"];
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
        let run = sandbox().call([&["run", "--adapter", "echo", "--messages"], prompt].concat());
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("--messages") && run.stderr.contains("--file"), "{run:?}");
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

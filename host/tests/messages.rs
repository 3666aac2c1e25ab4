//! What is said to an agent in the middle of its turn, by a program with nothing but the command, and by a person on a
//! terminal; and that it is said aloud where an agent cannot take it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]
#![expect(clippy::print_stderr, reason = "what is skipped is said")]

mod harness;

use harness::{DONE, HELLO, Place, Ran, Script};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};

/// An agent that waits for its prompt and for one message, and says back what the message's line was.
fn listener() -> Script {
    Script::new().line(HELLO).step("read-line").step("read-line").step("say-stdin").line(DONE)
}

/// A run under way: its events are read one at a time, lines are written to it.
struct Live {
    child: Child,
    events: Vec<Value>,
}

impl Live {
    fn start(command: &mut Command) -> Live {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Live { child: piped.spawn().unwrap(), events: vec![] }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads to the end, or to an event of which something holds, after which it is called back.
    fn read(mut self, mut at: impl FnMut(&mut Live, &Value)) -> Ran {
        let stdout = BufReader::new(self.child.stdout.take().unwrap());
        for line in stdout.lines() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            at(&mut self, &event);
            self.events.push(event);
        }
        let Output { status, stderr, .. } = self.child.wait_with_output().unwrap();
        Ran { code: status.code(), events: self.events, stderr: String::from_utf8(stderr).unwrap() }
    }
}

fn message(text: &str) -> String {
    json!({ "type": "message", "text": text }).to_string()
}

#[test]
fn a_line_of_json_on_stdin_reaches_the_agent_and_is_an_event() {
    let place = Place::new();
    let mut live = Live::start(&mut place.order(&listener(), &["--messages"]));
    live.write("this is no JSON");
    live.write(&message("mind\nthe gap"));
    let ran = live.read(|_, _| {});
    ran.expect(0, "completed");
    let answer = ran.report()["answer"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(answer).unwrap(), json!({ "type": "message", "text": "mind\nthe gap" }));
    let sent: Vec<_> = ran.of_type("message-sent").map(|event| &event["text"]).collect();
    assert_eq!(sent, ["mind\nthe gap"]);
    assert!(ran.stderr.contains("not understood") && ran.stderr.contains("this is no JSON"), "{}", ran.stderr);
    place.expect_alone();
    place.expect_replay(ran.run());
}

#[test]
fn without_json_each_line_is_a_message() {
    let place = Place::new();
    let mut order = place.order(&listener(), &["--messages"]);
    let words: Vec<_> = order.get_args().filter(|word| *word != "--json").map(ToOwned::to_owned).collect();
    order = place.wharf(words);
    let mut live = Live::start(&mut order);
    live.write("mind the gap");
    let output = live.child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stdout.contains(r#""text":"mind the gap""#), "{stdout}{stderr}");
    assert!(stderr.contains("» mind the gap"), "{stderr}");
}

#[test]
fn the_example_agent_takes_messages_answers_and_a_cancel_through_the_command() {
    for (decision, status) in [("allow", "succeeded"), ("deny", "denied")] {
        let place = Place::new();
        let words = ["run", "--json", "--messages", "--ask", "--adapter", "echo", "count these words"];
        let live = Live::start(&mut place.wharf(words));
        // The agent waits for its answer, so that what is said before it is taken in before it.
        let ran = live.read(|live, event| {
            if event["type"] == "ask" {
                live.write(&message("and these two"));
                live.write(&json!({ "type": "answer", "ask": event["id"], "decision": decision }).to_string());
            }
        });
        ran.expect(0, "completed");
        assert_eq!(ran.of_type("ask-answered").next().unwrap()["by"], "caller");
        let tools = ran.report()["tools"].as_array().unwrap();
        assert_eq!(tools.iter().find(|tool| tool["name"] == "list_folder").unwrap()["status"], status);
        assert!(ran.report()["answer"].as_str().unwrap().contains("and these two"), "{}", ran.report());
        place.expect_replay(ran.run());
    }
    let place = Place::new();
    let words = ["run", "--json", "--messages", "--ask", "--adapter", "echo", "count these words"];
    let live = Live::start(&mut place.wharf(words));
    let ran = live.read(|live, event| {
        if event["type"] == "ask" {
            live.write(r#"{"type":"cancel"}"#);
        }
    });
    ran.expect(130, "cancelled");
}

#[test]
fn messages_do_not_make_a_turn_ask() {
    for (flag, status) in [("--approve", "succeeded"), ("--deny", "denied")] {
        let place = Place::new();
        let ran =
            Ran::of(&place.answer(&["run", "--json", "--messages", flag, "--adapter", "echo", "count these words"]));
        ran.expect(0, "completed");
        assert_eq!(ran.of_type("ask").count(), 0);
        let tools = ran.report()["tools"].as_array().unwrap();
        assert_eq!(tools.iter().find(|tool| tool["name"] == "list_folder").unwrap()["status"], status);
        assert_eq!(ran.report()["ignored"], json!([]));
    }
}

#[test]
fn an_agent_that_takes_no_messages_is_known_before_and_each_message_is_told_of() {
    let place = Place::new();
    place.install_faulty();
    let script = Script::new().line(HELLO).step(&format!("wait-file {}", place.path("go").display())).line(DONE);
    let mut live = Live::start(&mut place.order(&script, &["--adapter", "faulty", "--messages"]));
    live.write(&message("hello?"));
    let ran = live.read(|_, event| {
        if event["type"] == "notice" {
            std::fs::write(place.path("go"), "").unwrap();
        }
    });
    ran.expect(0, "completed");
    let notices: Vec<_> = ran.of_type("notice").map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(notices, ["a message was not passed on: the agent's stdin is closed"]);
    assert_eq!(ran.of_type("message-sent").count(), 0);
    assert_eq!(ran.report()["ignored"][0]["name"], "messages", "{}", ran.report());
    place.expect_replay(ran.run());
}

#[test]
fn a_program_with_only_the_command_can_have_several_turns_in_one_process() {
    let place = Place::new();
    let words = ["run", "--json", "--messages", "--stay", "--approve", "--adapter", "echo", "one two"];
    let live = Live::start(&mut place.wharf(words));
    let mut ends = 0;
    let ran = live.read(|live, event| {
        if event["type"] == "turn-end" {
            ends += 1;
            if ends == 1 {
                live.write(r#"{"type":"next-turn","prompt":"three","model":"echo-loud"}"#);
            } else {
                drop(live.child.stdin.take());
            }
        }
    });
    ran.expect(0, "completed");
    assert_eq!((ends, ran.of_type("turn-begun").count(), ran.of_type("session").count()), (2, 1, 2));
    assert_eq!(ran.report()["answer"], "YOU SAID: THREE");
    assert_eq!(ran.of_type("session").next().unwrap()["id"], ran.report()["session"]["id"]);
    place.expect_replay(ran.run());
    assert_eq!(place.json(&["runs", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_prompt_and_the_messages_cannot_both_be_on_stdin() {
    for prompt in [&[][..], &["-"]] {
        let place = Place::new();
        let words = [&["run", "--adapter", "echo", "--messages"], prompt].concat();
        let output = place.answer(&words);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("--messages") && stderr.contains("--file"), "{stderr}");
    }
}

/// Types a line into a pseudo terminal, in which a program runs, when it has shown a text; gives its screen.
const TERMINAL: &str = r#"
import os, pty, sys
trigger, line = sys.argv[1].encode(), sys.argv[2]
pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
seen, typed = b"", False
while True:
    try:
        piece = os.read(screen, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if not typed and trigger in seen:
        typed = True
        os.write(screen, (line + "\n").encode())
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn a_person_says_something_while_the_agent_works() {
    let there = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: python3 with its module pty is not there");
        return;
    }
    let place = Place::new();
    let ready = r#"{"type":"say","id":"0","text":"at your service"}"#;
    let script = Script::new().line(HELLO).step("read-line").line(ready).step("read-line").step("say-stdin").line(DONE);
    let order = place.order(&script, &[]);
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, "at your service", "mind the gap"]).arg(order.get_program());
    command.args(order.get_args().filter(|word| *word != "--json"));
    command.current_dir(order.get_current_dir().unwrap()).env_clear();
    command.envs(order.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "dumb");
    let output = command.output().unwrap();
    let screen = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{screen}{}", String::from_utf8_lossy(&output.stderr));
    assert!(screen.contains("» mind the gap"), "{screen}");
    let events = place.text(&["show", "last", "--json"]);
    assert!(events.contains(r#"{"type":"message-sent","text":"mind the gap"}"#), "{events}");
    place.expect_replay("last");
    place.expect_alone();
}

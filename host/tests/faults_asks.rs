//! Asks and their answers: rules, limits, a person on a terminal. The agent is the echo agent's own duplex mode, which
//! asks before it lists a folder.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may")]
#![expect(clippy::print_stderr, reason = "what is skipped is said")]

mod harness;

use harness::{Place, Ran};
use std::process::Command;

/// The tool that it asks for.
const TOOL: &str = "list_folder";

/// A turn of the bundled agent, looked at afterwards.
#[track_caller]
fn run(place: &Place, more: &[&str]) -> Ran {
    let words = [&["run", "--json", "--adapter", "echo"], more, &["count these words"]].concat();
    let ran = Ran::of(&place.answer(&words));
    examine(place, &ran);
    ran
}

/// Nothing is left, by the session's id on the agent's command line, and a replay says the same.
#[track_caller]
fn examine(place: &Place, ran: &Ran) {
    let session = ran.report()["session"]["id"].as_str().expect("the agent names its session");
    assert_eq!(harness::processes_with(session), Vec::<String>::new());
    place.expect_alone();
    place.expect_replay(ran.run());
}

fn answered(ran: &Ran) -> Vec<(String, String)> {
    let word = |event: &serde_json::Value, name: &str| event[name].as_str().unwrap_or("null").to_owned();
    ran.of_type("ask-answered").map(|event| (word(event, "by"), word(event, "choice"))).collect()
}

fn status(ran: &Ran, tool: &str) -> String {
    let tools = ran.report()["tools"].as_array().unwrap();
    let tool = tools.iter().find(|call| call["name"] == tool).unwrap_or_else(|| panic!("{tool}: {tools:?}"));
    tool["status"].as_str().unwrap().to_owned()
}

fn pair(by: &str, choice: &str) -> (String, String) {
    (by.to_owned(), choice.to_owned())
}

#[test]
fn approve_and_deny_ask_nobody() {
    for flag in ["--approve", "--deny"] {
        let ran = run(&Place::new(), &[flag]);
        ran.expect(0, "completed");
        assert_eq!(ran.of_type("ask").count(), 0, "{flag}");
    }
}

#[test]
fn rules_answer() {
    for (answer, choice, status_after) in [("allow", "allow", "succeeded"), ("deny", "deny", "denied")] {
        let place = Place::new();
        let rules = format!("otherwise = \"ask\"\n[[rule]]\ntool = \"TOOL*\"\nanswer = \"{answer}\"\n")
            .replace("TOOL", &TOOL[..4]);
        let rules = place.write("rules.toml", rules);
        let ran = run(&place, &["--rules", rules.to_str().unwrap()]);
        ran.expect(0, "completed");
        assert_eq!(answered(&ran), [pair("rule", choice)]);
        assert_eq!(status(&ran, TOOL), status_after);
    }
}

#[test]
fn a_rule_for_another_tool_does_not_answer() {
    let place = Place::new();
    let rules = place.write("rules.toml", "[[rule]]\ntool = \"another\"\nanswer = \"allow\"\n");
    let ran = run(&place, &["--rules", rules.to_str().unwrap(), "--limit-ask", "0.3"]);
    ran.expect(5, "blocked");
    assert_eq!(answered(&ran), [pair("timeout", "deny")]);
    assert_eq!(status(&ran, TOOL), "denied");
}

#[test]
fn rules_that_cannot_be_read_start_nothing() {
    let place = Place::new();
    let rules = place.write("rules.toml", "otherwise = \"perhaps\"\n");
    let output = place.answer(&["run", "--adapter", "echo", "--rules", rules.to_str().unwrap(), "hi"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("rules.toml"), "{output:?}");
    assert!(place.json(&["runs", "--json"]).as_array().unwrap().is_empty());
}

#[test]
fn an_ask_without_anybody_to_answer_is_refused_in_time() {
    let ran = run(&Place::new(), &["--ask", "--limit-ask", "0.3"]);
    ran.expect(5, "blocked");
    assert_eq!(answered(&ran), [pair("timeout", "deny")]);
    assert_eq!(status(&ran, TOOL), "denied");
}

/// Types into a pseudo terminal in which wharf runs: a program's text in, its screen out. It answers at each question.
const TERMINAL: &str = r#"
import os, pty, sys
answers = sys.argv[1].split("|")
pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        piece = os.read(screen, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if answers and b"n = no" in seen.split(b"\x00")[-1]:
        seen += b"\x00"
        os.write(screen, (answers.pop(0) + "\n").encode())
sys.stdout.buffer.write(seen.replace(b"\x00", b""))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// A person's answers to one turn, and the run that came of it. None where there is no pseudo terminal.
fn typed(place: &Place, answers: &str) -> Option<Ran> {
    let there = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: python3 with its module pty is not there");
        return None;
    }
    let wharf = place.wharf(["run", "--adapter", "echo", "count these words"]);
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, answers]).arg(wharf.get_program()).args(wharf.get_args());
    command.current_dir(wharf.get_current_dir().unwrap()).env_clear();
    command.envs(wharf.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "dumb");
    let output = command.output().unwrap();
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(screen.contains("y = yes"), "nothing was asked: {screen}{}", String::from_utf8_lossy(&output.stderr));
    let events = place.text(&["show", "last", "--json"]);
    let events = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ran = Ran { code: output.status.code(), events, stderr: screen };
    examine(place, &ran);
    Some(ran)
}

#[test]
fn a_person_says_yes() {
    let Some(ran) = typed(&Place::new(), "y") else { return };
    ran.expect(0, "completed");
    assert_eq!(answered(&ran), [pair("caller", "allow")]);
    assert_eq!(status(&ran, TOOL), "succeeded");
}

#[test]
fn a_person_says_no() {
    let Some(ran) = typed(&Place::new(), "n") else { return };
    ran.expect(0, "completed");
    assert_eq!(answered(&ran), [pair("caller", "deny")]);
    assert_eq!(status(&ran, TOOL), "denied");
}

#[test]
fn a_person_mistypes_and_then_edits_the_input() {
    let place = Place::new();
    std::fs::create_dir(place.path("work/inner")).unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(place.path("work/inner").join(name), "").unwrap();
    }
    let Some(ran) = typed(&place, "what?|e {\"path\": \"inner\"}") else { return };
    ran.expect(0, "completed");
    assert!(ran.stderr.contains("none of the answers"), "{}", ran.stderr);
    assert_eq!(answered(&ran), [pair("caller", "allow")]);
    let outputs: Vec<_> = ran.of_type("tool").filter_map(|event| event["output"].as_str()).collect();
    assert!(outputs.contains(&"3 entries"), "{outputs:?}");
}

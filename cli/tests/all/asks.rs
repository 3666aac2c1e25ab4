//! Asks and their answers: rules, timeouts, a person at a terminal. The agent is the real echo agent, which asks before it
//! lists a folder.

use crate::sandbox;
use serde_json::Value;
use wharf_test_support::{DONE, Finished, HELLO, LiveRun, Sandbox, Script, Terminal, processes_with};

/// The tool that it asks for.
const TOOL: &str = "list_folder";

/// A turn of the echo agent, checked afterwards.
#[track_caller]
fn run(sandbox: &Sandbox, more: &[&str]) -> Finished {
    let args = [&["run", "--json", "--adapter", "echo"], more, &["count these words"]].concat();
    let run = sandbox.call(&args);
    check(sandbox, &run);
    run
}

/// No process is left, by the session's id on the agent's command line, and a replay gives the same events.
#[track_caller]
fn check(sandbox: &Sandbox, run: &Finished) {
    let session = run.report()["session"]["id"].as_str().expect("the agent names its session");
    assert_eq!(processes_with(session), Vec::<String>::new());
    sandbox.expect_nothing_left();
    sandbox.expect_replay(run.run_id());
}

/// Who answered, by which name, and what.
fn answered(run: &Finished) -> Vec<[String; 3]> {
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or("null").to_owned();
    run.of_type("ask-answered").map(|event| ["by", "name", "choice"].map(|field| text(event, field))).collect()
}

fn status(run: &Finished, tool: &str) -> String {
    let tools = run.report()["tools"].as_array().unwrap();
    let tool = tools.iter().find(|call| call["name"] == tool).unwrap_or_else(|| panic!("{tool}: {tools:?}"));
    tool["status"].as_str().unwrap().to_owned()
}

#[test]
fn approve_and_deny_ask_nobody() {
    for flag in ["--approve", "--deny"] {
        let run = run(&sandbox(), &[flag]);
        run.expect(0, "completed");
        assert_eq!(run.of_type("ask").count(), 0, "{flag}");
    }
}

#[test]
fn rules_answer_by_their_name() {
    for (answer, choice, status_after) in [("allow", "allow", "succeeded"), ("deny", "deny", "denied")] {
        let sandbox = sandbox();
        let rules = format!("default = \"ask\"\n[[rule]]\ntool = \"list*\"\nanswer = \"{answer}\"\n");
        let rules = sandbox.write("rules.toml", rules);
        let run = run(&sandbox, &["--rules", rules.to_str().unwrap()]);
        run.expect(0, "completed");
        assert_eq!(answered(&run), [["rule", "list*", choice]]);
        assert_eq!(status(&run, TOOL), status_after);
    }
}

#[test]
fn the_default_of_the_rules_answers_by_the_name_default() {
    let sandbox = sandbox();
    let rules = sandbox.write("rules.toml", "default = \"allow\"\n");
    let run = run(&sandbox, &["--rules", rules.to_str().unwrap()]);
    run.expect(0, "completed");
    assert_eq!(answered(&run), [["rule", "default", "allow"]]);
}

/// The agent asks to read and to run a command under one id, and tells what it was answered.
#[test]
fn two_asks_under_one_id_get_each_their_own_answer_or_none() {
    let ask = |tool: &str| format!(r#"{{"type":"ask","id":"1","title":"may I?","tool":"{tool}","input":{{}}}}"#);
    let both = format!("{}\n{}\n", ask("Read"), ask("Bash"));
    let script =
        Script::new().line(HELLO).step("read-line").stdout(both).step("read-line").step("say-stdin").line(DONE);
    let sandbox = sandbox();
    let rules = "[[rule]]\ntool = \"Read\"\nanswer = \"allow\"\n[[rule]]\ntool = \"Bash\"\nanswer = \"deny\"\n";
    let rules = sandbox.write("rules.toml", rules);
    let run = Finished::of(&mut sandbox.run_command(&script, &["--rules", rules.to_str().unwrap()]));
    run.expect(0, "completed");
    sandbox.expect_replay(run.run_id());
    let numbers = |kind| run.of_type(kind).map(|event| event["number"].as_u64()).collect::<Vec<_>>();
    assert_eq!(numbers("ask"), [Some(1), Some(2)]);
    assert_eq!(numbers("ask-withdrawn"), [Some(1)], "the second has taken its place");
    assert_eq!(numbers("ask-answered"), [Some(2)]);
    assert_eq!(answered(&run), [["rule", "Bash", "deny"]]);
    let heard = run.report()["answer"].as_str().unwrap();
    assert!(heard.contains("\"allow\":false"), "{heard}");
}

/// A program that names asks by their ids cannot know which one its answer reaches.
#[test]
fn an_answer_by_id_for_a_withdrawn_ask_does_not_reach_the_one_in_its_place() {
    let ask = |tool: &str| format!(r#"{{"type":"ask","id":"1","title":"may I?","tool":"{tool}","input":{{}}}}"#);
    let sandbox = sandbox();
    let go = sandbox.path("go");
    let script = Script::new()
        .line(HELLO)
        .step("read-line")
        .line(&ask("Read"))
        .step(&format!("wait-file {}", go.display()))
        .line(&ask("Bash"))
        .step("read-line")
        .step("say-stdin")
        .line(DONE);
    let mut live = LiveRun::start_with_stdin(&mut sandbox.run_command(&script, &["--ask", "--control"]));
    assert_eq!(live.read_until("ask")["number"], 1);
    sandbox.write("go", "");
    assert_eq!(live.read_until("ask")["number"], 2);
    live.write_line(r#"{"type":"answer","ask":"1","decision":"allow"}"#);
    let rejected = live.read_until("input-rejected");
    assert!(rejected["reason"].as_str().is_some_and(|reason| reason.contains("answer by its `number`")), "{rejected}");
    live.write_line(r#"{"type":"answer","number":1,"decision":"allow"}"#);
    let rejected = live.read_until("input-rejected");
    assert_eq!((&rejected["input"], &rejected["number"]), (&"answer".into(), &1.into()), "{rejected}");
    live.write_line(r#"{"type":"answer","number":2,"decision":"deny"}"#);
    let run = live.finish();
    run.expect(0, "completed");
    assert!(run.report()["answer"].as_str().is_some_and(|answer| answer.contains("\"allow\":false")));
    sandbox.expect_replay(run.run_id());
}

#[test]
fn a_rule_for_another_tool_does_not_answer() {
    let sandbox = sandbox();
    let rules = sandbox.write("rules.toml", "[[rule]]\ntool = \"another\"\nanswer = \"allow\"\n");
    let run = run(&sandbox, &["--rules", rules.to_str().unwrap(), "--ask-timeout", "0.3"]);
    run.expect(5, "blocked");
    assert_eq!(answered(&run), [["timeout", "null", "deny"]]);
    assert_eq!(status(&run, TOOL), "denied");
}

#[test]
fn rules_that_cannot_be_read_start_nothing() {
    let sandbox = sandbox();
    let rules = sandbox.write("rules.toml", "default = \"perhaps\"\n");
    let run = sandbox.call(["run", "--adapter", "echo", "--rules", rules.to_str().unwrap(), "hi"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("rules.toml"), "{run:?}");
    assert!(sandbox.json(&["runs", "--json"]).as_array().unwrap().is_empty());
}

#[test]
fn an_ask_that_nobody_can_answer_is_denied_by_the_timeout() {
    let run = run(&sandbox(), &["--ask", "--ask-timeout", "0.3"]);
    run.expect(5, "blocked");
    assert_eq!(answered(&run), [["timeout", "null", "deny"]]);
    assert_eq!(status(&run, TOOL), "denied");
}

/// A turn in which a person types these answers, one to each question.
fn typed(sandbox: &Sandbox, answers: &[&str]) -> Finished {
    let mut terminal = Terminal::start(sandbox.wharf(["run", "--adapter", "echo", "count these words"]));
    for answer in answers {
        terminal.wait_for("y = yes, n = no");
        terminal.type_line(answer);
    }
    let on_terminal = terminal.finish();
    let events = sandbox.text(&["show", "last", "--json"]);
    let run = Finished::new(on_terminal.code, events, on_terminal.stderr);
    check(sandbox, &run);
    run
}

#[test]
fn a_person_answers_yes() {
    let run = typed(&sandbox(), &["y"]);
    run.expect(0, "completed");
    assert_eq!(answered(&run), [["caller", "terminal", "allow"]]);
    assert_eq!(status(&run, TOOL), "succeeded");
}

#[test]
fn a_person_answers_no() {
    let run = typed(&sandbox(), &["n"]);
    run.expect(0, "completed");
    assert_eq!(answered(&run), [["caller", "terminal", "deny"]]);
    assert_eq!(status(&run, TOOL), "denied");
}

#[test]
fn a_person_mistypes_and_then_edits_the_input() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("workspace/inner")).unwrap();
    for name in ["a", "b", "c"] {
        sandbox.write(format!("workspace/inner/{name}"), "");
    }
    let run = typed(&sandbox, &["what?", "e {\"path\": \"inner\"}"]);
    run.expect(0, "completed");
    assert!(run.stderr.contains("not one of the answers"), "{}", run.stderr);
    assert_eq!(answered(&run), [["caller", "terminal", "allow"]]);
    let outputs: Vec<_> = run.of_type("tool").filter_map(|event| event["output"].as_str()).collect();
    assert!(outputs.contains(&"3 entries"), "{outputs:?}");
}

/// It was denied at once if there was neither a terminal nor a control channel, and after five minutes otherwise.
#[test]
fn the_ask_timeout_is_the_same_in_every_mode() {
    for more in [&[][..], &["--control"], &["--ask-timeout", "none"]] {
        let sandbox = sandbox();
        let args = [&["run", "--json", "--ask", "--adapter", "echo"], more, &["count these words"]].concat();
        let mut live = LiveRun::start_with_stdin(&mut sandbox.wharf(&args));
        live.read_until("ask");
        live.signal(rustix::process::Signal::INT);
        let run = live.finish();
        run.expect(130, "cancelled");
        assert_eq!(answered(&run), [] as [[String; 3]; 0], "{more:?}");
        assert_eq!(run.stderr.contains("nobody can answer"), !more.contains(&"--control"), "{}", run.stderr);
    }
    let sandbox = sandbox();
    sandbox.write("config.toml", "[timeouts]\nask = \"300ms\"\n");
    run(&sandbox, &["--ask", "--control"]).expect(5, "blocked");
}

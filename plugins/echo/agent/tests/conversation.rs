//! The agent and its adapter together: each understands what the other writes.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::thread::{self, JoinHandle};
use wharf_adapter::testing::{binary, events, inline, play, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, Effect, Effects, Event, Input, Outcome, PromptDelivery, Stream, ToolStatus,
};
use wharf_adapter_echo::Echo;

/// The exit code, stdout and stderr of an agent that gets all of its input at once.
fn run(args: &str, input: &str) -> (u8, String, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = args.split_whitespace().map(str::to_owned);
    let code = wharf_echo_agent::run(args, io::Cursor::new(input.to_owned()), &mut stdout, &mut stderr);
    (code, String::from_utf8(stdout).expect("UTF-8"), String::from_utf8(stderr).expect("UTF-8"))
}

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// An agent in duplex, with the adapter that conversations to it.
struct Conversation {
    stdin: Option<PipeWriter>,
    stdout: BufReader<PipeReader>,
    agent: JoinHandle<u8>,
    adapter: Echo,
}

impl Conversation {
    fn start(prompt: &str, extra: &[&str]) -> Conversation {
        let (agent_stdin, stdin) = io::pipe().expect("a pipe");
        let (stdout, mut agent_stdout) = io::pipe().expect("a pipe");
        let mut adapter = Echo::default();
        let mut turn = turn::<Echo>(prompt);
        turn.approvals = Approvals::Ask;
        let launch = adapter.build_args(&turn, &binary("1.0.0"), "duplex").expect("arguments");
        let mut args: Vec<String> = launch.args.into_iter().map(|arg| arg.text).collect();
        args.extend(extra.iter().map(|arg| (*arg).to_owned()));
        let agent = thread::spawn(move || {
            wharf_echo_agent::run(args.into_iter(), BufReader::new(agent_stdin), &mut agent_stdout, &mut io::sink())
        });
        let mut conversation = Conversation { stdin: Some(stdin), stdout: BufReader::new(stdout), agent, adapter };
        match conversation.adapter.build_prompt(&turn, &binary("1.0.0"), "duplex").expect("a prompt") {
            PromptDelivery::StdinOpen(bytes) => conversation.write(&bytes),
            other => panic!("the prompt does not go through an open stdin: {other:?}"),
        }
        conversation
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("stdin is open").write_all(bytes).expect("the agent reads");
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        for effect in out.into_vec() {
            let Effect::Write(bytes) = effect else { panic!("not a write: {effect:?}") };
            self.write(&bytes);
        }
    }

    fn answer(&mut self, ask: &str, choice: &str, text: Option<&str>, input: Option<&str>) {
        let own = |text: &str| text.to_owned();
        let answer = Answer { text: text.map(own), input: input.map(own), ..Answer::new(ask, Some(choice)) };
        self.handle(Input::Answer(answer));
    }

    /// The events up to and including the first that matches.
    fn until(&mut self, matches: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        let mut line = String::new();
        while self.stdout.read_line(&mut line).expect("UTF-8") > 0 {
            let effects = play(&mut self.adapter, Stream::Stdout, &line, 1);
            seen.extend(events(&effects).into_iter().cloned());
            line.clear();
            if seen.last().is_some_and(&matches) {
                return seen;
            }
        }
        panic!("the agent exited first, after {seen:?}");
    }

    fn until_asked(&mut self) -> String {
        match self.until(|event| matches!(event, Event::Ask(_))).pop() {
            Some(Event::Ask(ask)) => ask.id,
            other => unreachable!("the last event is an ask: {other:?}"),
        }
    }

    fn until_ended(&mut self) -> Vec<Event> {
        self.until(|event| matches!(event, Event::TurnEnded(_)))
    }

    /// Closes stdin and returns the exit code.
    fn close(mut self) -> u8 {
        self.stdin = None;
        self.agent.join().expect("the agent does not panic")
    }
}

/// Status, input, output and exit code of a tool after some events.
fn tool(events: &[Event], id: &str) -> (ToolStatus, String, String, Option<i32>) {
    let mut state = (ToolStatus::Pending, String::new(), String::new(), None);
    for event in events {
        if let Event::Tool(call) = event
            && call.id == id
        {
            state.0 = call.status;
            state.1 = call.input.as_ref().map_or(state.1, |text| inline(text).to_owned());
            state.2 = call.output.as_ref().map_or(state.2, |text| inline(text).to_owned());
            state.3 = call.exit_code.or(state.3);
        }
    }
    state
}

fn answer_in(events: &[Event]) -> &str {
    let message = events.iter().rev().find_map(|event| match event {
        Event::Message(part) => Some(inline(&part.text)),
        _ => None,
    });
    message.expect("a message")
}

#[test]
fn the_version_is_printed_as_the_adapter_expects() {
    assert_eq!(run("--version", ""), (0, "echo-agent 1.0.0\n".to_owned(), String::new()));
}

#[test]
fn a_turn_repeats_the_prompt() {
    let (code, stdout, stderr) = run("--session s-1", "hello there\n");
    assert_eq!((code, stderr.as_str()), (0, ""));
    let lines = lines(&stdout);
    assert_eq!(lines[0], json!({"type": "hello", "session": "s-1", "model": "echo-1", "version": "1.0.0"}));
    let deltas: String = of_type(&lines, "delta").iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(deltas, "You said: hello there");
    assert_eq!(of_type(&lines, "say")[0]["text"], deltas);
    assert_eq!(of_type(&lines, "usage"), [&json!({"type": "usage", "input": 2, "output": 4})]);
    assert_eq!(lines.last(), Some(&json!({"type": "done"})));
    assert!(of_type(&lines, "ask").is_empty(), "nobody could answer");
}

#[test]
fn the_adapter_understands_every_line() {
    let (_, stdout, _) = run("--resume s-1", "hello\nthere \"you\"");
    let mut adapter = Echo::default();
    let mut turn = turn::<Echo>("hello");
    turn.session = wharf_adapter::SessionChoice::Resume("s-1".to_owned());
    adapter.build_args(&turn, &binary("1.0.0"), "duplex").expect("arguments");
    let effects = play(&mut adapter, Stream::Stdout, &stdout, 3);
    let events: Vec<Event> = events(&effects).into_iter().cloned().collect();
    assert_eq!(events.len(), stdout.lines().count());
    assert!(!events.iter().any(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_))), "{events:?}");
    assert!(matches!(&events[0], Event::Session(session) if session.resumed == Some(true)));
    assert!(events.iter().any(|event| matches!(event, Event::Thinking(_))));
    let counted = (ToolStatus::Succeeded, json!({"text": "hello\nthere \"you\""}).to_string());
    let (status, input, output, exit_code) = tool(&events, "tool-1");
    assert_eq!((status, input), counted);
    assert_eq!((output.as_str(), exit_code), ("3 words", Some(0)));
    assert_eq!(tool(&events, "tool-2").0, ToolStatus::Succeeded);
    assert_eq!(answer_in(&events), "You said: hello\nthere \"you\"");
    assert!(matches!(events.last(), Some(Event::TurnEnded(end)) if end.outcome == Outcome::Completed));
}

#[test]
fn the_loud_model_answers_in_upper_case() {
    let (_, stdout, _) = run("--model echo-loud", "hello");
    let lines = lines(&stdout);
    assert_eq!(lines[0]["model"], "echo-loud");
    assert_eq!(of_type(&lines, "say")[0]["text"], "YOU SAID: HELLO");
}

#[test]
fn new_sessions_have_different_ids() {
    let session = || lines(&run("", "hello").1)[0]["session"].clone();
    let first = session();
    assert!(first.as_str().is_some_and(|id| !id.is_empty()));
    assert_ne!(first, session());
}

#[test]
fn errors_go_to_stderr() {
    for (args, input, code, part) in [
        ("", "", 1, "the prompt is empty"),
        ("", " \n", 1, "the prompt is empty"),
        ("--duplex", "", 1, "the prompt is empty"),
        ("--duplex", "{\"type\":\"cancel\"}\n", 1, "the prompt is empty"),
        ("--script play.txt", "hello", 2, "follows scripts"),
        ("--system no/such/file", "hello", 1, "no/such/file"),
    ] {
        let (got, stdout, stderr) = run(args, input);
        assert_eq!((got, stdout.as_str()), (code, ""), "{args} {input}");
        assert!(stderr.contains(part), "{args} {input}: {stderr}");
    }
}

#[test]
fn a_closed_stdout_is_not_a_failure() {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut stderr = Vec::new();
    let code = wharf_echo_agent::run([].into_iter(), io::Cursor::new("hello"), &mut writer, &mut stderr);
    assert_eq!((code, String::from_utf8_lossy(&stderr).as_ref()), (0, ""));
}

#[test]
fn an_allowed_tool_runs() {
    let mut conversation = Conversation::start("hello", &[]);
    let ask = conversation.until_asked();
    conversation.answer(&ask, "allow", None, None);
    let events = conversation.until_ended();
    let (status, input, output, exit_code) = tool(&events, "tool-2");
    assert_eq!((status, exit_code), (ToolStatus::Succeeded, Some(0)));
    assert_eq!(input, r#"{"path":"."}"#);
    assert!(output.ends_with(" entries"), "{output}");
    assert_eq!(answer_in(&events), "You said: hello");
    assert_eq!(conversation.close(), 0);
}

#[test]
fn a_denied_tool_does_not_run() {
    let mut conversation = Conversation::start("hello", &[]);
    let ask = conversation.until_asked();
    conversation.answer(&ask, "deny", Some("not today"), None);
    let events = conversation.until_ended();
    let (status, _, output, exit_code) = tool(&events, "tool-2");
    assert_eq!((status, output.as_str(), exit_code), (ToolStatus::Denied, "not today", None));
    assert_eq!(answer_in(&events), "You said: hello");
    assert_eq!(conversation.close(), 0);
}

#[test]
fn a_tool_runs_with_the_edited_input() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let edited = json!({"path": folder.path()}).to_string();
    for (input, status, part) in [
        (edited.as_str(), ToolStatus::Succeeded, "1 entry"),
        (r#"{"path":"no/such/folder"}"#, ToolStatus::Failed, "no/such/folder: "),
        ("[]", ToolStatus::Failed, "the input has no text"),
    ] {
        let mut conversation = Conversation::start("hello", &[]);
        let ask = conversation.until_asked();
        conversation.answer(&ask, "allow", None, Some(input));
        let events = conversation.until_ended();
        let (got, used, output, _) = tool(&events, "tool-2");
        assert_eq!((got, used.as_str()), (status, input));
        assert!(output.starts_with(part), "{output}");
        assert_eq!(conversation.close(), 0);
    }
}

#[test]
fn an_answer_to_another_question_does_not_count() {
    let mut conversation = Conversation::start("hello", &[]);
    let ask = conversation.until_asked();
    conversation.answer("another", "allow", None, None);
    conversation.write(b"garbage\n{\"type\":\"later\"}\n");
    conversation.answer(&ask, "deny", None, None);
    assert_eq!(tool(&conversation.until_ended(), "tool-2").0, ToolStatus::Denied);
    assert_eq!(conversation.close(), 0);
}

#[test]
fn messages_are_added_to_the_answer() {
    let mut conversation = Conversation::start("hello", &[]);
    let ask = conversation.until_asked();
    conversation.handle(Input::Message("and goodbye".to_owned()));
    conversation.answer(&ask, "allow", None, None);
    let events = conversation.until_ended();
    assert_eq!(answer_in(&events), "You said: hello\nThen you said: and goodbye");
    let usage = events.iter().find_map(|event| if let Event::Usage(usage) = event { Some(usage) } else { None });
    assert_eq!(usage.map(|usage| (usage.input, usage.output)), Some((Some(3), Some(8))));
    assert_eq!(conversation.close(), 0);
}

#[test]
fn a_cancellation_ends_the_turn_while_it_asks_and_while_it_answers() {
    // A minute between two parts: the test ends only if the cancellation is seen at once.
    for extra in [&[][..], &["--delay", "60000"]] {
        let mut conversation = Conversation::start("hello", extra);
        let ask = conversation.until_asked();
        if !extra.is_empty() {
            conversation.answer(&ask, "deny", None, None);
        }
        conversation.handle(Input::Cancel);
        let events = conversation.until_ended();
        let Some(Event::TurnEnded(end)) = events.last() else { unreachable!("the last event is the end of the turn") };
        assert!(matches!(&end.outcome, Outcome::Failed(failure) if failure.message == "cancelled"), "{end:?}");
        assert_eq!(conversation.agent.join().expect("the agent does not panic"), 1, "though stdin is open");
    }
}

#[test]
fn a_question_that_cannot_be_answered_is_a_denial() {
    let mut conversation = Conversation::start("hello", &[]);
    conversation.until_asked();
    conversation.stdin = None;
    assert_eq!(tool(&conversation.until_ended(), "tool-2").0, ToolStatus::Denied);
    assert_eq!(conversation.close(), 0);
}

#[test]
fn the_agent_runs_until_stdin_closes() {
    let mut conversation = Conversation::start("hello", &[]);
    let ask = conversation.until_asked();
    conversation.answer(&ask, "allow", None, None);
    conversation.until_ended();
    // More than the pipe and the inbox hold: the agent must still read, or the pipe would break.
    let message = "still there? ".repeat(1000);
    for _ in 0..100 {
        conversation.handle(Input::Message(message.clone()));
    }
    assert_eq!(conversation.close(), 0);
}

#[test]
fn the_system_prompt_is_mentioned() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "Be kind.\n").expect("a file");
    let (code, stdout, _) = run(&format!("--system {}", file.path().display()), "hello");
    let lines = lines(&stdout);
    assert_eq!((code, &of_type(&lines, "say")[0]["text"]), (0, &json!("You said: hello\nI was told: Be kind.")));
    assert_eq!(of_type(&lines, "usage")[0]["input"], 3);
}

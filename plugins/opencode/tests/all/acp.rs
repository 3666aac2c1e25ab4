//! Transcripts of the Agent Client Protocol, both directions: what the agent wrote is replayed, and each prompt of the
//! recorded client is another turn. Expected values are read from the transcripts themselves.

use crate::{captures, handle, outcomes, plain_turn, usages};
use serde_json::Value;
use std::fs;
use wharf_adapter::testing::{FakeHost, binary, events, finish, inline, play};
use wharf_adapter::{
    Adapter, Answer, Approvals, Effect, Effects, ErrorClass, Event, Input, Outcome, SessionChoice, Stream, ToolCall,
    ToolStatus, Turn,
};
use wharf_adapter_opencode::OpenCode;

/// A line of a transcript.
struct Line {
    from_agent: bool,
    message: Value,
}

fn conversation(scenario: &str) -> Vec<Line> {
    let path = captures().join(scenario).join("conversation.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().map(|line| {
        let (mark, message) = line.split_once(' ').expect("a mark");
        Line { from_agent: mark == "<<", message: serde_json::from_str(message).expect("JSON") }
    });
    lines.collect()
}

/// What came of one prompt.
#[derive(Default)]
struct Played {
    prompt: String,
    effects: Vec<Effect>,
}

impl Played {
    fn answer(&self) -> Option<String> {
        let mut texts = events(&self.effects).into_iter().filter_map(|event| match event {
            Event::Message(part) => Some(inline(&part.text).to_owned()),
            _ => None,
        });
        texts.next_back()
    }

    fn tools(&self) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = vec![];
        for event in events(&self.effects) {
            let Event::Tool(call) = event else { continue };
            match calls.iter_mut().find(|known| known.id == call.id) {
                Some(known) => {
                    known.status = call.status;
                    known.exit_code = call.exit_code.or(known.exit_code);
                }
                None => calls.push(call.clone()),
            }
        }
        calls
    }

    fn outcome(&self) -> Outcome {
        outcomes(&self.effects).pop().unwrap_or_else(|| panic!("{} has no outcome", self.prompt))
    }
}

/// Plays a transcript. Stops before what is no prompt of a turn.
fn converse(scenario: &str) -> Vec<Played> {
    let lines = conversation(scenario);
    let version = scenario.split('/').next().expect("a version").trim_start_matches("kilo-");
    let opened = lines.iter().find(|line| {
        line.message["method"].as_str().is_some_and(|method| matches!(method, "session/load" | "session/resume"))
    });
    let mut turn: Turn = plain_turn();
    turn.approvals = Approvals::Ask;
    if let Some(resumed) = opened {
        turn.session =
            SessionChoice::Resume(resumed.message["params"]["sessionId"].as_str().expect("an id").to_owned());
    }
    let prompt_of = |line: &Line| line.message["params"]["prompt"][0]["text"].as_str().unwrap_or_default().to_owned();
    let is = |line: &Line, method: &str| !line.from_agent && line.message["method"] == method;
    turn.prompt = lines.iter().find(|line| is(line, "session/prompt")).map(prompt_of).expect("a prompt");
    let mut adapter = OpenCode::default();
    adapter.build_args(&turn, &binary(version), "acp").expect("a command line");
    adapter.build_prompt(&turn, &binary(version), "acp").expect("a prompt");
    let mut played: Vec<Played> = vec![];
    let mut effects = handle(&mut adapter, Input::Start);
    for line in &lines {
        if line.from_agent {
            effects.extend(play(&mut adapter, Stream::Stdout, &format!("{}\n", line.message), 1));
        } else if is(line, "session/prompt") {
            if !played.is_empty() || line.message["params"]["sessionId"].is_null() {
                if line.message["params"]["sessionId"].as_str() != session(&lines) {
                    break;
                }
                if outcomes(&effects).is_empty() {
                    break;
                }
                played.last_mut().expect("a turn").effects = std::mem::take(&mut effects);
                let next = Turn { prompt: prompt_of(line), ..turn.clone() };
                let mut out = Effects::default();
                adapter.next_turn(&next, &mut out);
                effects = out.into_vec();
            }
            played.push(Played { prompt: prompt_of(line), effects: vec![] });
        } else if is(line, "session/cancel") {
            effects.extend(handle(&mut adapter, Input::Cancel));
        } else if let Some(choice) = line.message["result"]["outcome"]["optionId"].as_str() {
            let answer = Answer::new(&line.message["id"].to_string(), Some(choice));
            effects.extend(handle(&mut adapter, Input::Answer(answer)));
        }
    }
    effects.extend(finish(&mut adapter, &FakeHost::default(), 0));
    played.last_mut().expect("a turn").effects = effects;
    played
}

fn session(lines: &[Line]) -> Option<&str> {
    let opened = lines.iter().find_map(|line| line.message["result"]["sessionId"].as_str());
    opened.or_else(|| lines.iter().find_map(|line| line.message["params"]["sessionId"].as_str()))
}

#[test]
fn the_main_conversation_has_its_answers_tools_and_figures() {
    let turns = converse("1.18.33/acp_main");
    let prompts: Vec<&str> = turns.iter().map(|turn| turn.prompt.as_str()).collect();
    assert_eq!(prompts.len(), 10, "{prompts:?}");
    let [short, long, reason, tool, rejected, failing, edit, slow, cancelled_ask, last] = &turns[..] else { panic!() };
    for (turn, answer) in [
        (short, "pong"),
        (reason, "Answer after thought."),
        (tool, "The tool said its piece. Done."),
        (failing, "The tool said its piece. Done."),
        (edit, "edited."),
        (last, "pong"),
    ] {
        assert_eq!((turn.answer().as_deref(), turn.outcome()), (Some(answer), Outcome::Completed), "{}", turn.prompt);
    }
    assert_eq!(long.answer().map(|answer| answer.chars().count()), Some(2191));
    // One model call each: the figures of the result are those of the turn. 200 + 1000 cached, 27 + 7 of reasoning.
    for turn in [short, long, reason, last] {
        let [usage] = &usages(&turn.effects)[..] else { panic!("{}", turn.prompt) };
        let figures = (usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cost_micros);
        assert_eq!(figures, (Some(200), Some(34), Some(7), Some(1000), Some(368)), "{}", turn.prompt);
        assert!(!usage.input_includes_cached);
        assert_eq!(usage.cache_write, Some(0), "zeros are left out over ACP; JSON lines have them");
    }
    // Two calls: the result has the second one only. The cost of the session grew from 0.001104 to 0.001942.
    let [usage] = &usages(&tool.effects)[..] else { panic!() };
    assert_eq!((usage.input, usage.output, usage.cost_micros), (None, None, Some(838)));
    for (turn, name, status, exit) in [
        (tool, "bash", ToolStatus::Succeeded, Some(0)),
        (rejected, "bash", ToolStatus::Denied, None),
        (failing, "bash", ToolStatus::Succeeded, Some(3)),
        (edit, "write", ToolStatus::Succeeded, None),
        (cancelled_ask, "bash", ToolStatus::Cancelled, None),
    ] {
        let [call] = &turn.tools()[..] else { panic!("{}", turn.prompt) };
        assert_eq!((call.name.as_deref(), call.status, call.exit_code), (Some(name), status, exit), "{}", turn.prompt);
    }
    assert_eq!(rejected.outcome(), Outcome::Cancelled, "a rejected tool ends the turn");
    assert_eq!((slow.outcome(), cancelled_ask.outcome()), (Outcome::Cancelled, Outcome::Cancelled));
    assert!(usages(&slow.effects).is_empty(), "zeros are no figures");
    let changes =
        |turn: &Played| events(&turn.effects).into_iter().filter(|event| matches!(event, Event::FileChange(_))).count();
    assert_eq!((changes(edit), changes(tool)), (1, 0));
}

#[test]
fn nothing_in_the_transcripts_is_unknown_or_malformed() {
    for scenario in [
        "1.18.33/acp_main",
        "1.18.33/acp_load",
        "1.15.4/acp_load",
        "1.15.4/acp_resume",
        "kilo-7.8.1/acp_extra",
        "kilo-7.8.1/acp_probe",
        "kilo-7.8.1/acp_modes",
    ] {
        for turn in converse(scenario) {
            let odd = |event: &&Event| matches!(event, Event::Unknown(_) | Event::Malformed(_));
            assert_eq!(events(&turn.effects).into_iter().find(odd), None, "{scenario}: {}", turn.prompt);
        }
    }
}

#[test]
fn a_session_that_is_loaded_does_not_report_its_history() {
    for scenario in ["1.18.33/acp_load", "1.15.4/acp_load", "1.15.4/acp_resume"] {
        let turns = converse(scenario);
        let turn = &turns[0];
        assert_eq!((turn.answer().as_deref(), turn.outcome()), (Some("pong"), Outcome::Completed), "{scenario}");
        assert!(turn.tools().is_empty());
        let resumed = |event: &&Event| matches!(event, Event::Session(session) if session.resumed == Some(true));
        assert!(events(&turn.effects).iter().any(resumed), "{scenario}");
        let [usage] = &usages(&turn.effects)[..] else { panic!("{scenario}") };
        assert_eq!(
            (usage.input, usage.output, usage.cost_micros),
            (Some(200), Some(34), None),
            "the earlier cost is unknown"
        );
    }
}

#[test]
fn errors_over_acp_have_their_class() {
    for (scenario, class) in [
        ("1.18.33/acp_errors", ErrorClass::Auth),
        ("1.18.33/acp_errors2", ErrorClass::RateLimit),
        ("kilo-7.8.1/acp_err_e401", ErrorClass::Auth),
        ("kilo-7.8.1/acp_err_e403", ErrorClass::Permission),
        ("kilo-7.8.1/acp_err_e429", ErrorClass::RateLimit),
        ("kilo-7.8.1/acp_err_ectx", ErrorClass::ContextLength),
        // It ends the turn without a word and without tokens, and does not say why.
        ("1.15.4/acp_errors", ErrorClass::Provider),
    ] {
        let turns = converse(scenario);
        let Outcome::Failed(failure) = turns[0].outcome() else { panic!("{scenario}: {:?}", turns[0].outcome()) };
        assert_eq!(failure.class, class, "{scenario}: {failure:?}");
        assert!(usages(&turns[0].effects).is_empty(), "{scenario}");
    }
}

#[test]
fn an_empty_answer_that_was_counted_is_an_answer() {
    let turns = converse("kilo-7.8.1/acp_err_empty");
    assert_eq!((turns[0].answer(), turns[0].outcome()), (None, Outcome::Completed));
}

#[test]
fn a_stream_that_is_repeated_for_ever_is_stopped() {
    // The third session of the transcript, as the first one of a process.
    let lines = conversation("1.18.33/acp_errors2");
    let looping = lines.iter().rposition(|line| line.message["method"] == "session/new").expect("a session");
    let mut adapter = OpenCode::default();
    let turn = plain_turn();
    adapter.build_args(&turn, &binary("1.18.33"), "acp").expect("a command line");
    adapter.build_prompt(&turn, &binary("1.18.33"), "acp").expect("a prompt");
    handle(&mut adapter, Input::Start);
    let initialized = lines[1].message.to_string();
    play(&mut adapter, Stream::Stdout, &initialized, 1);
    let mut effects = vec![];
    for line in lines[looping..].iter().filter(|line| line.from_agent) {
        let mut message = line.message.clone();
        if message["result"]["sessionId"].is_string() {
            message["id"] = 2.into();
        }
        effects.extend(play(&mut adapter, Stream::Stdout, &message.to_string(), 1));
    }
    let cancels = effects.iter().filter(
        |effect| matches!(effect, Effect::Write(bytes) if String::from_utf8_lossy(bytes).contains("session/cancel")),
    );
    assert_eq!(cancels.count(), 1);
    let texts = events(&effects).into_iter().filter(|event| matches!(event, Event::Message(_))).count();
    assert_eq!(texts, 2, "the third is open, and what follows is dropped");
    assert!(outcomes(&effects).is_empty(), "the agent has still to answer");
    let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}}"#;
    let ended = play(&mut adapter, Stream::Stdout, answer, 1);
    let [Outcome::Failed(failure)] = &outcomes(&ended)[..] else { panic!("{ended:?}") };
    assert_eq!(failure.class, ErrorClass::Provider);
}

#[test]
fn an_agent_that_does_not_answer_a_stop_has_failed_all_the_same() {
    let mut turn = plain_turn();
    wharf_adapter::testing::set_option(&mut turn, "max-retries", "1");
    let mut adapter = OpenCode::default();
    adapter.build_args(&turn, &binary("1.18.33"), "acp").expect("a command line");
    adapter.build_prompt(&turn, &binary("1.18.33"), "acp").expect("a prompt");
    handle(&mut adapter, Input::Start);
    for line in conversation("kilo-7.8.1/acp_refused").iter().filter(|line| line.from_agent) {
        play(&mut adapter, Stream::Stdout, &line.message.to_string(), 1);
    }
    let log = "timestamp=1 level=ERROR message=\"stream error\" session.id=s small=false agent=b error.error=\"AI_APICallError: Unable to connect\"\n";
    let effects = play(&mut adapter, Stream::Stderr, &log.repeat(2), 1);
    let timer =
        effects.iter().find_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None });
    let ended = handle(&mut adapter, Input::Timer(timer.expect("a timer")));
    let [Outcome::Failed(failure)] = &outcomes(&ended)[..] else { panic!("{ended:?}") };
    assert_eq!(failure.class, ErrorClass::Network);
}

#[test]
fn an_answer_that_is_cut_off_again_and_again_is_stopped() {
    let mut turn = plain_turn();
    wharf_adapter::testing::set_option(&mut turn, "max-retries", "2");
    let mut adapter = crate::built(&turn, "1.18.33", "acp");
    handle(&mut adapter, Input::Start);
    let lines = conversation("1.18.33/acp_main");
    let opened = lines.iter().position(|line| line.message["result"]["sessionId"].is_string()).expect("a session");
    for line in lines[..=opened].iter().filter(|line| line.from_agent) {
        play(&mut adapter, Stream::Stdout, &line.message.to_string(), 1);
    }
    let session = session(&lines).expect("an id");
    let call = format!(
        "timestamp=1 level=INFO run=0 message=stream providerID=lab modelID=m session.id={session} small=false agent=build mode=primary\n"
    );
    let chunk = lines.iter().find(|line| line.message["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let chunk = chunk.expect("a chunk").message.to_string();
    let is_stopped = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::SetTimer(_)));
    for number in 0..4 {
        let effects = play(&mut adapter, Stream::Stderr, &call, 1);
        assert_eq!(is_stopped(&effects), number == 3, "call {number}");
        play(&mut adapter, Stream::Stdout, &chunk, 1);
    }
}

#[test]
fn chunk_boundaries_do_not_matter_over_acp() {
    let conversation = conversation("1.18.33/acp_main");
    let written = conversation.iter().filter(|line| line.from_agent).map(|line| line.message.to_string());
    let agent = written.collect::<Vec<_>>().join("\n") + "\n";
    let play_in = |lines: usize| {
        let mut adapter = OpenCode::default();
        adapter.build_prompt(&plain_turn(), &binary("1.18.33"), "acp").expect("a prompt");
        handle(&mut adapter, Input::Start);
        play(&mut adapter, Stream::Stdout, &agent, lines)
    };
    let whole = play_in(usize::MAX);
    for lines in [1, 2, 7] {
        assert!(play_in(lines) == whole, "in chunks of {lines}");
    }
}

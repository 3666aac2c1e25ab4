//! Captured conversations over ACP, played against the adapter: `>>` is what the capture's client wrote, `<<` the agent.
//!
//! The adapter writes its own requests. Each must be the one that the client wrote at this place, and the agent's response to
//! the client is its response. What no adapter writes (an unknown method, a second handshake) is left out with its response.

use crate::captures;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use wharf_adapter::testing::{binary, events, inline, play, transcripts, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, Effect, Effects, ErrorClass, Event, ExitStatus, Input, Outcome, SessionChoice, Stream,
    ToolStatus, Turn,
};
use wharf_adapter_gemini::Gemini;

/// What came of one prompt.
#[derive(Debug, Default)]
struct Prompted {
    outcome: Option<Outcome>,
    answer: Option<String>,
    thoughts: usize,
    tools: BTreeMap<String, (String, ToolStatus)>,
    usage: Vec<(Option<String>, Option<u64>, Option<u64>)>,
    drift: Vec<String>,
}

/// The adapter at the other end of a captured conversation.
struct Played {
    adapter: Gemini,
    turn: Turn,
    /// The client's id of each request that the adapter has made too, and the adapter's.
    ids: Vec<(Value, Value)>,
    /// What the adapter wrote and nobody has looked at.
    written: Vec<Value>,
    prompts: Vec<Prompted>,
    session: Option<String>,
    /// The timer that the adapter set last.
    timer: Option<u32>,
}

impl Played {
    fn new(version: &str, session: SessionChoice) -> Played {
        let mut adapter = Gemini::default();
        let turn = Turn { session, approvals: Approvals::Ask, ..turn::<Gemini>("go") };
        adapter.build_args(&turn, &binary(version), "acp").expect("a command line");
        adapter.build_prompt(&turn, &binary(version), "acp").expect("a prompt");
        Played { adapter, turn, ids: vec![], written: vec![], prompts: vec![], session: None, timer: None }
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        self.take(out.as_slice());
    }

    fn take(&mut self, effects: &[Effect]) {
        let timers: Vec<u32> = effects
            .iter()
            .filter_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None })
            .collect();
        for effect in effects {
            if let Effect::Write(bytes) = effect {
                self.written.extend(serde_json::from_slice::<Value>(bytes).ok());
            }
        }
        if self.prompts.is_empty() {
            self.prompts.push(Prompted::default());
        }
        let prompted = self.prompts.last_mut().expect("one was pushed");
        for event in events(effects) {
            match event {
                Event::Session(session) => self.session.clone_from(&session.id),
                Event::Message(part) => prompted.answer = Some(inline(&part.text).to_owned()),
                Event::Thinking(_) => prompted.thoughts += 1,
                Event::Tool(call) => {
                    let known = prompted
                        .tools
                        .entry(inline(&call.id).to_owned())
                        .or_insert_with(|| (String::new(), call.status));
                    known.1 = call.status;
                    if let Some(name) = &call.name {
                        known.0.clone_from(name);
                    }
                }
                Event::Usage(usage) => prompted.usage.push((usage.model.clone(), usage.input, usage.output)),
                Event::TurnEnded(end) => prompted.outcome = Some(end.outcome.clone()),
                Event::Unknown(what) | Event::Malformed(what) => prompted.drift.push(what.clone()),
                _ => {}
            }
        }
        self.timer = timers.last().copied().or(self.timer);
    }

    /// The client writes a request: so must the adapter, or the request and its response are left out.
    fn client_requests(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            "initialize" if self.ids.is_empty() => self.handle(Input::Start),
            "session/cancel" => return self.handle(Input::Cancel),
            "session/prompt" if self.has_prompt() => {
                self.prompts.push(Prompted::default());
                let mut out = Effects::default();
                self.adapter.next_turn(&self.turn.clone(), &mut out);
                self.take(out.as_slice());
            }
            // The history is over.
            "session/prompt" => {
                if let Some(timer) = self.timer.take() {
                    self.handle(Input::Timer(timer));
                }
            }
            _ => {}
        }
        let at = self.written.iter().position(|written| written["method"] == method);
        if let Some(at) = at {
            let written = self.written.remove(at);
            self.ids.push((message["id"].clone(), written["id"].clone()));
        }
    }

    /// Whether the first prompt was sent.
    fn has_prompt(&self) -> bool {
        self.prompts.last().is_some_and(|prompted| prompted.outcome.is_some())
    }

    /// The client answers a permission request.
    fn client_answers(&mut self, message: &Value) {
        let choice = message["result"]["outcome"]["optionId"].as_str();
        self.handle(Input::Answer(Answer::new(&message["id"].to_string(), choice)));
    }

    fn agent_writes(&mut self, mut message: Value) {
        if message.get("method").is_none() {
            let Some((_, ours)) = self.ids.iter().find(|(client, _)| *client == message["id"]) else { return };
            message["id"] = ours.clone();
        }
        self.agent_says(&message.to_string());
    }

    /// Gives the adapter a line, unchanged.
    fn agent_says(&mut self, line: &str) {
        let effects = play(&mut self.adapter, Stream::Stdout, &format!("{line}\n"), 1);
        self.take(&effects);
    }

    /// Ends the open prompt and starts another turn: the methods of the requests up to its prompt, each of which succeeds.
    fn methods_of_next(&mut self, turn: &Turn) -> Vec<String> {
        let respond = |id: &Value, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        let prompt = self.written.drain(..).next_back().expect("a prompt");
        self.agent_says(&respond(&prompt["id"], json!({ "stopReason": "end_turn" })));
        let mut out = Effects::default();
        self.adapter.next_turn(turn, &mut out);
        self.take(out.as_slice());
        let mut methods = vec![];
        while let Some(written) = self.written.pop() {
            methods.push(written["method"].as_str().unwrap_or_default().to_owned());
            if written["method"] == "session/prompt" {
                self.written.push(written);
                break;
            }
            self.agent_says(&respond(&written["id"], json!({})));
        }
        methods
    }
}

/// Plays a capture from its beginning.
fn played(folder: &Path) -> Played {
    let text = std::fs::read_to_string(folder.join("conversation.txt")).expect("a conversation");
    let messages: Vec<(bool, Value)> =
        text.lines().map(|line| (line.starts_with(">> "), serde_json::from_str(&line[3..]).expect("JSON"))).collect();
    let loaded = messages.iter().find(|(_, message)| message["method"] == "session/load");
    let is_first = messages.iter().all(|(_, message)| message["method"] != "session/new");
    let session = match loaded.filter(|_| is_first) {
        Some((_, load)) => SessionChoice::Resume(load["params"]["sessionId"].as_str().expect("an id").to_owned()),
        None => SessionChoice::Fresh(None),
    };
    let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a version");
    let mut played = Played::new(version, session);
    for (is_client, message) in messages {
        match (is_client, message.get("method").is_some()) {
            (true, true) => played.client_requests(&message),
            (true, false) => played.client_answers(&message),
            (false, _) => played.agent_writes(message),
        }
    }
    let mut out = Effects::default();
    played.adapter.finish(
        &wharf_adapter::testing::FakeHost::default(),
        ExitStatus { code: Some(0), signal: None },
        &mut out,
    );
    played.take(out.as_slice());
    played
}

fn capture(version: &str, scenario: &str) -> Played {
    played(&captures().join(version).join(scenario))
}

/// The prompts of the capture's client, in order: short, long, a thought, a tool that is allowed, one that is rejected, a
/// command that exits with 3, an edit, a cancel in the text, a cancel during a permission request, short.
#[test]
fn the_turns_of_a_long_conversation_end_as_the_capture_says() {
    for version in ["0.45.2", "0.61.0"] {
        let played = capture(version, "acp_main");
        assert_eq!(played.prompts.len(), 10, "{version}");
        let answers: Vec<Option<&str>> = played.prompts.iter().map(|prompted| prompted.answer.as_deref()).collect();
        let done = Some("The tool said its piece. Done.");
        assert_eq!(answers[0], Some("pong"));
        assert_eq!(answers[1].map(|text| text.lines().count()), Some(40));
        assert_eq!(answers[2..7], [Some("Answer after thought."), done, done, done, Some("edited.")]);
        assert_eq!(answers[9], Some("pong"));
        for (number, prompted) in played.prompts.iter().enumerate() {
            let expected = if matches!(number, 7 | 8) { Outcome::Cancelled } else { Outcome::Completed };
            assert_eq!(prompted.outcome, Some(expected), "{version} {number}");
            assert!(prompted.drift.is_empty(), "{:?}", prompted.drift);
            assert_eq!(prompted.thoughts, usize::from(number == 2), "{version} {number}");
        }
        let tools: Vec<Vec<(&str, ToolStatus)>> = played
            .prompts
            .iter()
            .map(|prompted| prompted.tools.values().map(|(name, status)| (name.as_str(), *status)).collect())
            .collect();
        let shell = |status| vec![("run_shell_command", status)];
        assert_eq!(tools[3], shell(ToolStatus::Succeeded));
        assert_eq!(tools[4], shell(ToolStatus::Denied), "a rejected tool is never mentioned again");
        assert_eq!(tools[5], shell(ToolStatus::Succeeded), "exit code 3 is a success for it");
        assert_eq!(tools[6], [("write_file", ToolStatus::Succeeded)]);
        // The client answered with a cancel: the tool did not run.
        assert!(
            matches!(tools[8][..], [("run_shell_command", ToolStatus::Denied | ToolStatus::Cancelled)]),
            "{:?}",
            tools[8]
        );
    }
}

#[test]
fn usage_is_counted_by_turn_and_by_model() {
    let used = |version: &str, prompt: usize| {
        let mut usage = capture(version, "acp_main").prompts.swap_remove(prompt).usage;
        usage.sort();
        usage
    };
    let figures = |model: &str, input, output| (Some(model.to_owned()), Some(input), Some(output));
    assert_eq!(used("0.61.0", 3), [figures("gemini-2.5-flash", 2500, 69)]);
    assert_eq!(used("0.45.2", 3), [figures("gemini-2.5-flash", 1300, 35), figures("gemini-3.5-flash", 1200, 34)]);
    assert_eq!(used("0.61.0", 7), [], "a cancelled turn has no figures");
}

#[test]
fn errors_of_the_model_have_the_status_that_is_their_code() {
    for version in ["0.45.2", "0.61.0"] {
        let played = capture(version, "acp_errors");
        let failures: Vec<(ErrorClass, Option<u16>)> = played
            .prompts
            .iter()
            .filter_map(|prompted| match &prompted.outcome {
                Some(Outcome::Failed(failure)) => Some((failure.class, failure.http_status)),
                _ => None,
            })
            .collect();
        assert_eq!(failures[..2], [(ErrorClass::Auth, Some(401)), (ErrorClass::ContextLength, Some(400))], "{version}");
    }
}

#[test]
fn the_history_of_a_loaded_session_is_not_part_of_the_turn() {
    for version in ["0.45.2", "0.61.0"] {
        let played = capture(version, "acp_load");
        assert_eq!(played.prompts.len(), 1);
        assert!(played.session.is_some());
        let prompted = &played.prompts[0];
        assert_eq!(
            (prompted.answer.as_deref(), &prompted.outcome),
            (Some("pong"), &Some(Outcome::Completed)),
            "{version}"
        );
        assert!(prompted.tools.is_empty() && prompted.thoughts == 0, "{version}");
    }
}

/// `[MODE_UPDATE] yolo` is a chunk of the answer, like any other.
#[test]
fn the_confirmation_of_a_mode_is_not_text_of_the_answer() {
    let mut played = Played::new("0.61.0", SessionChoice::Fresh(None));
    let update = |text: &str| {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } })
    };
    for text in ["[MODE_UPDATE] yolo", "The words [MODE_UPDATE] yolo", " are mine."] {
        played.agent_writes(update(text));
    }
    let end = json!({ "jsonrpc": "2.0", "id": 99, "result": { "stopReason": "end_turn" } });
    played.agent_says(&end.to_string());
    assert_eq!(played.prompts[0].answer.as_deref(), Some("The words [MODE_UPDATE] yolo are mine."));
}

/// Model and mode are on the command line of the first turn, and in the protocol if a later one has others.
#[test]
fn a_later_turn_changes_what_differs_and_nothing_else() {
    let mut played = Played::new("0.61.0", SessionChoice::Fresh(None));
    let conversation = std::fs::read_to_string(captures().join("0.61.0/acp_main/conversation.txt")).expect("a capture");
    played.handle(Input::Start);
    for response in conversation.lines().filter_map(|line| line.strip_prefix("<< ")).take(2) {
        played.agent_says(response);
    }
    let mut turn = played.turn.clone();
    assert_eq!(played.methods_of_next(&turn), ["session/prompt"]);
    turn.model = Some("gemini-2.5-pro".to_owned());
    turn.approvals = Approvals::AllowAll;
    assert_eq!(played.methods_of_next(&turn), ["session/set_model", "session/set_mode", "session/prompt"]);
    assert_eq!(played.methods_of_next(&turn), ["session/prompt"]);
    turn.approvals = Approvals::Ask;
    assert_eq!(played.methods_of_next(&turn), ["session/set_mode", "session/prompt"]);
}

/// 0.61.0 answers so if the reply was empty, or blocked.
#[test]
fn a_turn_without_a_word_has_failed() {
    let mut played = Played::new("0.61.0", SessionChoice::Fresh(None));
    let end = json!({ "jsonrpc": "2.0", "id": 99, "result": { "stopReason": "end_turn",
        "_meta": { "quota": { "token_count": { "input_tokens": 1200, "output_tokens": 34 }, "model_usage": [] } } } });
    played.agent_says(&end.to_string());
    assert!(
        matches!(&played.prompts[0].outcome, Some(Outcome::Failed(failure)) if failure.class == ErrorClass::Provider)
    );
}

/// The code of the error is 500.
#[test]
fn an_unknown_model_is_recognized_over_acp() {
    let mut played = Played::new("0.61.0", SessionChoice::Fresh(None));
    let message = "models/x is not found for API version v1beta, or is not supported for generateContent.";
    let error = json!({ "jsonrpc": "2.0", "id": 99, "error": { "code": 500, "message": message } });
    played.agent_says(&error.to_string());
    assert!(
        matches!(&played.prompts[0].outcome, Some(Outcome::Failed(failure)) if failure.class == ErrorClass::UnknownModel)
    );
}

#[test]
fn no_captured_conversation_has_anything_unknown() {
    let mut count = 0;
    for folder in transcripts(captures()).into_iter().filter(|folder| folder.join("conversation.txt").exists()) {
        let played = played(&folder);
        assert!(played.prompts.iter().all(|prompted| prompted.drift.is_empty()), "{}", folder.display());
        count += 1;
    }
    assert!(count >= 10, "{count} conversations");
}

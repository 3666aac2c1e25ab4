//! Real conversations over the control protocol, replayed with the adapter in place of the recorded host.
//!
//! `conversation.txt` has the lines of Claude (`<<`) and of that host (`>>`). Each line of the host is turned into the
//! input that causes it, and the line that the adapter then writes must mean the same. A line that no adapter would write
//! is marked as a difference (`!>`): the line, the reason, and the line that the adapter writes instead, if any.

use crate::{outcome_name, transcripts};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{self, play, read, set_option};
use wharf_adapter::{
    Adapter, Answer, Approvals, Ask, ChoiceKind, Effect, Effects, Event, Evidence, ExitStatus, Input, PromptDelivery,
    Stream, ToolStatus, Turn,
};
use wharf_adapter_claude::Claude;

fn conversations() -> Vec<PathBuf> {
    let files = transcripts().into_iter().map(|folder| folder.join("conversation.txt"));
    files.filter(|path| path.is_file()).collect()
}

/// The adapter, the lines that it wrote and that are not compared yet, and its asks.
struct Player {
    adapter: Claude,
    written: VecDeque<Value>,
    asks: Vec<Ask>,
    denied: Vec<String>,
    /// Whether the first turn has started.
    started: bool,
    /// Whether the current turn has ended.
    ended: bool,
    /// How the last turn ended.
    outcome: Option<&'static str>,
    /// The model of the next turn, if it changes.
    model: Option<String>,
    /// The permission mode of the next turn, if it changes.
    mode: Option<String>,
}

impl Player {
    fn start(lines: &[(bool, Value)]) -> Player {
        let mut turn = testing::turn::<Claude>(&first_prompt(lines));
        turn.approvals = Approvals::Ask;
        let initialize = lines.iter().find(|(ours, line)| *ours && line["request"]["subtype"] == "initialize");
        if let Some(hooks) = initialize.and_then(|(_, line)| line["request"]["hooks"].as_object()) {
            let events: Vec<&String> = hooks.keys().collect();
            set_option(&mut turn, "gates", &json!(events).to_string());
        }
        let mut adapter = Claude::default();
        let binary = testing::binary("2.1.325");
        adapter.build_args(&turn, &binary, "control").expect("arguments");
        let delivery = adapter.build_prompt(&turn, &binary, "control").expect("a prompt");
        assert_eq!(delivery, PromptDelivery::InProtocol);
        let mut player = Player {
            adapter,
            written: VecDeque::new(),
            asks: vec![],
            denied: vec![],
            started: false,
            ended: false,
            outcome: None,
            model: None,
            mode: None,
        };
        player.handle(Input::Start);
        if initialize.is_none() {
            // The recorded host did not send it: continue as if it was never answered.
            let handshake = player.written.pop_front().expect("the handshake");
            assert_eq!(handshake["request"]["subtype"], "initialize");
            player.handle(Input::Timer(1));
        }
        player
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        self.add(out.into_vec());
    }

    fn next_turn(&mut self, turn: &Turn) {
        let mut out = Effects::default();
        self.adapter.next_turn(turn, &mut out);
        self.add(out.into_vec());
    }

    fn add(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(bytes) => {
                    assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 2, "one line at a time");
                    self.written.push_back(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Effect::Emit(Event::Ask(ask)) => self.asks.push(ask),
                Effect::Emit(Event::Tool(call)) if call.status == ToolStatus::Denied => {
                    self.denied.push(testing::inline(&call.id).to_owned());
                }
                Effect::Emit(Event::TurnEnded(end)) => {
                    self.ended = true;
                    self.outcome = Some(outcome_name(&end.outcome));
                }
                _ => {}
            }
        }
    }

    /// How the last turn ended: by its result, or else by the exit status and stderr.
    fn outcome(&mut self, folder: &Path) -> &'static str {
        let read = |name: &str| read(folder, name);
        let exit = ExitStatus { code: read("exit").trim().parse().ok(), signal: None };
        let evidence = Evidence { exit, stdout_tail: read("stdout.jsonl"), stderr_tail: read("stderr.txt") };
        self.outcome.unwrap_or_else(|| self.adapter.parse_error(&evidence).map_or("unsaid", |_| "failed"))
    }

    /// Sends the input that causes a line of the recorded host. False if the line comes with the next turn.
    fn cause(&mut self, line: &Value) -> bool {
        match (line["type"].as_str(), line["request"]["subtype"].as_str()) {
            (Some("user"), _) if !self.started => self.started = true,
            (Some("user"), _) if self.ended => {
                self.ended = false;
                let mut turn = testing::turn::<Claude>(&text_of(line));
                turn.approvals = Approvals::Ask;
                turn.model = self.model.take();
                if let Some(mode) = &self.mode {
                    set_option(&mut turn, "permission-mode", &json!(mode).to_string());
                }
                self.next_turn(&turn);
            }
            (Some("user"), _) => self.handle(Input::Message(text_of(line))),
            (_, Some("interrupt")) => self.handle(Input::Cancel),
            (_, Some("set_model")) => {
                self.model = line["request"]["model"].as_str().map(str::to_owned);
                return false;
            }
            (_, Some("set_permission_mode")) => {
                self.mode = line["request"]["mode"].as_str().map(str::to_owned);
                return false;
            }
            // The adapter rejects it by itself.
            (Some("control_response"), _) if line["response"]["subtype"] == "error" => {}
            (Some("control_response"), _) => {
                let id = line["response"]["request_id"].as_str().expect("an id");
                let ask = self.asks.iter().find(|ask| ask.id == id).cloned().expect("an ask of this id");
                self.handle(Input::Answer(answer(&ask, &line["response"]["response"])));
            }
            (_, Some("initialize")) => {}
            other => panic!("the recorded host wrote {other:?}"),
        }
        true
    }
}

fn text_of(line: &Value) -> String {
    let content = &line["message"]["content"];
    content.as_str().or(content[0]["text"].as_str()).expect("a text").to_owned()
}

fn first_prompt(lines: &[(bool, Value)]) -> String {
    lines.iter().find(|(ours, line)| *ours && line["type"] == "user").map(|(_, line)| text_of(line)).expect("a prompt")
}

/// The answer of a user that causes this response. The choice is found by its kind, as hosts do.
fn answer(ask: &Ask, response: &Value) -> Answer {
    let decision = &response["hookSpecificOutput"];
    let denied =
        response["behavior"] == "deny" || response["decision"] == "block" || decision["permissionDecision"] == "deny";
    let kind = match (denied, response["interrupt"] == true) {
        (false, _) => ChoiceKind::AllowOnce,
        (true, false) => ChoiceKind::RejectOnce,
        (true, true) => ChoiceKind::RejectAndStop,
    };
    let text = [&response["message"], &response["reason"], &decision["permissionDecisionReason"]];
    let input = [&response["updatedInput"], &decision["updatedInput"]].into_iter().find(|input| input.is_object());
    Answer {
        ask: ask.id.clone(),
        choice: ask.choices.iter().find(|choice| choice.kind == kind).map(|choice| choice.id.clone()),
        text: text.into_iter().find_map(Value::as_str).map(str::to_owned),
        // With line breaks, as a person would edit it.
        input: input.map(|input| serde_json::to_string_pretty(input).expect("JSON")),
        fields: vec![],
        value: None,
    }
}

/// The meaning of a line, without ids that a host chooses freely.
fn meaning(line: &Value, asks: &[Ask]) -> Value {
    match (line["type"].as_str(), line["request"]["subtype"].as_str()) {
        (Some("user"), _) => json!({"user": text_of(line)}),
        (_, Some("initialize")) => {
            let hooks = line["request"]["hooks"].as_object();
            let hooks = hooks.map(|hooks| hooks.keys().collect::<Vec<_>>());
            json!({"initialize": hooks, "servers": line["request"]["sdkMcpServers"]})
        }
        (Some("control_request"), _) => line["request"].clone(),
        (Some("control_response"), _) if line["response"]["subtype"] == "error" => line["response"].clone(),
        (Some("control_response"), _) => {
            let mut response = line["response"].clone();
            let ask = asks.iter().find(|ask| response["request_id"] == *ask.id).expect("an ask of this id");
            let answer = &mut response["response"];
            if answer.is_null() {
                *answer = json!({});
            }
            if answer["behavior"] == "allow" && answer["updatedInput"].is_null() {
                // If it is missing, the input is unchanged; 2.1.197 does not accept that.
                answer["updatedInput"] = serde_json::from_str(&ask.detail).expect("JSON");
            }
            response
        }
        other => panic!("{other:?}"),
    }
}

/// The lines of a conversation in order, each with whether the host wrote it. A difference is replaced by the line that
/// the adapter writes instead.
fn read_conversation(path: &Path) -> Vec<(bool, Value)> {
    let text = fs::read_to_string(path).expect("a conversation");
    let line = |line: &str| -> Option<(bool, Value)> {
        let (from, line) = line.split_at(3);
        let line: Value = serde_json::from_str(line).expect("JSON");
        match from {
            "<< " => Some((false, line)),
            ">> " => Some((true, line)),
            "!> " => {
                let has_reason = line["why"].as_str().is_some_and(|reason| !reason.is_empty());
                assert!(has_reason && line.get("wrote").is_some(), "{}: a difference needs a reason", path.display());
                line.get("instead").map(|instead| (true, instead.clone()))
            }
            other => panic!("{}: {other}", path.display()),
        }
    };
    text.split_terminator('\n').filter_map(line).collect()
}

#[test]
fn the_adapter_writes_what_the_recorded_host_wrote() {
    let conversations = conversations();
    assert!(conversations.len() > 40, "only {} conversations were found", conversations.len());
    for path in conversations {
        let lines = read_conversation(&path);
        let mut player = Player::start(&lines);
        let mut changes = vec![];
        for (ours, line) in &lines {
            if !ours {
                let effects = play(&mut player.adapter, Stream::Stdout, &format!("{line}\n"), 1);
                player.add(effects);
            } else if player.cause(line) {
                changes.push(line);
                for line in changes.drain(..) {
                    let written = player.written.pop_front().unwrap_or_else(|| panic!("{}: no {line}", path.display()));
                    assert_eq!(meaning(&written, &player.asks), meaning(line, &player.asks), "{}", path.display());
                }
            } else {
                changes.push(line);
            }
        }
        assert!(player.written.is_empty(), "{}: {:?} was also written", path.display(), player.written);
        let folder = path.parent().expect("a folder");
        let expected: Value = serde_json::from_str(&read(folder, "expected.json")).expect("JSON");
        let outcome = expected["outcome"].as_str().and_then(|outcome| outcome.split(' ').next());
        assert_eq!(Some(player.outcome(folder)), outcome, "{}", path.display());
    }
}

#[test]
fn a_tool_that_a_gate_blocked_is_denied_in_every_version() {
    let paths = conversations().into_iter().filter(|path| path.to_string_lossy().contains("bd_hooks"));
    let mut count = 0;
    for path in paths {
        let lines = read_conversation(&path);
        let mut player = Player::start(&lines);
        for (ours, line) in &lines {
            if *ours {
                player.cause(line);
            } else {
                let effects = play(&mut player.adapter, Stream::Stdout, &format!("{line}\n"), 1);
                player.add(effects);
            }
        }
        assert_eq!(player.denied.len(), 1, "{}: {:?}", path.display(), player.denied);
        count += 1;
    }
    assert_eq!(count, 3);
}

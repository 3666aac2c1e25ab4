//! Real conversations over the control protocol, played again: the adapter in the place of the host that was recorded.
//!
//! `conversation.txt` has what Claude said (`<<`) and what that host wrote (`>>`). Each of the host's lines is turned
//! into what a user would do to cause it, and what the adapter writes then must mean the same. What that host wrote and
//! no adapter would stands there as a difference (`!>`): what was written, why an adapter would not, and what it writes
//! instead, if anything.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{self, play, set_option};
use wharf_adapter::{
    Adapter, Answer, Approvals, Ask, ChoiceKind, Effect, Effects, Event, Evidence, ExitStatus, Input, Outcome,
    PromptDelivery, Stream, ToolStatus,
};
use wharf_adapter_claude::Claude;

fn conversations() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/claude");
    let below = |path: PathBuf| fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
    let folders = below(root).flat_map(below);
    let mut found: Vec<PathBuf> = folders.map(|folder| folder.join("conversation.txt")).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

/// The adapter, what it wrote that was not compared yet, and what it asked.
struct Player {
    adapter: Claude,
    written: VecDeque<Value>,
    asks: Vec<Ask>,
    denied: Vec<String>,
    /// A turn was begun, and a result was printed since.
    begun: bool,
    ended: bool,
    /// How the last turn ended.
    outcome: Option<&'static str>,
    /// What the next turn shall change.
    model: Option<String>,
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
        adapter.build_args(&turn, &binary).expect("arguments");
        let delivery = adapter.build_prompt(&turn, &binary).expect("a prompt");
        assert_eq!(delivery, PromptDelivery::InProtocol);
        let mut player = Player {
            adapter,
            written: VecDeque::new(),
            asks: vec![],
            denied: vec![],
            begun: false,
            ended: false,
            outcome: None,
            model: None,
            mode: None,
        };
        player.handle(Input::Start);
        if initialize.is_none() {
            // The recorded host did without it: as if it had never been answered.
            let handshake = player.written.pop_front().expect("the handshake");
            assert_eq!(handshake["request"]["subtype"], "initialize");
            player.handle(Input::Timer(1));
        }
        player
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        self.take(out.into_vec());
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(bytes) => {
                    assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 2, "one line at a time");
                    self.written.push_back(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Effect::Emit(Event::Ask(ask)) => self.asks.push(ask),
                Effect::Emit(Event::Tool(call)) if call.status == ToolStatus::Denied => self.denied.push(call.id),
                Effect::Emit(Event::TurnEnded(end)) => {
                    self.ended = true;
                    self.outcome = Some(match end.outcome {
                        Outcome::Completed => "completed",
                        Outcome::Failed(_) => "failed",
                        Outcome::Cancelled => "cancelled",
                        Outcome::Refused(_) => "refused",
                        Outcome::Blocked(_) => "blocked",
                        Outcome::Limit(_) => "limit",
                    });
                }
                _ => {}
            }
        }
    }

    /// How the last turn ended: by its result, or by what the process left behind.
    fn outcome(&mut self, folder: &Path) -> &'static str {
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file of the transcript");
        let exit = ExitStatus { code: read("exit").trim().parse().ok(), signal: None };
        let evidence = Evidence { exit, stdout_tail: read("stdout.jsonl"), stderr_tail: read("stderr.txt") };
        self.outcome.unwrap_or_else(|| self.adapter.parse_error(&evidence).map_or("unsaid", |_| "failed"))
    }

    /// Cause what the recorded host wrote. False where it comes with the next turn.
    fn cause(&mut self, line: &Value) -> bool {
        match (line["type"].as_str(), line["request"]["subtype"].as_str()) {
            (Some("user"), _) if !self.begun => self.begun = true,
            (Some("user"), _) if self.ended => {
                self.ended = false;
                let mut turn = testing::turn::<Claude>(&said(line));
                turn.approvals = Approvals::Ask;
                turn.model = self.model.take();
                if let Some(mode) = &self.mode {
                    set_option(&mut turn, "permission-mode", &json!(mode).to_string());
                }
                self.handle(Input::NextTurn(turn));
            }
            (Some("user"), _) => self.handle(Input::Message(said(line))),
            (_, Some("interrupt")) => self.handle(Input::Cancel),
            (_, Some("set_model")) => {
                self.model = line["request"]["model"].as_str().map(str::to_owned);
                return false;
            }
            (_, Some("set_permission_mode")) => {
                self.mode = line["request"]["mode"].as_str().map(str::to_owned);
                return false;
            }
            // The adapter refuses by itself.
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

fn said(line: &Value) -> String {
    let content = &line["message"]["content"];
    content.as_str().or(content[0]["text"].as_str()).expect("a text").to_owned()
}

fn first_prompt(lines: &[(bool, Value)]) -> String {
    lines.iter().find(|(ours, line)| *ours && line["type"] == "user").map(|(_, line)| said(line)).expect("a prompt")
}

/// What a user does who wants this response: chosen by kind, as hosts do.
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
        // As somebody would edit it: with line breaks.
        input: input.map(|input| serde_json::to_string_pretty(input).expect("JSON")),
    }
}

/// What a line says, without what hosts are free to name as they like.
fn meaning(line: &Value, asks: &[Ask]) -> Value {
    match (line["type"].as_str(), line["request"]["subtype"].as_str()) {
        (Some("user"), _) => json!({"user": said(line)}),
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
                // Left out it means the input as it was; 2.1.197 does not take it so.
                answer["updatedInput"] = serde_json::from_str(&ask.detail).expect("JSON");
            }
            response
        }
        other => panic!("{other:?}"),
    }
}

/// The lines of a conversation, in the order that they were written in: whether the host's, and what they say. A
/// difference stands for what the adapter writes in its place.
fn read(path: &Path) -> Vec<(bool, Value)> {
    let text = fs::read_to_string(path).expect("a conversation");
    let line = |line: &str| -> Option<(bool, Value)> {
        let (from, line) = line.split_at(3);
        let line: Value = serde_json::from_str(line).expect("JSON");
        match from {
            "<< " => Some((false, line)),
            ">> " => Some((true, line)),
            "!> " => {
                let reasoned = line["why"].as_str().is_some_and(|why| !why.is_empty());
                assert!(reasoned && line.get("wrote").is_some(), "{}: a difference has a reason", path.display());
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
        let lines = read(&path);
        let mut player = Player::start(&lines);
        let mut changes = vec![];
        for (ours, line) in &lines {
            if !ours {
                let effects = play(&mut player.adapter, Stream::Stdout, &format!("{line}\n"), 1);
                player.take(effects);
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
        assert!(player.written.is_empty(), "{}: {:?} was written beside", path.display(), player.written);
        let folder = path.parent().expect("a folder");
        let expected = fs::read_to_string(folder.join("expected.json")).expect("what a person reads in it");
        let expected: Value = serde_json::from_str(&expected).expect("JSON");
        let wanted = expected["outcome"].as_str().and_then(|outcome| outcome.split(' ').next());
        assert_eq!(Some(player.outcome(folder)), wanted, "{}", path.display());
    }
}

#[test]
fn a_tool_that_a_gate_stopped_is_denied_in_every_version() {
    let paths = conversations().into_iter().filter(|path| path.to_string_lossy().contains("bd_hooks"));
    let mut count = 0;
    for path in paths {
        let lines = read(&path);
        let mut player = Player::start(&lines);
        for (ours, line) in &lines {
            if *ours {
                player.cause(line);
            } else {
                let effects = play(&mut player.adapter, Stream::Stdout, &format!("{line}\n"), 1);
                player.take(effects);
            }
        }
        player.denied.dedup();
        assert_eq!(player.denied.len(), 1, "{}: {:?}", path.display(), player.denied);
        count += 1;
    }
    assert_eq!(count, 3);
}

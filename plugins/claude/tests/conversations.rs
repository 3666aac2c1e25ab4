//! Real conversations over the control protocol, played again: the adapter in the place of the host that was recorded.
//!
//! `conversation.txt` has what Claude said (`<<`) and what that host wrote (`>>`). Each of the host's lines is turned
//! into what a user would do to cause it, and what the adapter writes then must mean the same.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use wharf_adapter::testing::{self, play, set_option};
use wharf_adapter::{
    Adapter, Answer, Approvals, Ask, ChoiceKind, Effect, Effects, Event, Origin, PromptDelivery, Reply, ToolStatus,
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
            model: None,
            mode: None,
        };
        player.reply(Reply::Start);
        if initialize.is_none() {
            // The recorded host did without it: as if it had never been answered.
            let handshake = player.written.pop_front().expect("the handshake");
            assert_eq!(handshake["request"]["subtype"], "initialize");
            player.reply(Reply::Timer(1));
        }
        player
    }

    fn reply(&mut self, reply: Reply) {
        let mut out = Effects::default();
        self.adapter.respond(reply, &mut out);
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
                Effect::Emit(Event::TurnEnd(_)) => self.ended = true,
                _ => {}
            }
        }
    }

    /// Cause what the recorded host wrote. False where the adapter has no such thing.
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
                self.reply(Reply::NextTurn(turn));
            }
            (Some("user"), _) => self.reply(Reply::Message(said(line))),
            (_, Some("interrupt")) => self.reply(Reply::Cancel),
            (_, Some("set_model")) => {
                self.model = line["request"]["model"].as_str().map(str::to_owned);
                return false;
            }
            (_, Some("set_permission_mode")) => {
                self.mode = line["request"]["mode"].as_str().map(str::to_owned);
                return false;
            }
            (Some("control_response"), _) => {
                let id = line["response"]["request_id"].as_str().expect("an id");
                let Some(ask) = self.asks.iter().find(|ask| ask.id == id).cloned() else { return false };
                self.reply(Reply::Answer(answer(&ask, &line["response"]["response"])));
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
            json!({"initialize": hooks.map(|hooks| hooks.keys().collect::<Vec<_>>())})
        }
        (Some("control_request"), _) => line["request"].clone(),
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

fn read(path: &Path) -> Vec<(bool, Value)> {
    let text = fs::read_to_string(path).expect("a conversation");
    let line = |line: &str| {
        let (from, line) = line.split_at(3);
        (from == ">> ", serde_json::from_str(line).expect("JSON"))
    };
    text.split_terminator('\n').map(line).collect()
}

#[test]
fn the_adapter_writes_what_the_recorded_host_wrote() {
    let conversations = conversations();
    assert!(conversations.len() > 20, "only {} conversations were found", conversations.len());
    for path in conversations {
        let lines = read(&path);
        let mut player = Player::start(&lines);
        let mut changes = vec![];
        for (ours, line) in &lines {
            if !ours {
                let effects = play(&mut player.adapter, Origin::Stdout, &format!("{line}\n"), 1);
                // In-process MCP servers are not offered: where Claude asks for one it is told so.
                let before = player.written.len();
                player.take(effects);
                if line["request"]["subtype"] == "mcp_message" {
                    let refused = player.written.remove(before).expect("a refusal");
                    assert_eq!(refused["response"]["subtype"], "error");
                }
            } else if player.cause(line) {
                changes.push(line);
                for line in changes.drain(..) {
                    let written = player.written.pop_front().unwrap_or_else(|| panic!("{}: no {line}", path.display()));
                    assert_eq!(meaning(&written, &player.asks), meaning(line, &player.asks), "{}", path.display());
                }
            } else if line["type"] == "control_request" {
                changes.push(line);
            }
        }
        assert!(player.written.is_empty(), "{}: {:?} was written beside", path.display(), player.written);
        assert!(player.ended, "{}: the turn did not end", path.display());
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
                let effects = play(&mut player.adapter, Origin::Stdout, &format!("{line}\n"), 1);
                player.take(effects);
            }
        }
        player.denied.dedup();
        assert_eq!(player.denied.len(), 1, "{}: {:?}", path.display(), player.denied);
        count += 1;
    }
    assert_eq!(count, 3);
}

/// A duplex run that asks about one tool.
fn asked(request: &Value) -> (Claude, Ask) {
    let mut turn = testing::turn::<Claude>("go");
    turn.approvals = Approvals::Ask;
    let mut adapter = Claude::default();
    adapter.build_prompt(&turn, &testing::binary("2.1.325")).expect("a prompt");
    let line = json!({"type": "control_request", "request_id": "r1", "request": request});
    let effects = play(&mut adapter, Origin::Stdout, &format!("{line}\n"), 1);
    let Some(Effect::Emit(Event::Ask(ask))) = effects.into_iter().next() else { panic!("no ask") };
    (adapter, ask)
}

fn respond(adapter: &mut Claude, reply: Reply) -> Vec<Value> {
    let mut out = Effects::default();
    adapter.respond(reply, &mut out);
    let writes = out.into_vec().into_iter().filter_map(|effect| match effect {
        Effect::Write(bytes) => Some(serde_json::from_slice(&bytes).expect("JSON")),
        _ => None,
    });
    writes.collect()
}

fn chosen(choice: Option<&str>, text: Option<&str>) -> Reply {
    let (choice, text) = (choice.map(str::to_owned), text.map(str::to_owned));
    Reply::Answer(Answer { ask: "r1".to_owned(), choice, text, input: None })
}

#[test]
fn a_permission_is_given_only_by_a_clear_yes() {
    let rules = json!([{"type": "addRules", "behavior": "allow", "destination": "session"}]);
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": {"command": "ls"},
        "description": "ls", "permission_suggestions": rules, "tool_use_id": "t1",
    });
    for (choice, response) in [
        (Some("allow"), json!({"behavior": "allow", "updatedInput": {"command": "ls"}})),
        (
            Some("allow-always"),
            json!({"behavior": "allow", "updatedInput": {"command": "ls"}, "updatedPermissions": rules}),
        ),
        (Some("deny"), json!({"behavior": "deny", "message": "The user denied this."})),
        (Some("deny-and-stop"), json!({"behavior": "deny", "message": "The user denied this.", "interrupt": true})),
        (Some("whatever"), json!({"behavior": "deny", "message": "The user denied this."})),
        (None, json!({"behavior": "deny", "message": "The user denied this."})),
    ] {
        let (mut adapter, ask) = asked(&request);
        assert_eq!((ask.title.as_str(), ask.tool_id.as_deref()), ("Bash: ls", Some("t1")));
        let written = respond(&mut adapter, chosen(choice, None));
        assert_eq!(written[0]["response"]["response"], response, "{choice:?}");
        assert!(respond(&mut adapter, chosen(choice, None)).is_empty(), "an ask is answered once");
    }
}

#[test]
fn a_question_of_the_model_is_answered_in_its_input() {
    let questions = json!([{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
    }]);
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions},
        "tool_use_id": "t1",
    });
    for (choice, text, said) in [
        (Some("option-1"), None, Some("Blue")),
        (None, Some("Green"), Some("Green")),
        (Some("option-9"), None, None),
        (Some("deny"), Some("no"), None),
        (None, None, None),
    ] {
        let (mut adapter, ask) = asked(&request);
        assert_eq!(ask.title, "Which colour?");
        let written = respond(&mut adapter, chosen(choice, text));
        let response = &written[0]["response"]["response"];
        match said {
            Some(said) => {
                assert_eq!(response["updatedInput"]["answers"], json!({"Which colour?": said}));
                assert_eq!(response["updatedInput"]["questions"], questions);
            }
            None => assert_eq!(response["behavior"], "deny", "{choice:?}"),
        }
    }
}

#[test]
fn a_gate_that_nobody_answered_does_not_keep_claude_going() {
    for (event, text, response) in [
        ("Stop", None, json!({})),
        ("Stop", Some("run the tests"), json!({"decision": "block", "reason": "run the tests"})),
        ("UserPromptSubmit", None, json!({"decision": "block", "reason": "Blocked by the user."})),
    ] {
        let request = json!({"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event}});
        let (mut adapter, _) = asked(&request);
        let written = respond(&mut adapter, chosen(Some("deny"), text));
        assert_eq!(written[0]["response"]["response"], response, "{event}");
    }
}

#[test]
fn what_is_withdrawn_is_not_answered() {
    let (mut adapter, _) = asked(&json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}));
    let effects =
        play(&mut adapter, Origin::Stdout, "{\"type\":\"control_cancel_request\",\"request_id\":\"r1\"}\n", 1);
    assert_eq!(effects, [Effect::Emit(Event::AskWithdrawn("r1".to_owned()))]);
    assert!(respond(&mut adapter, chosen(Some("allow"), None)).is_empty());
}

#[test]
fn an_unknown_request_is_refused_and_reported() {
    let mut adapter = Claude::default();
    let line = "{\"type\":\"control_request\",\"request_id\":\"r9\",\"request\":{\"subtype\":\"of_tomorrow\"}}\n";
    let effects = play(&mut adapter, Origin::Stdout, line, 1);
    assert_eq!(effects[0], Effect::Emit(Event::Unknown("control_request/of_tomorrow".to_owned())));
    let Effect::Write(bytes) = &effects[1] else { panic!("nothing was written") };
    let written: Value = serde_json::from_slice(bytes).expect("JSON");
    assert_eq!((&written["response"]["subtype"], &written["response"]["request_id"]), (&json!("error"), &json!("r9")));
}

#[test]
fn a_message_never_overtakes_the_prompt() {
    let mut turn = testing::turn::<Claude>("first");
    turn.approvals = Approvals::Ask;
    let mut adapter = Claude::default();
    adapter.build_prompt(&turn, &testing::binary("2.1.325")).expect("a prompt");
    respond(&mut adapter, Reply::Start);
    let written = respond(&mut adapter, Reply::Message("/second".to_owned()));
    let texts: Vec<String> = written.iter().map(said).collect();
    assert_eq!(texts, ["first", " /second"]);
}

#[test]
fn one_shot_runs_are_left_alone() {
    let mut adapter = Claude::default();
    let turn = testing::turn::<Claude>("go");
    adapter.build_prompt(&turn, &testing::binary("2.1.325")).expect("a prompt");
    for reply in [Reply::Start, Reply::Message("more".to_owned()), Reply::Cancel] {
        assert!(respond(&mut adapter, reply).is_empty());
    }
}

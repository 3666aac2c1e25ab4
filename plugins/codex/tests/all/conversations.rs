//! Real conversations with `codex app-server`, replayed with the adapter in place of the recorded client.
//!
//! `conversation.txt` has the lines of Codex (`<<`) and of that client (`>>`). Each line of the client is turned into the
//! input that causes it, and the line that the adapter then writes must mean the same. Requests by which the client only
//! tried out the protocol were left out, with their responses.

use crate::{captures, outcomes, usages};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use wharf_adapter::testing::{binary, events, inline, play, read, set_option, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, ChangeKind, Effect, Effects, ErrorClass, Event, Input, Outcome, PromptDelivery,
    SessionChoice, Stream, ToolStatus, Turn, UsageScope,
};
use wharf_adapter_codex::Codex;

/// The effects of each turn of a conversation.
fn turns(version: &str, name: &str) -> Vec<Vec<Effect>> {
    let folder = captures().into_iter().find(|folder| folder.ends_with(Path::new(version).join(name)));
    let conversation = read(&folder.expect("a conversation"), "conversation.txt");
    let lines: Vec<(bool, Value)> = conversation
        .lines()
        .map(|line| (line.starts_with(">> "), serde_json::from_str(&line[3..]).expect("JSON")))
        .collect();
    let mut player = Player::start(version, &lines);
    // Our ids of requests, by those of the client.
    let mut ids: HashMap<String, Value> = HashMap::new();
    for (ours, line) in &lines {
        if *ours {
            player.cause(line);
            let written = player.writes.pop().unwrap_or_else(|| panic!("nothing written instead of {line}"));
            assert!(means_the_same(&written, line), "wrote {written}\ninstead of {line}");
            ids.insert(line["id"].to_string(), written["id"].clone());
        } else {
            let mut line = line.clone();
            if line.get("method").is_none() {
                line["id"] = ids[&line["id"].to_string()].clone();
            }
            let effects = play(&mut player.adapter, Stream::Stdout, &format!("{line}\n"), 1);
            player.add(effects);
        }
    }
    assert_eq!(player.writes, [Value::Null; 0], "more was written than the client wrote");
    player.turns
}

struct Player {
    adapter: Codex,
    /// What was written and not compared yet, the first line last.
    writes: Vec<Value>,
    turns: Vec<Vec<Effect>>,
    started: bool,
}

impl Player {
    fn start(version: &str, lines: &[(bool, Value)]) -> Player {
        let sent = |method: &str| lines.iter().find(|(ours, line)| *ours && line["method"] == method);
        let (_, start) = sent("turn/start").expect("a turn");
        let mut turn = turn_of(start);
        turn.session = match sent("thread/resume") {
            Some((_, resume)) => SessionChoice::Resume(resume["params"]["threadId"].as_str().expect("an id").into()),
            None => SessionChoice::Fresh(None),
        };
        if let Some((_, thread)) = sent("thread/start") {
            set_option(&mut turn, "sandbox", &thread["params"]["sandbox"].to_string());
            set_option(&mut turn, "approval-policy", &thread["params"]["approvalPolicy"].to_string());
            turn.workspace = thread["params"]["cwd"].as_str().expect("a folder").into();
        }
        let mut adapter = Codex::default();
        adapter.build_args(&turn, &binary(version), "app-server").expect("a command line");
        assert_eq!(adapter.build_prompt(&turn, &binary(version), "app-server"), Ok(PromptDelivery::InProtocol));
        let mut player = Player { adapter, writes: vec![], turns: vec![vec![]], started: false };
        player.handle(Input::Start);
        player
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        self.add(out.into_vec());
    }

    fn add(&mut self, effects: Vec<Effect>) {
        for effect in &effects {
            if let Effect::Write(bytes) = effect {
                self.writes.insert(0, serde_json::from_slice(bytes).expect("a line of JSON"));
            }
        }
        self.turns.last_mut().expect("a turn").extend(effects);
    }

    /// Sends the input that causes a line of the client. The handshake needs none.
    fn cause(&mut self, line: &Value) {
        match line["method"].as_str() {
            Some("turn/start") if !self.started => self.started = true,
            Some("turn/start") => {
                self.turns.push(vec![]);
                let mut out = Effects::default();
                self.adapter.next_turn(&turn_of(line), &mut out);
                self.add(out.into_vec());
            }
            Some("turn/steer") => self.handle(Input::Message(text_of(line))),
            Some("turn/interrupt") => self.handle(Input::Cancel),
            Some(_) => {}
            None => {
                let choice = line["result"]["decision"].as_str();
                self.handle(Input::Answer(Answer::new(&line["id"].to_string(), choice)));
            }
        }
    }
}

fn text_of(line: &Value) -> String {
    line["params"]["input"][0]["text"].as_str().expect("a text").to_owned()
}

fn turn_of(line: &Value) -> Turn {
    let mut turn = turn::<Codex>(&text_of(line));
    turn.approvals = Approvals::Ask;
    turn.effort = line["params"]["effort"].as_str().map(str::to_owned);
    turn
}

/// Whether two messages mean the same. Request ids differ, and the adapter names more settings than that client.
fn means_the_same(ours: &Value, theirs: &Value) -> bool {
    let same = |pointer: &str| ours.pointer(pointer) == theirs.pointer(pointer);
    let fields: &[&str] = match theirs["method"].as_str() {
        Some("initialize" | "initialized") => &["/method"],
        Some("thread/start") => &["/method", "/params/cwd", "/params/sandbox", "/params/approvalPolicy"],
        Some("thread/resume") => &["/method", "/params/threadId"],
        Some("turn/start") => &["/method", "/params/threadId", "/params/input", "/params/effort"],
        Some(_) => &["/method", "/params"],
        None => &["/id", "/result"],
    };
    fields.iter().all(|field| same(field))
}

fn texts(effects: &[Effect]) -> Vec<&str> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Message(part) | Event::Thinking(part) => Some(inline(&part.text)),
        _ => None,
    });
    all.collect()
}

/// The last status of each tool call, with its name and exit code.
fn tools(effects: &[Effect]) -> Vec<(String, ToolStatus, Option<i32>)> {
    let mut tools: Vec<(String, String, ToolStatus, Option<i32>)> = vec![];
    for event in events(effects) {
        let Event::Tool(call) = event else { continue };
        let id = inline(&call.id);
        if let Some(known) = tools.iter_mut().find(|(known, ..)| known == id) {
            (known.2, known.3) = (call.status, call.exit_code);
        } else {
            let name = call.name.clone().expect("a new call has a name");
            tools.push((id.to_owned(), name, call.status, call.exit_code));
        }
    }
    tools.into_iter().map(|(_, name, status, exit_code)| (name, status, exit_code)).collect()
}

/// The input, output, cached and reasoning tokens of a turn.
fn tokens(effects: &[Effect]) -> Option<[u64; 4]> {
    let usage = usages(effects).into_iter().rfind(|usage| usage.scope == UsageScope::TurnTotal)?;
    Some([usage.input?, usage.output?, usage.cache_read?, usage.reasoning?])
}

fn failure(effects: &[Effect]) -> (ErrorClass, Option<u16>) {
    match outcomes(effects).as_slice() {
        [Outcome::Failed(failure)] => (failure.class, failure.http_status),
        other => panic!("{other:?}"),
    }
}

const ONE_CALL: Option<[u64; 4]> = Some([1200, 34, 1000, 7]);
const TWO_CALLS: Option<[u64; 4]> = Some([2500, 69, 2000, 14]);

#[test]
fn twelve_turns_in_one_process() {
    for version in ["0.142.0", "0.169.0"] {
        let turns = turns(version, "app_server");
        assert_eq!(turns.len(), 12, "{version}");
        for turn in &turns[..8] {
            assert_eq!(outcomes(turn), [Outcome::Completed], "{version}");
        }
        assert_eq!(texts(&turns[0]), ["pong"]);
        assert_eq!(texts(&turns[1])[0].lines().count(), 40);
        assert_eq!(texts(&turns[2]), ["**Lab** Thinking about it.", "Answer after thought."]);
        let command = |status, exit_code| vec![("command_execution".to_owned(), status, exit_code)];
        assert_eq!(tools(&turns[3]), command(ToolStatus::Succeeded, Some(0)), "{version}");
        assert_eq!(tools(&turns[4]), command(ToolStatus::Succeeded, Some(0)), "allowed, {version}");
        assert_eq!(tools(&turns[5]), command(ToolStatus::Denied, None), "declined, {version}");
        assert_eq!(tools(&turns[6]), [("file_change".to_owned(), ToolStatus::Succeeded, None)]);
        assert_eq!(tools(&turns[7]), command(ToolStatus::Failed, Some(3)), "{version}");
        let changes: Vec<_> = events(&turns[6])
            .into_iter()
            .filter_map(|event| match event {
                Event::FileChange(change) => Some((change.path.as_str(), change.kind, change.added)),
                _ => None,
            })
            .collect();
        assert_eq!(changes, [("/lab/work/patched.txt", ChangeKind::Created, Some(1))]);
        assert_eq!(outcomes(&turns[8]), [Outcome::Cancelled], "interrupted");
        assert_eq!(failure(&turns[9]), (ErrorClass::Auth, Some(401)));
        assert_eq!(failure(&turns[10]).0, ErrorClass::ContextLength);
        // 0.142.0 reports a used up quota as any other 429.
        let quota = if version == "0.142.0" { (ErrorClass::RateLimit, Some(429)) } else { (ErrorClass::Quota, None) };
        assert_eq!(failure(&turns[11]), quota);
        for turn in &turns {
            let drift = events(turn).into_iter().find(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_)));
            assert_eq!(drift, None, "{version}");
        }
    }
}

/// The thread's count grows to 16100 input tokens over these turns, is repeated by the interrupted turn and reset by the
/// context overflow.
#[test]
fn each_turn_has_its_own_usage() {
    for version in ["0.142.0", "0.169.0"] {
        let turns = turns(version, "app_server");
        let expected = [
            ONE_CALL, ONE_CALL, ONE_CALL, TWO_CALLS, TWO_CALLS, TWO_CALLS, TWO_CALLS, TWO_CALLS, None, None, None, None,
        ];
        for (number, (turn, expected)) in turns.iter().zip(expected).enumerate() {
            assert_eq!(tokens(turn), expected, "turn {number} of {version}");
        }
        let last = usages(&turns[7]).into_iter().rfind(|usage| usage.scope == UsageScope::SessionTotal);
        assert_eq!(last.and_then(|usage| usage.input), Some(16100), "what the host keeps for a later resume");
    }
}

#[test]
fn every_failed_attempt_is_a_retry_and_not_the_end() {
    let turns = turns("0.169.0", "app_server");
    let retries: Vec<_> = events(&turns[9])
        .into_iter()
        .filter_map(|event| match event {
            Event::Retrying(failure) => Some((failure.class, failure.http_status)),
            _ => None,
        })
        .collect();
    assert_eq!(retries, [(ErrorClass::Auth, Some(401)); 5]);
}

#[test]
fn a_resumed_thread_counts_only_the_new_turn() {
    // 0.169.0 resumes after the reset of its count, 0.166.0 at 16100 tokens.
    for (version, thread) in
        [("0.166.0", "01a1e18d-04dc-7f80-980e-e3647107c2dd"), ("0.169.0", "01a1ec70-8ef4-7802-8281-ad22280e7721")]
    {
        let turns = turns(version, "app_server_resume");
        let [turn] = turns.as_slice() else { panic!("one turn, not {}", turns.len()) };
        assert_eq!(outcomes(turn), [Outcome::Completed]);
        assert_eq!(tokens(turn), ONE_CALL, "{version}");
        let session = events(turn).into_iter().find_map(|event| match event {
            Event::Session(session) => Some(session.clone()),
            _ => None,
        });
        let session = session.expect("a session");
        assert_eq!((session.id.as_deref(), session.resumed), (Some(thread), Some(true)));
        assert_eq!((session.model.as_deref(), session.agent_version.as_deref()), (Some("gpt-5.5"), Some(version)));
    }
}

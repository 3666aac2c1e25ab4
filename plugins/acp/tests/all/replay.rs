//! Plays a recorded conversation to the adapter: the agent's lines are given to it, and what the recorded client did is
//! done again through the adapter's inputs. Requests of the recorded client that the adapter does not send are left out.

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use wharf_adapter::testing::{binary, events, inline, play, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, Effect, Effects, Event, ExitStatus, Input, Outcome, SessionChoice, Stream, ToolStatus,
    Turn, UsageScope,
};
use wharf_adapter_acp::Acp;

/// One message of a conversation.
pub(crate) struct Message {
    pub(crate) from_agent: bool,
    pub(crate) json: Value,
}

/// Reads `transcript.txt` of a folder: `> ` is the client, `< ` the agent.
pub(crate) fn conversation(folder: &Path) -> Vec<Message> {
    let path = folder.join("transcript.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let messages = text.lines().filter_map(|line| {
        let (mark, json) = line.split_at_checked(2)?;
        Some(Message { from_agent: mark == "< ", json: serde_json::from_str(json).expect("JSON") })
    });
    messages.collect()
}

/// What the adapter made of a conversation.
pub(crate) struct Replayed {
    /// The effects of each turn. What comes before the first prompt belongs to the first.
    pub(crate) turns: Vec<Vec<Effect>>,
}

struct Player {
    adapter: Acp,
    /// The recorded client's ids of requests that the adapter sends too, with the adapter's ids.
    ids: HashMap<String, Value>,
    /// The ids of those that it does not send.
    left_out: HashSet<String>,
    turns: Vec<Vec<Effect>>,
    /// The timers that were set.
    timers: Vec<u32>,
}

const OPENING: [&str; 4] = ["session/new", "session/load", "session/resume", "session/fork"];

/// Plays a conversation with the agent's lines in chunks of this many lines. Stops at a prompt that comes before the
/// previous turn has ended, which the adapter never sends.
pub(crate) fn replay(conversation: &[Message], lines_per_chunk: usize) -> Replayed {
    let mut player = Player {
        adapter: Acp::default(),
        ids: HashMap::new(),
        left_out: HashSet::new(),
        turns: vec![vec![]],
        timers: vec![],
    };
    let mut waiting: Vec<String> = vec![];
    let mut prompts = 0;
    let mut is_running = false;
    for message in conversation {
        let (json, mut method) = (&message.json, message.json["method"].as_str().unwrap_or_default());
        if method == "session/prompt" && !is_own_prompt(conversation, json) {
            method = "(a prompt that the adapter never sends)";
        }
        if message.from_agent {
            let id = json["id"].to_string();
            let is_response = method.is_empty();
            if is_response && player.left_out.contains(&id) {
                continue;
            }
            let mut json = json.clone();
            if let Some(ours) = player.ids.get(&id).filter(|_| is_response) {
                json["id"] = ours.clone();
                is_running &= json["result"]["stopReason"].is_null() && json["error"].is_null();
            }
            waiting.push(json.to_string());
            continue;
        }
        player.receive(&std::mem::take(&mut waiting), lines_per_chunk);
        player.expire();
        match method {
            "initialize" => player.start(&first_turn(conversation)),
            "session/prompt" if is_running => break,
            "session/prompt" => {
                prompts += 1;
                is_running = true;
                if prompts > 1 {
                    player.turns.push(vec![]);
                    player.next_turn(&asking(json["params"]["prompt"][0]["text"].as_str().expect("text")));
                }
            }
            "session/cancel" => player.handle(Input::Cancel),
            "" => {
                let choice = json["result"]["outcome"]["optionId"].as_str();
                if json["result"]["outcome"].is_object() {
                    player.handle(Input::Answer(Answer::new(&json["id"].to_string(), choice)));
                }
            }
            _ => {}
        }
        player.map_id(json, method);
    }
    player.receive(&waiting, lines_per_chunk);
    let mut out = Effects::default();
    player.adapter.finish(
        &wharf_adapter::testing::FakeHost::default(),
        ExitStatus { code: Some(0), signal: None },
        &mut out,
    );
    player.add(out.into_vec());
    Replayed { turns: player.turns }
}

/// Whether a prompt has a text and is for the session of the conversation, and not one of those that test the agent.
fn is_own_prompt(conversation: &[Message], prompt: &Value) -> bool {
    let ids = conversation.iter().filter_map(|message| {
        let of_request = &message.json["params"]["sessionId"];
        let of_response = &message.json["result"]["sessionId"];
        let is_opening = OPENING.contains(&message.json["method"].as_str().unwrap_or_default());
        of_response.as_str().or_else(|| of_request.as_str().filter(|_| is_opening))
    });
    let id = prompt["params"]["sessionId"].as_str();
    prompt["params"]["prompt"][0]["text"].is_string() && ids.into_iter().any(|known| Some(known) == id)
}

fn asking(prompt: &str) -> Turn {
    Turn { approvals: Approvals::Ask, session: SessionChoice::Fresh(None), ..turn::<Acp>(prompt) }
}

fn first_turn(conversation: &[Message]) -> Turn {
    let requests = || conversation.iter().filter(|message| !message.from_agent).map(|message| &message.json);
    let prompt = requests().find(|json| json["method"] == "session/prompt");
    let prompt = prompt.and_then(|json| json["params"]["prompt"][0]["text"].as_str()).unwrap_or("(none)");
    let opening = requests().find(|json| OPENING.contains(&json["method"].as_str().unwrap_or_default()));
    let id = || opening.and_then(|json| json["params"]["sessionId"].as_str()).unwrap_or_default().to_owned();
    let session = match opening.and_then(|json| json["method"].as_str()) {
        Some("session/load" | "session/resume") => SessionChoice::Resume(id()),
        Some("session/fork") => SessionChoice::Fork(id()),
        _ => SessionChoice::Fresh(None),
    };
    Turn { session, ..asking(prompt) }
}

impl Player {
    fn start(&mut self, turn: &Turn) {
        self.adapter.build_args(turn, &binary(""), "acp").expect("a command line");
        self.adapter.build_prompt(turn, &binary(""), "acp").expect("a prompt");
        self.handle(Input::Start);
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

    fn receive(&mut self, lines: &[String], lines_per_chunk: usize) {
        for lines in lines.chunks(lines_per_chunk) {
            let effects = play(&mut self.adapter, Stream::Stdout, &(lines.join("\n") + "\n"), usize::MAX);
            self.add(effects);
        }
    }

    /// The agent is silent: the timers expire.
    fn expire(&mut self) {
        while !self.timers.is_empty() {
            for timer in std::mem::take(&mut self.timers) {
                self.handle(Input::Timer(timer));
            }
        }
    }

    /// Keeps effects. Settings that the recorded client did not change are answered.
    fn add(&mut self, effects: Vec<Effect>) {
        let written: Vec<Value> = writes(&effects);
        let timers = effects
            .iter()
            .filter_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None });
        // The timer of the handshake is number 0.
        self.timers.extend(timers.filter(|number| *number > 0));
        self.turns.last_mut().expect("one").extend(effects);
        for request in written {
            let method = request["method"].as_str().unwrap_or_default();
            if method.starts_with("session/set_") || method == "authenticate" {
                self.receive(&[json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}).to_string()], 1);
            }
        }
    }

    /// Finds the adapter's request that is the same as this one of the recorded client.
    fn map_id(&mut self, theirs: &Value, method: &str) {
        if theirs["id"].is_null() || method.is_empty() {
            return;
        }
        let written: Vec<Value> = self.turns.iter().flat_map(|effects| writes(effects)).collect();
        let same = |ours: &&Value| {
            let ours = ours["method"].as_str().unwrap_or_default();
            ours == method || (OPENING.contains(&ours) && OPENING.contains(&method))
        };
        let known: Vec<&Value> = self.ids.values().collect();
        let ours =
            written.iter().filter(same).find(|ours| !known.contains(&&ours["id"])).map(|ours| ours["id"].clone());
        match ours {
            Some(ours) => drop(self.ids.insert(theirs["id"].to_string(), ours)),
            None => drop(self.left_out.insert(theirs["id"].to_string())),
        }
    }
}

fn writes(effects: &[Effect]) -> Vec<Value> {
    let lines = effects.iter().filter_map(|effect| if let Effect::Write(bytes) = effect { Some(bytes) } else { None });
    lines.map(|bytes| serde_json::from_slice(bytes).expect("a line of JSON")).collect()
}

/// What a report says about a turn, as `expected.json` has it.
pub(crate) fn summary(effects: &[Effect]) -> Value {
    let events = events(effects);
    let mut tools: Vec<(String, Option<String>, ToolStatus, Option<i32>)> = vec![];
    let (mut answer, mut session, mut asks, mut retries) = (None, None, 0, 0);
    let mut unknown: Vec<String> = vec![];
    let mut files: Vec<String> = vec![];
    let (mut usage, mut session_usage): (BTreeMap<&str, u64>, BTreeMap<&str, u64>) = Default::default();
    let mut outcome = json!("unsaid");
    let mut error = Value::Null;
    for effect in effects {
        if let Effect::TransportFailed(failure) = effect {
            (outcome, error) =
                (json!("failed"), json!(format!("{:?}", failure.class).trim_start_matches("ErrorClass::")));
        }
    }
    for event in events {
        match event {
            Event::Message(part) if part.parent.is_none() => answer = Some(inline(&part.text).to_owned()),
            Event::Session(info) => session = info.id.clone().or(session),
            Event::Tool(call) => match tools.iter_mut().find(|tool| tool.0 == inline(&call.id)) {
                Some(known) => {
                    (known.2, known.3) = (call.status, call.exit_code.or(known.3));
                    known.1 = call.name.clone().or_else(|| known.1.take());
                }
                None => tools.push((inline(&call.id).to_owned(), call.name.clone(), call.status, call.exit_code)),
            },
            Event::Usage(figures) => {
                let input = if figures.input_includes_cached {
                    figures.input
                } else {
                    figures
                        .input
                        .map(|input| input + figures.cache_read.unwrap_or(0) + figures.cache_write.unwrap_or(0))
                };
                for (name, figure) in [
                    ("input", input),
                    ("output", figures.output),
                    ("cache_read", figures.cache_read),
                    ("reasoning", figures.reasoning),
                    ("cost_micros", figures.cost_micros),
                ] {
                    let Some(figure) = figure else { continue };
                    match figures.scope {
                        UsageScope::Delta => *usage.entry(name).or_default() += figure,
                        UsageScope::TurnTotal => drop(usage.insert(name, figure)),
                        UsageScope::SessionTotal => drop(session_usage.insert(name, figure)),
                    }
                }
            }
            Event::Ask(_) => asks += 1,
            Event::Retrying(_) => retries += 1,
            Event::FileChange(change) => files.push(change.path.clone()),
            Event::Unknown(kind) => unknown.push(kind.clone()),
            Event::Malformed(line) => unknown.push(format!("malformed: {line}")),
            Event::TurnEnded(end) => {
                error = Value::Null;
                outcome = match &end.outcome {
                    Outcome::Completed => json!("completed"),
                    Outcome::Cancelled => json!("cancelled"),
                    Outcome::Refused(_) => json!("refused"),
                    Outcome::Blocked(_) => json!("blocked"),
                    Outcome::Limit(limit) => json!(format!("limit {limit}")),
                    Outcome::Failed(failure) => {
                        error = json!(format!("{:?}", failure.class).trim_start_matches("ErrorClass::"));
                        json!("failed")
                    }
                };
            }
            _ => {}
        }
    }
    let tools: Vec<Value> = tools
        .into_iter()
        .map(|(_, name, status, code)| json!([name, format!("{status:?}").trim_start_matches("ToolStatus::"), code]))
        .collect();
    json!({"outcome": outcome, "error": error, "answer": answer, "session": session, "tools": tools, "asks": asks,
        "retries": retries, "files": files, "usage": usage, "session_usage": session_usage,
        "unknown": unknown})
}

//! Transcripts of the Agent Client Protocol: the agent's lines are replayed, and the lines that the adapter writes must
//! mean the same as those of the recorded client.

mod updates;

use crate::{captures, outcomes, texts, usages};
use serde_json::Value;
use std::fs;
use wharf_adapter::testing::{binary, events, inline, play, set_option, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, Ask, Effect, Effects, ErrorClass, Event, Input, Outcome, PromptDelivery, SessionChoice,
    Stream, ToolStatus, Turn, UsageScope,
};
use wharf_adapter_qwen::Qwen;

const VERSIONS: [&str; 2] = ["0.15.10", "0.24.4"];

/// A turn over ACP in the workspace of the recordings.
fn acp_turn(prompt: &str, approvals: Approvals) -> Turn {
    let mut turn = turn::<Qwen>(prompt);
    turn.approvals = approvals;
    turn.session = SessionChoice::Fresh(None);
    "/lab/ws".clone_into(&mut turn.workspace);
    turn
}

fn handle(adapter: &mut Qwen, input: Input) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.handle(input, &mut out);
    out.into_vec()
}

fn start(turn: &Turn, version: &str) -> (Qwen, Vec<Effect>) {
    let mut adapter = Qwen::default();
    adapter.build_args(turn, &binary(version), "acp").expect("a command line");
    assert_eq!(adapter.build_prompt(turn, &binary(version), "acp"), Ok(PromptDelivery::InProtocol));
    let effects = handle(&mut adapter, Input::Start);
    (adapter, effects)
}

fn receive(adapter: &mut Qwen, line: &str) -> Vec<Effect> {
    play(adapter, Stream::Stdout, line, 1)
}

fn writes(effects: &[Effect]) -> Vec<Value> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Write(bytes) => Some(bytes),
        _ => None,
    });
    lines.map(|bytes| serde_json::from_slice(bytes).expect("a line of JSON")).collect()
}

/// Whether two messages mean the same: request ids, the name of the client and the words of a refusal may differ.
fn same_meaning(ours: &Value, theirs: &Value) -> bool {
    let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
    for message in [&mut ours, &mut theirs] {
        if message["method"].is_string() {
            message["id"] = Value::Null;
            message["params"]["clientInfo"] = Value::Null;
            message["params"]["clientCapabilities"] = Value::Null;
        }
        if message["error"].is_object() {
            message["error"]["message"] = Value::Null;
        }
    }
    ours == theirs
}

/// How a transcript is replayed.
struct Replay<'a> {
    version: &'a str,
    scenario: &'a str,
    /// The first turn; its prompt is that of the transcript.
    first: Turn,
    /// How a later turn differs from it.
    change: fn(&mut Turn, usize),
    /// Whether the client of the transcript was ours in everything but its name.
    is_ours: bool,
}

impl<'a> Replay<'a> {
    fn of(version: &'a str, scenario: &'a str, approvals: Approvals) -> Replay<'a> {
        Replay { version, scenario, first: acp_turn("", approvals), change: |_, _| {}, is_ours: true }
    }

    /// With the MCP server of the recording.
    fn with_server(mut self) -> Replay<'a> {
        let server = r#"{"lab":{"command":"python3","args":["/lab/mcp.py"]}}"#;
        self.first.mcp_servers = Some(server.to_owned());
        self
    }

    /// All effects.
    fn run(mut self) -> Vec<Effect> {
        let path = captures().join(self.version).join(self.scenario).join("transcript.txt");
        let transcript = fs::read_to_string(path).expect("a transcript");
        let prompts: Vec<String> = transcript
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("> ")?).ok())
            .filter(|message| message["method"] == "session/prompt" && message["params"]["sessionId"] != "nope")
            .filter_map(|message| message["params"]["prompt"][0]["text"].as_str().map(str::to_owned))
            .collect();
        self.first.prompt = prompts.first().cloned().unwrap_or_else(|| "unsent".to_owned());
        let (mut adapter, mut effects) = start(&self.first, self.version);
        let (mut written, mut sent) = (0, Sent { count: 1, is_started: true });
        for line in transcript.lines() {
            if let Some(theirs) = line.strip_prefix("> ") {
                let theirs: Value = serde_json::from_str(theirs).expect("JSON");
                effects.extend(self.act(&mut adapter, &theirs, &prompts, &mut sent));
                if self.is_ours {
                    let ours = writes(&effects);
                    let ours = ours.get(written).unwrap_or_else(|| panic!("{}: it stopped writing", self.scenario));
                    assert!(same_meaning(ours, &theirs), "{}: wrote {ours}\ninstead of {theirs}", self.scenario);
                }
                written += 1;
            } else if let Some(received) = line.strip_prefix("< ") {
                effects.extend(receive(&mut adapter, &format!("{received}\n")));
            }
        }
        assert!(!self.is_ours || writes(&effects).len() == written, "{}: it wrote more", self.scenario);
        let drift: Vec<_> = events(&effects)
            .into_iter()
            .filter(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_)))
            .collect();
        assert!(drift.is_empty(), "{} {}: {drift:?}", self.version, self.scenario);
        effects
    }

    /// Gives the adapter what makes it write this message. `sent` counts the prompts that the adapter has got.
    fn act(&self, adapter: &mut Qwen, theirs: &Value, prompts: &[String], sent: &mut Sent) -> Vec<Effect> {
        if let Some(choice) = theirs["result"]["outcome"]["optionId"].as_str() {
            return handle(adapter, Input::Answer(Answer::new(&theirs["id"].to_string(), Some(choice))));
        }
        match theirs["method"].as_str() {
            Some("session/cancel") => handle(adapter, Input::Cancel),
            // A change of the session is the first message of a later turn.
            Some("session/set_mode") => self.next(adapter, prompts, sent),
            Some("session/prompt") if std::mem::take(&mut sent.is_started) => vec![],
            Some("session/prompt") if sent.count < prompts.len() => {
                let effects = self.next(adapter, prompts, sent);
                sent.is_started = false;
                effects
            }
            _ => vec![],
        }
    }

    fn next(&self, adapter: &mut Qwen, prompts: &[String], sent: &mut Sent) -> Vec<Effect> {
        let mut turn = self.first.clone();
        prompts[sent.count].clone_into(&mut turn.prompt);
        (self.change)(&mut turn, sent.count);
        *sent = Sent { count: sent.count + 1, is_started: true };
        let mut out = Effects::default();
        adapter.next_turn(&turn, &mut out);
        out.into_vec()
    }
}

/// The prompts that the adapter has got.
struct Sent {
    count: usize,
    /// Whether the last of them is not written yet.
    is_started: bool,
}

fn asks(effects: &[Effect]) -> Vec<&Ask> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Ask(ask) => Some(ask),
        _ => None,
    });
    all.collect()
}

/// A tool as it ended: its name, the sub-agent's call, its status, its exit code.
type Ended = (String, Option<String>, ToolStatus, Option<i32>);

/// The tools as they ended.
fn tools(effects: &[Effect]) -> Vec<Ended> {
    let mut all: Vec<(String, Ended)> = vec![];
    for event in events(effects) {
        let Event::Tool(call) = event else { continue };
        let id = inline(&call.id);
        if let Some((_, known)) = all.iter_mut().find(|(known, _)| known == id) {
            known.2 = call.status;
            known.3 = call.exit_code.or(known.3);
        } else {
            let parent = call.parent.as_ref().map(|parent| inline(parent).to_owned());
            all.push((id.to_owned(), (call.name.clone().unwrap_or_default(), parent, call.status, call.exit_code)));
        }
    }
    all.into_iter().map(|(_, ended)| ended).collect()
}

const SHELL: &str = "run_shell_command";

/// Three turns: a command that is allowed and fails, one that is rejected, a file that is written.
#[test]
fn permissions_are_asked() {
    for version in VERSIONS {
        let effects = Replay::of(version, "acp_asks", Approvals::Ask).run();
        let asked = asks(&effects);
        assert_eq!(asked.len(), 3, "{version}");
        assert_eq!(asked[0].tool.as_deref(), Some(SHELL), "{version}");
        assert_eq!(asked[0].title, "touch made.txt; exit 3 (lab)");
        assert_eq!(asked[2].tool.as_deref(), Some("write_file"), "{version}");
        // 0.15.10 lets the model go on after a rejection. 0.24.4 ends the turn, and says that it is complete.
        let is_old = version == "0.15.10";
        let rejected = if is_old { Outcome::Completed } else { Outcome::Cancelled };
        assert_eq!(outcomes(&effects), [Outcome::Completed, rejected, Outcome::Completed], "{version}");
        let failed = if is_old { ToolStatus::Succeeded } else { ToolStatus::Failed };
        let shell = |status, code| (SHELL.to_owned(), None, status, code);
        let written = ("write_file".to_owned(), None, ToolStatus::Succeeded, None);
        assert_eq!(tools(&effects), [shell(failed, Some(3)), shell(ToolStatus::Denied, None), written], "{version}");
        let changes: Vec<_> = events(&effects)
            .into_iter()
            .filter_map(|event| match event {
                Event::FileChange(change) => Some(change.path.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(changes, ["/lab/ws/patched.txt"], "{version}: 0.15.10 names it without its folder too");
    }
}

#[test]
fn each_model_call_has_its_figures() {
    for version in VERSIONS {
        let effects = Replay::of(version, "acp_mcp", Approvals::AllowAll).with_server().run();
        let figures: Vec<_> = usages(&effects)
            .into_iter()
            .map(|usage| (usage.scope, usage.input, usage.output, usage.cache_read, usage.reasoning))
            .collect();
        let call = |input, output| (UsageScope::Delta, Some(input), Some(output), Some(1000), Some(7));
        assert_eq!(figures, [call(1200, 34), call(1300, 35)], "{version}");
        assert!(usages(&effects).iter().all(|usage| usage.input_includes_cached));
        let called = ("mcp__lab__echo".to_owned(), None, ToolStatus::Succeeded, None);
        assert_eq!(tools(&effects), [called], "{version}");
        assert_eq!(outcomes(&effects), [Outcome::Completed]);
    }
}

#[test]
fn a_model_is_reported_by_its_name() {
    for version in VERSIONS {
        let effects = Replay::of(version, "acp_cancel", Approvals::Ask).run();
        let session = events(&effects).into_iter().find_map(|event| match event {
            Event::Session(info) => Some(info.clone()),
            _ => None,
        });
        let session = session.expect("a session");
        assert_eq!(session.model.as_deref(), Some("mock-model"), "{version}");
        assert_eq!(session.agent_version.as_deref(), Some(version));
        assert_eq!(outcomes(&effects), [Outcome::Cancelled], "{version}");
    }
}

#[test]
fn errors_of_the_model_have_their_class() {
    for version in VERSIONS {
        let effects = Replay::of(version, "acp_errors", Approvals::Ask).run();
        let classes: Vec<_> = outcomes(&effects)
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Failed(failure) => (failure.class, failure.http_status),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(classes, [(ErrorClass::Auth, Some(401)), (ErrorClass::ContextLength, Some(400))], "{version}");
    }
}

#[test]
fn without_a_provider_the_turn_fails_and_says_what_to_set() {
    for version in VERSIONS {
        let effects = Replay::of(version, "acp_no_provider", Approvals::Ask).run();
        let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{version}") };
        assert_eq!(failure.class, ErrorClass::Auth);
        assert!(format!("{:?}", failure.retry).contains("OPENAI_API_KEY"), "{failure:?}");
    }
}

fn resumed(effects: &[Effect]) -> Option<bool> {
    events(effects).into_iter().find_map(|event| match event {
        Event::Session(info) => info.resumed,
        _ => None,
    })
}

/// 0.15.10 claims to resume and cannot; it loads, and loads what does not exist as an empty session.
#[test]
fn a_session_is_resumed_or_said_not_to_be() {
    for version in VERSIONS {
        let of = |scenario| {
            let path = captures().join(version).join(scenario).join("transcript.txt");
            let transcript = fs::read_to_string(path).expect("a transcript");
            let id = transcript.split("\"sessionId\":\"").nth(1).and_then(|rest| rest.split('"').next());
            let mut replay = Replay::of(version, scenario, Approvals::Ask);
            replay.first.session = SessionChoice::Resume(id.expect("a session").to_owned());
            replay.run()
        };
        let known = of("acp_resume");
        assert_eq!((resumed(&known), outcomes(&known)), (Some(true), vec![Outcome::Completed]), "{version}");
        assert_eq!(texts(&known), [(None, "pong")], "{version}: the history is not repeated");
        let unknown = of("acp_unknown_session");
        if version == "0.15.10" {
            assert_eq!(resumed(&unknown), Some(false));
        } else {
            assert!(matches!(&outcomes(&unknown)[..], [Outcome::Failed(failure)]
                if failure.class == ErrorClass::NoSession && failure.message.starts_with("Qwen Code has no session 0")));
        }
    }
}

#[test]
fn a_later_turn_changes_the_mode() {
    for version in VERSIONS {
        let mut replay = Replay::of(version, "acp_mode", Approvals::Ask);
        replay.change = |turn, _| turn.approvals = Approvals::AllowAll;
        let effects = replay.run();
        assert_eq!(outcomes(&effects), [Outcome::Completed, Outcome::Completed], "{version}");
        assert_eq!(tools(&effects), [(SHELL.to_owned(), None, ToolStatus::Succeeded, Some(0))], "{version}");
    }
}

/// In 0.15.10 the agent waits for its sub-agent, whose texts do not name it. In 0.24.4 it works in the background.
#[test]
fn texts_and_tools_of_a_sub_agent_belong_to_its_call() {
    let effects = Replay::of("0.15.10", "acp_subagent", Approvals::AllowAll).run();
    let call = tools(&effects).len();
    assert_eq!(call, 2);
    let id = events(&effects).into_iter().find_map(|event| match event {
        Event::Tool(call) if call.name.as_deref() == Some("agent") => Some(inline(&call.id).to_owned()),
        _ => None,
    });
    let id = id.expect("the call of the sub-agent");
    let written = texts(&effects);
    let of = |parent: Option<&str>| {
        written.iter().filter(|(by, _)| *by == parent).map(|(_, text)| *text).collect::<Vec<_>>()
    };
    assert_eq!(of(None), ["Delegating.", "Done after tool."]);
    assert_eq!(of(Some(&id)), ["I will run a command.", "Done after tool."]);
    assert_eq!(tools(&effects)[1].1.as_deref(), Some(id.as_str()));

    let effects = Replay::of("0.24.4", "acp_subagent", Approvals::AllowAll).run();
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    let remark = "Background agent \"general-purpose: dive\" completed.";
    assert!(texts(&effects).iter().all(|(_, text)| *text != remark), "a remark of the CLI is no answer");
    let is_notice = |event: &&Event| matches!(event, Event::Notice(notice) if notice.text == remark);
    assert!(events(&effects).iter().any(is_notice));
}

/// Ten turns of one process, by another client: only what the agent wrote is compared.
#[test]
fn a_long_conversation_of_another_client_is_understood() {
    for version in VERSIONS {
        let mut replay = Replay::of(version, "acp_main", Approvals::Ask);
        let mode = if version == "0.15.10" { "\"default\"" } else { "\"auto\"" };
        set_option(&mut replay.first, "approval-mode", mode);
        replay.is_ours = false;
        let effects = replay.run();
        let mut expected = vec![Outcome::Completed; 10];
        expected[7] = Outcome::Cancelled;
        assert_eq!(outcomes(&effects), expected, "{version}");
        let said: Vec<_> = texts(&effects).into_iter().map(|(_, text)| text).collect();
        assert_eq!(said[0], "pong");
        let lines = said[1].lines().count();
        assert!(lines == 40 && said[1].ends_with("with unicode é中😀.\n"), "{lines}");
        assert_eq!(said[2..4], ["Thinking about it.", "Answer after thought."]);
        let names: Vec<_> = tools(&effects).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, [SHELL, SHELL, SHELL, "write_file", SHELL], "{version}");
        let input: u64 = usages(&effects).iter().filter_map(|usage| usage.input).sum();
        // Nine calls for a prompt and five after a tool; the call that was cancelled has none.
        assert_eq!(input, 9 * 1200 + 5 * 1300, "{version}");
    }
}

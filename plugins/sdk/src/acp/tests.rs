//! A session from the outside: what it writes, and what it reports. The agent's lines are those of real agents, shortened.

mod capture;
mod dialect;

use super::*;
use crate::testing::{events, inline, play, turn};
use crate::{
    Adapter, Answer, Approvals, Binary, Effect, Environment, Host, Launch, SessionChoice, Settings, Stream, ToolStatus,
};
use serde_json::{Value, json};

/// An adapter for a dialect, so that lines are played as the host does.
#[derive(Default)]
struct Agent<D>(Session<D>);

impl<D: Dialect + 'static> Adapter for Agent<D> {
    fn describe() -> crate::AdapterInfo {
        crate::AdapterInfo::new("agent", "Agent", "0.1.0")
    }
    fn resolve_binary(&mut self, _host: &dyn Host, _environment: &Environment) -> Result<Binary, Failure> {
        Ok(Binary::at("/usr/bin/agent".to_owned()))
    }
    fn launch(&mut self, settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        Ok(launch(settings, ["acp"]))
    }
    fn line(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        self.0.line(line, out)
    }
    fn handle(&mut self, input: Input, out: &mut Effects) {
        self.0.handle(input, out);
    }
}

/// A conversation: the adapter, and its effects so far.
struct Talk<D> {
    agent: Agent<D>,
    effects: Vec<Effect>,
}

impl<D: Dialect + 'static> Talk<D> {
    fn start(change: impl FnOnce(&mut Turn)) -> Talk<D> {
        let mut turn = turn::<Agent<D>>("go");
        turn.session = SessionChoice::Fresh(None);
        change(&mut turn);
        let mut talk = Talk { agent: Agent::default(), effects: vec![] };
        talk.agent.0.prepare(&turn, Some("1.0.0")).expect("a prompt");
        talk.handle(Input::Start);
        talk
    }

    /// A session whose prompt was sent as request 3.
    fn prompted(change: impl FnOnce(&mut Turn)) -> Talk<D> {
        let mut talk = Talk::start(change);
        talk.result(1, &json!({"protocolVersion": 1, "agentInfo": {"version": "2.0.0"}}));
        talk.result(2, &json!({"sessionId": "s"}));
        talk
    }

    fn handle(&mut self, input: Input) {
        let mut out = Effects::default();
        self.agent.handle(input, &mut out);
        self.effects.extend(out.into_vec());
    }

    fn next_turn(&mut self, turn: &Turn) {
        let mut out = Effects::default();
        self.agent.0.next_turn(turn, &mut out);
        self.effects.extend(out.into_vec());
    }

    fn receive(&mut self, message: &Value) {
        self.effects.extend(play(&mut self.agent, Stream::Stdout, &format!("{message}\n"), 1));
    }

    fn result(&mut self, id: u64, result: &Value) {
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn error(&mut self, id: u64, error: &Value) {
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    fn update(&mut self, update: &Value) {
        let params = json!({"sessionId": self.agent.0.id().unwrap_or("s"), "update": update});
        self.receive(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    fn chunk(&mut self, text: &str) {
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}));
    }

    fn permission(&mut self, id: u64, call: &str) {
        let options = json!([
            {"optionId": "ever", "kind": "allow_always", "name": "Always"},
            {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
            {"optionId": "no", "kind": "reject_once", "name": "No"},
        ]);
        let call = json!({"toolCallId": call, "title": "shell", "kind": "execute", "rawInput": {"command": "ls"}});
        let params = json!({"sessionId": "s", "toolCall": call, "options": options});
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}));
    }

    fn written(&self) -> Vec<Value> {
        let lines = self.effects.iter().filter_map(|effect| match effect {
            Effect::Write(bytes) => serde_json::from_slice(bytes).ok(),
            _ => None,
        });
        lines.collect()
    }

    fn methods(&self) -> Vec<String> {
        self.written().iter().filter_map(|line| line["method"].as_str().map(str::to_owned)).collect()
    }

    fn last_written(&self) -> Value {
        self.written().pop().expect("something was written")
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let ends = self.effects.iter().filter_map(|effect| match effect {
            Effect::Emit(Event::TurnEnded(end)) => Some(end.outcome.clone()),
            Effect::TransportFailed(failure) => Some(Outcome::Failed(failure.clone())),
            _ => None,
        });
        ends.collect()
    }

    fn failure(&self) -> Failure {
        match self.outcomes().pop() {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        }
    }

    fn texts(&self) -> Vec<&str> {
        let texts = events(&self.effects).into_iter().filter_map(|event| match event {
            Event::Message(part) | Event::Thinking(part) => Some(inline(&part.text)),
            _ => None,
        });
        texts.collect()
    }

    fn tools(&self) -> Vec<(&str, ToolStatus)> {
        let tools = events(&self.effects).into_iter().filter_map(|event| match event {
            Event::Tool(call) => Some((crate::testing::inline(&call.id), call.status)),
            _ => None,
        });
        tools.collect()
    }

    fn session(&self) -> &SessionInfo {
        let mut sessions = events(&self.effects).into_iter().rev();
        sessions.find_map(|event| if let Event::Session(session) = event { Some(session) } else { None }).expect("one")
    }
}

#[test]
fn a_turn_goes_from_the_handshake_to_its_end() {
    let mut talk = Talk::<Standard>::prompted(|turn| turn.system_prompt = Some("Be brief.".into()));
    let written = talk.written();
    assert_eq!(talk.methods(), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(written[0]["params"]["clientCapabilities"]["fs"]["readTextFile"], false);
    assert_eq!(
        (&written[1]["params"]["cwd"], &written[1]["params"]["mcpServers"]),
        (&json!("/home/user/project"), &json!([]))
    );
    assert_eq!(written[2]["params"]["prompt"][0]["text"], "<system>\nBe brief.\n</system>\n\ngo");
    talk.update(&json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm."}}));
    talk.chunk("Hel");
    talk.chunk("lo.");
    talk.result(3, &json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 2}}));
    assert_eq!((talk.texts(), talk.outcomes()), (vec!["Hm.", "Hello."], vec![Outcome::Completed]));
    assert_eq!((talk.session().id.as_deref(), talk.session().agent_version.as_deref()), (Some("s"), Some("2.0.0")));
    assert!(!events(&talk.effects).iter().any(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_))));
}

#[test]
fn messages_with_ids_are_told_apart() {
    let mut talk = Talk::<Standard>::prompted(|_| {});
    for (id, text) in [("m1", "One."), ("m2", "Two"), ("m2", ".")] {
        let content = json!({"type": "text", "text": text});
        talk.update(&json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": content}));
    }
    talk.result(3, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.texts(), ["One.", "Two."]);
}

#[test]
fn the_approvals_of_the_turn_answer_permission_requests() {
    for (approvals, chosen, asks, last) in [
        (Approvals::AllowAll, Some("yes"), 0, ToolStatus::Succeeded),
        (Approvals::Deny, Some("no"), 0, ToolStatus::Denied),
        (Approvals::Ask, None, 1, ToolStatus::Succeeded),
    ] {
        let mut talk = Talk::<Standard>::prompted(|turn| turn.approvals = approvals);
        talk.permission(9, "t");
        let asked = events(&talk.effects).iter().filter(|event| matches!(event, Event::Ask(_))).count();
        assert_eq!(asked, asks, "{approvals:?}");
        if let Some(chosen) = chosen {
            assert_eq!(talk.last_written()["result"]["outcome"]["optionId"], chosen);
        }
        let status = if approvals == Approvals::Deny { "failed" } else { "completed" };
        talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status}));
        assert_eq!(talk.tools().last(), Some(&("t", last)), "{approvals:?}");
    }
}

/// Gemini reports a tool call neither before it asks nor after a rejection.
#[test]
fn a_rejected_call_that_the_agent_never_mentions_is_denied() {
    let mut talk = Talk::<Standard>::prompted(|turn| turn.approvals = Approvals::Ask);
    talk.permission(9, "t");
    talk.handle(Input::Answer(Answer::new("9", Some("no"))));
    talk.result(3, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.tools(), [("t", ToolStatus::Pending), ("t", ToolStatus::Denied)]);
}

/// Cline ends a rejected call, starts it, and ends it again.
#[test]
fn a_call_that_starts_after_its_end_is_still_denied() {
    let mut talk = Talk::<Standard>::prompted(|turn| turn.approvals = Approvals::Deny);
    talk.permission(9, "t");
    for (kind, status) in [("tool_call_update", "failed"), ("tool_call", "pending"), ("tool_call_update", "failed")] {
        talk.update(&json!({"sessionUpdate": kind, "toolCallId": "t", "status": status}));
    }
    let statuses: Vec<ToolStatus> = talk.tools().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [ToolStatus::Pending, ToolStatus::Denied, ToolStatus::Pending, ToolStatus::Denied]);
}

#[test]
fn files_and_terminals_of_the_client_are_refused_and_are_no_drift() {
    let mut talk = Talk::<Standard>::prompted(|_| {});
    for (id, method) in [(7, "fs/write_text_file"), (8, "terminal/create"), (9, "_vendor/ask")] {
        talk.receive(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"path": "/etc/passwd"}}));
        assert_eq!((&talk.last_written()["id"], &talk.last_written()["error"]["code"]), (&json!(id), &json!(-32601)));
    }
    talk.receive(&json!({"jsonrpc": "2.0", "method": "_vendor/status", "params": {}}));
    assert!(!events(&talk.effects).iter().any(|event| matches!(event, Event::Unknown(_))));
    talk.receive(&json!({"jsonrpc": "2.0", "id": 10, "method": "craft/drain", "params": {}}));
    assert_eq!(talk.last_written()["error"]["code"], -32601);
    talk.update(&json!({"sessionUpdate": "of_tomorrow"}));
    let unknown: Vec<_> =
        events(&talk.effects).into_iter().filter(|event| matches!(event, Event::Unknown(_))).cloned().collect();
    assert_eq!(unknown, [Event::Unknown("craft/drain".into()), Event::Unknown("of_tomorrow".into())]);
}

/// Qwen 0.15 claims to resume, and does not have the method.
#[test]
fn a_session_is_resumed_the_way_that_the_agent_has() {
    let resume = |turn: &mut Turn| turn.session = SessionChoice::Resume("old".into());
    let mut talk = Talk::<Standard>::start(resume);
    talk.result(1, &json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}}));
    assert_eq!(talk.last_written()["method"], "session/resume");
    talk.error(2, &json!({"code": -32601, "message": "Method not found"}));
    assert_eq!(
        (&talk.last_written()["method"], &talk.last_written()["params"]["sessionId"]),
        (&json!("session/load"), &json!("old"))
    );
    talk.chunk("history");
    talk.result(3, &json!(null));
    assert_eq!((talk.session().resumed, talk.last_written()["method"].as_str()), (Some(true), Some("session/prompt")));
    assert_eq!(talk.texts(), [""; 0]);

    let mut unknown = Talk::<Standard>::start(resume);
    unknown.result(1, &json!({}));
    unknown.error(2, &json!({"code": -32603, "message": "Internal error", "data": {"details": "no rollout found"}}));
    assert_eq!(
        (unknown.failure().class, unknown.failure().message.as_str()),
        (ErrorClass::NoSession, "no rollout found")
    );
    unknown.next_turn(&turn::<Agent<Standard>>("again"));
    assert_eq!(unknown.failure().class, ErrorClass::NoSession, "the cause is repeated");
}

#[test]
fn a_fork_is_another_session_or_a_new_one() {
    let fork = |turn: &mut Turn| turn.session = SessionChoice::Fork("old".into());
    for (capabilities, method, resumed) in
        [(json!({"fork": {}}), "session/fork", Some(true)), (json!({}), "session/new", Some(false))]
    {
        let mut talk = Talk::<Standard>::start(fork);
        talk.result(1, &json!({"agentCapabilities": {"sessionCapabilities": capabilities}}));
        assert_eq!(talk.last_written()["method"], method);
        talk.result(2, &json!({"sessionId": "new"}));
        assert_eq!((talk.session().id.as_deref(), talk.session().resumed), (Some("new"), resumed));
    }
}

#[test]
fn a_cancelled_prompt_is_cancelled_even_if_the_agent_calls_it_an_error() {
    for end in
        [json!({"result": {"stopReason": "cancelled"}}), json!({"error": {"code": -32603, "message": "aborted"}})]
    {
        let mut talk = Talk::<Standard>::prompted(|turn| turn.approvals = Approvals::Ask);
        talk.update(
            &json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "shell", "status": "in_progress"}),
        );
        talk.permission(9, "t");
        talk.handle(Input::Cancel);
        assert_eq!(talk.last_written()["method"], "session/cancel");
        assert!(events(&talk.effects).contains(&&Event::AskWithdrawn("9".into())));
        let mut response = end.clone();
        response["id"] = json!(3);
        talk.receive(&response);
        assert_eq!(talk.outcomes(), [Outcome::Cancelled], "{end}");
        assert_eq!(talk.tools().last(), Some(&("t", ToolStatus::Cancelled)), "{end}");
    }
}

#[test]
fn another_version_of_the_protocol_fails_the_turn() {
    let mut talk = Talk::<Standard>::start(|_| {});
    talk.result(1, &json!({"protocolVersion": 2}));
    assert_eq!(talk.failure().class, ErrorClass::Protocol);
    assert_eq!(talk.methods(), ["initialize"]);
}

#[test]
fn a_tool_without_differences_changed_the_files_at_its_locations() {
    #[derive(Default)]
    struct Located;
    impl Dialect for Located {
        const CHANGES_AT_LOCATIONS: bool = true;
    }
    let mut talk = Talk::<Located>::prompted(|_| {});
    let update = |kind: &str, content: Value| {
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": kind, "status": "completed", "title": "t",
            "locations": [{"path": "/a"}], "content": content})
    };
    talk.update(&update("edit", json!([])));
    talk.update(&update("read", json!([])));
    talk.update(&update("edit", json!([{"type": "diff", "path": "/b", "newText": "x"}])));
    let changed = events(&talk.effects).into_iter().filter_map(|event| match event {
        Event::FileChange(change) => Some(change.path.as_str()),
        _ => None,
    });
    assert_eq!(changed.collect::<Vec<_>>(), ["/a", "/b"]);
}

#[test]
fn settings_that_the_protocol_does_not_have_are_unsupported() {
    let mut turn = turn::<Agent<Standard>>("go");
    (turn.max_turns, turn.stream_text, turn.model) = (Some(3), false, Some("m".into()));
    turn.tools.deny = vec!["shell".into()];
    let launch =
        Agent::<Standard>::default().build_args(&turn, &crate::testing::binary("1.0.0"), "").expect("a launch");
    let names: Vec<&str> = launch.unsupported.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["session", "stream-text", "max-turns", "tools"]);
}

/// Whatever an agent sends, nothing panics.
#[test]
fn broken_messages_never_panic() {
    let mut talk = Talk::<Standard>::prompted(|_| {});
    let odd = [json!(null), json!([]), json!(7), json!("x"), json!({})];
    for value in &odd {
        for method in ["session/update", "session/request_permission", "fs/read_text_file"] {
            talk.receive(&json!({"id": value, "method": method, "params": value}));
            talk.receive(&json!({"method": method, "params": {"update": value, "toolCall": value, "options": value}}));
        }
        for kind in ["agent_message_chunk", "tool_call", "plan", "usage_update", "notice", "compaction_update"] {
            talk.update(
                &json!({"sessionUpdate": kind, "content": value, "toolCallId": value, "entries": value, "cost": value}),
            );
        }
        talk.receive(&json!({"id": 3, "result": value}));
        talk.receive(&json!({"id": value, "error": value}));
    }
}

#[test]
fn an_adapter_for_an_agent_without_quirks_is_short() {
    let example = include_str!("../../examples/acp_agent.rs");
    assert!(example.lines().count() < 100);
}

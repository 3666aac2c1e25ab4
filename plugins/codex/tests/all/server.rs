//! `app-server` line by line: what the recorded conversations do not show.

mod asks;
mod ends;

use crate::{outcomes, usages};
use serde_json::{Value, json};
use wharf_adapter::testing::{FakeHost, binary, events, finish, play, set_option, turn};
use wharf_adapter::{
    Action, Adapter, Answer, Approvals, Attachment, ChoiceKind, Diff, Effect, Effects, ErrorClass, Event, FieldAnswer,
    FileWrite, Input, McpCall, McpStatus, Outcome, Phase, PlanStatus, Retry, SessionChoice, Stream, ToolStatus, Turn,
    UsageScope,
};
use wharf_adapter_codex::Codex;

/// An adapter and all that it did.
struct Run {
    adapter: Codex,
    effects: Vec<Effect>,
}

impl Run {
    fn start(turn: &Turn) -> Run {
        let mut adapter = Codex::default();
        adapter.build_args(turn, &binary("0.169.0"), "app-server").expect("a command line");
        let mut run = Run { adapter, effects: vec![] };
        run.send(Input::Start);
        run
    }

    /// A run whose thread is `t` and whose turn is `1`.
    fn in_turn(turn: &Turn) -> Run {
        let mut run = Run::start(turn);
        run.receive(&json!({"id": 1, "result": {}}));
        run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m"}}));
        run.receive(&json!({"id": 3, "result": {"turn": {"id": "1"}}}));
        run.effects.clear();
        run
    }

    fn send(&mut self, input: Input) {
        let mut out = Effects::default();
        self.adapter.handle(input, &mut out);
        self.effects.extend(out.into_vec());
    }

    fn next_turn(&mut self, turn: &Turn) {
        let mut out = Effects::default();
        self.adapter.next_turn(turn, &mut out);
        self.effects.extend(out.into_vec());
    }

    fn receive(&mut self, line: &Value) {
        self.effects.extend(play(&mut self.adapter, Stream::Stdout, &format!("{line}\n"), 1));
    }

    fn notify(&mut self, method: &str, params: Value) {
        let mut params = params;
        params["threadId"] = json!("t");
        params["turnId"] = json!("1");
        self.receive(&json!({"method": method, "params": params}));
    }

    fn writes(&self) -> Vec<Value> {
        let written = self.effects.iter().filter_map(|effect| match effect {
            Effect::Write(bytes) => Some(serde_json::from_slice(bytes).expect("a line of JSON")),
            _ => None,
        });
        written.collect()
    }

    fn events(&self) -> Vec<&Event> {
        events(&self.effects)
    }

    fn ask(&self) -> &wharf_adapter::Ask {
        let mut asks = self.events().into_iter().filter_map(|event| match event {
            Event::Ask(ask) => Some(ask),
            _ => None,
        });
        asks.next_back().expect("an ask")
    }

    fn timer(&self) -> Option<(u32, u32)> {
        let mut timers = self.effects.iter().filter_map(|effect| match effect {
            Effect::SetTimer(timer) => Some((timer.number, timer.milliseconds)),
            _ => None,
        });
        timers.next_back()
    }
}

fn asking() -> Turn {
    Turn { approvals: Approvals::Ask, ..turn::<Codex>("go") }
}

fn answer(ask: &str, choice: Option<&str>) -> Input {
    Input::Answer(Answer::new(ask, choice))
}

const REFUSED: &str = "Connection failed: error sending request";

fn refused() -> Value {
    let info = json!({"responseStreamDisconnected": {"httpStatusCode": null}});
    let error = json!({
        "message": "Reconnecting... waiting for network", "codexErrorInfo": info, "additionalDetails": REFUSED,
    });
    json!({"error": error, "willRetry": true})
}

#[test]
fn the_settings_of_a_turn_are_parameters_of_its_thread_and_its_turn() {
    let mut turn = turn::<Codex>("go");
    turn.model = Some("gpt-5.5".into());
    turn.system_prompt = Some("Be brief.".into());
    turn.effort = Some("high".into());
    turn.output_schema = Some(r#"{"type":"object"}"#.into());
    set_option(&mut turn, "ephemeral", "true");
    let mut run = Run::start(&turn);
    run.receive(&json!({"id": 1, "result": {}}));
    run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "gpt-5.5"}}));
    let writes = run.writes();
    let methods: Vec<_> = writes.iter().map(|line| line["method"].as_str().expect("a method")).collect();
    assert_eq!(methods, ["initialize", "initialized", "thread/start", "turn/start"]);
    assert!(writes.iter().all(|line| line.get("jsonrpc").is_none()), "Codex's lines have no version");
    let thread = json!({
        "cwd": "/home/user/project", "approvalPolicy": "never", "sandbox": "read-only", "model": "gpt-5.5",
        "developerInstructions": "Be brief.", "ephemeral": true,
    });
    assert_eq!(writes[2]["params"], thread);
    let expected = json!({
        "threadId": "t", "input": [{"type": "text", "text": "go"}], "approvalPolicy": "never",
        "sandboxPolicy": {"type": "dangerFullAccess"}, "model": "gpt-5.5", "effort": "high", "outputSchema": {"type": "object"},
    });
    assert_eq!(writes[3]["params"], expected);
}

#[test]
fn approvals_are_a_sandbox_and_a_policy() {
    for (approvals, sandbox, policy) in [
        (Approvals::AllowAll, "dangerFullAccess", "never"),
        (Approvals::Ask, "dangerFullAccess", "untrusted"),
        (Approvals::Deny, "readOnly", "on-request"),
    ] {
        let mut run = Run::start(&Turn { approvals, ..turn::<Codex>("go") });
        run.receive(&json!({"id": 1, "result": {}}));
        run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}}}));
        let writes = run.writes();
        assert_eq!(writes[2]["params"]["sandbox"], "read-only", "a wider one makes Codex trust the workspace");
        let params = &writes[3]["params"];
        assert_eq!((&params["sandboxPolicy"]["type"], &params["approvalPolicy"]), (&json!(sandbox), &json!(policy)));
    }
    let mut narrow = Turn { extra_dirs: vec!["/more".into()], ..turn::<Codex>("go") };
    set_option(&mut narrow, "sandbox", "\"workspace-write\"");
    let mut run = Run::start(&narrow);
    run.receive(&json!({"id": 1, "result": {}}));
    run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    let expected = json!({"type": "workspaceWrite", "writableRoots": ["/more"]});
    assert_eq!(run.writes()[3]["params"]["sandboxPolicy"], expected);
}

#[test]
fn a_session_that_does_not_exist_fails_before_the_prompt_is_sent() {
    for (session, method, message) in [
        (SessionChoice::Resume("x".into()), "thread/resume", "no rollout found for thread id x"),
        (SessionChoice::Resume("a name".into()), "thread/resume", "invalid session id: invalid character"),
        (SessionChoice::Fork("x".into()), "thread/fork", "no rollout found for thread id x"),
    ] {
        let mut run = Run::start(&Turn { session, ..turn::<Codex>("go") });
        run.receive(&json!({"id": 1, "result": {}}));
        assert_eq!(run.writes()[2]["method"], method);
        assert_eq!(run.writes()[2]["params"]["excludeTurns"], true, "the history is not needed");
        run.receive(&json!({"id": 2, "error": {"code": -32600, "message": message}}));
        let ends = outcomes(&run.effects);
        assert!(matches!(&ends[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::NoSession), "{ends:?}");
        assert_eq!(run.writes().len(), 3);
    }
}

#[test]
fn the_most_recent_session_is_looked_up_in_the_workspace() {
    let latest = Turn { session: SessionChoice::MostRecent, ..turn::<Codex>("go") };
    let mut run = Run::start(&latest);
    run.receive(&json!({"id": 1, "result": {}}));
    assert_eq!(run.writes()[2]["method"], "thread/list");
    assert_eq!(run.writes()[2]["params"]["cwd"], "/home/user/project");
    run.receive(&json!({"id": 2, "result": {"data": [{"id": "last"}]}}));
    assert_eq!(run.writes()[3]["params"]["threadId"], "last");
    let mut none = Run::start(&latest);
    none.receive(&json!({"id": 1, "result": {}}));
    none.receive(&json!({"id": 2, "result": {"data": []}}));
    assert!(
        matches!(&outcomes(&none.effects)[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::NoSession)
    );
}

#[test]
fn a_version_that_refuses_to_leave_out_the_history_is_not_asked_to() {
    let resume = Turn { session: SessionChoice::Resume("x".into()), ..turn::<Codex>("go") };
    let mut adapter = Codex::default();
    adapter.build_args(&resume, &binary("0.142.0"), "app-server").expect("a command line");
    let mut run = Run { adapter, effects: vec![] };
    run.send(Input::Start);
    run.receive(&json!({"id": 1, "result": {}}));
    assert_eq!(run.writes()[2]["params"].get("excludeTurns"), None);
}

#[test]
fn a_fork_does_not_count_what_its_origin_used() {
    // 0.169.0 reports no count before the turn: this is the first one, after one call.
    let mut run = Run::start(&Turn { session: SessionChoice::Fork("x".into()), ..turn::<Codex>("go") });
    run.receive(&json!({"id": 1, "result": {}}));
    run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    run.receive(&json!({"id": 3, "result": {"turn": {"id": "1"}}}));
    let figures = |input: u64| json!({"totalTokens": input + 20, "inputTokens": input, "outputTokens": 20});
    run.notify("thread/tokenUsage/updated", json!({"tokenUsage": {"total": figures(200), "last": figures(100)}}));
    run.notify("thread/tokenUsage/updated", json!({"tokenUsage": {"total": figures(350), "last": figures(150)}}));
    let turn: Vec<_> = usages(&run.effects).into_iter().filter(|usage| usage.scope == UsageScope::TurnTotal).collect();
    assert_eq!(turn.iter().map(|usage| usage.input).collect::<Vec<_>>(), [Some(100), Some(250)]);
}

#[test]
fn a_message_that_is_refused_is_reported() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    run.send(Input::Message("more".into()));
    assert_eq!(run.writes()[0]["method"], "turn/steer");
    let id = run.writes()[0]["id"].clone();
    run.receive(&json!({"id": id, "error": {"code": -32600, "message": "no active turn to steer"}}));
    let notices = run.events().into_iter().filter(|event| matches!(event, Event::Notice(_))).count();
    assert_eq!((notices, outcomes(&run.effects)), (1, vec![]));
}

#[test]
fn what_a_sub_agent_does_has_its_call_for_a_parent_and_ends_no_turn() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    let call = json!({"type": "collabAgentToolCall", "id": "spawn", "tool": "spawnAgent", "status": "inProgress",
        "receiverThreadIds": ["sub"], "prompt": "look"});
    run.notify("item/started", json!({"item": call}));
    let message = json!({"type": "agentMessage", "id": "m", "text": "found it"});
    let sub = |method: &str, more: Value| {
        let mut params = more;
        params["threadId"] = json!("sub");
        json!({"method": method, "params": params})
    };
    run.receive(&sub("item/completed", json!({"turnId": "9", "item": message})));
    run.receive(&sub("turn/completed", json!({"turn": {"id": "9", "status": "completed"}})));
    run.receive(&json!({"method": "item/completed", "params": {"threadId": "stranger", "item": message}}));
    let parents: Vec<_> = run
        .events()
        .into_iter()
        .filter_map(|event| if let Event::Message(part) = event { Some(part.parent.clone()) } else { None })
        .collect();
    assert_eq!(parents, [Some("spawn".into())]);
    assert_eq!(outcomes(&run.effects), []);
}

#[test]
fn an_answer_with_a_schema_is_reported_as_json() {
    let schema = Some(r#"{"type":"object"}"#.to_owned());
    for (text, structured) in [(r#"{"a":1}"#, Some(r#"{"a":1}"#)), ("pong", None)] {
        let mut run = Run::in_turn(&Turn { output_schema: schema.clone(), ..turn::<Codex>("go") });
        run.notify("item/completed", json!({"item": {"type": "agentMessage", "id": "m", "text": text}}));
        run.notify("turn/completed", json!({"turn": {"id": "1", "status": "completed"}}));
        let end = run.events().into_iter().find_map(|event| match event {
            Event::TurnEnded(end) => Some(end.structured_output.clone()),
            _ => None,
        });
        assert_eq!(end, Some(structured.map(str::to_owned)));
    }
}

#[test]
fn what_is_not_known_is_drift_and_requests_are_answered_all_the_same() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    run.notify("thing/happened", json!({}));
    run.notify("item/completed", json!({"item": {"type": "dream", "id": "d"}}));
    run.receive(&json!({"id": 5, "method": "thing/wanted", "params": {}}));
    run.receive(&json!({"id": 6, "method": "attestation/generate", "params": {}}));
    let unknown: Vec<_> = run
        .events()
        .into_iter()
        .filter_map(|event| if let Event::Unknown(native) = event { Some(native.as_str()) } else { None })
        .collect();
    assert_eq!(unknown, ["thing/happened", "item:dream", "thing/wanted"]);
    let codes: Vec<_> = run.writes().iter().map(|line| line["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32601), json!(-32601)]);
}

#[test]
fn without_streaming_only_whole_messages_come() {
    let mut run = Run::in_turn(&Turn { stream_text: false, ..turn::<Codex>("go") });
    run.notify("item/agentMessage/delta", json!({"itemId": "a", "delta": "hel"}));
    run.notify("item/completed", json!({"item": {"type": "agentMessage", "id": "a", "text": "hello"}}));
    assert!(matches!(run.events()[..], [Event::Message(_)]), "{:?}", run.events());
}

#[test]
fn images_go_with_the_prompt_and_other_files_are_reported() {
    let attachment = |name: &str, media_type: &str, path: Option<&str>, bytes: Option<&[u8]>| Attachment {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        path: path.map(str::to_owned),
        bytes: bytes.map(<[u8]>::to_vec),
    };
    let attachments = vec![
        attachment("a.png", "image/png", Some("/w/a.png"), None),
        attachment("b.jpeg", "image/jpeg", None, Some(b"jpeg")),
        attachment("c.pdf", "application/pdf", Some("/w/c.pdf"), None),
    ];
    let turn = Turn { attachments, ..turn::<Codex>("go") };
    let mut run = Run::start(&turn);
    run.receive(&json!({"id": 1, "result": {}}));
    run.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    let expected = json!([
        {"type": "text", "text": "go"},
        {"type": "localImage", "path": "/w/a.png"},
        {"type": "image", "url": "data:image/jpeg;base64,anBlZw=="},
    ]);
    assert_eq!(run.writes()[3]["params"]["input"], expected);
    let launch = Codex::default().build_args(&turn, &binary("0.169.0"), "exec").expect("a command line");
    let images: Vec<_> = launch
        .args
        .iter()
        .filter(|arg| arg.text.starts_with("--image"))
        .map(|arg| (arg.text.as_str(), arg.file.as_deref()))
        .collect();
    assert_eq!(images, [("--image=/w/a.png", None), ("--image=", Some("image-1.jpeg"))]);
    let reported: Vec<_> = launch.unsupported.iter().filter(|setting| setting.name == "attachments").collect();
    assert!(matches!(reported[..], [setting] if setting.reason.contains("c.pdf")), "{reported:?}");
}

#[test]
fn plans_servers_compactions_and_titles_are_events() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    let plan = json!([{"step": "one", "status": "completed"}, {"step": "two", "status": "inProgress"}]);
    run.notify("turn/plan/updated", json!({"plan": plan}));
    run.notify("mcpServer/startupStatus/updated", json!({"name": "echo", "status": "failed", "error": "no such file"}));
    run.notify("item/started", json!({"item": {"type": "contextCompaction", "id": "k"}}));
    run.notify("thread/name/updated", json!({"threadName": "A title"}));
    let events = run.events();
    let [Event::Plan(plan), Event::McpServer(server), Event::Compaction(compaction), Event::Title(title)] = events[..]
    else {
        panic!("{events:?}")
    };
    let steps: Vec<_> = plan.iter().map(|step| (step.text.as_str(), step.status)).collect();
    assert_eq!(steps, [("one", PlanStatus::Completed), ("two", PlanStatus::InProgress)]);
    assert_eq!((server.status, server.error.as_deref()), (McpStatus::Failed, Some("no such file")));
    assert_eq!((compaction.phase, title.as_str()), (Phase::Begun, "A title"));
}

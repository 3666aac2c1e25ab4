//! What comes before a prompt, what is no text or tool, and captures that are read without their requests.

use super::*;

#[test]
fn an_agent_that_does_not_answer_the_handshake_fails_the_turn() {
    let mut talk = Talk::<Standard>::start(|_| {});
    assert!(talk.agent.0.is_shaking_hands());
    talk.handle(Input::Timer(HANDSHAKE));
    assert_eq!(talk.failure().class, ErrorClass::Protocol);
    let mut talk = Talk::<Standard>::prompted(|_| {});
    talk.handle(Input::Timer(HANDSHAKE));
    assert_eq!(talk.outcomes(), [], "the handshake is done");
}

/// Vibe and codex-acp report warnings this way as soon as a session is open.
#[test]
fn what_an_agent_says_before_its_prompt_is_no_answer() {
    let mut talk = Talk::<Standard>::start(|_| {});
    talk.result(1, &json!({"protocolVersion": 1}));
    talk.chunk("Config warning: no sandbox\n\n");
    talk.result(2, &json!({"sessionId": "s"}));
    let notice = crate::Notice { level: LogLevel::Info, text: "Config warning: no sandbox".into() };
    assert!(events(&talk.effects).contains(&&Event::Notice(notice)));
    talk.chunk("Hello.");
    talk.result(3, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.texts(), ["Hello."]);
}

#[test]
fn a_capture_is_read_without_its_requests() {
    let mut talk = Talk::<Standard> { agent: Agent::default(), effects: vec![] };
    let mut plain = turn::<Agent<Standard>>("go");
    plain.session = SessionChoice::Fresh(None);
    talk.agent.0.prepare(&plain, None).expect("a prompt");
    talk.result(1, &json!({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "3.1.4"}}));
    talk.result(2, &json!({"sessionId": "s", "models": {"currentModelId": "m"}}));
    let session = talk.session();
    let found = (session.id.as_deref(), session.model.as_deref(), session.agent_version.as_deref());
    assert_eq!(found, (Some("s"), Some("m"), Some("3.1.4")));
    talk.chunk("Hello.");
    talk.result(3, &json!({"stopReason": "end_turn"}));
    talk.error(4, &json!({"code": -32601, "message": "Method not found"}));
    assert_eq!((talk.texts(), talk.outcomes()), (vec!["Hello."], vec![Outcome::Completed]));
    talk.error(5, &json!({"code": -32603, "message": "Internal error: Rate limit reached"}));
    assert_eq!(talk.failure().class, ErrorClass::RateLimit);
    assert_eq!(talk.methods(), [""; 0]);
}

#[test]
fn a_session_reports_its_mode_its_title_its_commands_and_its_compactions() {
    let mut talk = Talk::<Standard>::prompted(|_| {});
    talk.update(&json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}));
    talk.update(&json!({"sessionUpdate": "session_info_update", "title": "A task"}));
    talk.update(&json!({"sessionUpdate": "session_info_update", "_meta": {}}));
    let commands = json!([{"name": "compact", "description": "Compact"}, {"description": "nameless"}]);
    talk.update(&json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}));
    talk.update(&json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}));
    talk.update(&json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "failed", "error": "no"}));
    talk.update(&json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go"}}));
    let compaction = |phase, error: Option<&str>| {
        let error = error.map(str::to_owned);
        Event::Compaction(crate::Compaction { phase, trigger: None, tokens_before: None, tokens_after: None, error })
    };
    let command = crate::CommandInfo { name: "compact".into(), description: "Compact".into() };
    let reported: Vec<&Event> =
        events(&talk.effects).into_iter().filter(|event| !matches!(event, Event::Session(_))).collect();
    let expected = [
        Event::Mode("plan".into()),
        Event::Title("A task".into()),
        Event::Commands(vec![command]),
        compaction(crate::Phase::Begun, None),
        compaction(crate::Phase::Ended, Some("no")),
    ];
    assert_eq!(reported[..5], expected.iter().collect::<Vec<_>>());
    assert!(matches!(reported[5], Event::Prompt(part) if inline(&part.text) == "go"));
}

#[test]
fn a_form_is_asked_for_only_where_somebody_answers() {
    #[derive(Default)]
    struct Forms;
    impl Dialect for Forms {
        const FORMS: bool = true;
    }
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let request = json!({"jsonrpc": "2.0", "id": 9, "method": "elicitation/create",
        "params": {"sessionId": "s", "mode": "form", "message": "Who?", "requestedSchema": schema}});
    for (value, action) in [(Some(r#"{"name":"x"}"#), "accept"), (Some("7"), "decline"), (None, "decline")] {
        let mut talk = Talk::<Forms>::prompted(|turn| turn.approvals = Approvals::Ask);
        assert!(talk.written()[0]["params"]["clientCapabilities"]["elicitation"]["form"].is_object());
        talk.receive(&request);
        let asked = events(&talk.effects).into_iter().find_map(|event| match event {
            Event::Ask(ask) => ask.schema.clone(),
            _ => None,
        });
        assert_eq!(asked.and_then(|asked| serde_json::from_str::<Value>(&asked).ok()), Some(schema.clone()));
        talk.handle(Input::Answer(Answer { value: value.map(str::to_owned), ..Answer::new("9", Some("accept")) }));
        assert_eq!(talk.last_written()["result"]["action"], action);
    }
    let mut talk = Talk::<Forms>::prompted(|_| {});
    assert!(talk.written()[0]["params"]["clientCapabilities"]["elicitation"].is_null());
    talk.receive(&request);
    assert_eq!(talk.last_written()["result"]["action"], "decline");
}

#[test]
fn a_tool_says_what_it_is_which_files_it_touches_and_why_it_was_denied() {
    let mut talk = Talk::<Standard>::prompted(|turn| turn.approvals = Approvals::Ask);
    let content = json!([{"type": "diff", "path": "/w/a", "oldText": "1", "newText": "2"}]);
    talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit", "title": "Edit a",
        "locations": [{"path": "/w/a"}], "content": content}));
    talk.permission(9, "t");
    let no = Answer { text: Some("not this file".into()), ..Answer::new("9", Some("no")) };
    talk.handle(Input::Answer(no));
    talk.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed"}));
    let calls: Vec<&crate::ToolCall> = events(&talk.effects)
        .into_iter()
        .filter_map(|event| if let Event::Tool(call) = event { Some(call) } else { None })
        .collect();
    assert_eq!((calls[0].kind, calls[0].paths.as_slice()), (Some(crate::ToolKind::Edit), &["/w/a".to_owned()][..]));
    assert_eq!(calls[0].diffs[0].path, "/w/a");
    let last = calls.last().expect("a call");
    assert_eq!((last.status, last.denied_because.as_deref()), (ToolStatus::Denied, Some("not this file")));
}

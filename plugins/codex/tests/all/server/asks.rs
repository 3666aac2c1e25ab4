//! What Codex asks, and what it is answered.

use super::*;

#[test]
fn every_decision_that_codex_offers_is_a_choice() {
    let mut run = Run::in_turn(&asking());
    let amendment = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch"]}});
    run.receive(&json!({"id": 7, "method": "item/commandExecution/requestApproval", "params": {
        "threadId": "t", "turnId": "1", "itemId": "c", "command": "touch x",
        "availableDecisions": ["accept", amendment, "cancel"],
    }}));
    let choices: Vec<_> = run.ask().choices.iter().map(|choice| (choice.id.clone(), choice.kind)).collect();
    let expected = [
        ("accept", ChoiceKind::AllowOnce),
        ("acceptWithExecpolicyAmendment", ChoiceKind::AllowAlways),
        ("cancel", ChoiceKind::RejectAndStop),
        ("decline", ChoiceKind::RejectOnce),
    ];
    assert_eq!(choices, expected.map(|(id, kind)| (id.to_owned(), kind)));
    assert_eq!((run.ask().tool_id.as_deref(), run.ask().title.as_str()), (Some("c"), "run touch x"));
    run.send(answer("7", Some("acceptWithExecpolicyAmendment")));
    assert_eq!(run.writes(), [json!({"id": 7, "result": {"decision": amendment}})]);
    run.send(answer("7", Some("accept")));
    assert_eq!(run.writes().len(), 1, "it is answered once");
}

#[test]
fn no_answer_is_a_no() {
    for (method, params, no) in [
        ("item/commandExecution/requestApproval", json!({"itemId": "c"}), json!({"decision": "decline"})),
        ("item/fileChange/requestApproval", json!({"itemId": "c"}), json!({"decision": "decline"})),
        (
            "item/permissions/requestApproval",
            json!({"itemId": "c", "permissions": {"network": {"enabled": true}}}),
            json!({"permissions": {}}),
        ),
        ("item/tool/requestUserInput", json!({"questions": [{"id": "q", "question": "?"}]}), json!({"answers": {}})),
        ("mcpServer/elicitation/request", json!({"serverName": "s", "message": "?"}), json!({"action": "decline"})),
    ] {
        let mut run = Run::in_turn(&asking());
        run.receive(&json!({"id": 9, "method": method, "params": params}));
        assert_eq!(run.writes(), [Value::Null; 0], "{method}");
        run.send(answer("9", None));
        assert_eq!(run.writes(), [json!({"id": 9, "result": no})], "{method}");
        let mut malformed = Run::in_turn(&asking());
        malformed.receive(&json!({"id": 9, "method": method, "params": {}}));
        assert_eq!(malformed.writes(), [json!({"id": 9, "result": no})], "a malformed {method}");
        assert!(malformed.events().iter().any(|event| matches!(event, Event::Malformed(_))), "{method}");
    }
}

#[test]
fn the_approvals_decide_what_nobody_is_asked_about() {
    // 0.142.0 asks about MCP tools whatever the policy is.
    let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"]});
    let ask = json!({"id": 0, "method": "mcpServer/elicitation/request", "params": {
        "serverName": "echo", "message": "Allow it?", "_meta": meta,
    }});
    let accepted = json!({"action": "accept", "content": {}});
    for (approvals, result) in [(Approvals::AllowAll, accepted), (Approvals::Deny, json!({"action": "decline"}))] {
        let mut run = Run::in_turn(&Turn { approvals, ..turn::<Codex>("go") });
        run.receive(&ask);
        assert_eq!(run.writes(), [json!({"id": 0, "result": result})]);
    }
    let mut run = Run::in_turn(&asking());
    run.receive(&ask);
    run.send(answer("0", Some("session")));
    let result = json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}});
    assert_eq!(run.writes(), [json!({"id": 0, "result": result})]);
}

#[test]
fn a_call_of_an_mcp_tool_that_was_not_allowed_is_denied() {
    let item = |status: &str, error: Value| {
        json!({"item": {"type": "mcpToolCall", "id": "c", "server": "echo", "tool": "say", "arguments": {"a": 1},
            "status": status, "error": error}})
    };
    for (message, status) in [("user rejected MCP tool call", ToolStatus::Denied), ("it broke", ToolStatus::Failed)] {
        let mut run = Run::in_turn(&asking());
        run.notify("item/started", item("inProgress", Value::Null));
        run.notify("item/completed", item("failed", json!({"message": message})));
        let statuses: Vec<_> = run
            .events()
            .into_iter()
            .filter_map(|event| if let Event::Tool(call) = event { Some(call.status) } else { None })
            .collect();
        assert_eq!(statuses, [ToolStatus::Running, status], "{message}");
    }
}

#[test]
fn an_ask_is_withdrawn_if_codex_no_longer_waits_for_it() {
    for end in [true, false] {
        let mut run = Run::in_turn(&asking());
        run.receive(&json!({"id": 4, "method": "item/fileChange/requestApproval", "params": {"itemId": "c"}}));
        if end {
            run.notify("serverRequest/resolved", json!({"requestId": 4}));
        } else {
            run.send(Input::Cancel);
            assert_eq!(run.writes()[0], json!({"id": 4, "result": {"decision": "decline"}}), "Codex waits for it");
        }
        assert!(run.events().contains(&&Event::AskWithdrawn("4".into())));
    }
}

#[test]
fn an_ask_says_what_would_be_done() {
    let ask = |run: &mut Run, method: &str, params: Value| {
        run.receive(&json!({"id": 3, "method": method, "params": params}));
        run.ask().actions.clone()
    };
    let mut run = Run::in_turn(&asking());
    let command = json!({"itemId": "c", "command": "/bin/bash -lc 'touch a && rm b'"});
    let actions = ask(&mut run, "item/commandExecution/requestApproval", command);
    assert_eq!(actions, [Action::Run("touch a && rm b".into())], "the line that the shell gets");

    let changes = json!([{"path": "/w/a", "kind": {"type": "add"}, "diff": "hello\n"}]);
    let patch = json!({"type": "fileChange", "id": "p", "changes": changes, "status": "inProgress"});
    run.notify("item/started", json!({"item": patch}));
    let actions = ask(&mut run, "item/fileChange/requestApproval", json!({"itemId": "p"}));
    let diff = Diff { path: "/w/a".into(), old: None, new: "hello\n".into() };
    assert_eq!(actions, [Action::Write(FileWrite { path: "/w/a".into(), diff: Some(diff) })]);

    let call = json!({"type": "mcpToolCall", "id": "m", "server": "echo", "tool": "say", "status": "inProgress"});
    run.notify("item/started", json!({"item": call}));
    let meta = json!({"codex_approval_kind": "mcp_tool_call"});
    let elicitation = json!({"serverName": "echo", "message": "Allow it?", "_meta": meta});
    let actions = ask(&mut run, "mcpServer/elicitation/request", elicitation);
    assert_eq!(actions, [Action::CallTool(McpCall { server: "echo".into(), tool: "say".into() })]);
    assert_eq!((run.ask().tool.as_deref(), run.ask().tool_id.as_deref()), (Some("mcp__echo__say"), Some("m")));
}

#[test]
fn a_form_is_answered_question_by_question() {
    let mut run = Run::in_turn(&asking());
    let options = json!([{"label": "Red", "description": "x"}, {"label": "Blue", "description": "y"}]);
    run.receive(&json!({"id": 8, "method": "item/tool/requestUserInput", "params": {"itemId": "c", "questions": [
        {"id": "colour", "header": "Colour", "question": "Which?", "options": options},
        {"id": "name", "header": "Name", "question": "Whose?", "options": null},
    ]}}));
    let form: Vec<_> = run
        .ask()
        .form
        .iter()
        .map(|question| (question.id.as_str(), question.choices.len(), question.free_text))
        .collect();
    assert_eq!(form, [("colour", 2, false), ("name", 0, true)]);
    let field = |question: &str, choices: &[&str], text: Option<&str>| FieldAnswer {
        question: question.to_owned(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        text: text.map(str::to_owned),
    };
    let fields = vec![field("colour", &["Blue"], None), field("name", &[], Some("Ada"))];
    run.send(Input::Answer(Answer { fields, ..Answer::new("8", None) }));
    let answers = json!({"colour": {"answers": ["Blue"]}, "name": {"answers": ["Ada"]}});
    assert_eq!(run.writes(), [json!({"id": 8, "result": {"answers": answers}})]);
}

#[test]
fn an_elicitation_is_answered_with_its_value() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut run = Run::in_turn(&asking());
    run.receive(&json!({"id": 2, "method": "mcpServer/elicitation/request", "params": {
        "serverName": "maps", "message": "Where?", "requestedSchema": schema,
    }}));
    let asked: Option<Value> = run.ask().schema.as_deref().and_then(|schema| serde_json::from_str(schema).ok());
    assert_eq!(asked, Some(schema));
    run.send(Input::Answer(Answer { value: Some(r#"{"city":"Bern"}"#.into()), ..Answer::new("2", None) }));
    assert_eq!(run.writes(), [json!({"id": 2, "result": {"action": "accept", "content": {"city": "Bern"}}})]);
}

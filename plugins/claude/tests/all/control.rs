//! The control protocol of a duplex run, one request at a time.

use serde_json::{Value, json};
use wharf_adapter::testing::{self, play};
use wharf_adapter::{Adapter, Answer, Approvals, Ask, Effect, Effects, Event, Input, Stream};
use wharf_adapter_claude::Claude;

/// A duplex run that asks about one tool.
fn asked(request: &Value) -> (Claude, Ask) {
    let mut turn = testing::turn::<Claude>("go");
    turn.approvals = Approvals::Ask;
    let mut adapter = Claude::default();
    adapter.build_prompt(&turn, &testing::binary("2.1.325"), "control").expect("a prompt");
    let line = json!({"type": "control_request", "request_id": "r1", "request": request});
    let effects = play(&mut adapter, Stream::Stdout, &format!("{line}\n"), 1);
    let Some(Effect::Emit(Event::Ask(ask))) = effects.into_iter().next() else { panic!("no ask") };
    (adapter, ask)
}

fn handle(adapter: &mut Claude, input: Input) -> Vec<Value> {
    let mut out = Effects::default();
    adapter.handle(input, &mut out);
    let writes = out.into_vec().into_iter().filter_map(|effect| match effect {
        Effect::Write(bytes) => Some(serde_json::from_slice(&bytes).expect("JSON")),
        _ => None,
    });
    writes.collect()
}

fn chosen(choice: Option<&str>, text: Option<&str>) -> Input {
    let (choice, text) = (choice.map(str::to_owned), text.map(str::to_owned));
    Input::Answer(Answer { ask: "r1".to_owned(), choice, text, input: None, fields: vec![], value: None })
}

#[test]
fn a_permission_needs_an_explicit_yes() {
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
        let written = handle(&mut adapter, chosen(choice, None));
        assert_eq!(written[0]["response"]["response"], response, "{choice:?}");
        assert!(handle(&mut adapter, chosen(choice, None)).is_empty(), "an ask is answered once");
    }
}

#[test]
fn the_answer_to_a_question_goes_into_the_tools_input() {
    let questions = json!([{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
    }]);
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions},
        "tool_use_id": "t1",
    });
    for (choice, text, answer) in [
        (Some("option-1"), None, Some("Blue")),
        (None, Some("Green"), Some("Green")),
        (Some("option-9"), None, None),
        (Some("deny"), Some("no"), None),
        (None, None, None),
    ] {
        let (mut adapter, ask) = asked(&request);
        assert_eq!(ask.title, "Which colour?");
        let written = handle(&mut adapter, chosen(choice, text));
        let response = &written[0]["response"]["response"];
        match answer {
            Some(answer) => {
                assert_eq!(response["updatedInput"]["answers"], json!({"Which colour?": answer}));
                assert_eq!(response["updatedInput"]["questions"], questions);
            }
            None => assert_eq!(response["behavior"], "deny", "{choice:?}"),
        }
    }
}

#[test]
fn an_unanswered_gate_does_not_keep_claude_running() {
    for (event, text, response) in [
        ("Stop", None, json!({})),
        ("Stop", Some("run the tests"), json!({"decision": "block", "reason": "run the tests"})),
        ("UserPromptSubmit", None, json!({"decision": "block", "reason": "Blocked by the user."})),
    ] {
        let request = json!({"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event}});
        let (mut adapter, _) = asked(&request);
        let written = handle(&mut adapter, chosen(Some("deny"), text));
        assert_eq!(written[0]["response"]["response"], response, "{event}");
    }
}

#[test]
fn a_withdrawn_ask_is_not_answered() {
    let (mut adapter, _) = asked(&json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}));
    let effects =
        play(&mut adapter, Stream::Stdout, "{\"type\":\"control_cancel_request\",\"request_id\":\"r1\"}\n", 1);
    assert_eq!(effects, [Effect::Emit(Event::AskWithdrawn("r1".to_owned()))]);
    assert!(handle(&mut adapter, chosen(Some("allow"), None)).is_empty());
}

#[test]
fn an_unknown_request_is_rejected_and_reported() {
    let mut adapter = Claude::default();
    let line = "{\"type\":\"control_request\",\"request_id\":\"r9\",\"request\":{\"subtype\":\"of_tomorrow\"}}\n";
    let effects = play(&mut adapter, Stream::Stdout, line, 1);
    assert_eq!(effects[0], Effect::Emit(Event::Unknown("control_request/of_tomorrow".to_owned())));
    let Effect::Write(bytes) = &effects[1] else { panic!("nothing was written") };
    let written: Value = serde_json::from_slice(bytes).expect("JSON");
    assert_eq!((&written["response"]["subtype"], &written["response"]["request_id"]), (&json!("error"), &json!("r9")));
}

#[test]
fn a_malformed_request_is_rejected_too() {
    for request in [json!({}), json!({"subtype": "can_use_tool"}), json!({"subtype": "hook_callback", "input": {}})] {
        let line = json!({"type": "control_request", "request_id": "r9", "request": request});
        let effects = play(&mut Claude::default(), Stream::Stdout, &format!("{line}\n"), 1);
        let [Effect::Emit(Event::Malformed(_)), Effect::Write(bytes)] = effects.as_slice() else {
            panic!("{request}: {effects:?}")
        };
        let written: Value = serde_json::from_slice(bytes).expect("JSON");
        let response = &written["response"];
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!("error"), &json!("r9")), "{request}");
    }
}

#[test]
fn a_message_never_comes_before_the_prompt() {
    let mut turn = testing::turn::<Claude>("first");
    turn.approvals = Approvals::Ask;
    let mut adapter = Claude::default();
    adapter.build_prompt(&turn, &testing::binary("2.1.325"), "control").expect("a prompt");
    handle(&mut adapter, Input::Start);
    let written = handle(&mut adapter, Input::Message("/second".to_owned()));
    let texts: Vec<&Value> = written.iter().map(|line| &line["message"]["content"]).collect();
    assert_eq!(texts, ["first", " /second"]);
}

#[test]
fn a_run_that_does_not_read_the_instructions_of_the_workspace_says_so() {
    for (version, trusted, notices) in [("2.1.100", "false", 1), ("2.1.100", "true", 0), ("2.1.325", "false", 0)] {
        let mut turn = testing::turn::<Claude>("go");
        testing::set_option(&mut turn, "project-settings", trusted);
        let mut adapter = Claude::default();
        adapter.build_args(&turn, &testing::binary(version), "").expect("a command line");
        let mut out = Effects::default();
        adapter.handle(Input::Start, &mut out);
        let said = testing::events(out.as_slice());
        let is_notice = |event: &&&Event| matches!(event, Event::Notice(notice) if notice.text.contains("CLAUDE.md"));
        assert_eq!(said.iter().filter(is_notice).count(), notices, "{version} {trusted}");
    }
}

#[test]
fn one_shot_runs_ignore_inputs() {
    let mut adapter = Claude::default();
    let turn = testing::turn::<Claude>("go");
    adapter.build_prompt(&turn, &testing::binary("2.1.325"), "stream-json").expect("a prompt");
    for input in [Input::Start, Input::Message("more".to_owned()), Input::Cancel] {
        assert!(handle(&mut adapter, input).is_empty());
    }
}

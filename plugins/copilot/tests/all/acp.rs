//! Transcripts of the Agent Client Protocol: the agent's lines are replayed, and the lines that the adapter writes must
//! mean the same as those of the recorded client.

mod session;
mod updates;

use crate::{captures, outcomes, usages};
use serde_json::Value;
use std::fs;
use wharf_adapter::testing::{binary, events, inline, play, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, ChangeKind, ChoiceKind, Effect, Effects, ErrorClass, Event, Input, Outcome,
    PromptDelivery, SessionChoice, Stream, ToolStatus, Turn, UsageScope,
};
use wharf_adapter_copilot::Copilot;

fn asking_turn(prompt: &str, workspace: &str) -> Turn {
    let mut turn = turn::<Copilot>(prompt);
    turn.approvals = Approvals::Ask;
    turn.session = SessionChoice::Fresh(None);
    workspace.clone_into(&mut turn.workspace);
    turn
}

fn handle(adapter: &mut Copilot, input: Input) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.handle(input, &mut out);
    out.into_vec()
}

fn next_turn(adapter: &mut Copilot, turn: &Turn) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.next_turn(turn, &mut out);
    out.into_vec()
}

fn start(turn: &Turn) -> (Copilot, Vec<Effect>) {
    let mut adapter = Copilot::default();
    adapter.build_args(turn, &binary("1.0.102"), "acp").expect("a command line");
    assert_eq!(adapter.build_prompt(turn, &binary("1.0.102"), "acp"), Ok(PromptDelivery::InProtocol));
    let effects = handle(&mut adapter, Input::Start);
    (adapter, effects)
}

fn receive(adapter: &mut Copilot, line: &str) -> Vec<Effect> {
    play(adapter, Stream::Stdout, line, 1)
}

fn writes(effects: &[Effect]) -> Vec<Value> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Write(bytes) => Some(bytes),
        _ => None,
    });
    lines.map(|bytes| serde_json::from_slice(bytes).expect("a line of JSON")).collect()
}

/// Whether two messages mean the same: request ids, the name of the client and what it offers for a session may differ.
fn same_meaning(ours: &Value, theirs: &Value) -> bool {
    if theirs["method"].is_string() {
        let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
        for message in [&mut ours, &mut theirs] {
            message["id"] = Value::Null;
            message["params"]["clientInfo"] = Value::Null;
            message["params"]["clientCapabilities"]["session"] = Value::Null;
        }
        ours == theirs
    } else {
        ours == theirs
    }
}

/// Replays a transcript. Returns all effects.
fn replay(scenario: &str, first: &Turn) -> Vec<Effect> {
    let root = captures().join("1.0.102");
    let transcript = fs::read_to_string(root.join(scenario).join("transcript.txt")).expect("a transcript");
    let (mut adapter, mut effects) = start(first);
    let mut written = 0;
    let mut prompts = 0;
    for line in transcript.split('\n') {
        if let Some(theirs) = line.strip_prefix("> ") {
            let theirs: Value = serde_json::from_str(theirs).expect("JSON");
            if theirs["method"] == "session/prompt" {
                prompts += 1;
                if prompts > 1 {
                    let text = theirs["params"]["prompt"][0]["text"].as_str().expect("a text");
                    effects.extend(next_turn(&mut adapter, &asking_turn(text, &first.workspace)));
                }
            }
            if theirs["method"] == "session/cancel" {
                effects.extend(handle(&mut adapter, Input::Cancel));
            }
            if let Some(choice) = theirs["result"]["outcome"]["optionId"].as_str() {
                let ask = theirs["id"].to_string();
                let answer = Answer {
                    ask,
                    choice: Some(choice.to_owned()),
                    text: None,
                    input: None,
                    fields: vec![],
                    value: None,
                };
                effects.extend(handle(&mut adapter, Input::Answer(answer)));
            }
            let ours = writes(&effects);
            let Some(ours) = ours.get(written) else {
                assert!(
                    events(&effects).iter().any(|event| matches!(event, Event::TurnEnded(_))),
                    "it stopped writing"
                );
                return effects;
            };
            assert!(same_meaning(ours, &theirs), "{scenario}: wrote {ours}\ninstead of {theirs}");
            written += 1;
        } else if let Some(received) = line.strip_prefix("< ") {
            effects.extend(receive(&mut adapter, &format!("{received}\n")));
        }
    }
    assert_eq!(writes(&effects).len(), written, "{scenario}: it wrote more than the client did");
    assert!(!events(&effects).iter().any(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_))));
    effects
}

fn texts(effects: &[Effect]) -> Vec<&str> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::Message(part) | Event::Thinking(part) => Some(inline(&part.text)),
        _ => None,
    });
    all.collect()
}

#[test]
fn two_turns_in_one_process() {
    let effects = replay("acp_basic", &asking_turn("Say hello.", "/lab/ws/1.0.102-acp_basic"));
    assert_eq!(outcomes(&effects), [Outcome::Completed, Outcome::Completed]);
    assert_eq!(texts(&effects), ["Hello over ACP, streamed in pieces. 🚀", "Thinking hard.", "Second answer."]);
    let usages = usages(&effects);
    assert!(usages.iter().all(|usage| usage.input_includes_cached), "{usages:?}");
    let figures: Vec<_> =
        usages.into_iter().map(|usage| (usage.scope, usage.input, usage.output, usage.cache_read)).collect();
    // The agent reports the total of both turns in the second: 2468, 112 and 2000.
    let total = UsageScope::TurnTotal;
    assert_eq!(figures, [(total, Some(1234), Some(56), Some(1000)); 2]);
    let Some(Event::Session(info)) = events(&effects).into_iter().find(|event| matches!(event, Event::Session(_)))
    else {
        panic!("no session")
    };
    assert_eq!(info.id.as_deref(), Some("42694844-7399-46cd-a7b4-c702f8e918ef"));
    assert_eq!(info.agent_version.as_deref(), Some("1.0.102"));
}

#[test]
fn permissions_are_asked_and_a_rejection_ends_the_turn() {
    let effects = replay("acp_permissions", &asking_turn("Touch.", "/lab/ws/1.0.102-acp_permissions"));
    assert_eq!(outcomes(&effects), [Outcome::Cancelled]);
    assert_eq!(texts(&effects), ["Trying.", "Again."], "a remark of the CLI is not an answer");
    let asks: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Ask(ask) => Some(ask),
            _ => None,
        })
        .collect();
    let kinds: Vec<_> = asks[0].choices.iter().map(|choice| choice.kind).collect();
    assert_eq!(kinds, [ChoiceKind::AllowOnce, ChoiceKind::AllowAlways, ChoiceKind::RejectOnce]);
    assert_eq!((asks[0].title.as_str(), asks[0].tool_id.as_deref()), ("Touch a file", Some("call_6b42dfa837")));
    assert_eq!(asks[1].title, "Create file");
    let tools: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Tool(call) => Some((call.status, call.exit_code)),
            _ => None,
        })
        .collect();
    let expected = [
        (ToolStatus::Pending, None),
        (ToolStatus::Succeeded, Some(0)),
        (ToolStatus::Pending, None),
        (ToolStatus::Denied, None),
    ];
    assert_eq!(tools, expected);
    assert!(!events(&effects).iter().any(|event| matches!(event, Event::FileChange(_))), "the edit was rejected");
}

#[test]
fn model_and_permissions_are_set_before_the_prompt() {
    let mut turn = asking_turn("One.", "/lab/ws/1.0.102-acp_github_models_and_load");
    turn.approvals = Approvals::AllowAll;
    turn.model = Some("gpt-5.4".into());
    let effects = replay("acp_github_models_and_load", &turn);
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    assert_eq!(texts(&effects), ["First answer."]);
    let models: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Session(info) => info.model.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["claude-sonnet-4.6", "gpt-5.4"]);
}

#[test]
fn without_a_login_the_turn_fails() {
    let effects = replay("acp_no_auth", &asking_turn("Hi", "/lab/ws/1.0.102-acp_no_auth"));
    assert!(matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::Auth));
}

const NEW: &str = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n";
const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n";

fn chunk(text: &str) -> String {
    let update =
        format!("{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"{text}\"}}}}");
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":{update}}}}}\n"
    )
}

fn answered(id: u32, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

/// The effects of these lines, after the prompt was sent.
fn prompted(lines: &[String]) -> Vec<Effect> {
    let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    lines.iter().flat_map(|line| receive(&mut adapter, line)).collect()
}

#[test]
fn an_error_that_is_written_as_text_fails_the_turn() {
    let end = answered(3, "{\"stopReason\":\"end_turn\"}");
    let retry = chunk("Info: Request failed due to a transient API error. Retrying...");
    let error = chunk("Error: Authentication failed with provider at http://h/v1 (HTTP 401).");
    let effects = prompted(&[chunk("par"), retry, error, end.clone()]);
    assert!(matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)]
        if failure.class == ErrorClass::Auth && failure.http_status == Some(401)));
    let is_discarded = |event: &&Event| matches!(event, Event::Discard(id) if id == "text-1");
    assert!(events(&effects).iter().any(is_discarded) && texts(&effects).is_empty());

    let effects = prompted(&[chunk("Error: "), chunk("that is what it printed."), end]);
    assert_eq!(outcomes(&effects), [Outcome::Completed], "a model may start a text like this");
    assert_eq!(texts(&effects), ["Error: that is what it printed."]);

    let wrote = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let effects = prompted(&[chunk("Error: none."), wrote]);
    assert_eq!(outcomes(&effects), [Outcome::Completed], "it wrote tokens, and there is no other text");
    assert_eq!(texts(&effects), ["Error: none."]);

    let wrote = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let effects = prompted(&[chunk("Error: No response was returned. Send your message again to retry."), wrote]);
    assert!(
        matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::Provider),
        "no model writes that"
    );
}

#[test]
fn stop_reasons_have_their_outcomes() {
    for (reason, expected) in [
        ("end_turn", Outcome::Completed),
        ("cancelled", Outcome::Cancelled),
        ("max_tokens", Outcome::Limit("max-tokens".into())),
        ("max_turn_requests", Outcome::Limit("max-turns".into())),
        ("refusal", Outcome::Refused("the model declined to answer".into())),
    ] {
        let effects = prompted(&[answered(3, &format!("{{\"stopReason\":\"{reason}\"}}"))]);
        assert_eq!(outcomes(&effects), [expected]);
    }
}

fn permission(id: &str) -> String {
    let option = "{\"optionId\":\"no\",\"kind\":\"reject_once\",\"name\":\"Deny\"}";
    let params = format!("{{\"sessionId\":\"s\",\"toolCall\":{{\"toolCallId\":\"t\"}},\"options\":[{option}]}}");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"session/request_permission\",\"params\":{params}}}\n")
}

#[test]
fn a_cancellation_withdraws_open_asks() {
    let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    receive(&mut adapter, &permission("\"q-7\""));
    let effects = handle(&mut adapter, Input::Cancel);
    let written = writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["result"]["outcome"]["outcome"]), (&"q-7".into(), &"cancelled".into()));
    assert_eq!((&written[1]["method"], &written[1]["params"]["sessionId"]), (&"session/cancel".into(), &"s".into()));
    assert_eq!(events(&effects), [&Event::AskWithdrawn("\"q-7\"".into())]);
    let late = Answer {
        ask: "\"q-7\"".into(),
        choice: Some("no".into()),
        text: None,
        input: None,
        fields: vec![],
        value: None,
    };
    assert!(handle(&mut adapter, Input::Answer(late)).is_empty(), "the ask is no longer open");
}

#[test]
fn a_turn_that_is_cancelled_before_its_prompt_never_starts() {
    for received in [vec![], vec![INITIALIZED]] {
        let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
        for line in &received {
            receive(&mut adapter, line);
        }
        let effects = handle(&mut adapter, Input::Cancel);
        assert_eq!((outcomes(&effects), writes(&effects)), (vec![Outcome::Cancelled], vec![]));
        let next = if received.is_empty() { INITIALIZED } else { NEW };
        assert!(receive(&mut adapter, next).is_empty());
    }
    let (mut adapter, _) = start(&asking_turn("Hi", "/w"));
    for line in [INITIALIZED, NEW, &answered(3, "{\"stopReason\":\"end_turn\"}")] {
        receive(&mut adapter, line);
    }
    assert!(handle(&mut adapter, Input::Cancel).is_empty(), "a turn that is over cannot be cancelled");
}

#[test]
fn with_approvals_denied_nothing_is_asked() {
    let mut turn = asking_turn("Hi", "/w");
    turn.approvals = Approvals::Deny;
    let (mut adapter, _) = start(&turn);
    receive(&mut adapter, INITIALIZED);
    receive(&mut adapter, NEW);
    let effects = receive(&mut adapter, &permission("0"));
    assert_eq!(writes(&effects)[0]["result"]["outcome"]["optionId"], "no");
    assert!(!events(&effects).iter().any(|event| matches!(event, Event::Ask(_))));
}

#[test]
fn the_history_of_a_loaded_session_is_not_reported_again() {
    let mut turn = asking_turn("Hi", "/w");
    turn.session = SessionChoice::Resume("old".into());
    turn.effort = Some("high".into());
    let (mut adapter, _) = start(&turn);
    let effects = receive(&mut adapter, INITIALIZED);
    assert_eq!(
        (&writes(&effects)[0]["method"], &writes(&effects)[0]["params"]["sessionId"]),
        (&"session/load".into(), &"old".into())
    );
    assert!(receive(&mut adapter, &chunk("an old answer")).is_empty());
    let effects = receive(&mut adapter, &answered(2, "{}"));
    assert!(
        matches!(events(&effects)[..], [Event::Session(info)] if info.id.as_deref() == Some("old") && info.resumed == Some(true))
    );
    assert_eq!(writes(&effects)[0]["params"]["configId"], "reasoning_effort");
    let effects = receive(
        &mut adapter,
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,\"message\":\"no such option\"}}\n",
    );
    assert_eq!(writes(&effects)[0]["method"], "session/prompt", "the turn works without it");

    let (mut adapter, _) = start(&turn);
    receive(&mut adapter, INITIALIZED);
    let effects = receive(
        &mut adapter,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"Session not found\"}}\n",
    );
    assert!(matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::NoSession));
    assert!(writes(&effects).is_empty());
}

#[test]
fn an_edit_that_succeeds_changes_a_file() {
    let tool = |kind: &str, rest: &str| {
        let update = format!("{{\"sessionUpdate\":\"{kind}\",\"toolCallId\":\"t\",{rest}}}");
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"update\":{update}}}}}\n")
    };
    let begin = "\"kind\":\"edit\",\"status\":\"pending\",\"content\":[{\"type\":\"diff\",\"path\":\"/a\",\"oldText\":\"x\",\"newText\":\"y\"}]";
    let effects = prompted(&[tool("tool_call", begin), tool("tool_call_update", "\"status\":\"completed\"")]);
    let changes: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::FileChange(change) => Some((change.path.as_str(), change.kind)),
            _ => None,
        })
        .collect();
    assert_eq!(changes, [("/a", ChangeKind::Edited)]);
}

#[test]
fn requests_that_the_adapter_does_not_support_are_rejected() {
    let effects =
        prompted(&["{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"fs/read_text_file\",\"params\":{}}\n".to_owned()]);
    let written = writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["error"]["code"]), (&9.into(), &(-32601).into()));
}

/// 1.0.35 reports the first model of its list, and then has none for the prompt.
#[test]
fn a_model_is_set_even_if_the_session_reports_it() {
    let mut turn = asking_turn("go", "/w");
    turn.model = Some("gpt-mock".to_owned());
    let (mut adapter, _) = start(&turn);
    receive(&mut adapter, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"agentInfo\":{\"version\":\"1.0.35\"}}}\n");
    let opened = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\",\
                  \"models\":{\"availableModels\":[{\"modelId\":\"gpt-mock\"}],\"currentModelId\":\"gpt-mock\"}}}\n";
    let written = writes(&receive(&mut adapter, opened));
    assert_eq!(written[0]["method"], "session/set_model", "{written:?}");
    assert_eq!(written[0]["params"]["modelId"], "gpt-mock");
}

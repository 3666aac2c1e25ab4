//! Transcripts of the Agent Client Protocol: the agent's lines are played, and what the adapter writes must mean what
//! the client of the transcript wrote.

mod updates;

use serde_json::Value;
use std::fs;
use std::path::Path;
use wharf_adapter::testing::{binary, events, inline, play, set_option, turn};
use wharf_adapter::{
    Adapter, Answer, Approvals, ChangeKind, ChoiceKind, Effect, Effects, ErrorClass, Event, Input, Outcome,
    PromptDelivery, SessionChoice, Stream, ToolStatus, Turn, UsageScope,
};
use wharf_adapter_copilot::Copilot;

fn asking(prompt: &str, workspace: &str) -> Turn {
    let mut wish = turn::<Copilot>(prompt);
    wish.approvals = Approvals::Ask;
    wish.session = SessionChoice::Fresh(None);
    workspace.clone_into(&mut wish.workspace);
    wish
}

fn handle(adapter: &mut Copilot, input: Input) -> Vec<Effect> {
    let mut out = Effects::default();
    adapter.handle(input, &mut out);
    out.into_vec()
}

fn start(wish: &Turn) -> (Copilot, Vec<Effect>) {
    let mut adapter = Copilot::default();
    adapter.build_args(wish, &binary("1.0.102")).expect("a command line");
    assert_eq!(adapter.build_prompt(wish, &binary("1.0.102")), Ok(PromptDelivery::InProtocol));
    let effects = handle(&mut adapter, Input::Start);
    (adapter, effects)
}

fn say(adapter: &mut Copilot, line: &str) -> Vec<Effect> {
    play(adapter, Stream::Stdout, line, 1)
}

fn writes(effects: &[Effect]) -> Vec<Value> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Write(bytes) => Some(bytes),
        _ => None,
    });
    lines.map(|bytes| serde_json::from_slice(bytes).expect("a line of JSON")).collect()
}

/// Whether two messages mean the same: ids of requests and the client's name may differ.
fn means(ours: &Value, theirs: &Value) -> bool {
    if theirs["method"].is_string() {
        let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
        for message in [&mut ours, &mut theirs] {
            message["id"] = Value::Null;
            message["params"]["clientInfo"] = Value::Null;
        }
        ours == theirs
    } else {
        ours == theirs
    }
}

/// Plays a transcript; gives all effects.
fn converse(scenario: &str, first: &Turn) -> Vec<Effect> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts/copilot/1.0.102");
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
                    effects.extend(handle(&mut adapter, Input::NextTurn(asking(text, &first.workspace))));
                }
            }
            if theirs["method"] == "session/cancel" {
                effects.extend(handle(&mut adapter, Input::Cancel));
            }
            if let Some(choice) = theirs["result"]["outcome"]["optionId"].as_str() {
                let ask = theirs["id"].to_string();
                let answer = Answer { ask, choice: Some(choice.to_owned()), text: None, input: None };
                effects.extend(handle(&mut adapter, Input::Answer(answer)));
            }
            let ours = writes(&effects);
            let Some(ours) = ours.get(written) else {
                assert!(events(&effects).iter().any(|event| matches!(event, Event::TurnEnded(_))), "it fell silent");
                return effects;
            };
            assert!(means(ours, &theirs), "{scenario}: wrote {ours}\ninstead of {theirs}");
            written += 1;
        } else if let Some(said) = line.strip_prefix("< ") {
            effects.extend(say(&mut adapter, &format!("{said}\n")));
        }
    }
    assert_eq!(writes(&effects).len(), written, "{scenario}: it wrote more than the client did");
    assert!(!events(&effects).iter().any(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_))));
    effects
}

fn outcomes(effects: &[Effect]) -> Vec<Outcome> {
    let ends = events(effects).into_iter().filter_map(|event| match event {
        Event::TurnEnded(end) => Some(end.outcome.clone()),
        _ => None,
    });
    ends.collect()
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
    let effects = converse("acp_basic", &asking("Say hello.", "/lab/ws/1.0.102-acp_basic"));
    assert_eq!(outcomes(&effects), [Outcome::Completed, Outcome::Completed]);
    assert_eq!(texts(&effects), ["Hello over ACP, streamed in pieces. 🚀", "Thinking hard.", "Second answer."]);
    let usage: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Usage(usage) => Some((usage.scope, usage.input, usage.output, usage.cache_read)),
            _ => None,
        })
        .collect();
    // The second answer has the sum of both: 2468, 112 and 2000.
    let total = UsageScope::TurnTotal;
    assert_eq!(usage, [(total, Some(1234), Some(56), Some(1000)); 2]);
    let Some(Event::Session(info)) = events(&effects).into_iter().find(|event| matches!(event, Event::Session(_)))
    else {
        panic!("no session")
    };
    assert_eq!(info.id.as_deref(), Some("42694844-7399-46cd-a7b4-c702f8e918ef"));
    assert_eq!(info.agent_version.as_deref(), Some("1.0.102"));
}

#[test]
fn permissions_are_asked_and_a_refusal_ends_the_turn() {
    let effects = converse("acp_permissions", &asking("Touch.", "/lab/ws/1.0.102-acp_permissions"));
    assert_eq!(outcomes(&effects), [Outcome::Cancelled]);
    assert_eq!(texts(&effects), ["Trying.", "Again."], "the CLI's remark is no answer");
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
    assert!(!events(&effects).iter().any(|event| matches!(event, Event::FileChange(_))), "the edit was refused");
}

#[test]
fn model_and_permissions_are_set_before_the_prompt() {
    let mut wish = asking("One.", "/lab/ws/1.0.102-acp_github_models_and_load");
    wish.approvals = Approvals::AllowAll;
    wish.model = Some("gpt-5.4".into());
    set_option(&mut wish, "transport", "\"acp\"");
    let effects = converse("acp_github_models_and_load", &wish);
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
    let effects = converse("acp_no_auth", &asking("Hi", "/lab/ws/1.0.102-acp_no_auth"));
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

/// A turn that has been prompted, and everything that was said since.
fn prompted(lines: &[String]) -> Vec<Effect> {
    let (mut adapter, _) = start(&asking("Hi", "/w"));
    say(&mut adapter, INITIALIZED);
    say(&mut adapter, NEW);
    lines.iter().flat_map(|line| say(&mut adapter, line)).collect()
}

#[test]
fn an_error_that_is_passed_off_as_text_fails_the_turn() {
    let end = answered(3, "{\"stopReason\":\"end_turn\"}");
    let retry = chunk("Info: Request failed due to a transient API error. Retrying...");
    let error = chunk("Error: Authentication failed with provider at http://h/v1 (HTTP 401).");
    let effects = prompted(&[chunk("par"), retry, error, end.clone()]);
    assert!(matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)]
        if failure.class == ErrorClass::Auth && failure.http_status == Some(401)));
    let voided = |event: &&Event| matches!(event, Event::Discard(id) if id == "text-1");
    assert!(events(&effects).iter().any(voided) && texts(&effects).is_empty());

    let effects = prompted(&[chunk("Error: "), chunk("that is what it printed."), end]);
    assert_eq!(outcomes(&effects), [Outcome::Completed], "a model may begin so");
    assert_eq!(texts(&effects), ["Error: that is what it printed."]);

    let wrote = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let effects = prompted(&[chunk("Error: none."), wrote]);
    assert_eq!(outcomes(&effects), [Outcome::Completed], "it wrote something, and this is all there is");
    assert_eq!(texts(&effects), ["Error: none."]);

    let wrote = answered(3, "{\"stopReason\":\"end_turn\",\"usage\":{\"outputTokens\":9}}");
    let effects = prompted(&[chunk("Error: No response was returned. Send your message again to retry."), wrote]);
    assert!(
        matches!(&outcomes(&effects)[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::Provider),
        "no model says that"
    );
}

#[test]
fn reasons_to_stop_have_their_outcomes() {
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
fn a_cancellation_withdraws_what_was_asked() {
    let (mut adapter, _) = start(&asking("Hi", "/w"));
    say(&mut adapter, INITIALIZED);
    say(&mut adapter, NEW);
    say(&mut adapter, &permission("\"q-7\""));
    let effects = handle(&mut adapter, Input::Cancel);
    let written = writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["result"]["outcome"]["outcome"]), (&"q-7".into(), &"cancelled".into()));
    assert_eq!((&written[1]["method"], &written[1]["params"]["sessionId"]), (&"session/cancel".into(), &"s".into()));
    assert_eq!(events(&effects), [&Event::AskWithdrawn("\"q-7\"".into())]);
    let late = Answer { ask: "\"q-7\"".into(), choice: Some("no".into()), text: None, input: None };
    assert!(handle(&mut adapter, Input::Answer(late)).is_empty(), "nobody waits for it any more");
}

#[test]
fn a_turn_that_is_cancelled_before_its_prompt_is_never_begun() {
    for said in [vec![], vec![INITIALIZED]] {
        let (mut adapter, _) = start(&asking("Hi", "/w"));
        for line in &said {
            say(&mut adapter, line);
        }
        let effects = handle(&mut adapter, Input::Cancel);
        assert_eq!((outcomes(&effects), writes(&effects)), (vec![Outcome::Cancelled], vec![]));
        let next = if said.is_empty() { INITIALIZED } else { NEW };
        assert!(say(&mut adapter, next).is_empty());
    }
    let (mut adapter, _) = start(&asking("Hi", "/w"));
    for line in [INITIALIZED, NEW, &answered(3, "{\"stopReason\":\"end_turn\"}")] {
        say(&mut adapter, line);
    }
    assert!(handle(&mut adapter, Input::Cancel).is_empty(), "a turn that is over cannot be cancelled");
}

#[test]
fn approvals_that_are_denied_are_not_asked() {
    let mut wish = asking("Hi", "/w");
    wish.approvals = Approvals::Deny;
    set_option(&mut wish, "transport", "\"acp\"");
    let (mut adapter, _) = start(&wish);
    say(&mut adapter, INITIALIZED);
    say(&mut adapter, NEW);
    let effects = say(&mut adapter, &permission("0"));
    assert_eq!(writes(&effects)[0]["result"]["outcome"]["optionId"], "no");
    assert!(events(&effects).is_empty());
}

#[test]
fn a_session_is_loaded_without_telling_its_past_again() {
    let mut wish = asking("Hi", "/w");
    wish.session = SessionChoice::Resume("old".into());
    wish.effort = Some("high".into());
    let (mut adapter, _) = start(&wish);
    let effects = say(&mut adapter, INITIALIZED);
    assert_eq!(
        (&writes(&effects)[0]["method"], &writes(&effects)[0]["params"]["sessionId"]),
        (&"session/load".into(), &"old".into())
    );
    assert!(say(&mut adapter, &chunk("an old answer")).is_empty());
    let effects = say(&mut adapter, &answered(2, "{}"));
    assert!(
        matches!(events(&effects)[..], [Event::Session(info)] if info.id.as_deref() == Some("old") && info.resumed == Some(true))
    );
    assert_eq!(writes(&effects)[0]["params"]["configId"], "reasoning_effort");
    let effects = say(
        &mut adapter,
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,\"message\":\"no such option\"}}\n",
    );
    assert_eq!(writes(&effects)[0]["method"], "session/prompt", "the turn can do without");

    let (mut adapter, _) = start(&wish);
    say(&mut adapter, INITIALIZED);
    let effects = say(
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
fn what_the_client_cannot_do_is_refused() {
    let effects =
        prompted(&["{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"fs/read_text_file\",\"params\":{}}\n".to_owned()]);
    let written = writes(&effects);
    assert_eq!((&written[0]["id"], &written[0]["error"]["code"]), (&9.into(), &(-32601).into()));
}

/// 1.0.35 names the first model of its list as the session's, and then has none for the prompt.
#[test]
fn a_model_is_set_though_the_session_claims_to_have_it() {
    let mut wish = asking("go", "/w");
    wish.model = Some("gpt-mock".to_owned());
    let (mut adapter, _) = start(&wish);
    say(&mut adapter, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"agentInfo\":{\"version\":\"1.0.35\"}}}\n");
    let opened = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\",\
                  \"models\":{\"availableModels\":[{\"modelId\":\"gpt-mock\"}],\"currentModelId\":\"gpt-mock\"}}}\n";
    let written = writes(&say(&mut adapter, opened));
    assert_eq!(written[0]["method"], "session/set_model", "{written:?}");
    assert_eq!(written[0]["params"]["modelId"], "gpt-mock");
}

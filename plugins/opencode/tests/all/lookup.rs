//! What the output lacked and `opencode export` has.

use crate::{built, captures, outcomes, plain_turn, usages};
use wharf_adapter::testing::{FakeHost, binary, events, finish, inline, play, read, set_option};
use wharf_adapter::{ErrorClass, Event, Input, Outcome, Stream, ToolStatus};

/// The form of `opencode export` in 1.15.4 and 1.18.33: an earlier turn, and one with a tool.
fn session(last: &str) -> String {
    let tokens = |input: u64| {
        format!(
            r#""tokens":{{"input":{input},"output":10,"reasoning":1,"cache":{{"read":100,"write":0}}}},"cost":0.001"#
        )
    };
    format!(
        r#"{{"info":{{"id":"ses_1"}},"messages":[
        {{"info":{{"role":"user","id":"m0"}},"parts":[]}},
        {{"info":{{"role":"assistant","id":"m0a","parentID":"m0",{},"finish":"stop"}},"parts":[{{"type":"text","id":"old","text":"earlier"}}]}},
        {{"info":{{"role":"user","id":"m1"}},"parts":[]}},
        {{"info":{{"role":"assistant","id":"m2","parentID":"m1",{},"modelID":"mock-model","providerID":"lab","finish":"tool-calls"}},
          "parts":[{{"type":"step-start","id":"p0"}},{{"type":"tool","id":"p1","tool":"bash","callID":"c1","state":{{"status":"completed","input":{{}},"output":"x","metadata":{{"exit":0}}}}}}]}},
        {{"info":{{"role":"assistant","id":"m3","parentID":"m1",{},"modelID":"mock-model","providerID":"lab"{last}}},
          "parts":[{{"type":"text","id":"p2","text":"Done."}}]}}]}}"#,
        tokens(7),
        tokens(200),
        tokens(300)
    )
}

fn host(last: &str) -> FakeHost {
    let program = binary("1").program;
    FakeHost::default().output(&format!("{program} export ses_1"), 0, &session(last))
}

const LOST: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"id":"p0","messageID":"m2","type":"step-start"}}"#;

#[test]
fn what_an_old_version_did_not_write_is_looked_up() {
    let mut adapter = built(&plain_turn(), "1.15.4", "run");
    play(&mut adapter, Stream::Stdout, LOST, 1);
    let effects = finish(&mut adapter, &host(r#","finish":"stop""#), 0);
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    let all = events(&effects);
    let texts: Vec<&str> = all
        .iter()
        .filter_map(|event| if let Event::Message(part) = event { Some(inline(&part.text)) } else { None })
        .collect();
    assert_eq!(texts, ["Done."], "the earlier turn is not repeated");
    assert!(all.iter().any(|event| matches!(event, Event::Tool(call) if call.status == ToolStatus::Succeeded)));
    let input: u64 = usages(&effects).iter().filter_map(|usage| usage.input).sum();
    assert_eq!(input, 500, "both calls of this turn");
    assert!(
        all.iter().any(
            |event| matches!(event, Event::Session(session) if session.model.as_deref() == Some("lab/mock-model"))
        )
    );
}

#[test]
fn the_status_of_an_error_over_acp_is_looked_up() {
    let error = r#","error":{"name":"APIError","data":{"message":"no","statusCode":401}}"#;
    let mut adapter = built(&plain_turn(), "1.18.33", "acp");
    crate::handle(&mut adapter, Input::Start);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"ses_1"}}"#,
    ] {
        play(&mut adapter, Stream::Stdout, line, 1);
    }
    let line = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error: no","data":{"errorName":"APIError"}}}"#;
    let effects = play(&mut adapter, Stream::Stdout, line, 1);
    let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((failure.class, failure.http_status), (ErrorClass::Provider, None));
    let effects = finish(&mut adapter, &host(error), 0);
    let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((failure.class, failure.http_status), (ErrorClass::Auth, Some(401)));
}

#[test]
fn an_error_that_was_not_written_is_looked_up() {
    let error = r#","error":{"name":"APIError","data":{"message":"bad key","statusCode":401}}"#;
    let mut adapter = built(&plain_turn(), "1.15.4", "run");
    play(&mut adapter, Stream::Stdout, LOST, 1);
    let effects = finish(&mut adapter, &host(error), 0);
    let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((failure.class, failure.http_status), (ErrorClass::Auth, Some(401)));
}

#[test]
fn nothing_is_looked_up_if_nothing_is_missing_or_the_user_does_not_want_it() {
    // A host without the command answers nothing, and says so in the log of its requests: the answer must not depend on it.
    let complete = read(&captures().join("1.18.33/short_stdin"), "stdout.jsonl");
    let mut adapter = built(&plain_turn(), "1.18.33", "run");
    play(&mut adapter, Stream::Stdout, &complete, 1);
    let effects = finish(&mut adapter, &host(r#","error":{"name":"APIError","data":{}}"#), 0);
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
    let mut turn = plain_turn();
    set_option(&mut turn, "usage-lookup", "false");
    let mut adapter = built(&turn, "1.15.4", "run");
    play(&mut adapter, Stream::Stdout, LOST, 1);
    assert!(outcomes(&finish(&mut adapter, &host(r#","finish":"stop""#), 0)).is_empty());
}

#[test]
fn a_killed_run_is_not_looked_up() {
    let mut adapter = built(&plain_turn(), "1.15.4", "run");
    play(&mut adapter, Stream::Stdout, LOST, 1);
    assert!(finish(&mut adapter, &host(r#","finish":"stop""#), 143).is_empty());
}

//! Single lines of `--output-format stream-json`.

use crate::{outcomes, run, run_in, texts, usages};
use wharf_adapter::testing::{binary, events, inline, play, turn};
use wharf_adapter::{
    Adapter, ChangeKind, Effect, ErrorClass, Event, FileChange, McpStatus, Outcome, SessionChoice, Stream, ToolStatus,
    UsageScope,
};
use wharf_adapter_qwen::Qwen;

fn stream(event: &str) -> String {
    format!(r#"{{"type":"stream_event","uuid":"u","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
}

fn delta(text: &str) -> String {
    stream(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#))
}

fn block(kind: &str) -> String {
    stream(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"{kind}"}}}}"#))
}

fn message(uuid: &str, block: &str, input: u64) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","parent_tool_use_id":null,"message":{{"id":"{uuid}","model":"m",
        "content":[{block}],"usage":{{"input_tokens":{input},"output_tokens":0}}}}}}"#
    )
    .replace('\n', "")
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

const RETRY: &str =
    r#"{"type":"system","subtype":"retry","data":{"reason":"retry","discardedToolCalls":0,"preserveText":false}}"#;

fn ids(effects: &[Effect]) -> Vec<(&'static str, String)> {
    let all = events(effects).into_iter().filter_map(|event| match event {
        Event::TextDelta(part) => Some(("delta", inline(&part.id).to_owned())),
        Event::Message(part) => Some(("message", inline(&part.id).to_owned())),
        Event::Thinking(part) => Some(("thinking", inline(&part.id).to_owned())),
        Event::ThinkingDelta(part) => Some(("thinking delta", inline(&part.id).to_owned())),
        Event::Discard(id) => Some(("discard", inline(id).to_owned())),
        _ => None,
    });
    all.collect()
}

/// The second message of a model call is not announced, and its index starts at zero again.
#[test]
fn a_whole_text_has_the_id_of_its_deltas() {
    let thought = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    let effects = run(&[
        stream(r#"{"type":"message_start","message":{"id":"one","content":[]}}"#),
        block("thinking"),
        stream(thought),
        message("one", r#"{"type":"thinking","thinking":"hm"}"#, 0),
        block("text"),
        delta("a"),
        message("two", &text("a"), 5),
        block("text"),
        delta("b"),
        message("three", &text("b"), 5),
        message("four", &text("not streamed"), 5),
    ]);
    let [first, second, third] = ["block-1", "block-2", "block-3"].map(str::to_owned);
    assert_eq!(
        ids(&effects),
        [
            ("thinking delta", first.clone()),
            ("thinking", first),
            ("delta", second.clone()),
            ("message", second),
            ("delta", third.clone()),
            ("message", third),
            ("message", "four".to_owned()),
        ]
    );
}

#[test]
fn a_retry_voids_what_the_failed_call_wrote_and_nothing_else() {
    let effects = run(&[
        message("before", &text("kept"), 5),
        block("text"),
        delta("cut"),
        message("cut", &text("cut"), 0),
        RETRY.to_owned(),
        message("after", &text("again"), 5),
    ]);
    let [streamed, before, after] = ["block-1", "before", "after"].map(str::to_owned);
    let expected = [
        ("message", before),
        ("delta", streamed.clone()),
        ("message", streamed.clone()),
        ("discard", streamed),
        ("message", after),
    ];
    assert_eq!(ids(&effects), expected);
    let retries = events(&effects).iter().filter(|event| matches!(event, Event::Retrying(_))).count();
    assert_eq!(retries, 1);
    let preserved = RETRY.replace("\"preserveText\":false", "\"preserveText\":true");
    let effects = run(&[message("a", &text("part"), 0), preserved]);
    assert_eq!(ids(&effects), [("message", "a".to_owned())]);
}

/// Captured: a rate limit is announced with its delay, and after the delay a line says that the attempt starts.
#[test]
fn a_rate_limit_is_reported_once_for_each_delay() {
    let delayed = RETRY.replace("\"reason\"", "\"attempt\":1,\"maxRetries\":10,\"delayMs\":60000,\"reason\"");
    let effects = run(&[&delayed, RETRY, RETRY]);
    let classes: Vec<_> = events(&effects)
        .into_iter()
        .map(|event| match event {
            Event::Retrying(failure) => (failure.class, failure.message.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(classes[0], (ErrorClass::RateLimit, "rate limit, attempt 1 of 10 in 60.0 s"));
    assert_eq!(classes[1].0, ErrorClass::Provider, "the third line is a retry of its own");
    assert_eq!(classes.len(), 2);
}

const FAILED: &str = "[API Error: 401 no]";

fn result(text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","permission_denials":[],
        "usage":{{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0}}}}"#
    )
    .replace('\n', "")
}

/// 0.15.10 reports a failed model call as a text without figures, and a success.
#[test]
fn an_error_that_is_written_as_text_fails_the_turn_only_if_the_model_did_not_write_it() {
    let failed = run(&[message("a", &text(FAILED), 0), result(FAILED)]);
    assert!(matches!(&outcomes(&failed)[..], [Outcome::Failed(failure)]
        if failure.class == ErrorClass::Auth && failure.http_status == Some(401) && failure.message == "401 no"));
    assert!(texts(&failed).is_empty(), "an error is no answer");

    let streamed = run(&[block("text"), delta(FAILED), message("a", &text(FAILED), 0), result(FAILED)]);
    assert_eq!(ids(&streamed), [("delta", "block-1".to_owned()), ("discard", "block-1".to_owned())]);

    let measured = run(&[message("a", &text(FAILED), 7), result(FAILED)]);
    assert_eq!(outcomes(&measured), [Outcome::Completed], "the model was paid for these words");
    assert_eq!(texts(&measured), [(None, FAILED)]);

    let continued = run(&[message("a", &text(FAILED), 0), message("b", &text("So I was told."), 7), result("So.")]);
    assert_eq!(outcomes(&continued), [Outcome::Completed], "a text before a tool call has no figures either");
    assert_eq!(texts(&continued), [(None, FAILED), (None, "So I was told.")]);
}

#[test]
fn figures_of_the_result_are_the_sessions() {
    let line = result("x").replace("\"input_tokens\":0", "\"input_tokens\":4800");
    let scopes = |session| {
        let effects = run_in(session, &[message("a", &text("x"), 1200), line.clone()]);
        usages(&effects).iter().map(|usage| (usage.scope, usage.input)).collect::<Vec<_>>()
    };
    let both = [(UsageScope::Delta, Some(1200)), (UsageScope::SessionTotal, Some(4800))];
    assert_eq!(scopes(SessionChoice::Fresh(None)), both);
    assert_eq!(scopes(SessionChoice::Resume("s".to_owned())), both);
    // What the most recent session used before is not known, so that its total says nothing about the turn.
    assert_eq!(scopes(SessionChoice::MostRecent), both[..1]);
    let unmeasured = result("x").replace(",\"cache_read_input_tokens\":0", "");
    assert!(usages(&run(&[unmeasured])).is_empty(), "a turn that failed before it started");
}

#[test]
fn a_session_says_whether_it_was_resumed() {
    let init = |id: &str| {
        format!(
            r#"{{"type":"system","subtype":"init","session_id":"{id}","model":"m","qwen_code_version":"0.24.4",
            "mcp_servers":[{{"name":"lab","status":"disconnected"}}]}}"#
        )
        .replace('\n', "")
    };
    let resumed = |session, id: &str| {
        let effects = run_in(session, &[init(id)]);
        let is_down = |event: &&Event| matches!(event, Event::McpServer(server) if server.status == McpStatus::Failed);
        assert!(events(&effects).iter().any(is_down), "the MCP server is not connected");
        let session = events(&effects).into_iter().find_map(|event| match event {
            Event::Session(info) => Some(info.resumed),
            _ => None,
        });
        session.expect("a session")
    };
    assert_eq!(resumed(SessionChoice::Fresh(None), "a"), None);
    assert_eq!(resumed(SessionChoice::Resume("a".to_owned()), "a"), Some(true));
    assert_eq!(resumed(SessionChoice::Resume("a".to_owned()), "b"), Some(false));
    assert_eq!(resumed(SessionChoice::Fork("a".to_owned()), "b"), Some(true));
    assert_eq!(resumed(SessionChoice::MostRecent, "b"), None);
    let mut turn = turn::<Qwen>("prompt");
    turn.session = SessionChoice::Fork("a".to_owned());
    let mut old = Qwen::default();
    old.build_args(&turn, &binary("0.15.10"), "stream-json").expect("a command line");
    let effects = play(&mut old, Stream::Stdout, &format!("{}\n", init("b")), 1);
    let is_new = |event: &&Event| matches!(event, Event::Session(info) if info.resumed == Some(false));
    assert!(events(&effects).iter().any(is_new), "0.15.10 cannot fork: it starts over");
}

#[test]
fn a_written_file_is_reported_if_the_tool_succeeded() {
    let call = r#"{"type":"tool_use","id":"t","name":"write_file","input":{"file_path":"/w/a","content":"x"}}"#;
    let ended = |is_error: bool, text: &str| {
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":"{text}"}}"#);
        let line = format!(r#"{{"type":"user","message":{{"role":"user","content":[{result}]}}}}"#);
        let effects = run(&[message("a", call, 5), line]);
        let changes = events(&effects).into_iter().filter_map(|event| match event {
            Event::FileChange(change) => Some(change.clone()),
            _ => None,
        });
        changes.collect::<Vec<_>>()
    };
    let change = |kind| FileChange { path: "/w/a".to_owned(), kind, added: None, removed: None };
    assert_eq!(ended(false, "Successfully created and wrote to new file: /w/a."), [change(ChangeKind::Created)]);
    assert_eq!(ended(false, "Successfully overwrote file: /w/a."), [change(ChangeKind::Edited)]);
    assert_eq!(ended(true, "File /w/a has not been read in this session."), []);
}

/// Captured: a command that writes a file, with a rule that allows commands and one that denies edits.
#[test]
fn a_denied_call_of_an_allowed_tool_is_denied() {
    let call = r#"{"type":"tool_use","id":"t","name":"run_shell_command","input":{"command":"touch x"}}"#;
    let denial =
        r#"This \"run_shell_command\" invocation was denied by permission rules. Matching deny rule: \"edit\"."#;
    let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"{denial}"}}"#);
    let line = format!(r#"{{"type":"user","message":{{"role":"user","content":[{result}]}}}}"#);
    let effects = run(&[message("a", call, 5), line]);
    let ended = events(&effects).into_iter().find_map(|event| match event {
        Event::Tool(call) if call.status != ToolStatus::Running => Some(call.clone()),
        _ => None,
    });
    let ended = ended.expect("the end of the tool");
    assert_eq!(ended.status, ToolStatus::Denied);
    assert!(ended.denied_because.is_some_and(|because| because.ends_with("deny rule: \"edit\".")));
}

#[test]
fn what_is_not_known_is_reported_as_unknown() {
    let unknown = |line: &str| {
        let effects = run(&[line]);
        events(&effects).into_iter().map(|event| format!("{event:?}")).collect::<Vec<_>>().join(" ")
    };
    for (line, kind) in [
        (r#"{"type":"future"}"#.to_owned(), "future"),
        (r#"{"type":"system","subtype":"future"}"#.to_owned(), "system/future"),
        (stream(r#"{"type":"future"}"#), "stream_event/future"),
        (message("a", r#"{"type":"image"}"#, 5), "assistant/image"),
        (r#"{"type":"user","message":{"content":[{"type":"image"}]}}"#.to_owned(), "user/image"),
    ] {
        assert!(unknown(&line).contains(&format!("Unknown({kind:?})")), "{line}");
    }
    assert_eq!(unknown(r#"{"type":"system","subtype":"worktree_started","data":{}}"#), "");
    assert!(unknown(r#"{"kind":"no type"}"#).contains("Malformed"));
}

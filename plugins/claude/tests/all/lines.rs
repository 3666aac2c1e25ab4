//! Lines that the transcripts do not contain, and events that their tests do not check.

use wharf_adapter::testing::{self, FakeHost, play};
use wharf_adapter::{
    Adapter, ChangeKind, Effect, ErrorClass, Event, Outcome, Retry, SessionChoice, Stream, ToolStatus, UsageScope,
};
use wharf_adapter_claude::Claude;

fn events(lines: &[&str]) -> Vec<Event> {
    events_of(&mut Claude::default(), lines)
}

fn events_of(adapter: &mut Claude, lines: &[&str]) -> Vec<Event> {
    let output: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let effects = play(adapter, Stream::Stdout, &output, usize::MAX);
    let emitted = |effect| if let Effect::Emit(event) = effect { Some(event) } else { None };
    effects.into_iter().filter_map(emitted).collect()
}

/// A line of the API's stream.
fn streamed(event: &str) -> String {
    format!(r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":null}}"#)
}

const BEGIN: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"output_tokens":1}}}"#;
const OPEN: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const DELTA: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#;

fn assistant(message: &str, uuid: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{message}","model":"m","content":[{{"type":"text","text":"{text}"}}]}},"parent_tool_use_id":null,"uuid":"{uuid}"}}"#
    )
}

#[test]
fn a_message_has_the_id_of_its_deltas() {
    let lines = [streamed(BEGIN), streamed(OPEN), streamed(DELTA), assistant("msg_1", "u1", "Hello")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let events = events(&lines);
    let [Event::TextDelta(delta), Event::Message(message)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((testing::inline(&delta.id), testing::inline(&message.id)), ("msg_1/0", "msg_1/0"));
}

/// The names in the schemas of the program, whether or not this mode prints them.
#[test]
fn every_type_of_line_in_the_schemas_is_known() {
    let names = include_str!("../schema-2.1.325.txt");
    assert!(names.lines().count() > 90);
    for name in names.lines() {
        let line = match name.split_once('/') {
            Some((kind, subtype)) => format!(r#"{{"type":"{kind}","subtype":"{subtype}"}}"#),
            None => format!(r#"{{"type":"{name}"}}"#),
        };
        let is_unknown = |event: &Event| matches!(event, Event::Unknown(_));
        assert!(!events(&[&line]).iter().any(is_unknown), "{name}");
    }
    let unknown = r#"{"type":"system","subtype":"of_tomorrow"}"#;
    assert_eq!(events(&[unknown]), [Event::Unknown("system/of_tomorrow".to_owned())]);
}

#[test]
fn a_retracted_line_is_discarded() {
    let tombstone = r#"{"type":"tombstone","message":{"type":"assistant","uuid":"u1"},"uuid":"u2","session_id":"s"}"#;
    for (lines, id) in [
        (vec![assistant("msg_0", "u1", "Hello")], "u1"),
        (vec![streamed(BEGIN), streamed(OPEN), streamed(DELTA), assistant("msg_1", "u1", "Hello")], "msg_1/0"),
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).chain([tombstone]).collect();
        assert_eq!(events(&lines).last(), Some(&Event::Discard(id.into())));
    }
}

#[test]
fn a_fallback_for_missing_consent_changes_the_model() {
    let events = events(&[
        r#"{"type":"system","subtype":"init","session_id":"s","model":"big"}"#,
        r#"{"type":"system","subtype":"model_consent_fallback","choice":"cancelled","original_model":"big","fallback_model":"small","content":"no credits"}"#,
    ]);
    let models = events.iter().filter_map(|event| match event {
        Event::Session(session) => session.model.as_deref(),
        _ => None,
    });
    assert_eq!(models.collect::<Vec<_>>(), ["big", "small"]);
}

#[test]
fn a_missing_text_is_not_drift() {
    let message = |block: &str| {
        format!(r#"{{"type":"assistant","message":{{"id":"a","model":"m","content":[{block}]}},"uuid":"u"}}"#)
    };
    let delta =
        |kind: &str| streamed(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}"}}}}"#));
    let lines = [
        message(r#"{"type":"text"}"#),
        message(r#"{"type":"thinking","signature":"s"}"#),
        delta("text_delta"),
        delta("thinking_delta"),
    ];
    for line in lines {
        let is_drift = |event: &Event| matches!(event, Event::Malformed(_) | Event::Unknown(_));
        assert!(!events(&[&line]).iter().any(is_drift), "{line}");
    }
}

#[test]
fn deltas_that_are_never_completed_are_discarded() {
    let stop = streamed(r#"{"type":"message_stop"}"#);
    let abandoned = stop.replace("\"parent_tool", "\"abandoned_blocks\":{\"from_block_index\":0},\"parent_tool");
    let again = streamed(BEGIN).replace("msg_1", "msg_2");
    let whole = assistant("msg_2", "u2", "Hello");
    // Abandoned explicitly; started again; sent again without streaming.
    for end in [abandoned, again, whole] {
        let lines = [streamed(BEGIN), streamed(OPEN), streamed(DELTA), end];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let events = events(&lines);
        assert_eq!(events[1], Event::Discard("msg_1/0".into()), "{lines:?}");
    }
}

#[test]
fn an_interrupted_stream_still_reports_its_usage() {
    let delta = streamed(
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"output_tokens":20}}"#,
    );
    let events = events(&[&streamed(BEGIN), &delta]);
    let [Event::Usage(usage)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((usage.scope, usage.source.as_str()), (UsageScope::Delta, "stream"));
    assert_eq!((usage.model.as_deref(), usage.input, usage.output), (Some("m"), Some(10), Some(20)));
}

#[test]
fn a_rate_limit_says_when_it_resets() {
    let events = events(&[
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794800000,"rateLimitType":"five_hour"}}"#,
        r#"{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"You've hit your 5-hour limit"}]},"parent_tool_use_id":null,"error":"rate_limit","is_api_error_message":true,"api_error_status":429,"api_error":"usage_limit_reached"}"#,
        r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"result":"You've hit your 5-hour limit","modelUsage":{}}"#,
    ]);
    let Some(Event::RateLimit(limit)) = events.first() else { panic!("{events:?}") };
    assert_eq!((limit.scope.as_str(), limit.resets_at, limit.blocked), ("five_hour", Some(1_794_800_000), true));
    let Some(Event::TurnEnded(end)) = events.last() else { panic!("{events:?}") };
    let Outcome::Failed(failure) = &end.outcome else { panic!("{end:?}") };
    assert_eq!((failure.class, &failure.retry), (ErrorClass::RateLimit, &Retry::At(1_794_800_000)));
    assert!(!events.iter().any(|event| matches!(event, Event::Message(_))), "an error is not an answer");
}

#[test]
fn an_error_that_the_agent_recovered_from_is_forgotten() {
    let events = events(&[
        r#"{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"Prompt is too long"}]},"parent_tool_use_id":null,"error":"invalid_request","is_api_error_message":true}"#,
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}}"#,
        &assistant("msg_2", "u2", "fine"),
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["something else"]}"#,
    ]);
    let Some(Event::TurnEnded(end)) = events.last() else { panic!("{events:?}") };
    let Outcome::Failed(failure) = &end.outcome else { panic!("{end:?}") };
    assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::Other, "something else"));
    assert!(
        events.contains(&Event::Other(("compacted".to_owned(), r#"{"trigger":"auto","pre_tokens":9}"#.to_owned())))
    );
}

#[test]
fn a_prompt_that_is_too_long_is_recognized_by_the_reason() {
    let events = events(&[
        r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","result":"API Error: 400 x"}"#,
    ]);
    let Some(Event::TurnEnded(end)) = events.last() else { panic!("{events:?}") };
    let Outcome::Failed(failure) = &end.outcome else { panic!("{end:?}") };
    assert_eq!(failure.class, ErrorClass::ContextLength);
}

#[test]
fn the_session_says_whether_it_was_resumed() {
    let init = r#"{"type":"system","subtype":"init","session_id":"a","model":"m","claude_code_version":"2.1.325"}"#;
    for (session, resumed) in [
        (SessionChoice::Resume("a".to_owned()), Some(true)),
        (SessionChoice::Resume("b".to_owned()), Some(false)),
        (SessionChoice::Fork("b".to_owned()), Some(true)),
        (SessionChoice::Fresh(Some("a".to_owned())), None),
        (SessionChoice::MostRecent, None),
    ] {
        let mut adapter = Claude::default();
        let mut turn = testing::turn::<Claude>("go");
        turn.session = session;
        adapter.build_args(&turn, &testing::binary("2.1.325"), "").expect("arguments");
        let events = events_of(&mut adapter, &[init, init]);
        let [Event::Session(session)] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(session.resumed, resumed, "{:?}", turn.session);
    }
}

#[test]
fn files_that_tools_changed_are_reported() {
    let result = |raw: &str| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"ok"}}]}},"parent_tool_use_id":null,"tool_use_result":{raw}}}"#
        )
    };
    let edited = result(r#"{"filePath":"/a","structuredPatch":[{"lines":[" x","-y","+z","+w"]}]}"#);
    let Some(Event::FileChange(change)) = events(&[&edited]).pop() else { panic!("no change") };
    assert_eq!((change.path.as_str(), change.kind), ("/a", ChangeKind::Edited));
    assert_eq!((change.added, change.removed), (Some(2), Some(1)));
    let created = result(r#"{"type":"create","filePath":"/b","content":"x","structuredPatch":[]}"#);
    let Some(Event::FileChange(change)) = events(&[&created]).pop() else { panic!("no change") };
    assert_eq!(change.kind, ChangeKind::Created);
    let read = result(r#"{"type":"text","file":{"filePath":"/c"}}"#);
    assert!(matches!(events(&[&read]).pop(), Some(Event::Tool(_))));
}

#[test]
fn a_tool_that_was_running_at_the_exit_is_cancelled() {
    let mut adapter = Claude::default();
    let call = r#"{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"parent_tool_use_id":"p","uuid":"u"}"#;
    events_of(&mut adapter, &[call, r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#]);
    let effects = testing::finish(&mut adapter, &FakeHost::default(), 0);
    let [Effect::Emit(Event::Tool(tool))] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((testing::inline(&tool.id), tool.status), ("t", ToolStatus::Cancelled));
}

#[test]
fn a_tool_that_never_ran_is_cancelled_before_the_turn_ends() {
    let call = r#"{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"parent_tool_use_id":null,"uuid":"u"}"#;
    let end = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($1)"]}"#;
    let events = events(&[call, end]);
    let [Event::Tool(_), Event::Tool(tool), Event::TurnEnded(end)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((tool.status, &end.outcome), (ToolStatus::Cancelled, &Outcome::Limit("budget".to_owned())));
}

#[test]
fn nesting_depth_costs_no_stack() {
    let deep = "[".repeat(500_000) + &"]".repeat(500_000);
    assert!(matches!(events(&[&deep]).as_slice(), [Event::Malformed(_)]));
}

#[test]
fn the_text_of_an_interrupted_turn_is_kept() {
    let end =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}"#;
    let again = streamed(BEGIN).replace("msg_1", "msg_2");
    let events = events(&[&streamed(BEGIN), &streamed(OPEN), &streamed(DELTA), end, &again]);
    assert!(!events.iter().any(|event| matches!(event, Event::Discard(_))), "{events:?}");
}

#[test]
fn unknown_and_broken_lines_are_counted() {
    let events = events(&[
        r#"{"type":"of_tomorrow"}"#,
        r#"{"type":"system","subtype":"of_tomorrow"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"hologram"}]},"parent_tool_use_id":null}"#,
        r#"{"type":"result"}"#,
        r#"{"no":"type"}"#,
        "plain text",
        r#"{"type":"assistant","message":"no object"}"#,
        r#"{"type":"keep_alive"}"#,
    ]);
    let unknown = events.iter().filter(|event| matches!(event, Event::Unknown(_))).count();
    let malformed = events.iter().filter(|event| matches!(event, Event::Malformed(_))).count();
    assert_eq!((unknown, malformed, events.len()), (3, 4, 7), "{events:?}");
}

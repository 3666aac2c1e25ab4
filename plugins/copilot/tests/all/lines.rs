//! Lines that the captures do not contain, written from the reference: sub-agents, background work, blockers, and the
//! figures that `finish` reads (`usage`).

mod usage;

use crate::{event, notices, run, started};
use wharf_adapter::testing::{FakeHost, events, finish, inline, play};
use wharf_adapter::{
    Effect, Event, LogLevel, Outcome, RateLimit, Retry, SessionChoice, SessionInfo, Stream, ToolStatus,
};

const ID: &str = "11111111-2222-4333-8444-555555555555";
const RESULT: &str = r#"{"type":"result","timestamp":"2026-11-15T23:00:09.000Z","sessionId":"11111111-2222-4333-8444-555555555555","exitCode":0,"usage":{"premiumRequests":0.33,"totalApiDurationMs":7.5}}"#;

fn agents_event(agent: &str, kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{data},"timestamp":"2026-11-15T23:00:00.000Z","agentId":"{agent}"}}"#)
}

fn message(id: &str, content: &str) -> String {
    event(
        "assistant.message",
        &format!(r#"{{"messageId":"{id}","content":"{content}","toolRequests":[],"model":"m"}}"#),
    )
}

fn end(effects: &[Effect]) -> (Outcome, Option<String>) {
    let mut ends = events(effects).into_iter().rev().filter_map(|event| match event {
        Event::TurnEnded(end) => Some((end.outcome.clone(), end.answer.as_ref().map(|text| inline(text).to_owned()))),
        _ => None,
    });
    ends.next().expect("an end")
}

#[test]
fn the_text_of_a_sub_agent_is_never_the_answer() {
    let lines = [
        event("tool.execution_start", r#"{"toolCallId":"task-1","toolName":"task","arguments":{}}"#),
        agents_event("a1", "subagent.started", r#"{"toolCallId":"task-1","agentName":"explore"}"#),
        agents_event("a1", "assistant.message_delta", r#"{"messageId":"s1","deltaContent":"hm"}"#),
        agents_event(
            "a1",
            "tool.execution_start",
            r#"{"toolCallId":"t2","toolName":"view","arguments":{},"parentToolCallId":"task-1"}"#,
        ),
        agents_event(
            "a1",
            "assistant.message",
            r#"{"messageId":"s1","content":"sub text","toolRequests":[],"model":"small"}"#,
        ),
        agents_event("a2", "assistant.message", r#"{"messageId":"s2","content":"unknown","toolRequests":[]}"#),
        agents_event("a1", "session.error", r#"{"errorType":"query","message":"sub failed"}"#),
        agents_event("a1", "abort", r#"{"reason":"user_abort"}"#),
        RESULT.to_owned(),
    ];
    let effects = run(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let parents: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Message(part) | Event::TextDelta(part) => Some((inline(&part.id), part.parent.as_ref().map(inline))),
            Event::Tool(call) => Some((inline(&call.id), call.parent.as_ref().map(inline))),
            _ => None,
        })
        .collect();
    let expected =
        [("task-1", None), ("s1", Some("task-1")), ("t2", Some("task-1")), ("s1", Some("task-1")), ("s2", Some("a2"))];
    assert_eq!(parents, expected);
    assert_eq!(end(&effects), (Outcome::Completed, None));
    let model = events(&effects).into_iter().find_map(|event| match event {
        Event::Session(info) => Some(info.model.clone()),
        _ => None,
    });
    assert_eq!(model, Some(None), "the sub-agent's model is not the session's");
}

#[test]
fn the_summary_of_a_task_may_be_the_only_answer() {
    let task = event("session.task_complete", r#"{"summary":"all is done","success":true}"#);
    assert_eq!(end(&run(&[&message("1", ""), &task, RESULT])), (Outcome::Completed, Some("all is done".into())));
    assert_eq!(end(&run(&[&message("1", "said"), &task, RESULT])), (Outcome::Completed, None));
}

#[test]
fn a_blocked_turn_has_its_reason() {
    for (blocker, expected) in [
        (r#"{"message":"which branch?"}"#, "which branch?"),
        (r#""a password""#, "a password"),
        (r#"{"kind":"login"}"#, r#"{"kind":"login"}"#),
    ] {
        let line =
            format!(r#"{{"type":"result","sessionId":"s","exitCode":1,"outcome":"blocked","blocker":{blocker}}}"#);
        assert_eq!(end(&run(&[&line])).0, Outcome::Blocked(expected.into()));
    }
}

#[test]
fn a_retry_discards_only_the_text_of_the_failed_attempt() {
    let delta = |id: &str| event("assistant.message_delta", &format!(r#"{{"messageId":"{id}","deltaContent":"x"}}"#));
    let retry = event("assistant.turn_retry", r#"{"turnId":"1","reason":"api_error"}"#);
    let call = event(
        "model.call_failure",
        r#"{"statusCode":500,"failureKind":"api","errorMessage":"{\"message\":\"boom\"}"}"#,
    );
    let next = event("assistant.turn_start", r#"{"turnId":"1"}"#);
    let effects =
        run(&[&delta("cut-off"), &next, &delta("failed"), &call, &retry, &delta("good"), &message("good", "x")]);
    let discarded: Vec<_> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::Discard(id) => Some(inline(id).to_owned()),
            Event::Retrying(failure) => Some(format!("{:?} {}", failure.http_status, failure.message)),
            _ => None,
        })
        .collect();
    assert_eq!(discarded, ["failed", "Some(500) boom"]);
}

#[test]
fn older_versions_report_retries_and_files_in_notices() {
    let delta = event("assistant.message_delta", r#"{"messageId":"m","deltaContent":"x"}"#);
    let retry = event("session.info", r#"{"infoType":"model_retry","message":"Request failed. Retrying..."}"#);
    let file = event("session.info", r#"{"infoType":"file_created","message":"/a"}"#);
    let count = |effects: &[Effect]| {
        let is_counted =
            |event: &&Event| matches!(event, Event::Discard(_) | Event::Retrying(_) | Event::FileChange(_));
        events(effects).into_iter().filter(|event| is_counted(event)).count()
    };
    assert_eq!(count(&run(&[&delta, &retry, &file])), 3);
    let call = event("model.call_start", r#"{"turnId":"0","model":"m"}"#);
    assert_eq!(count(&run(&[&call, &delta, &retry, &file])), 0, "newer versions have events for them");
}

#[test]
fn output_in_either_form_is_reported_once() {
    let start = event("tool.execution_start", r#"{"toolCallId":"t","toolName":"bash","arguments":{}}"#);
    let partial = |text: &str| {
        event("tool.execution_partial_result", &format!(r#"{{"toolCallId":"t","partialOutput":"{text}"}}"#))
    };
    let shell = event("tool.shell_output", r#"{"toolCallId":"t","stream":"stdout","text":"ab","sequence":0}"#);
    let outputs = |lines: &[&str]| -> Vec<String> {
        let effects = run(lines);
        let texts = events(&effects).into_iter().filter_map(|event| match event {
            Event::ToolOutput(part) => Some(inline(&part.text).to_owned()),
            _ => None,
        });
        texts.collect()
    };
    assert_eq!(outputs(&[&start, &partial("a"), &partial("ab"), &partial("ab"), &partial("tail")]), ["a", "b"]);
    assert_eq!(outputs(&[&start, &shell, &partial("ab")]), ["ab"]);
}

#[test]
fn a_message_in_several_events_is_one() {
    let part = |index: u32, content: &str| {
        let data = format!(
            r#"{{"messageId":"m","content":"{content}","chunkIndex":{index},"chunkCount":2,"toolRequests":[]}}"#
        );
        event("assistant.message", &data)
    };
    let effects = run(&[&part(0, "a\\n"), &part(1, "b")]);
    let texts: Vec<_> = events(&effects).into_iter().filter(|event| matches!(event, Event::Message(_))).collect();
    assert!(matches!(texts[..], [Event::Message(part)] if inline(&part.text) == "a\nb"));
}

/// The schema calls the parts messages of one response; it does not say whether they share an id.
#[test]
fn streamed_text_of_a_part_is_not_reported_twice() {
    let lines = ["a", "b"].into_iter().zip(0..).flat_map(|(id, index)| {
        let delta = event("assistant.message_delta", &format!(r#"{{"messageId":"{id}","deltaContent":"{id}"}}"#));
        let data = format!(r#"{{"messageId":"{id}","content":"{id}","chunkIndex":{index},"chunkCount":2}}"#);
        [delta, event("assistant.message", &data)]
    });
    let lines: Vec<String> = lines.collect();
    let effects = run(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let events = events(&effects);
    let [Event::TextDelta(_), Event::TextDelta(_), Event::Discard(first), Event::Message(whole)] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((inline(first), inline(&whole.id), inline(&whole.text)), ("a", "b", "ab"));
}

#[test]
fn a_rate_limit_says_when_it_resets() {
    let error = event(
        "session.error",
        r#"{"errorType":"rate_limit","message":"wait for your limit to reset in 1 hour or","statusCode":429,"errorCode":"user_global_rate_limited"}"#,
    );
    let failed = RESULT.replace("\"exitCode\":0", "\"exitCode\":1");
    let effects = run(&[&error, &failed]);
    let at = 1_794_787_200;
    let limit = RateLimit { scope: "user_global_rate_limited".into(), resets_at: Some(at), blocked: true };
    assert!(events(&effects).contains(&&Event::RateLimit(limit)));
    assert!(matches!(end(&effects).0, Outcome::Failed(failure) if failure.retry == Retry::At(at)));
}

#[test]
fn errors_that_do_not_end_a_run_are_notices() {
    let hook = event("session.error", r#"{"errorType":"hook","message":"hook failed"}"#);
    let effects = run(&[&hook, RESULT]);
    assert_eq!(end(&effects).0, Outcome::Completed);
    assert_eq!(notices(&effects), [(LogLevel::Error, "hook failed")]);
}

#[test]
fn text_of_the_model_is_never_an_error() {
    let text = "Error: 429 rate limit, 401 unauthorized, session.error quota";
    let effects = run(&[&message("m", text), RESULT]);
    assert_eq!(end(&effects).0, Outcome::Completed);
}

fn sessions(effects: &[Effect]) -> Vec<SessionInfo> {
    let infos = events(effects).into_iter().filter_map(|event| match event {
        Event::Session(info) => Some(info.clone()),
        _ => None,
    });
    infos.collect()
}

#[test]
fn a_chosen_session_is_known_from_the_start() {
    let model = event("session.tools_updated", r#"{"model":"m"}"#);
    let mut adapter = started("1.0.102", SessionChoice::Fresh(Some(ID.into())));
    let infos = sessions(&play(&mut adapter, Stream::Stdout, &model, 1));
    assert_eq!((infos[0].id.as_deref(), infos[0].model.as_deref()), (Some(ID), Some("m")));
    let mut adapter = started("1.0.35", SessionChoice::Fresh(Some(ID.into())));
    let infos = sessions(&play(&mut adapter, Stream::Stdout, &model, 1));
    assert_eq!(infos[0].id, None, "an old version chooses by itself");
}

#[test]
fn the_model_that_auto_chose_is_reported() {
    let lines = [
        event("session.tools_updated", r#"{"model":"auto"}"#),
        event("session.auto_mode_resolved", r#"{"chosenModel":"m"}"#),
    ];
    let mut adapter = started("1.0.102", SessionChoice::Fresh(None));
    let infos = sessions(&play(&mut adapter, Stream::Stdout, &lines.join("\n"), 1));
    let models: Vec<_> = infos.iter().map(|info| info.model.as_deref()).collect();
    assert_eq!(models, [Some("auto"), Some("m")]);
}

#[test]
fn the_session_says_whether_it_was_resumed() {
    for (version, requested, expected) in [
        ("1.0.102", ID, Some(true)),
        ("1.0.102", "a name", Some(true)),
        ("1.0.35", ID, None),
        ("1.0.35", "22222222-2222-4333-8444-555555555555", Some(false)),
    ] {
        let mut adapter = started(version, SessionChoice::Resume(requested.into()));
        let infos = sessions(&play(&mut adapter, Stream::Stdout, RESULT, 1));
        assert_eq!(infos[0].resumed, expected, "{version} {requested}");
    }
}

/// 1.0.35 and older start a new session under an id that they do not know, and succeed.
#[test]
fn a_resume_that_started_a_new_session_is_not_a_resume() {
    let prompt = |stamp: &str| format!("{{\"type\":\"user.message\",\"timestamp\":\"{stamp}\",\"data\":{{}}}}\n");
    let (before, now) = (prompt("2026-11-15T22:00:00.000Z"), prompt("2026-11-15T23:00:01.000Z"));
    let path = format!("/home/user/.copilot/session-state/{ID}/events.jsonl");
    let resume = || SessionChoice::Resume(ID.into());
    for (session, journal, expected) in [
        (resume(), Some(now.clone()), Some(false)),
        (resume(), Some(before.clone() + &now), Some(true)),
        (SessionChoice::MostRecent, Some(now.clone()), Some(false)),
        (SessionChoice::MostRecent, Some(before), Some(true)),
        (resume(), None, None),
        (SessionChoice::Fresh(None), Some(now), None),
    ] {
        let host = FakeHost::default().with_variable("HOME", "/home/user");
        let host = if let Some(journal) = journal { host.file(&path, &journal) } else { host };
        let mut adapter = started("1.0.35", session.clone());
        play(&mut adapter, Stream::Stdout, &format!("{}\n{RESULT}", event("user.message", "{}")), 1);
        let infos = sessions(&finish(&mut adapter, &host, 0));
        assert_eq!(infos.last().and_then(|info| info.resumed), expected, "{session:?}");
    }
}

/// 1.0.92 with a 429: the failed call is reported at once, and no `assistant.turn_retry` follows.
#[test]
fn a_call_that_is_retried_silently_is_reported() {
    let start = event("model.call_start", r#"{"turnId":"0","model":"m"}"#);
    let failure = event(
        "model.call_failure",
        r#"{"statusCode":429,"failureKind":"api","errorCode":"rate_limit_exceeded","errorMessage":"{\"message\":\"Slow down\"}"}"#,
    );
    let effects = run(&[&start, &failure]);
    assert_eq!(notices(&effects), [(LogLevel::Warn, "a call of the model failed (HTTP 429): Slow down")]);
    let retries = |lines: &[&str]| -> Vec<Option<u16>> {
        let effects = run(lines);
        let all = events(&effects).into_iter().filter_map(|event| match event {
            Event::Retrying(failure) if failure.class == wharf_adapter::ErrorClass::RateLimit => {
                Some(failure.http_status)
            }
            _ => None,
        });
        all.collect()
    };
    assert_eq!(retries(&[&start, &failure, &start, &failure, &start, RESULT]), [Some(429); 2]);
    let told = event("assistant.turn_retry", r#"{"turnId":"0","model":"m","reason":"rate_limit"}"#);
    assert_eq!(retries(&[&start, &failure, &told, &start, RESULT]), [Some(429)], "reported once");
    let message = event("assistant.message", r#"{"messageId":"m","content":"hi"}"#);
    assert_eq!(retries(&[&start, &message, &start, RESULT]), []);
}

#[test]
fn a_run_without_output_has_no_events() {
    let mut adapter = started("1.0.102", SessionChoice::Fresh(None));
    assert!(finish(&mut adapter, &FakeHost::default(), 1).is_empty());
}

#[test]
fn tools_that_an_abort_stopped_are_cancelled() {
    let start = event("tool.execution_start", r#"{"toolCallId":"t","toolName":"bash","arguments":{}}"#);
    let abort = event("abort", r#"{"reason":"user_abort"}"#);
    let mut adapter = started("1.0.102", SessionChoice::Fresh(None));
    let mut effects = play(&mut adapter, Stream::Stdout, &format!("{start}\n{abort}\n"), 1);
    effects.extend(finish(&mut adapter, &FakeHost::default(), 0));
    let cancelled =
        |event: &&Event| matches!(event, Event::Tool(call) if call.id == "t" && call.status == ToolStatus::Cancelled);
    assert!(events(&effects).iter().any(cancelled));
    assert_eq!(end(&effects).0, Outcome::Cancelled);
}

#[test]
fn drift_is_counted_and_never_fatal() {
    let effects = run(&[
        "{\"type\":\"brand.new\",\"data\":{}}",
        "plain text",
        "{\"no\":\"type\"}",
        "{\"type\":\"assistant.message\"",
        RESULT,
    ]);
    let drift = events(&effects).into_iter().filter(|event| matches!(event, Event::Unknown(_) | Event::Malformed(_)));
    assert_eq!(drift.count(), 4);
    assert_eq!(end(&effects).0, Outcome::Completed);
}

#[test]
fn an_abort_is_recognized_by_any_of_three_events() {
    for sign in [
        event("abort", r#"{"reason":"user_initiated"}"#),
        event("assistant.idle", r#"{"aborted":true}"#),
        event("session.autopilot_stopped", r#"{"reason":"aborted"}"#),
    ] {
        assert_eq!(end(&run(&[&sign, RESULT])).0, Outcome::Cancelled, "{sign}");
    }
    assert_eq!(end(&run(&[&event("assistant.idle", "{}"), RESULT])).0, Outcome::Completed);
    let sub = agents_event("a", "session.autopilot_stopped", r#"{"reason":"aborted"}"#);
    assert_eq!(end(&run(&[&sub, RESULT])).0, Outcome::Completed, "a sub-agent's end is not the agent's");
}

#[test]
fn the_text_of_a_sub_agent_does_not_replace_the_summary() {
    let sub = agents_event("a", "assistant.message", r#"{"messageId":"s","content":"sub text","toolRequests":[]}"#);
    let task = event("session.task_complete", r#"{"summary":"all is done","success":true}"#);
    assert_eq!(end(&run(&[&sub, &task, RESULT])).1.as_deref(), Some("all is done"));
}

#[test]
fn a_call_that_was_retried_does_not_explain_a_later_error() {
    let call =
        event("model.call_failure", r#"{"failureKind":"api","statusCode":429,"errorCode":"rate_limit_exceeded"}"#);
    let error = event("session.error", r#"{"errorType":"query","message":"something else"}"#);
    let failed = RESULT.replace("\"exitCode\":0", "\"exitCode\":1");
    let class = |effects: &[Effect]| match end(effects).0 {
        Outcome::Failed(failure) => failure.class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class(&run(&[&call, &error, &failed])), wharf_adapter::ErrorClass::RateLimit);
    assert_eq!(class(&run(&[&call, &message("m", "ok"), &error, &failed])), wharf_adapter::ErrorClass::Other);
    let sub = agents_event("a", "model.call_failure", r#"{"statusCode":429,"errorCode":"rate_limit_exceeded"}"#);
    assert_eq!(class(&run(&[&sub, &error, &failed])), wharf_adapter::ErrorClass::Other, "it was not the agent's call");
    let theirs = agents_event("a", "assistant.message", r#"{"messageId":"s","content":"ok"}"#);
    assert_eq!(class(&run(&[&call, &theirs, &error, &failed])), wharf_adapter::ErrorClass::RateLimit);
}

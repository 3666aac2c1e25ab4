//! Single lines of stream-json: what the captures do not have, from runs against a mock model and from the sources.

use crate::{run, started};
use wharf_adapter::testing::{FakeHost, events, finish, inline};
use wharf_adapter::{
    Adapter, Approvals, Effect, Effects, ErrorClass, Event, Input, Outcome, SessionChoice, Stream, ToolKind,
    ToolStatus, testing,
};
use wharf_adapter_gemini::Gemini;

const SUCCESS: &str = r#"{"type":"result","status":"success","stats":{}}"#;

fn outcomes(effects: &[Effect]) -> Vec<Outcome> {
    let ends = events(effects).into_iter().filter_map(|event| match event {
        Event::TurnEnded(end) => Some(end.outcome.clone()),
        _ => None,
    });
    ends.collect()
}

fn error(message: &str) -> String {
    format!(r#"{{"type":"error","severity":"error","message":"{message}"}}"#)
}

#[test]
fn a_status_of_success_may_still_be_a_limit() {
    for (message, limit) in
        [("Maximum session turns exceeded", "max-turns"), ("Loop detected, stopping execution", "loop")]
    {
        let effects = run(&mut started(|_| {}), &[&error(message), SUCCESS]);
        assert_eq!(outcomes(&effects), [Outcome::Limit(limit.to_owned())]);
    }
    let effects = run(&mut started(|_| {}), &[&error("something else"), SUCCESS]);
    assert_eq!(outcomes(&effects), [Outcome::Completed]);
}

#[test]
fn an_error_before_the_result_decides_how_it_failed() {
    let failed = r#"{"type":"result","status":"error","stats":{}}"#;
    let outcome = |message: &str| outcomes(&run(&mut started(|_| {}), &[&error(message), failed])).pop();
    let blocked = "The model response was blocked due to safety settings.";
    assert_eq!(outcome(blocked), Some(Outcome::Refused(blocked.to_owned())));
    let cut = "Model response was truncated because it exceeded the token limit.";
    assert_eq!(outcome(cut), Some(Outcome::Limit("max-tokens".to_owned())));
    let broken = outcome("Model stream ended without a finish reason.");
    assert!(matches!(broken, Some(Outcome::Failed(failure)) if failure.class == ErrorClass::Provider));
}

#[test]
fn a_cancelled_turn_is_no_failure() {
    let line = r#"{"type":"result","status":"error","error":{"type":"FatalCancellationError","message":"Operation cancelled."},"stats":{}}"#;
    assert_eq!(outcomes(&run(&mut started(|_| {}), &[line])), [Outcome::Cancelled]);
}

/// 0.45.2 says only that an error is unknown.
#[test]
fn an_error_that_is_not_explained_waits_for_the_exit_and_not_for_ever() {
    let line = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: An unknown error occurred.]"},"stats":{}}"#;
    let failures = |effects: &[Effect]| -> Vec<ErrorClass> {
        let failed = outcomes(effects).into_iter().map(|outcome| match outcome {
            Outcome::Failed(failure) => failure.class,
            other => panic!("{other:?}"),
        });
        failed.collect()
    };
    let mut adapter = started(|_| {});
    let effects = run(&mut adapter, &[line]);
    assert_eq!(failures(&effects), []);
    let timer =
        effects.iter().find_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None });
    let stderr = "Error when talking to Gemini API Full report available at: /t/e.json RetryableQuotaError: Rate limit reached.\n";
    testing::play(&mut adapter, Stream::Stderr, stderr, 1);
    assert_eq!(failures(&finish(&mut adapter, &FakeHost::default(), 1)), [ErrorClass::RateLimit]);

    let mut adapter = started(|_| {});
    run(&mut adapter, &[line]);
    let mut out = Effects::default();
    adapter.handle(Input::Timer(timer.expect("a timer")), &mut out);
    assert_eq!(failures(out.as_slice()), [ErrorClass::Other]);
    assert_eq!(failures(&finish(&mut adapter, &FakeHost::default(), 145)), [], "it was declared once");
}

#[test]
fn a_reply_that_is_requested_again_replaces_the_first_attempt() {
    let part = |time: &str, text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2026-11-18T16:39:{time}Z","role":"assistant","content":"{text}","delta":true}}"#
        )
    };
    let lines = [
        part("13.324", "The first half "),
        part("13.344", "of it"),
        part("14.409", "The first half "),
        part("14.448", "of it and the second."),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain([SUCCESS]).collect();
    let effects = run(&mut started(|_| {}), &lines);
    let mut shown = String::new();
    for event in events(&effects) {
        match event {
            Event::TextDelta(part) => shown.push_str(inline(&part.text)),
            Event::Discard(_) => shown.clear(),
            Event::Message(part) => assert_eq!(inline(&part.text), "The first half of it and the second."),
            _ => {}
        }
    }
    assert_eq!(shown, "The first half of it and the second.");
    assert!(events(&effects).iter().any(|event| matches!(event, Event::Retrying(_))));
}

#[test]
fn text_that_is_not_to_be_streamed_comes_whole() {
    let part = r#"{"type":"message","role":"assistant","content":"po","delta":true}"#;
    let effects = run(&mut started(|turn| turn.stream_text = false), &[part, part, SUCCESS]);
    let texts: Vec<&str> = events(&effects)
        .into_iter()
        .filter_map(|event| match event {
            Event::TextDelta(_) => panic!("a delta"),
            Event::Message(part) => Some(inline(&part.text)),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["popo"]);
}

#[test]
fn a_tool_has_its_kind_its_files_and_why_it_was_denied() {
    let effects = run(
        &mut started(|_| {}),
        &[
            r#"{"type":"tool_use","tool_name":"replace","tool_id":"a","parameters":{"file_path":"/w/x","old_string":"1","new_string":"2"}}"#,
            r#"{"type":"tool_result","tool_id":"a","status":"success"}"#,
            r#"{"type":"tool_use","tool_name":"mcp_lab_echo","tool_id":"b","parameters":{}}"#,
            r#"{"type":"tool_result","tool_id":"b","status":"error","output":"no","error":{"type":"policy_violation","message":"Tool execution denied by policy."}}"#,
        ],
    );
    let all = events(&effects);
    let [Event::Tool(edit), Event::Tool(_), Event::FileChange(change), Event::Tool(server), Event::Tool(denied)] =
        all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!((edit.kind, edit.paths.as_slice()), (Some(ToolKind::Edit), &["/w/x".to_owned()][..]));
    assert!(edit.diffs[0].old.as_ref().is_some_and(|old| *old == "1") && edit.diffs[0].new == "2");
    assert_eq!(change.path, "/w/x");
    assert_eq!(server.mcp_server.as_deref(), Some("lab"));
    assert_eq!(denied.status, ToolStatus::Denied);
    assert_eq!(denied.denied_because.as_deref(), Some("Tool execution denied by policy."));
}

/// A model may call a tool that it was not offered: with approvals that deny, that is why it does not exist.
#[test]
fn a_tool_that_was_withheld_is_denied_and_an_unknown_one_failed() {
    for (approvals, name, expected) in [
        (Approvals::Deny, "run_shell_command", ToolStatus::Denied),
        (Approvals::Deny, "no_such_tool", ToolStatus::Failed),
        (Approvals::AllowAll, "run_shell_command", ToolStatus::Failed),
    ] {
        let call = format!(r#"{{"type":"tool_use","tool_name":"{name}","tool_id":"t","parameters":{{}}}}"#);
        let result = r#"{"type":"tool_result","tool_id":"t","status":"error","error":{"type":"tool_not_registered","message":"Tool not found."}}"#;
        let effects = run(&mut started(|turn| turn.approvals = approvals), &[&call, result]);
        let last = events(&effects).into_iter().rev().find_map(|event| match event {
            Event::Tool(call) => Some(call.status),
            _ => None,
        });
        assert_eq!(last, Some(expected), "{approvals:?} {name}");
    }
}

/// With nothing to resume, `--resume latest` starts a new session and says so on stderr only.
#[test]
fn a_session_that_was_not_resumed_is_reported_so_in_any_order() {
    let init = r#"{"type":"init","session_id":"s","model":"m"}"#;
    let note = "No previous sessions found for this project.\n";
    for before in [true, false] {
        let mut adapter = started(|turn| turn.session = SessionChoice::MostRecent);
        let mut effects = vec![];
        if before {
            effects.extend(testing::play(&mut adapter, Stream::Stderr, note, 1));
        }
        effects.extend(run(&mut adapter, &[init]));
        if !before {
            effects.extend(testing::play(&mut adapter, Stream::Stderr, note, 1));
        }
        let last = events(&effects).into_iter().rev().find_map(|event| match event {
            Event::Session(session) => session.resumed,
            _ => None,
        });
        assert_eq!(last, Some(false), "{before}");
    }
}

#[test]
fn a_new_type_is_counted_and_a_broken_line_reported() {
    let effects = run(&mut started(|_| {}), &[r#"{"type":"brand_new"}"#, r#"{"type":7}"#, r#"{"type":"init"}"#]);
    let all = events(&effects);
    assert!(
        matches!(all[..], [Event::Unknown(kind), Event::Malformed(_), Event::Malformed(_)] if kind == "brand_new"),
        "{all:?}"
    );
}

#[test]
fn a_process_that_ends_without_a_result_has_not_completed() {
    let mut adapter: Gemini = started(|_| {});
    let mut effects =
        run(&mut adapter, &[r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"t","parameters":{}}"#]);
    effects.extend(finish(&mut adapter, &FakeHost::default(), 0));
    assert_eq!(outcomes(&effects), []);
    assert!(
        events(&effects).iter().any(|event| matches!(event, Event::Tool(call) if call.status == ToolStatus::Cancelled))
    );
}

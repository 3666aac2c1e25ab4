//! Single lines of `run --format json`, its log, and the timer.

use crate::{built, handle, outcomes, plain_turn, usages};
use wharf_adapter::testing::{FakeHost, events, finish, play, set_option};
use wharf_adapter::{Effect, ErrorClass, Event, Input, LogLevel, Outcome, Stream};
use wharf_adapter_opencode::OpenCode;

const START: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"id":"p0","messageID":"m1","type":"step-start"}}"#;
const TEXT: &str = r#"{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"id":"p1","messageID":"m1","type":"text","text":"hi"}}"#;
const FAILED_CALL: &str = r#"timestamp=2026-11-18T16:36:46.476Z level=ERROR run=1 message="stream error" providerID=lab modelID=m session.id=ses_1 small=false agent=build mode=primary error.error="AI_APICallError: Unable to connect. Is the computer able to access the url?""#;

fn finished(reason: &str, tokens: u64) -> String {
    format!(
        r#"{{"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{{"id":"p2","messageID":"m1","reason":"{reason}","type":"step-finish","tokens":{{"input":{tokens},"output":2,"reasoning":3,"cache":{{"read":4,"write":5}}}},"cost":0.000001}}}}"#
    )
}

fn lines(adapter: &mut OpenCode, lines: &[&str]) -> Vec<Effect> {
    play(adapter, Stream::Stdout, &format!("{}\n", lines.join("\n")), 1)
}

fn adapter() -> OpenCode {
    built(&plain_turn(), "1.18.33", "run")
}

#[test]
fn the_reason_of_the_last_step_is_the_outcome() {
    for (reason, outcome) in [
        ("stop", Outcome::Completed),
        ("end-turn-of-the-future", Outcome::Completed),
        ("length", Outcome::Limit("max-tokens".to_owned())),
        ("content-filter", Outcome::Refused("the provider's filter stopped the answer".to_owned())),
    ] {
        let mut adapter = adapter();
        assert!(outcomes(&lines(&mut adapter, &[START, TEXT, &finished(reason, 1)])).is_empty(), "it may go on");
        assert_eq!(outcomes(&finish(&mut adapter, &FakeHost::default(), 0)), [outcome], "{reason}");
    }
}

#[test]
fn output_includes_reasoning_and_input_excludes_the_cache() {
    let effects = lines(&mut adapter(), &[START, &finished("stop", 1)]);
    let [usage] = &usages(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((usage.input, usage.input_includes_cached, usage.output), (Some(1), false, Some(5)));
    assert_eq!((usage.reasoning, usage.cache_read, usage.cache_write), (Some(3), Some(4), Some(5)));
    assert_eq!(usage.cost_micros, Some(1));
}

#[test]
fn answers_without_a_reason_end_the_turn_after_as_many_as_are_allowed() {
    let unfinished = finished("unknown", 0);
    for (limit, ends_at) in [(3, Some(3)), (1, Some(1)), (0, None)] {
        let mut turn = plain_turn();
        set_option(&mut turn, "max-unfinished-steps", &limit.to_string());
        let mut adapter = built(&turn, "1.18.33", "run");
        let ended = (1..=20).find(|_| !outcomes(&lines(&mut adapter, &[START, TEXT, &unfinished])).is_empty());
        assert_eq!(ended, ends_at, "at most {limit}");
        assert!(outcomes(&lines(&mut adapter, &[START, TEXT, &unfinished])).is_empty(), "it is reported once");
    }
}

#[test]
fn a_step_with_a_tool_is_progress_whatever_its_reason() {
    let tool = r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"","metadata":{"exit":0}},"id":"p3"}}"#;
    let mut adapter = adapter();
    for _ in 0..10 {
        assert!(outcomes(&lines(&mut adapter, &[START, tool, &finished("unknown", 1)])).is_empty());
    }
}

#[test]
fn calls_that_are_retried_for_ever_end_the_turn() {
    let mut turn = plain_turn();
    set_option(&mut turn, "max-retries", "2");
    let mut adapter = built(&turn, "1.18.33", "run");
    let effects = play(&mut adapter, Stream::Stderr, &format!("{FAILED_CALL}\n").repeat(3), 1);
    let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(failure.class, ErrorClass::Network);
    assert_eq!(events(&effects).iter().filter(|event| matches!(event, Event::Retrying(_))).count(), 2);
}

#[test]
fn an_answer_makes_failed_calls_void() {
    let mut turn = plain_turn();
    set_option(&mut turn, "max-retries", "2");
    let mut adapter = built(&turn, "1.18.33", "run");
    for _ in 0..4 {
        let failed = play(&mut adapter, Stream::Stderr, &format!("{FAILED_CALL}\n").repeat(2), 1);
        assert!(outcomes(&failed).is_empty());
        let answered = lines(&mut adapter, &[START, TEXT, &finished("tool-calls", 1)]);
        let retrying = events(&answered).iter().filter(|event| matches!(event, Event::Retrying(_))).count();
        assert_eq!(retrying, 1, "{answered:?}");
    }
}

#[test]
fn a_process_that_stays_after_its_answer_has_ended_its_turn() {
    let mut adapter = adapter();
    let effects = lines(&mut adapter, &[START, TEXT, &finished("stop", 1)]);
    let timers = effects
        .iter()
        .filter_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None });
    let [number] = timers.collect::<Vec<_>>()[..] else { panic!("{effects:?}") };
    assert_eq!(outcomes(&handle(&mut adapter, Input::Timer(number))), [Outcome::Completed]);
    assert!(outcomes(&finish(&mut adapter, &FakeHost::default(), 0)).is_empty(), "it is reported once");
}

#[test]
fn the_timer_of_an_earlier_answer_ends_nothing() {
    let mut adapter = adapter();
    lines(&mut adapter, &[START, TEXT, &finished("unknown", 1), START]);
    assert!(outcomes(&handle(&mut adapter, Input::Timer(1))).is_empty());
}

#[test]
fn an_error_before_a_compaction_that_works_is_void() {
    let overflow = r#"{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}"#;
    let mut adapter = adapter();
    lines(&mut adapter, &[overflow, START, TEXT, &finished("stop", 1)]);
    assert_eq!(outcomes(&finish(&mut adapter, &FakeHost::default(), 0)), [Outcome::Completed]);
}

#[test]
fn an_agent_that_does_not_exist_is_noticed() {
    let line = "\u{1b}[93m\u{1b}[1m! \u{1b}[0m agent \"nosuch\" not found. Falling back to default agent\n";
    let effects = play(&mut adapter(), Stream::Stderr, line, 1);
    let notice = |event: &&Event| matches!(event, Event::Notice(notice) if notice.level == LogLevel::Warn && notice.text.contains("nosuch"));
    assert!(events(&effects).iter().any(notice), "{effects:?}");
}

#[test]
fn a_resumed_session_is_recognized_by_its_id() {
    for (requested, resumed) in [("ses_1", true), ("ses_2", false)] {
        let mut turn = plain_turn();
        turn.session = wharf_adapter::SessionChoice::Resume(requested.to_owned());
        let effects = lines(&mut built(&turn, "1.18.33", "run"), &[START]);
        let is_session = |event: &&Event| matches!(event, Event::Session(session) if session.resumed == Some(resumed));
        assert!(events(&effects).iter().any(is_session), "{effects:?}");
    }
}

#[test]
fn a_new_type_of_line_is_counted_and_the_turn_continues() {
    let mut adapter = adapter();
    let effects = lines(
        &mut adapter,
        &[r#"{"type":"snapshot","sessionID":"ses_1","part":{}}"#, START, TEXT, &finished("stop", 1)],
    );
    assert!(events(&effects).iter().any(|event| matches!(event, Event::Unknown(kind) if kind == "snapshot")));
    assert_eq!(outcomes(&finish(&mut adapter, &FakeHost::default(), 0)), [Outcome::Completed]);
}

#[test]
fn a_step_that_starts_again_and_again_was_cut_off() {
    let mut turn = plain_turn();
    set_option(&mut turn, "max-retries", "2");
    let mut adapter = built(&turn, "1.18.33", "run");
    assert!(outcomes(&lines(&mut adapter, &[START, START, START])).is_empty());
    let effects = lines(&mut adapter, &[START]);
    let [Outcome::Failed(failure)] = &outcomes(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(failure.class, ErrorClass::Network);
}

#[test]
fn the_log_names_the_model() {
    let line = "timestamp=1 level=INFO run=0 message=stream providerID=lab modelID=mock session.id=ses_1 small=false agent=build mode=primary\n";
    let effects = play(&mut adapter(), Stream::Stderr, line, 1);
    let is_session = |event: &&Event| matches!(event, Event::Session(session) if session.id.as_deref() == Some("ses_1") && session.model.as_deref() == Some("lab/mock"));
    assert!(events(&effects).iter().any(is_session), "{effects:?}");
}

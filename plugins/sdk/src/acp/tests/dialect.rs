//! What a dialect decides, and what a session offers to change.

use super::*;
use crate::{Ignored, UsageScope};

/// An agent that repeats its history late, hides failed calls, counts the session, and sends what nobody needs.
#[derive(Default)]
struct Odd;

impl Dialect for Odd {
    const IGNORED: Ignored = Ignored::new(&["craft/drain", "queue_changed"]);
    const HISTORY_MILLIS: u32 = 300;
    const SILENCE_FAILS: bool = true;
    const USAGE: UsageScope = UsageScope::SessionTotal;

    fn authenticate(&self, methods: Json<'_>) -> Option<String> {
        methods.items().next()?.get("id").string()
    }

    fn notification(&mut self, method: &str, params: Json<'_>, transcript: &mut Transcript, out: &mut Effects) -> bool {
        let is_retry = method == "_session/retrying";
        if is_retry {
            transcript.retry(Failure::new(ErrorClass::RateLimit, params.get("detail").str().unwrap_or_default()), out);
        }
        is_retry
    }
}

#[test]
fn a_late_history_is_waited_for() {
    let mut talk = Talk::<Odd>::start(|turn| turn.session = SessionChoice::Resume("old".into()));
    talk.result(1, &json!({}));
    talk.result(2, &json!({}));
    talk.chunk("history");
    let timers: Vec<u32> = talk
        .effects
        .iter()
        .filter_map(|effect| if let Effect::SetTimer(timer) = effect { Some(timer.number) } else { None })
        .collect();
    assert_eq!(timers, [HANDSHAKE, 1, 2], "each update starts the wait again");
    talk.handle(Input::Timer(1));
    assert_eq!(talk.methods().last().map(String::as_str), Some("session/load"));
    talk.handle(Input::Timer(2));
    assert_eq!(talk.methods().last().map(String::as_str), Some("session/prompt"));
    talk.chunk("new");
    talk.result(3, &json!({"stopReason": "end_turn"}));
    assert_eq!((talk.texts(), talk.outcomes()), (vec!["new"], vec![Outcome::Completed]));
}

#[test]
fn a_dialect_decides_about_silence_retries_logins_and_what_is_ignored() {
    let mut talk = Talk::<Odd>::start(|_| {});
    talk.result(1, &json!({"authMethods": [{"id": "api-key"}]}));
    assert_eq!(
        (&talk.last_written()["method"], &talk.last_written()["params"]["methodId"]),
        (&json!("authenticate"), &json!("api-key"))
    );
    talk.result(2, &json!({}));
    talk.result(3, &json!({"sessionId": "s"}));
    talk.receive(&json!({"method": "craft/drain", "params": {}}));
    talk.update(&json!({"sessionUpdate": "queue_changed"}));
    talk.chunk("par");
    talk.receive(&json!({"method": "_session/retrying", "params": {"detail": "HTTP 429"}}));
    assert!(events(&talk.effects).contains(&&Event::Discard("text-1".into())));
    assert!(!events(&talk.effects).iter().any(|event| matches!(event, Event::Unknown(_))));
    talk.chunk("whole");
    talk.result(4, &json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 2}}));
    let scopes = events(&talk.effects).into_iter().filter_map(|event| match event {
        Event::Usage(usage) => Some(usage.scope),
        _ => None,
    });
    assert_eq!(scopes.collect::<Vec<_>>(), [UsageScope::SessionTotal]);
    assert_eq!((talk.texts(), talk.outcomes()), (vec!["whole"], vec![Outcome::Completed]));

    talk.next_turn(&turn::<Agent<Odd>>("again"));
    talk.result(5, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.failure().class, ErrorClass::Provider);
}

#[test]
fn model_and_effort_are_set_as_the_session_offers_them_and_only_once() {
    let with = |turn: &mut Turn| (turn.model, turn.effort) = (Some("Fast".into()), Some("max".into()));
    let mut talk = Talk::<Standard>::start(with);
    talk.result(1, &json!({}));
    let options = json!([
        {"id": "model", "category": "model", "currentValue": "slow", "options": [{"value": "fast-1", "name": "Fast"}]},
        {"id": "thinking", "category": "thought_level", "options": [{"value": "low"}, {"value": "high"}]},
    ]);
    talk.result(2, &json!({"sessionId": "s", "configOptions": options}));
    assert_eq!(talk.session().model.as_deref(), Some("slow"));
    assert_eq!(talk.last_written()["params"], json!({"sessionId": "s", "configId": "model", "value": "fast-1"}));
    talk.result(3, &json!({"configOptions": []}));
    assert_eq!(talk.session().model.as_deref(), Some("fast-1"));
    assert_eq!(talk.last_written()["params"], json!({"sessionId": "s", "configId": "thinking", "value": "high"}));
    talk.error(4, &json!({"code": -32602, "message": "Invalid params", "data": "not now"}));
    assert_eq!(talk.last_written()["method"], "session/prompt", "the turn works without an effort");
    talk.result(5, &json!({"stopReason": "end_turn"}));
    let mut next = turn::<Agent<Standard>>("again");
    next.model = Some("Fast".into());
    talk.next_turn(&next);
    assert_eq!(talk.methods().last().map(String::as_str), Some("session/prompt"), "the model is set already");

    let mut wrong = Talk::<Standard>::prompted(|turn| turn.model = Some("nope".into()));
    assert_eq!(wrong.last_written()["params"]["modelId"], "nope");
    wrong.error(3, &json!({"code": -32602, "message": "Invalid params", "data": "unknown model id"}));
    assert_eq!(wrong.failure().class, ErrorClass::UnknownModel);
}

#[test]
fn a_missing_login_names_the_ways_to_log_in() {
    let mut talk = Talk::<Standard>::start(|_| {});
    talk.result(1, &json!({"authMethods": [{"id": "a", "name": "A", "description": "Run `agent login`"}, {"id": "b", "name": "Set KEY"}]}));
    talk.error(2, &json!({"code": -32000, "message": "Authentication required"}));
    let failure = talk.failure();
    assert_eq!(failure.class, ErrorClass::Auth);
    assert_eq!(failure.retry, crate::Retry::AfterUserAction("Run `agent login`; or: Set KEY".into()));
}

/// Goose and `OpenCode` report the last call of a turn, and no sum.
#[test]
fn figures_of_the_last_call_are_no_total_of_a_turn_with_tools() {
    #[derive(Default)]
    struct LastCall;
    impl Dialect for LastCall {
        const LAST_CALL_ONLY: bool = true;
    }
    for (tools, counted) in [(false, true), (true, false)] {
        let mut talk = Talk::<LastCall>::prompted(|_| {});
        if tools {
            talk.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"}));
        }
        talk.result(3, &json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 2}}));
        let events = events(&talk.effects);
        assert_eq!(events.iter().any(|event| matches!(event, Event::Usage(_))), counted);
        assert_eq!(events.iter().any(|event| matches!(event, Event::UsageUnavailable(_))), !counted);
    }
}

#[test]
fn extra_folders_are_given_to_an_agent_that_takes_them() {
    #[derive(Default)]
    struct Folders;
    impl Dialect for Folders {
        const EXTRA_DIRS: bool = true;
    }
    for (capabilities, given) in [(json!({"additionalDirectories": {}}), json!(["/more"])), (json!({}), json!(null))] {
        let mut talk = Talk::<Folders>::start(|turn| turn.extra_dirs = vec!["/more".into()]);
        talk.result(1, &json!({"agentCapabilities": {"sessionCapabilities": capabilities}}));
        assert_eq!(talk.last_written()["params"]["additionalDirectories"], given);
        let warned = events(&talk.effects).iter().any(|event| matches!(event, Event::Notice(_)));
        assert_eq!(warned, given.is_null());
    }
}

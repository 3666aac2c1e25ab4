//! What comes before a prompt, and captures that are read without their requests.

use super::*;

#[test]
fn an_agent_that_does_not_answer_the_handshake_fails_the_turn() {
    let mut talk = Talk::<Standard>::start(|_| {});
    assert!(talk.agent.0.is_shaking_hands());
    talk.handle(Input::Timer(HANDSHAKE));
    assert_eq!(talk.failure().class, ErrorClass::Protocol);
    let mut talk = Talk::<Standard>::prompted(|_| {});
    talk.handle(Input::Timer(HANDSHAKE));
    assert_eq!(talk.outcomes(), [], "the handshake is done");
}

/// Vibe and codex-acp report warnings this way as soon as a session is open.
#[test]
fn what_an_agent_says_before_its_prompt_is_no_answer() {
    let mut talk = Talk::<Standard>::start(|_| {});
    talk.result(1, &json!({"protocolVersion": 1}));
    talk.chunk("Config warning: no sandbox\n\n");
    talk.result(2, &json!({"sessionId": "s"}));
    let notice = crate::Notice { level: LogLevel::Info, text: "Config warning: no sandbox".into() };
    assert!(events(&talk.effects).contains(&&Event::Notice(notice)));
    talk.chunk("Hello.");
    talk.result(3, &json!({"stopReason": "end_turn"}));
    assert_eq!(talk.texts(), ["Hello."]);
}

#[test]
fn a_capture_is_read_without_its_requests() {
    let mut talk = Talk::<Standard> { agent: Agent::default(), effects: vec![] };
    let mut plain = turn::<Agent<Standard>>("go");
    plain.session = SessionChoice::Fresh(None);
    talk.agent.0.prepare(&plain, None).expect("a prompt");
    talk.result(1, &json!({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "3.1.4"}}));
    talk.result(2, &json!({"sessionId": "s", "models": {"currentModelId": "m"}}));
    let session = talk.session();
    let found = (session.id.as_deref(), session.model.as_deref(), session.agent_version.as_deref());
    assert_eq!(found, (Some("s"), Some("m"), Some("3.1.4")));
    talk.chunk("Hello.");
    talk.result(3, &json!({"stopReason": "end_turn"}));
    talk.error(4, &json!({"code": -32601, "message": "Method not found"}));
    assert_eq!((talk.texts(), talk.outcomes()), (vec!["Hello."], vec![Outcome::Completed]));
    talk.error(5, &json!({"code": -32603, "message": "Internal error: Rate limit reached"}));
    assert_eq!(talk.failure().class, ErrorClass::RateLimit);
    assert_eq!(talk.methods(), [""; 0]);
}

//! How turns end that do not complete: without a network, without a limit left, cancelled, over no transport.

use super::*;

#[test]
fn a_model_that_cannot_be_reached_ends_the_turn_after_a_while() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    run.notify("error", refused());
    assert_eq!(run.timer(), Some((1, 60_000)));
    run.notify("error", refused());
    assert_eq!(run.timer(), Some((1, 60_000)), "one timer for one outage");
    assert_eq!(outcomes(&run.effects), []);
    run.effects.clear();
    run.send(Input::Timer(1));
    assert_eq!(run.writes()[0]["method"], "turn/interrupt");
    let ends = outcomes(&run.effects);
    let [Outcome::Failed(failure)] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!((failure.class, &failure.retry), (ErrorClass::Network, &Retry::SameSession));
    assert!(failure.message.contains("60 s") && failure.message.contains(REFUSED), "{}", failure.message);
    run.effects.clear();
    run.notify("turn/completed", json!({"turn": {"id": "1", "status": "interrupted"}}));
    assert_eq!(outcomes(&run.effects), [], "the interrupt that we sent is no other end");
    run.next_turn(&turn::<Codex>("again"));
    assert_eq!(run.writes()[0]["method"], "turn/start", "the process is still of use");
}

#[test]
fn an_outage_that_ends_does_not_end_the_turn() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    run.notify("error", refused());
    run.notify("item/agentMessage/delta", json!({"itemId": "a", "delta": "hello"}));
    run.send(Input::Timer(1));
    assert_eq!(outcomes(&run.effects), []);
    run.notify("error", refused());
    assert_eq!(run.timer(), Some((2, 60_000)), "the next outage has its own time");
    run.send(Input::Timer(1));
    assert_eq!(outcomes(&run.effects), []);
    let mut patient = turn::<Codex>("go");
    set_option(&mut patient, "reconnect-seconds", "0");
    let mut run = Run::in_turn(&patient);
    run.notify("error", refused());
    assert_eq!(run.timer(), None, "zero waits without end");
}

#[test]
fn a_retry_voids_what_was_streamed() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    run.notify("item/agentMessage/delta", json!({"itemId": "a", "delta": "cut "}));
    run.notify("error", json!({"error": {"message": "Reconnecting... 1/5"}, "willRetry": true}));
    assert!(run.events().contains(&&Event::Discard("a".into())));
}

#[test]
fn a_cancel_waits_for_the_turn_or_stops_its_start() {
    let mut early = Run::start(&turn::<Codex>("go"));
    early.send(Input::Cancel);
    assert_eq!(outcomes(&early.effects), [Outcome::Cancelled]);
    early.receive(&json!({"id": 1, "result": {}}));
    assert_eq!(early.writes().len(), 2, "no thread is started any more: {:?}", early.writes());

    let mut starting = Run::start(&turn::<Codex>("go"));
    starting.receive(&json!({"id": 1, "result": {}}));
    starting.receive(&json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    starting.effects.clear();
    starting.send(Input::Cancel);
    assert_eq!(starting.writes(), [Value::Null; 0], "the turn has no id yet");
    starting.receive(&json!({"id": 3, "result": {"turn": {"id": "1"}}}));
    assert_eq!(starting.writes()[0]["params"], json!({"threadId": "t", "turnId": "1"}));
    starting.notify("turn/completed", json!({"turn": {"id": "1", "status": "interrupted"}}));
    assert_eq!(outcomes(&starting.effects), [Outcome::Cancelled]);
}

#[test]
fn a_used_up_limit_says_when_to_try_again() {
    let mut run = Run::in_turn(&turn::<Codex>("go"));
    let window = json!({"usedPercent": 100, "resetsAt": 1_794_786_104, "windowDurationMins": 300});
    let limits = json!({"rateLimits": {"primary": window, "secondary": null, "rateLimitReachedType": null}});
    run.notify("account/rateLimits/updated", limits.clone());
    run.notify("account/rateLimits/updated", limits);
    let reported = run.events().into_iter().filter(|event| matches!(event, Event::RateLimit(_))).count();
    assert_eq!(reported, 1, "only what has changed");
    let error = json!({"message": "You've hit your usage limit.", "codexErrorInfo": "usageLimitExceeded"});
    run.notify("turn/completed", json!({"turn": {"id": "1", "status": "failed", "error": error}}));
    let ends = outcomes(&run.effects);
    let [Outcome::Failed(failure)] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!((failure.class, &failure.retry), (ErrorClass::Quota, &Retry::At(1_794_786_104)));
}

#[test]
fn a_process_that_does_not_speak_the_protocol_fails_its_transport_and_not_the_turn() {
    let has_failed = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::TransportFailed(_)));
    let mut refused = Run::start(&turn::<Codex>("go"));
    refused.receive(&json!({"id": 1, "error": {"code": -32600, "message": "what?"}}));
    assert!(has_failed(&refused.effects) && outcomes(&refused.effects).is_empty());

    let mut exited = Run::start(&turn::<Codex>("go"));
    exited.effects.extend(finish(&mut exited.adapter, &FakeHost::default(), 2));
    assert!(has_failed(&exited.effects));

    let mut cancelled = Run::start(&turn::<Codex>("go"));
    cancelled.send(Input::Cancel);
    cancelled.effects.extend(finish(&mut cancelled.adapter, &FakeHost::default(), 0));
    assert!(!has_failed(&cancelled.effects));
}

#[test]
fn exec_takes_no_input_but_its_timer() {
    let mut adapter = Codex::default();
    adapter.build_args(&turn::<Codex>("go"), &binary("0.169.0"), "exec").expect("a command line");
    let mut run = Run { adapter, effects: vec![] };
    for input in [Input::Start, Input::Message("more".into()), Input::Cancel] {
        run.send(input);
    }
    run.next_turn(&turn::<Codex>("again"));
    assert_eq!(run.effects, []);
    run.receive(&json!({"type": "error", "message": format!("Reconnecting... waiting for network ({REFUSED})")}));
    assert_eq!(run.timer(), Some((1, 60_000)));
    run.send(Input::Timer(1));
    let ends = outcomes(&run.effects);
    assert!(matches!(&ends[..], [Outcome::Failed(failure)] if failure.class == ErrorClass::Network), "{ends:?}");
    run.receive(&json!({"type": "turn.completed", "usage": {}}));
    assert_eq!(outcomes(&run.effects).len(), 1, "it has ended");
}

/// Seen in 0.142.0: the turn is over before the end of its last command is reported.
#[test]
fn a_call_whose_end_comes_late_is_not_cancelled() {
    let command = |status: &str| json!({"item": {"type": "commandExecution", "id": "c", "command": "ls", "status": status, "exitCode": null}});
    let statuses = |run: &Run| -> Vec<ToolStatus> {
        let calls = run.events().into_iter().filter_map(|event| match event {
            Event::Tool(call) => Some(call.status),
            _ => None,
        });
        calls.collect()
    };
    let open = || {
        let mut run = Run::in_turn(&turn::<Codex>("go"));
        run.notify("item/started", command("inProgress"));
        run.notify("turn/completed", json!({"turn": {"id": "1", "status": "completed"}}));
        assert_eq!(outcomes(&run.effects), []);
        run
    };
    let mut late = open();
    late.notify("item/completed", command("completed"));
    assert_eq!(statuses(&late), [ToolStatus::Running, ToolStatus::Succeeded]);
    assert_eq!(outcomes(&late.effects), [Outcome::Completed]);

    let mut never = open();
    let (timer, _) = never.timer().expect("a timer");
    never.send(Input::Timer(timer));
    assert_eq!(statuses(&never), [ToolStatus::Running, ToolStatus::Cancelled]);
    assert_eq!(outcomes(&never.effects), [Outcome::Completed]);
    never.send(Input::Timer(timer));
    assert_eq!(outcomes(&never.effects).len(), 1, "it ends once");

    let mut exited = open();
    exited.effects.extend(finish(&mut exited.adapter, &FakeHost::default(), 0));
    assert_eq!(outcomes(&exited.effects), [Outcome::Completed]);
}

//! Asks and their answers.

use super::*;

#[test]
fn the_idle_timeout_is_held_while_a_tool_runs_or_an_ask_is_open() {
    let mut bench = Bench::new(config());
    bench.step(Input::Output, at(1));
    bench.step(tool(ToolStatus::Running), at(1));
    assert_eq!(bench.step(Input::Tick, at(60)), [], "a tool runs");
    bench.step(Input::Output, at(60));
    bench.step(tool(ToolStatus::Succeeded), at(60));
    bench.step(ask("a"), at(61));
    assert_eq!(bench.step(Input::Tick, at(85)), [], "an ask is open");
    bench.step(Input::Answer(Answer::new("a", Decision::Allow)), at(86));
    assert_eq!(bench.driver.deadline(), Some(at(100)), "the total timeout is next");
    assert_eq!(bench.step(Input::Tick, at(100)), [Action::Terminate]);
    assert_eq!(bench.outcome().1.as_deref(), Some("total timeout"));
}

#[test]
fn without_an_ask_timeout_an_ask_waits_for_its_answer() {
    let timeouts = Timeouts { ask: None, total: None, ..config().timeouts };
    let mut bench = Bench::new(DriverConfig { timeouts, ..config() });
    bench.step(Input::Output, at(1));
    bench.step(ask("a"), at(1));
    assert_eq!(bench.driver.deadline(), None);
    assert_eq!(bench.step(Input::Tick, at(36_000)), []);
    let answer = bench.step(Input::Answer(Answer::new("a", Decision::Allow)), at(36_001));
    assert!(matches!(&answer[..], [Action::Send(AdapterInput::Answer(_))]), "{answer:?}");
}

#[test]
fn a_rejected_answer_leaves_the_ask_open() {
    let mut bench = Bench::new(config());
    bench.step(ask("a"), at(1));
    let actions = bench.step(Input::Answer(Answer::new("a", Decision::Choice("typo".into()))), at(2));
    assert!(bench.warned(&actions, "it offers `yes`, `no`"), "{:?}", bench.events);
    assert_eq!(bench.step(Input::Answer(Answer::new("a", Decision::Allow)), at(3)).len(), 1);
}

#[test]
fn an_adapter_that_cannot_ask_its_agent_to_stop_goes_straight_to_the_signal() {
    let mut bench = Bench::new(config());
    bench.step(Input::Cancel, at(1));
    assert_eq!(bench.step(delivered(AdapterInput::Cancel, false, false), at(1)), [Action::Terminate]);
}

#[test]
fn an_ask_that_nobody_answers_is_denied_and_blocks() {
    let mut bench = Bench::new(config());
    bench.step(Input::Output, at(1));
    bench.step(ask("a"), at(1));
    let actions = bench.step(Input::Tick, at(31));
    let [Action::Send(AdapterInput::Answer(answer))] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((answer.choice.as_deref(), answer.by), (Some("no"), AnsweredBy::Timeout));
    assert_eq!(bench.events, [EventKind::AskAnswered(answer.clone())]);
    bench.step(ended(Outcome::Completed), at(32));
    assert_eq!(bench.outcome(), (Outcome::Blocked, Some("nobody answered: may I?".into())));
}

#[test]
fn answers_go_to_open_asks_only_and_say_who_gave_them() {
    let mut bench = Bench::new(config());
    let actions = bench.step(Input::Answer(Answer::new("a", Decision::Allow)), at(1));
    assert!(bench.warned(&actions, "not open any more"));
    for (decision, kept) in [(Decision::Allow, true), (Decision::Deny, false)] {
        bench.step(ask("a"), at(1));
        let answer = Answer::new("a", decision).with_input(serde_json::json!({ "x": 1 })).by("ada");
        let actions = bench.step(Input::Answer(answer), at(2));
        let [Action::Send(AdapterInput::Answer(answered))] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!(answered.input.is_some(), kept, "changes count only with a yes");
        assert_eq!((answered.by, answered.name.as_deref()), (AnsweredBy::Caller, Some("ada")));
    }
}

#[test]
fn rules_answer_by_themselves() {
    let rules = AskRules { rules: vec![], default: RuleAnswer::Deny };
    let mut bench = Bench::new(DriverConfig { rules, ..config() });
    assert_eq!(bench.step(ask("a"), at(1)), [], "not before all output was handled");
    bench.step(Input::Flush, at(1));
    let [EventKind::AskAnswered(answered)] = &bench.events[..] else { panic!("{:?}", bench.events) };
    assert_eq!((answered.by, answered.name.as_deref()), (AnsweredBy::Rule, Some("default")));
    bench.step(ended(Outcome::Completed), at(2));
    assert_eq!(bench.outcome().0, Outcome::Completed, "a no is an answer");
}

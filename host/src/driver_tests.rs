//! Tests of the driver: time is a number, nothing waits.

use super::*;
use crate::event::{Choice, ChoiceKind, ToolCall, ToolStatus};
use crate::lift::{Part, PartKind, Said};
use crate::text::Text;
use proptest::prelude::*;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn clocks() -> Clocks {
    Clocks { first_output: Some(at(10)), idle: Some(at(20)), total: Some(at(100)), ask: at(30), grace: at(5) }
}

fn driver(ends: Ending) -> Driver {
    let mut driver = Driver::new(clocks(), AskRules::default(), ends, vec![], Usage::default());
    assert_eq!(driver.step(Input::Started, at(0)), [Action::Tell(Reply::Start)]);
    driver
}

/// Anything that a driver takes.
#[derive(Debug, Clone)]
enum Step {
    Input(Input),
    Effect(Effect<'static>),
}

impl From<Input> for Step {
    fn from(input: Input) -> Step {
        Step::Input(input)
    }
}

impl Driver {
    fn step(&mut self, step: impl Into<Step>, now: Duration) -> Vec<Action> {
        match step.into() {
            Step::Input(input) => self.handle(input, now),
            Step::Effect(effect) => {
                let mut actions = vec![];
                self.effect(effect, now, &mut actions);
                actions
            }
        }
    }
}

fn emit(event: Event) -> Step {
    Step::Effect(Effect::Emit(Box::new(event)))
}

fn delta() -> Step {
    let text = Text::Plain("x".into());
    Step::Effect(Effect::Say(Said::Part(Part { kind: PartKind::TextDelta, id: "m".into(), parent: None, text })))
}

fn ended(outcome: Outcome) -> Event {
    Event::TurnEnd { outcome, detail: None, error: None, answer: None, structured_output: None }
}

fn ask(id: &str) -> Event {
    let choice = |id: &str, kind| Choice { id: id.into(), kind, label: id.into() };
    Event::Ask(Ask {
        id: id.into(),
        kind: "permission".into(),
        title: "may I?".into(),
        tool: Some("Bash".into()),
        tool_id: None,
        detail: serde_json::json!({}),
        choices: vec![choice("yes", ChoiceKind::AllowOnce), choice("no", ChoiceKind::RejectOnce)],
        free_text: false,
        input_editable: true,
    })
}

fn tool(status: ToolStatus) -> Step {
    let call = ToolCall {
        id: "t".into(),
        parent: None,
        name: None,
        title: None,
        status,
        input: None,
        output: None,
        exit_code: None,
    };
    Step::Effect(Effect::Say(Said::Tool(Box::new(call), None)))
}

fn outcome(driver: &mut Driver) -> (Outcome, Option<String>) {
    driver.exited(Exit { code: Some(0), signal: None });
    let report = driver.report();
    (report.outcome, report.detail)
}

#[test]
fn silence_from_the_start_ends_by_the_first_clock() {
    let mut driver = driver(Ending::ByItself);
    assert_eq!(driver.deadline(), Some(at(10)));
    assert_eq!(driver.step(Input::Tick, at(9)), []);
    assert_eq!(driver.step(Input::Tick, at(10)), [Action::Terminate]);
    assert_eq!(driver.step(Input::Tick, at(15)), [Action::Kill]);
    assert_eq!(driver.deadline(), None);
    assert_eq!(outcome(&mut driver), (Outcome::Limit, Some("the first-output clock ran out".into())));
}

#[test]
fn the_idle_clock_is_held_while_a_tool_runs_or_an_ask_is_open() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Input::Output, at(1));
    driver.step(tool(ToolStatus::Running), at(1));
    assert_eq!(driver.step(Input::Tick, at(60)), [], "a tool runs");
    driver.step(Input::Output, at(60));
    driver.step(tool(ToolStatus::Succeeded), at(60));
    driver.step(emit(ask("a")), at(61));
    assert_eq!(driver.step(Input::Tick, at(85)), [], "an ask is open");
    driver.step(Input::Answer(Answer::new("a", Decision::Allow)), at(86));
    assert_eq!(driver.deadline(), Some(at(100)), "the total clock is next");
    assert_eq!(driver.step(Input::Tick, at(100)), [Action::Terminate]);
    assert_eq!(outcome(&mut driver).1.as_deref(), Some("the total clock ran out"));
}

#[test]
fn idleness_ends_by_the_idle_clock() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Input::Output, at(7));
    assert_eq!(driver.deadline(), Some(at(27)));
    driver.step(Input::Stalled, at(20));
    assert_eq!(driver.step(Input::Tick, at(30)), [], "the reader was slow, not the agent");
    assert_eq!(driver.step(Input::Tick, at(40)), [Action::Terminate]);
    assert_eq!(outcome(&mut driver).1.as_deref(), Some("the idle clock ran out"));
}

#[test]
fn a_clock_does_not_overturn_what_was_declared() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Input::Output, at(1));
    driver.step(emit(ended(Outcome::Completed)), at(1));
    assert_eq!(driver.step(Input::Tick, at(21)), [Action::Terminate], "it lingers too long");
    assert_eq!(outcome(&mut driver).0, Outcome::Completed);
}

#[test]
fn cancel_is_polite_once_and_at_once_the_second_time() {
    let mut driver = driver(Ending::ByItself);
    assert_eq!(driver.step(Input::Cancel, at(1)), [Action::Tell(Reply::Cancel)]);
    assert_eq!(driver.step(Input::CancelDelivered { wrote: true }, at(1)), [], "the agent was asked");
    assert_eq!(driver.step(Input::Tick, at(6)), [Action::Terminate]);
    assert_eq!(driver.step(Input::Cancel, at(7)), [Action::Kill]);
    assert_eq!(driver.step(Input::Cancel, at(8)), []);
    assert_eq!(outcome(&mut driver).0, Outcome::Cancelled);
}

#[test]
fn an_adapter_without_a_polite_way_goes_straight_to_the_signal() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Input::Cancel, at(1));
    assert_eq!(driver.step(Input::CancelDelivered { wrote: false }, at(1)), [Action::Terminate]);
}

#[test]
fn an_ask_that_nobody_answers_is_refused_and_blocks() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Input::Output, at(1));
    driver.step(emit(ask("a")), at(1));
    let actions = driver.step(Input::Tick, at(31));
    let refusal =
        Reply::Answer { ask: "a".into(), choice: Some("no".into()), text: None, input: None, by: "timeout".into() };
    assert_eq!(actions.last(), Some(&Action::Tell(refusal)));
    driver.step(emit(ended(Outcome::Completed)), at(32));
    assert_eq!(outcome(&mut driver), (Outcome::Blocked, Some("nobody answered: may I?".into())));
}

#[test]
fn answers_go_to_open_asks_only_and_edits_only_with_a_yes() {
    let mut driver = driver(Ending::ByItself);
    let warned = driver.step(Input::Answer(Answer::new("a", Decision::Allow)), at(1));
    assert!(matches!(warned.as_slice(), [Action::Emit(Event::Notice { .. })]));
    for (decision, kept) in [(Decision::Allow, true), (Decision::Deny, false)] {
        driver.step(emit(ask("a")), at(1));
        let answer = Answer { input: Some(serde_json::json!({ "x": 1 })), ..Answer::new("a", decision) };
        let actions = driver.step(Input::Answer(answer), at(2));
        let Some(Action::Tell(Reply::Answer { input, .. })) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(input.is_some(), kept);
    }
}

#[test]
fn nothing_is_written_to_a_closed_stdin() {
    let write = || Step::Effect(Effect::Write(b"x".to_vec()));
    let close = || Step::Effect(Effect::CloseStdin);
    let mut open = driver(Ending::WhenStdinCloses);
    assert_eq!(open.step(write(), at(1)), [Action::Write(b"x".to_vec())]);
    assert_eq!(open.step(close(), at(1)), [Action::CloseStdin]);
    assert_eq!((open.step(write(), at(1)), open.step(close(), at(1))), (vec![], vec![]));
    assert_eq!(open.step(emit(ended(Outcome::Completed)), at(2)).len(), 1, "it is closed already");
    let mut closed = driver(Ending::ByItself).with_stdin(false);
    assert_eq!((closed.step(write(), at(1)), closed.step(close(), at(1))), (vec![], vec![]));
}

#[test]
fn a_message_is_sent_or_told_of() {
    let say = || Input::Message("hi".into());
    let delivered = |wrote, explained| Input::MessageDelivered { text: "hi".into(), wrote, explained };
    let told = |actions: &[Action], why: &str| matches!(actions, [Action::Emit(Event::Notice { text, .. })] if text.ends_with(why));
    let mut open = driver(Ending::WhenStdinCloses);
    assert_eq!(open.step(say(), at(1)), [Action::Tell(Reply::Message("hi".into()))]);
    assert_eq!(open.step(delivered(true, false), at(1)), [Action::Emit(Event::MessageSent { text: "hi".into() })]);
    assert!(told(&open.step(delivered(false, false), at(1)), "the agent takes none in this turn"));
    assert_eq!(open.step(delivered(false, true), at(1)), [], "the adapter has said why");
    assert!(told(&open.step(Input::MessageUnread, at(1)), "does not read what it was told before"));
    open.step(emit(ended(Outcome::Completed)), at(2));
    assert!(told(&open.step(say(), at(2)), "the turn is over"));
    assert!(told(&driver(Ending::ByItself).with_stdin(false).step(say(), at(1)), "stdin is closed"));
}

fn next(prompt: &str) -> Input {
    Input::NextTurn(Box::new(Turn::new(prompt)))
}

#[test]
fn a_process_that_stays_takes_another_turn_and_ends_when_there_is_none() {
    let delivered = || Input::NextTurnDelivered { prompt: "more".into(), wrote: true, explained: false };
    let mut driver = driver(Ending::WhenStdinCloses).staying(true);
    driver.step(Input::Output, at(1));
    driver.step(emit(ask("a")), at(1));
    driver.step(Input::Tick, at(31));
    assert_eq!(driver.step(emit(ended(Outcome::Completed)), at(32)).len(), 1, "stdin stays open");
    assert_eq!(driver.deadline(), Some(at(100)), "it is not the agent who is silent");
    assert!(
        matches!(&driver.step(next("more"), at(60))[..], [Action::Tell(Reply::NextTurn(turn))] if turn.prompt == "more")
    );
    assert_eq!(driver.step(delivered(), at(60)), [Action::Emit(Event::TurnBegun { prompt: "more".into() })]);
    assert_eq!(driver.deadline(), Some(at(80)), "now the agent is awaited again");
    assert_eq!(driver.step(Input::NoNextTurn, at(61)), [], "the turn goes on");
    let last = driver.step(emit(ended(Outcome::Refused)), at(62));
    assert_eq!(last[1..], [Action::CloseStdin]);
    assert_eq!(outcome(&mut driver).0, Outcome::Refused, "the ask of the first turn is forgotten");
}

#[test]
fn a_turn_that_ended_before_there_was_no_other_lets_the_process_end() {
    for (ends, action) in [(Ending::WhenStdinCloses, Action::CloseStdin), (Ending::WhenStopped, Action::Terminate)] {
        let mut driver = driver(ends).staying(true);
        assert_eq!(driver.step(emit(ended(Outcome::Completed)), at(1)).len(), 1);
        assert_eq!(driver.step(Input::NoNextTurn, at(2)), [action]);
    }
}

#[test]
fn a_turn_that_cannot_begin_is_told_of() {
    let told = |actions: &[Action], why: &str| {
        assert!(matches!(actions, [Action::Emit(Event::Notice { text, .. })] if text.ends_with(why)), "{actions:?}");
    };
    let mut busy = driver(Ending::WhenStdinCloses).staying(true);
    told(&busy.step(next("more"), at(1)), "the last one has not ended");
    busy.step(emit(ended(Outcome::Completed)), at(2));
    told(&busy.step(next(" "), at(2)), "the prompt is empty");
    let one_only = Input::NextTurnDelivered { prompt: "more".into(), wrote: false, explained: false };
    told(&busy.step(one_only, at(2)), "one turn only");
    assert_eq!(outcome(&mut busy).0, Outcome::Completed, "the last turn's end still counts");
    busy.step(Input::Cancel, at(3));
    told(&busy.step(next("more"), at(3)), "being stopped");
    let mut gone = driver(Ending::WhenStdinCloses);
    gone.step(emit(ended(Outcome::Completed)), at(1));
    told(&gone.step(next("more"), at(2)), "stdin is closed");
}

#[test]
fn rules_answer_by_themselves() {
    let rules = AskRules { rules: vec![], otherwise: crate::ask::Otherwise::Deny };
    let mut driver = Driver::new(clocks(), rules, Ending::ByItself, vec![], Usage::default());
    assert_eq!(driver.step(emit(ask("a")), at(1)).len(), 1, "not before all is taken in");
    let actions = driver.step(Input::Settle, at(1));
    assert!(matches!(&actions[0], Action::Emit(Event::AskAnswered { by, .. }) if by == "rule"));
    driver.step(emit(ended(Outcome::Completed)), at(2));
    assert_eq!(outcome(&mut driver).0, Outcome::Completed, "a no is an answer");
}

#[test]
fn the_end_of_the_turn_ends_the_process_as_the_launch_says() {
    let mut by_itself = driver(Ending::ByItself);
    assert_eq!(by_itself.step(emit(ended(Outcome::Completed)), at(1)).len(), 1);
    let mut closes = driver(Ending::WhenStdinCloses);
    assert_eq!(closes.step(emit(ended(Outcome::Completed)), at(1))[1], Action::CloseStdin);
    let mut stopped = driver(Ending::WhenStopped);
    assert_eq!(stopped.step(emit(ended(Outcome::Completed)), at(1))[1], Action::Terminate);
    assert_eq!(outcome(&mut stopped).0, Outcome::Completed);
}

#[test]
fn of_several_ends_the_last_counts() {
    let mut driver = driver(Ending::ByItself);
    driver.step(emit(ended(Outcome::Limit)), at(1));
    driver.step(emit(ended(Outcome::Completed)), at(2));
    assert_eq!(outcome(&mut driver).0, Outcome::Completed);
}

#[test]
fn timers_come_back_once() {
    let mut driver = driver(Ending::ByItself);
    driver.step(Step::Effect(Effect::SetTimer { number: 7, milliseconds: 1500 }), at(1));
    assert_eq!(driver.deadline(), Some(Duration::from_millis(2500)));
    assert_eq!(driver.step(Input::Tick, at(3)), [Action::Tell(Reply::Timer(7))]);
    assert_eq!(driver.step(Input::Tick, at(4)), []);
}

fn any_step() -> impl Strategy<Value = Step> {
    let effect = prop_oneof![
        Just(delta()),
        Just(tool(ToolStatus::Running)),
        Just(tool(ToolStatus::Succeeded)),
        "[ab]".prop_map(|id| emit(ask(&id))),
        "[ab]".prop_map(|id| emit(Event::AskWithdrawn { id })),
        Just(emit(ended(Outcome::Completed))),
        Just(Step::Effect(Effect::CloseStdin)),
        (0u32..3, 0u32..5000)
            .prop_map(|(number, milliseconds)| Step::Effect(Effect::SetTimer { number, milliseconds })),
    ];
    prop_oneof![2 => any_input().prop_map(Step::Input), 1 => effect]
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        Just(Input::Output),
        Just(Input::Stalled),
        "[ab]".prop_map(|id| Input::Answer(Answer::new(id, Decision::Allow))),
        Just(Input::Cancel),
        any::<bool>().prop_map(|wrote| Input::CancelDelivered { wrote }),
        Just(Input::Fault("trap".into())),
        Just(Input::Message("more".into())),
        Just(Input::MessageUnread),
        (any::<bool>(), any::<bool>()).prop_map(|(wrote, explained)| Input::MessageDelivered {
            text: "more".into(),
            wrote,
            explained
        }),
        Just(next("more")),
        (any::<bool>(), any::<bool>()).prop_map(|(wrote, explained)| Input::NextTurnDelivered {
            prompt: "more".into(),
            wrote,
            explained
        }),
        Just(Input::NoNextTurn),
        Just(Input::Settle),
        Just(Input::Tick),
    ]
}

proptest! {
    /// Whatever came before, an agent that says nothing more is killed: there is always a deadline until then, and
    /// following the deadlines gets there in a bounded number of steps.
    #[test]
    fn the_driver_never_waits_for_ever(
        stays in any::<bool>(),
        inputs in prop::collection::vec((any_step(), 0u64..10_000), 0..60),
    ) {
        // One that stays waits for its caller, but not longer than the total clock lets it.
        let mut driver = driver(Ending::ByItself).staying(stays);
        let mut now = Duration::ZERO;
        let mut killed = false;
        for (input, step) in inputs {
            now += Duration::from_millis(step);
            killed |= driver.step(input, now).contains(&Action::Kill);
        }
        for _ in 0..100 {
            let Some(deadline) = driver.deadline() else { break };
            now = now.max(deadline);
            killed |= driver.step(Input::Tick, now).contains(&Action::Kill);
        }
        prop_assert!(killed, "stop {:?}, deadline {:?}", driver.stop, driver.deadline());
        driver.exited(Exit::default());
        let _ = driver.report();
    }
}

#[test]
fn a_message_between_two_turns_begins_none() {
    let mut driver = driver(Ending::WhenStdinCloses).staying(true);
    driver.step(emit(ended(Outcome::Completed)), at(1));
    let actions = driver.step(Input::Message("and now?".to_owned()), at(2));
    assert!(matches!(&actions[..], [Action::Emit(Event::Notice { .. })]), "{actions:?}");
}

#[test]
fn where_only_lines_are_wanted_events_are_passed_on_as_lines_in_their_order() {
    let events = |lines_only| {
        let mut driver = driver(Ending::ByItself).passing_lines(lines_only);
        let notice = emit(Event::Notice { level: Level::Info, text: "n".into() });
        let mut actions = vec![];
        for step in [delta(), delta(), notice, tool(ToolStatus::Running), emit(ended(Outcome::Completed))] {
            let Step::Effect(effect) = step else { unreachable!("all of them are") };
            driver.effect(effect, at(1), &mut actions);
        }
        actions
    };
    let passed = events(true);
    assert!(
        matches!(&passed[..], [Action::Pass(two), Action::Emit(_), Action::Pass(_), Action::Emit(_)] if two.count == 2)
    );
    let written = |actions: Vec<Action>| {
        let mut lines = Lines::default();
        for action in actions {
            match action {
                Action::Pass(passed) => lines.append(passed),
                Action::Emit(event) => lines.push(&event),
                other => panic!("{other:?}"),
            }
        }
        lines
    };
    assert_eq!(written(passed), written(events(false)));
}

//! Tests of the driver: time is a number, nothing waits.

mod asks;
mod property;
mod timers;

use super::*;
use crate::model::{
    AdapterId, AgentId, Answer, Ask, AskKind, Choice, ChoiceKind, Decision, Outcome, RunStarted, ToolCall, ToolStatus,
    TurnEnd,
};
use crate::stream::{Part, PartKind, Text, Whole};
use crate::turn::RuleAnswer;
use std::time::SystemTime;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn config() -> DriverConfig {
    let timeouts = Timeouts {
        first_output: Some(at(10)),
        idle: Some(at(20)),
        total: Some(at(100)),
        ask: Some(at(30)),
        grace: at(5),
    };
    DriverConfig { timeouts, ..DriverConfig::default() }
}

/// A driver, and the events that it emitted in the last step.
struct Bench {
    driver: Driver,
    events: Vec<EventKind>,
}

/// Anything that a driver takes. Answers are sent at once.
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

impl Bench {
    fn new(config: DriverConfig) -> Bench {
        let mut bench = Bench { driver: Driver::new(config), events: vec![] };
        assert_eq!(bench.step(Input::Started(started()), at(0)), [Action::Send(AdapterInput::Start)]);
        assert!(matches!(&bench.events[..], [EventKind::RunStarted(_)]));
        bench
    }

    fn exiting(exit_behavior: ExitBehavior) -> Bench {
        Bench::new(DriverConfig { exit_behavior, ..config() })
    }

    fn step(&mut self, step: impl Into<Step>, now: Duration) -> Vec<Action> {
        self.events.clear();
        let mut actions = vec![];
        match step.into() {
            Step::Input(input) => actions = self.driver.handle(input, now, &mut self.events),
            Step::Effect(effect) => self.driver.apply(effect, now, &mut actions, &mut self.events),
        }
        for action in &actions {
            if let Action::Send(AdapterInput::Answer(answered)) = action
                && self.driver.awaits(answered)
            {
                self.driver.handle(Input::Answered(answered.clone()), now, &mut self.events);
            }
        }
        actions
    }

    /// Whether the last step did nothing but warn of this.
    fn warned(&self, actions: &[Action], reason: &str) -> bool {
        actions.is_empty()
            && match &self.events[..] {
                [EventKind::Notice { text, .. }] => text.ends_with(reason),
                [EventKind::InputRejected(rejected)] => rejected.reason.ends_with(reason),
                _ => false,
            }
    }

    fn outcome(&mut self) -> (Outcome, Option<String>) {
        self.driver.exited(Exit { code: Some(0), signal: None });
        let report = self.driver.result().report;
        (report.outcome, report.detail)
    }
}

fn started() -> Box<RunStarted> {
    let adapter = AdapterId { id: "a".into(), version: "1".into(), sha256: String::new() };
    let agent = AgentId { program: "/bin/agent".into(), version: None, transport: "lines".into() };
    Box::new(RunStarted::new("run", SystemTime::UNIX_EPOCH, adapter, agent))
}

fn emit(event: EventKind) -> Step {
    Step::Effect(Effect::Emit(event.into()))
}

fn delta() -> Step {
    let text = Text::Plain("x".into());
    let part = Part { kind: PartKind::TextDelta, id: "m".into(), parent: None, text };
    Step::Effect(Effect::Emit(StreamedEvent::Part(part)))
}

fn ended(outcome: Outcome) -> Step {
    emit(EventKind::TurnEnded(TurnEnd::new(outcome)))
}

fn ask(id: &str) -> Step {
    let choice = |id: &str, kind| Choice { id: id.into(), kind, label: id.into() };
    let mut ask = Ask::new(id, AskKind::Permission, "may I?");
    ask.tool = Some("Bash".into());
    ask.choices = vec![choice("yes", ChoiceKind::AllowOnce), choice("no", ChoiceKind::RejectOnce)];
    ask.input_editable = true;
    emit(EventKind::Ask(ask))
}

fn tool(status: ToolStatus) -> Step {
    let call = Whole::Owned(Box::new(ToolCall::new("t", status)));
    Step::Effect(Effect::Emit(StreamedEvent::Tool(call, None)))
}

fn delivered(input: AdapterInput, wrote: bool, explained: bool) -> Input {
    Input::Delivered(Delivery { input, wrote, explained })
}

#[test]
fn silence_from_the_start_ends_by_the_first_output_timeout() {
    let mut bench = Bench::new(config());
    assert_eq!(bench.driver.deadline(), Some(at(10)));
    assert_eq!(bench.step(Input::Tick, at(9)), []);
    assert_eq!(bench.step(Input::Tick, at(10)), [Action::Terminate]);
    assert_eq!(bench.step(Input::Tick, at(15)), [Action::Kill]);
    assert_eq!(bench.driver.deadline(), None);
    assert_eq!(bench.outcome(), (Outcome::Limit, Some("first-output timeout".into())));
}

#[test]
fn silence_after_output_ends_by_the_idle_timeout() {
    let mut bench = Bench::new(config());
    bench.step(Input::Output, at(7));
    assert_eq!(bench.driver.deadline(), Some(at(27)));
    bench.step(Input::Stalled, at(20));
    assert_eq!(bench.step(Input::Tick, at(30)), [], "the reader was slow, not the agent");
    assert_eq!(bench.step(Input::Tick, at(40)), [Action::Terminate]);
    assert_eq!(bench.outcome().1.as_deref(), Some("idle timeout"));
}

#[test]
fn a_message_to_an_agent_that_takes_none_is_rejected_with_the_reason() {
    let mut bench = Bench::new(DriverConfig { no_messages: Some("it cannot".into()), ..config() });
    let actions = bench.step(Input::Message("hello".into()), at(1));
    assert!(bench.warned(&actions, "it cannot"), "{:?}", bench.events);
}

#[test]
fn an_empty_message_was_sent() {
    let mut bench = Bench::exiting(ExitBehavior::WhenStdinCloses);
    let actions = bench.step(Input::Message(" \n".into()), at(1));
    assert!(bench.warned(&actions, "empty"), "{:?}", bench.events);
}

#[test]
fn timeouts_beyond_any_time_do_not_overflow() {
    let timeouts = Timeouts {
        first_output: Some(Duration::MAX),
        idle: Some(Duration::MAX),
        total: Some(Duration::MAX),
        ask: Some(Duration::MAX),
        grace: Duration::MAX,
    };
    let mut bench = Bench::new(DriverConfig { timeouts, ..config() });
    bench.step(Input::Output, at(7));
    bench.step(ask("a"), at(8));
    bench.step(Input::Cancel, at(9));
    assert!(bench.driver.deadline().is_some_and(|deadline| deadline < at(2 * 365 * 24 * 3600)));
}

#[test]
fn a_timeout_does_not_override_what_was_declared() {
    let mut bench = Bench::new(config());
    bench.step(Input::Output, at(1));
    bench.step(ended(Outcome::Completed), at(1));
    assert_eq!(bench.step(Input::Tick, at(21)), [Action::Terminate], "it lingers too long");
    assert_eq!(bench.outcome().0, Outcome::Completed);
}

#[test]
fn cancel_requests_a_stop_and_the_second_time_kills() {
    let mut bench = Bench::new(config());
    assert_eq!(bench.step(Input::Cancel, at(1)), [Action::Send(AdapterInput::Cancel)]);
    assert_eq!(bench.step(delivered(AdapterInput::Cancel, true, false), at(1)), [], "the agent was asked");
    assert_eq!(bench.step(Input::Tick, at(6)), [Action::Terminate]);
    assert_eq!(bench.step(Input::Cancel, at(7)), [Action::Kill]);
    assert_eq!(bench.step(Input::Cancel, at(8)), []);
    assert_eq!(bench.outcome().0, Outcome::Cancelled);
}

#[test]
fn a_run_that_nobody_reads_is_killed_at_once() {
    let mut bench = Bench::new(config());
    assert_eq!(bench.step(Input::Abandoned, at(1)), [Action::Kill]);
    assert_eq!(bench.step(Input::Abandoned, at(1)), []);
    assert_eq!(bench.outcome().0, Outcome::Cancelled);
    let mut done = Bench::new(config());
    done.step(ended(Outcome::Completed), at(1));
    assert_eq!(done.step(Input::Abandoned, at(2)), [Action::Kill]);
    assert_eq!(done.outcome().0, Outcome::Completed, "the turn had ended");
}

#[test]
fn nothing_is_written_to_a_closed_stdin() {
    let write = || Step::Effect(Effect::Write(b"x".to_vec()));
    let close = || Step::Effect(Effect::CloseStdin);
    let mut open = Bench::exiting(ExitBehavior::WhenStdinCloses);
    assert_eq!(open.step(write(), at(1)), [Action::Write(b"x".to_vec())]);
    assert_eq!(open.step(close(), at(1)), [Action::CloseStdin]);
    assert_eq!((open.step(write(), at(1)), open.step(close(), at(1))), (vec![], vec![]));
    assert_eq!(open.step(ended(Outcome::Completed), at(2)), [], "it is closed already");
    let mut closed = Bench::new(DriverConfig { stdin_open: false, ..config() });
    assert_eq!((closed.step(write(), at(1)), closed.step(close(), at(1))), (vec![], vec![]));
    let mut gone = Bench::new(config());
    gone.step(Input::StdinClosed, at(1));
    assert_eq!(gone.step(write(), at(1)), []);
}

#[test]
fn a_message_is_sent_or_the_caller_is_warned() {
    let say = || Input::Message("hi".into());
    let delivered = |wrote, explained| delivered(AdapterInput::Message("hi".into()), wrote, explained);
    let mut open = Bench::exiting(ExitBehavior::WhenStdinCloses);
    assert_eq!(open.step(say(), at(1)), [Action::Send(AdapterInput::Message("hi".into()))]);
    open.step(delivered(true, false), at(1));
    assert_eq!(open.events, [EventKind::MessageSent { text: "hi".into() }]);
    let actions = open.step(delivered(false, false), at(1));
    assert!(open.warned(&actions, "the agent takes none in this turn"));
    open.step(delivered(false, true), at(1));
    assert_eq!(open.events, [], "the adapter has explained it");
    let actions = open.step(Input::MessageUnread("m".into()), at(1));
    assert!(open.warned(&actions, "has not read its earlier input"));
    open.step(ended(Outcome::Completed), at(2));
    let actions = open.step(say(), at(2));
    assert!(open.warned(&actions, "the turn is over"));
    let mut closed = Bench::new(DriverConfig { stdin_open: false, ..config() });
    let actions = closed.step(say(), at(1));
    assert!(closed.warned(&actions, "stdin is closed"));
}

#[test]
fn a_message_between_two_turns_starts_none() {
    let mut bench =
        Bench::new(DriverConfig { keep_alive: true, exit_behavior: ExitBehavior::WhenStdinCloses, ..config() });
    bench.step(ended(Outcome::Completed), at(1));
    let actions = bench.step(Input::Message("and now?".to_owned()), at(2));
    assert!(bench.warned(&actions, "the turn is over"));
}

fn next(prompt: &str) -> Input {
    Input::NextTurn(Box::new(Turn::new(prompt)))
}

fn next_delivered(wrote: bool, explained: bool) -> Input {
    delivered(AdapterInput::NextTurn(Box::new(Turn::new("more"))), wrote, explained)
}

#[test]
fn a_process_that_is_kept_alive_takes_another_turn_and_exits_when_there_is_none() {
    let mut bench =
        Bench::new(DriverConfig { keep_alive: true, exit_behavior: ExitBehavior::WhenStdinCloses, ..config() });
    bench.step(Input::Output, at(1));
    bench.step(ask("a"), at(1));
    bench.step(Input::Tick, at(31));
    assert_eq!(bench.step(ended(Outcome::Completed), at(32)), [], "stdin stays open");
    assert_eq!(bench.driver.deadline(), Some(at(100)), "the agent has no reason to write");
    let actions = bench.step(next("more"), at(60));
    assert!(matches!(&actions[..], [Action::Send(AdapterInput::NextTurn(turn))] if turn.prompt == "more"));
    bench.step(next_delivered(true, false), at(60));
    assert_eq!(bench.events, [EventKind::TurnStarted { prompt: "more".into() }]);
    assert_eq!(bench.driver.deadline(), Some(at(80)), "now the agent is expected to write again");
    assert_eq!(bench.step(Input::FinishAfterTurn, at(61)), [], "the turn goes on");
    assert_eq!(bench.step(ended(Outcome::Refused), at(62)), [Action::CloseStdin]);
    assert_eq!(bench.outcome().0, Outcome::Refused, "the ask of the first turn is forgotten");
}

#[test]
fn finish_after_turn_lets_a_waiting_process_exit() {
    for (exit_behavior, action) in
        [(ExitBehavior::WhenStdinCloses, Action::CloseStdin), (ExitBehavior::WhenStopped, Action::Terminate)]
    {
        let mut bench = Bench::new(DriverConfig { keep_alive: true, exit_behavior, ..config() });
        assert_eq!(bench.step(ended(Outcome::Completed), at(1)), []);
        assert_eq!(bench.step(Input::FinishAfterTurn, at(2)), [action]);
    }
}

#[test]
fn a_turn_that_cannot_start_is_explained() {
    let mut busy =
        Bench::new(DriverConfig { keep_alive: true, exit_behavior: ExitBehavior::WhenStdinCloses, ..config() });
    let mut refused = |input, reason| {
        let actions = busy.step(input, at(2));
        assert!(busy.warned(&actions, reason), "{reason}: {actions:?} {:?}", busy.events);
        if reason.contains("not ended") {
            busy.step(ended(Outcome::Completed), at(2));
        }
    };
    refused(next("more"), "the last one has not ended");
    refused(next(" "), "the prompt is empty");
    refused(next_delivered(false, false), "takes only one turn");
    assert_eq!(busy.outcome().0, Outcome::Completed, "the last turn's end still counts");
    busy.step(Input::Cancel, at(3));
    let actions = busy.step(next("more"), at(3));
    assert!(busy.warned(&actions, "being stopped"));
    let mut gone = Bench::exiting(ExitBehavior::WhenStdinCloses);
    gone.step(ended(Outcome::Completed), at(1));
    let actions = gone.step(next("more"), at(2));
    assert!(gone.warned(&actions, "stdin is closed"));
}

#[test]
fn the_end_of_the_turn_ends_the_process_according_to_its_exit_behavior() {
    for (exit_behavior, actions) in [
        (ExitBehavior::ByItself, vec![]),
        (ExitBehavior::WhenStdinCloses, vec![Action::CloseStdin]),
        (ExitBehavior::WhenStopped, vec![Action::Terminate]),
    ] {
        let mut bench = Bench::exiting(exit_behavior);
        assert_eq!(bench.step(ended(Outcome::Completed), at(1)), actions, "{exit_behavior:?}");
        assert_eq!(bench.outcome().0, Outcome::Completed);
    }
}

#[test]
fn of_several_ends_the_last_counts() {
    let mut bench = Bench::new(config());
    bench.step(ended(Outcome::Limit), at(1));
    bench.step(ended(Outcome::Completed), at(2));
    assert_eq!(bench.outcome().0, Outcome::Completed);
}

#[test]
fn a_recorded_event_of_the_host_has_the_effect_that_it_had() {
    let mut bench = Bench::new(DriverConfig { keep_alive: true, ..config() });
    bench.step(ended(Outcome::Failed), at(1));
    let event = EventKind::TurnStarted { prompt: "more".into() };
    assert_eq!(bench.step(Input::Recorded(Box::new(event.clone())), at(2)), []);
    assert_eq!(bench.events, [event]);
    bench.step(ended(Outcome::Completed), at(3));
    assert_eq!(bench.outcome().0, Outcome::Completed);
}

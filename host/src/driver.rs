//! The bookkeeping of a turn: a pure state machine. Inputs and a clock value in, actions out; it does no I/O, reads no
//! clock and calls no adapter. The loop in `run.rs` carries its actions out, a replay only looks at them.

pub(crate) use crate::action::{Action, Input, Reply};
use crate::ask::{Answer, AskRules, Decision};
use crate::event::{Ask, Event, Exit, IgnoredWish, Outcome, Report, Usage};
use crate::info::Level;
use crate::lift::Effect;
use crate::line::Lines;
use crate::outcome::{Clock, Facts, Verdict, decide};
use crate::summary::Summary;
use crate::turn::Turn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The clocks of a turn. An absent one never runs out.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    /// Until the first output.
    pub first_output: Option<Duration>,
    /// Without output, while no tool runs and no ask is open.
    pub idle: Option<Duration>,
    /// All of it.
    pub total: Option<Duration>,
    /// Until an ask counts as refused.
    pub ask: Duration,
    /// Between asking an agent to stop and killing it.
    pub grace: Duration,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            first_output: Some(Duration::from_mins(5)),
            idle: Some(Duration::from_mins(15)),
            total: None,
            ask: Duration::from_mins(5),
            grace: Duration::from_secs(5),
        }
    }
}

/// How the process ends once its turn has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// On its own.
    ByItself,
    /// When its stdin closes.
    WhenStdinCloses,
    /// Only when it is stopped.
    WhenStopped,
}

/// How far the stopping of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Not,
    /// The adapter asks the agent, until then.
    Politely {
        until: Duration,
    },
    /// The process was asked to end, until then.
    Terminated {
        until: Duration,
    },
    Killed,
}

/// What the events that come by the thousand are wanted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Events,
    /// Nobody looks into them.
    Lines,
}

/// The state of a turn. Times are since the run's start.
#[derive(Debug)]
pub(crate) struct Driver {
    clocks: Clocks,
    rules: AskRules,
    ends: Ending,
    /// Whether the agent's stdin can still be written to.
    stdin_open: bool,
    /// Whether the process is kept for another turn.
    stays: bool,
    wanted: Wanted,
    stop: Stop,
    last_output: Duration,
    any_output: bool,
    open_asks: BTreeMap<String, (Ask, Duration)>,
    /// Answers that rules gave, to be said when the driver settles.
    ruled: Vec<Answer>,
    timers: BTreeMap<u32, Duration>,
    facts: Facts,
    summary: Summary,
}

impl Driver {
    /// A turn that is about to start.
    pub(crate) fn new(
        clocks: Clocks,
        rules: AskRules,
        ends: Ending,
        ignored: Vec<IgnoredWish>,
        before: Usage,
    ) -> Driver {
        Driver {
            clocks,
            rules,
            ends,
            stdin_open: true,
            stays: false,
            wanted: Wanted::Events,
            stop: Stop::Not,
            last_output: Duration::ZERO,
            any_output: false,
            open_asks: BTreeMap::new(),
            ruled: vec![],
            timers: BTreeMap::new(),
            facts: Facts::default(),
            summary: Summary::new(ignored, before),
        }
    }

    /// The same, where the agent's stdin stays open behind its prompt, or does not.
    pub(crate) fn with_stdin(self, stdin_open: bool) -> Driver {
        Driver { stdin_open, ..self }
    }

    /// The same, where the process is kept for another turn, or is not.
    pub(crate) fn staying(self, stays: bool) -> Driver {
        Driver { stays, ..self }
    }

    /// The same, where nobody wants the events but as lines, or somebody does.
    pub(crate) fn passing_lines(self, lines_only: bool) -> Driver {
        let wanted = if lines_only { Wanted::Lines } else { Wanted::Events };
        Driver { wanted, ..self }
    }

    /// Take an input at a time; give what shall be done about it.
    pub(crate) fn handle(&mut self, input: Input, now: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Started => {
                self.last_output = now;
                actions.push(Action::Tell(Reply::Start));
            }
            Input::Output => {
                self.last_output = now;
                self.any_output = true;
            }
            Input::Stalled => self.last_output = now,
            Input::Answer(answer) => self.answer(answer, "caller", now, &mut actions),
            // Between two turns too: it would begin one that nobody keeps track of.
            Input::Message(_) if self.facts.declared.is_some() => actions.push(unheard("the turn is over")),
            Input::Message(text) if self.stdin_open => {
                self.last_output = now;
                actions.push(Action::Tell(Reply::Message(text)));
            }
            Input::Message(_) => actions.push(unheard("the agent's stdin is closed")),
            Input::MessageUnread => actions.push(unheard("the agent does not read what it was told before")),
            Input::MessageDelivered { text, wrote: true, .. } => {
                actions.push(Action::Emit(Event::MessageSent { text }));
            }
            Input::MessageDelivered { explained: true, .. } => {}
            Input::MessageDelivered { .. } => actions.push(unheard("the agent takes none in this turn")),
            Input::NextTurn(turn) => {
                self.last_output = now;
                let refused = self.why_no_next_turn(&turn).map(not_begun);
                actions.push(refused.unwrap_or(Action::Tell(Reply::NextTurn(turn))));
            }
            Input::NextTurnDelivered { prompt, wrote: true, .. } => {
                self.begin_turn();
                actions.push(Action::Emit(Event::TurnBegun { prompt }));
            }
            Input::NextTurnDelivered { explained: true, .. } => {}
            Input::NextTurnDelivered { .. } => actions.push(not_begun("the agent takes one turn only")),
            Input::NoNextTurn => {
                self.stays = false;
                if self.facts.declared.is_some() {
                    self.let_end(now, &mut actions);
                }
            }
            Input::Cancel => self.cancel(now, &mut actions),
            Input::CancelDelivered { wrote } => {
                if !wrote && matches!(self.stop, Stop::Politely { .. }) {
                    self.terminate(now, &mut actions);
                }
            }
            Input::Fault(fault) => {
                self.facts.adapter_fault.get_or_insert(fault);
                if self.stop == Stop::Not {
                    self.terminate(now, &mut actions);
                }
            }
            Input::Settle => {
                for answer in std::mem::take(&mut self.ruled) {
                    // It may have been withdrawn meanwhile.
                    if self.open_asks.contains_key(&answer.ask) {
                        self.answer(answer, "rule", now, &mut actions);
                    }
                }
            }
            Input::Tick => self.tick(now, &mut actions),
        }
        actions
    }

    /// The adapter wants something to happen.
    pub(crate) fn effect(&mut self, effect: Effect<'_>, now: Duration, actions: &mut Vec<Action>) {
        match effect {
            Effect::Emit(event) => self.event(*event, now, actions),
            Effect::Say(said) => {
                self.summary.note_said(&said);
                if self.wanted == Wanted::Lines {
                    lines_at_the_end(actions).say(&said);
                } else {
                    actions.push(Action::Emit(said.into_event()));
                }
            }
            // What can reach nobody is not written, so that it counts neither as sent nor as a polite word.
            Effect::Write(bytes) if self.stdin_open => actions.push(Action::Write(bytes)),
            Effect::Write(_) => {}
            Effect::CloseStdin => self.close_stdin(actions),
            Effect::SetTimer { number, milliseconds } => {
                self.timers.insert(number, now + Duration::from_millis(u64::from(milliseconds)));
            }
        }
    }

    fn event(&mut self, event: Event, now: Duration, actions: &mut Vec<Action>) {
        self.summary.note(&event);
        match &event {
            Event::Ask(ask) => {
                let ask = ask.clone();
                actions.push(Action::Emit(event));
                self.ask(ask, now);
                return;
            }
            Event::AskWithdrawn { id } => {
                self.open_asks.remove(id);
            }
            Event::TurnEnd { outcome, detail, error, .. } => {
                self.facts.declared = Some(Verdict { outcome: *outcome, detail: detail.clone(), error: error.clone() });
                actions.push(Action::Emit(event));
                self.turn_ended(now, actions);
                return;
            }
            _ => {}
        }
        actions.push(Action::Emit(event));
    }

    fn ask(&mut self, ask: Ask, now: Duration) {
        let decision = self.rules.decide(&ask);
        let id = ask.id.clone();
        self.open_asks.insert(id.clone(), (ask, now + self.clocks.ask));
        self.ruled.extend(decision.map(|decision| Answer::new(id, decision)));
    }

    fn answer(&mut self, answer: Answer, by: &str, now: Duration, actions: &mut Vec<Action>) {
        let Some((ask, _)) = self.open_asks.remove(&answer.ask) else {
            let text = format!("there is no open ask `{}` to answer", answer.ask);
            actions.push(Action::Emit(Event::Notice { level: Level::Warn, text }));
            return;
        };
        self.last_output = now;
        let choice = answer.decision.choose(&ask);
        actions.push(Action::Emit(Event::AskAnswered {
            id: ask.id.clone(),
            choice: choice.clone(),
            by: by.to_owned(),
        }));
        // What was edited counts only with a yes.
        let allowed = matches!(answer.decision, Decision::Allow | Decision::AllowAlways | Decision::Choice(_));
        let input = answer.input.filter(|_| allowed);
        actions.push(Action::Tell(Reply::Answer { ask: ask.id, choice, text: answer.text, input, by: by.to_owned() }));
    }

    fn turn_ended(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.open_asks.clear();
        if !self.waits_for_next_turn() {
            self.let_end(now, actions);
        }
    }

    /// Whether the agent has nothing to do until a caller says what.
    fn waits_for_next_turn(&self) -> bool {
        self.stays && self.stdin_open && self.stop == Stop::Not && self.facts.declared.is_some()
    }

    fn why_no_next_turn(&self, turn: &Turn) -> Option<&'static str> {
        [
            (!self.stdin_open, "the agent's stdin is closed"),
            (self.stop != Stop::Not, "the agent is being stopped"),
            (self.facts.declared.is_none(), "the last one has not ended"),
            (turn.prompt.trim().is_empty(), "the prompt is empty"),
        ]
        .into_iter()
        .find_map(|(holds, why)| holds.then_some(why))
    }

    /// Another turn has begun: how the one before it ended says nothing about this one.
    pub(crate) fn begin_turn(&mut self) {
        self.facts.declared = None;
        self.facts.unanswered = None;
        self.summary.next_turn();
    }

    fn let_end(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.ends {
            Ending::WhenStdinCloses => self.close_stdin(actions),
            Ending::WhenStopped if self.stop == Stop::Not => self.terminate(now, actions),
            Ending::ByItself | Ending::WhenStopped => {}
        }
    }

    fn close_stdin(&mut self, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.stdin_open) {
            actions.push(Action::CloseStdin);
        }
    }

    fn cancel(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.stop {
            Stop::Not => {
                // A turn that had said its end before is not cancelled by stopping what lingers.
                self.facts.cancelled = self.facts.declared.is_none();
                self.stop = Stop::Politely { until: now + self.clocks.grace };
                actions.push(Action::Tell(Reply::Cancel));
            }
            Stop::Politely { .. } | Stop::Terminated { .. } => {
                self.stop = Stop::Killed;
                actions.push(Action::Kill);
            }
            Stop::Killed => {}
        }
    }

    fn terminate(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.stop = Stop::Terminated { until: now + self.clocks.grace };
        actions.push(Action::Terminate);
    }

    fn tick(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.stop {
            Stop::Politely { until } if now >= until => self.terminate(now, actions),
            Stop::Terminated { until } if now >= until => {
                self.stop = Stop::Killed;
                actions.push(Action::Kill);
            }
            _ => {}
        }
        let due: Vec<u32> = self.timers.iter().filter(|(_, at)| now >= **at).map(|(number, _)| *number).collect();
        for number in due {
            self.timers.remove(&number);
            actions.push(Action::Tell(Reply::Timer(number)));
        }
        let late: Vec<String> =
            self.open_asks.iter().filter(|(_, (_, at))| now >= *at).map(|(id, _)| id.clone()).collect();
        for id in late {
            if let Some((ask, _)) = self.open_asks.get(&id) {
                self.facts.unanswered.get_or_insert(ask.title.clone());
            }
            self.answer(Answer::new(id, Decision::Deny), "timeout", now, actions);
        }
        if self.stop == Stop::Not
            && let Some((clock, _)) = self.clock_due().filter(|(_, at)| now >= *at)
        {
            if self.facts.declared.is_none() {
                self.facts.clock = Some(clock);
            }
            self.terminate(now, actions);
        }
    }

    /// The clock that runs out next, and when.
    fn clock_due(&self) -> Option<(Clock, Duration)> {
        let total = self.clocks.total.map(|limit| (Clock::Total, limit));
        let first = self.clocks.first_output.filter(|_| !self.any_output).map(|limit| (Clock::FirstOutput, limit));
        // What a tool or a person takes is not the agent's silence.
        // Once the turn is declared over, a tool that was never said to have ended holds nothing.
        let held = self.facts.declared.is_none() && (self.summary.any_tool_running() || !self.open_asks.is_empty());
        let held = held || self.waits_for_next_turn();
        let idle =
            self.clocks.idle.filter(|_| self.any_output && !held).map(|limit| (Clock::Idle, self.last_output + limit));
        [total, first, idle].into_iter().flatten().min_by_key(|(_, at)| *at)
    }

    /// When to come back with a `Tick`, if nothing else happens before.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let stop = match self.stop {
            Stop::Politely { until } | Stop::Terminated { until } => Some(until),
            Stop::Not => self.clock_due().map(|(_, at)| at),
            Stop::Killed => None,
        };
        let timers = self.timers.values().min().copied();
        let asks = self.open_asks.values().map(|(_, at)| *at).min();
        [stop, timers, asks].into_iter().flatten().min()
    }

    /// What is known beside the events: how it ended, or why it did not start.
    pub(crate) fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// How it all ended.
    pub(crate) fn report(&self) -> Report {
        let (verdict, _) = decide(&self.facts);
        self.summary.report(verdict, self.facts.exit)
    }

    /// What the session has used in all, where the runtime says that.
    pub(crate) fn session_usage(&self) -> Option<Usage> {
        self.summary.session_usage()
    }

    /// Facts for a replay of a run that was cancelled or ran out of time.
    pub(crate) fn assume(&mut self, cancelled: bool, clock: Option<Clock>, unanswered: Option<String>) {
        self.facts.cancelled = cancelled;
        self.facts.clock = clock;
        self.facts.unanswered = unanswered;
    }

    /// The facts that a replay cannot see in the streams.
    pub(crate) fn assumptions(&self) -> (bool, Option<&'static str>, Option<String>) {
        (self.facts.cancelled, self.facts.clock.map(Clock::name), self.facts.unanswered.clone())
    }

    /// The agent takes nothing more, though nobody closed its stdin.
    pub(crate) fn stdin_gone(&mut self) {
        self.stdin_open = false;
    }

    /// How the process ended.
    pub(crate) fn exited(&mut self, exit: Exit) {
        self.facts.exit = Some(exit);
    }

    /// Whether the outcome is still open to the adapter's reading of exit and stderr.
    pub(crate) fn needs_parse_error(&self) -> bool {
        self.facts.declared.is_none() && !self.facts.cancelled && self.facts.clock.is_none()
    }
}

/// The lines that were written last, where nothing else has to happen behind them.
fn lines_at_the_end(actions: &mut Vec<Action>) -> &mut Lines {
    if !matches!(actions.last(), Some(Action::Pass(_))) {
        actions.push(Action::Pass(Lines::default()));
    }
    match actions.last_mut() {
        Some(Action::Pass(lines)) => lines,
        _ => unreachable!("they were put there"),
    }
}

/// A message is never dropped silently.
fn unheard(why: &str) -> Action {
    Action::Emit(Event::Notice { level: Level::Warn, text: format!("a message was not passed on: {why}") })
}

fn not_begun(why: &str) -> Action {
    Action::Emit(Event::Notice { level: Level::Warn, text: format!("another turn was not begun: {why}") })
}

impl Report {
    /// Whether the turn ended well.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;

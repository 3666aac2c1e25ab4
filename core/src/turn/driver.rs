//! The state machine of a turn. Inputs and a time in; events and actions out. It does no I/O, reads no clock and calls
//! no adapter: the run's loop carries out its actions, a replay only inspects them.

mod shutdown;

use super::asks::Asks;
use super::config::{DriverConfig, TurnResult};
use super::contract::violation;
use super::input::{Action, AdapterInput, Delivery, Effect, EventSink, Input};
use super::notices::{message_not_sent, not_sent, reject, turn_not_started, warn};
use super::outcome::{EndFacts, Facts, Verdict, decide};
use super::rules::AskRules;
use super::stop::Stop;
use super::summary::Summary;
use super::timeouts::Timeouts;
use super::timers::{TIMERS, Timers};
use crate::model::{AnsweredBy, AskAnswered, EventKind, Exit, ExitBehavior, Failure, Outcome, Turn, TurnEnd};
use crate::stream::StreamedEvent;
use std::time::Duration;

/// The state of a turn. Times are since the start of the run.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Driver {
    timeouts: Timeouts,
    rules: AskRules,
    exit_behavior: ExitBehavior,
    /// Whether the agent's stdin can still be written to.
    stdin_open: bool,
    keep_alive: bool,
    timed: bool,
    replay: bool,
    stop: Stop,
    last_output: Duration,
    any_output: bool,
    no_messages: Option<String>,
    asks: Asks,
    timers: Timers,
    facts: Facts,
    summary: Summary,
}

impl Driver {
    /// A turn that is about to start.
    pub fn new(config: DriverConfig) -> Driver {
        Driver {
            timeouts: config.timeouts.clamped(),
            rules: config.rules,
            exit_behavior: config.exit_behavior,
            stdin_open: config.stdin_open,
            keep_alive: config.keep_alive,
            timed: config.timed,
            replay: config.replay,
            stop: Stop::No,
            last_output: Duration::ZERO,
            any_output: false,
            no_messages: config.no_messages,
            asks: Asks::default(),
            timers: Timers::default(),
            facts: Facts::default(),
            summary: Summary::new(config.session, config.unsupported, config.used_before)
                .with_prices(config.prices)
                .expecting_structured_output(config.structured_output),
        }
    }

    /// Handles one input. Events go to the sink; the actions to carry out are returned.
    pub fn handle(&mut self, input: Input, now: Duration, sink: &mut dyn EventSink) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Started(started) => {
                self.last_output = now;
                sink.emit(EventKind::RunStarted(started).into(), now);
                actions.push(Action::Send(AdapterInput::Start));
            }
            Input::Output => {
                self.last_output = now;
                self.any_output = true;
            }
            Input::Stalled => self.last_output = now,
            Input::StdinClosed => self.stdin_open = false,
            Input::Answer(answer) => match self.asks.answer(answer) {
                Ok(answered) => self.answer([answered], now, &mut actions),
                Err(rejected) => reject(rejected, now, sink),
            },
            Input::Message(text) => {
                if let Some(reason) = self.why_no_message(&text) {
                    message_not_sent(&text, reason, now, sink);
                } else {
                    self.last_output = now;
                    actions.push(Action::Send(AdapterInput::Message(text)));
                }
            }
            Input::MessageUnread(text) => {
                message_not_sent(&text, "the agent has not read its earlier input", now, sink);
            }
            Input::Rejected(rejected) => reject(rejected, now, sink),
            Input::NextTurn(turn) => {
                self.last_output = now;
                match self.why_no_next_turn(&turn) {
                    Some(reason) => turn_not_started(&turn.prompt, reason, now, sink),
                    None => actions.push(Action::Send(AdapterInput::NextTurn(turn))),
                }
            }
            Input::Answered(answered) => {
                let question = self.asks.sent(&answered).filter(|_| answered.by == AnsweredBy::Timeout);
                self.facts.end.unanswered = self.facts.end.unanswered.take().or(question);
                sink.emit(EventKind::AskAnswered(answered).into(), now);
            }
            Input::Delivered(delivery) => self.delivered(delivery, now, &mut actions, sink),
            Input::NotSent { input, reason } => not_sent(&input, &reason, now, sink),
            Input::FinishAfterTurn => {
                self.keep_alive = false;
                if self.facts.declared.is_some() {
                    self.let_exit(now, &mut actions);
                }
            }
            Input::Cancel => self.cancel(now, &mut actions),
            Input::Abandoned => {
                self.facts.end.cancelled |= self.stop == Stop::No && self.facts.declared.is_none();
                self.kill(&mut actions);
            }
            Input::AdapterFailed(fault) => self.adapter_failed(fault, now, &mut actions),
            Input::Flush => {
                let answers = self.asks.take_own_answers();
                self.answer(answers, now, &mut actions);
            }
            Input::Tick => self.tick(now, &mut actions),
            Input::Recorded(event) => {
                if matches!(*event, EventKind::TurnStarted { .. }) {
                    self.start_turn();
                }
                sink.emit((*event).into(), now);
            }
        }
        actions
    }

    /// The adapter requests something.
    pub fn apply(&mut self, effect: Effect<'_>, now: Duration, actions: &mut Vec<Action>, sink: &mut dyn EventSink) {
        match effect {
            Effect::Emit(event) => self.observe(event, now, actions, sink),
            // What cannot reach the agent is not written, so that it is neither a sent message nor a request to stop.
            Effect::Write(bytes) if self.stdin_open => actions.push(Action::Write(bytes)),
            Effect::Write(_) => {}
            Effect::CloseStdin => self.close_stdin(actions),
            Effect::SetTimer { .. } if self.replay => {}
            Effect::SetTimer { number, delay } => {
                if !self.timers.set(number, now + delay) {
                    let fault = format!("the adapter failed: it set more than {TIMERS} timers at a time");
                    self.adapter_failed(fault, now, actions);
                }
            }
            Effect::TransportFailed(failure) => {
                let mut end = TurnEnd::new(Outcome::Failed);
                end.error = Some(failure);
                self.observe(EventKind::TurnEnded(end).into(), now, actions, sink);
                if self.stop == Stop::No {
                    self.terminate(now, actions);
                }
            }
        }
    }

    fn observe(
        &mut self,
        mut event: StreamedEvent<'_>,
        now: Duration,
        actions: &mut Vec<Action>,
        sink: &mut dyn EventSink,
    ) {
        if let Some(malformed) = violation(&event) {
            event = malformed.into();
        }
        self.summary.observe(&mut event, self.timed.then_some(now));
        let mut turn_ended = false;
        if let StreamedEvent::Other(event) = &mut event {
            match &**event {
                EventKind::Ask(_) | EventKind::AskWithdrawn { .. } => {
                    let rules = (!self.replay).then_some(&self.rules);
                    let until = self.timeouts.ask.map(|timeout| now + timeout);
                    if let Some(withdrawn) = self.asks.observe(event.to_mut(), until, rules) {
                        sink.emit(withdrawn.into(), now);
                    }
                }
                EventKind::TurnEnded(end) => {
                    let (detail, error) = (end.detail.clone(), end.error.clone());
                    self.facts.declared = Some(Verdict { outcome: end.outcome, detail, error });
                    turn_ended = true;
                }
                _ => {}
            }
        }
        sink.emit(event, now);
        if turn_ended {
            self.asks.clear();
            if !self.waits_for_next_turn() {
                self.let_exit(now, actions);
            }
        }
    }

    /// Answers are sent to the adapter, each with its event then.
    fn answer(&mut self, answers: impl IntoIterator<Item = AskAnswered>, now: Duration, actions: &mut Vec<Action>) {
        for answered in answers {
            self.last_output = now;
            actions.push(Action::Send(AdapterInput::Answer(answered)));
        }
    }

    /// Whether an answer that was decided can still be sent: its ask may have been withdrawn since.
    pub fn awaits(&self, answered: &AskAnswered) -> bool {
        self.asks.awaits(answered)
    }

    /// Whether the process is told to exit: then nothing more needs to be sent to the adapter.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_certain()
    }

    /// Whether a flush would answer anything.
    pub fn has_answers(&self) -> bool {
        self.asks.has_own_answers()
    }

    /// What the adapter did with an input decides whether it counts as sent.
    fn delivered(
        &mut self,
        Delivery { input, wrote, explained }: Delivery,
        now: Duration,
        actions: &mut Vec<Action>,
        sink: &mut dyn EventSink,
    ) {
        match input {
            AdapterInput::Cancel if !wrote && matches!(self.stop, Stop::Requested { .. }) => {
                self.terminate(now, actions);
            }
            AdapterInput::Message(text) if wrote => sink.emit(EventKind::MessageSent { text }.into(), now),
            AdapterInput::Message(text) if !explained => {
                message_not_sent(&text, "the agent takes none in this turn", now, sink);
            }
            AdapterInput::NextTurn(turn) if wrote => {
                self.start_turn();
                sink.emit(EventKind::TurnStarted { prompt: turn.prompt }.into(), now);
            }
            AdapterInput::NextTurn(turn) if !explained => {
                turn_not_started(&turn.prompt, "the agent takes only one turn", now, sink);
            }
            _ => {}
        }
    }

    /// Why a message cannot be sent, if so. Between two turns it would start one that nobody keeps track of.
    fn why_no_message(&self, text: &str) -> Option<&str> {
        if self.facts.declared.is_some() {
            return Some("the turn is over");
        }
        if text.trim().is_empty() {
            return Some("the message is empty");
        }
        self.no_messages.as_deref().or((!self.stdin_open).then_some("the agent's stdin is closed"))
    }

    fn why_no_next_turn(&self, turn: &Turn) -> Option<&'static str> {
        [
            (!self.stdin_open, "the agent's stdin is closed"),
            (self.stop != Stop::No, "the agent is being stopped"),
            (self.facts.declared.is_none(), "the last one has not ended"),
            (turn.prompt.trim().is_empty(), "the prompt is empty"),
        ]
        .into_iter()
        .find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// Another turn has started: how the one before it ended says nothing about this one.
    fn start_turn(&mut self) {
        self.facts.declared = None;
        self.facts.end.unanswered = None;
        self.summary.next_turn();
    }

    /// Whether the agent has nothing to do until the caller starts a turn.
    fn waits_for_next_turn(&self) -> bool {
        self.keep_alive && self.stdin_open && self.stop == Stop::No && self.facts.declared.is_some()
    }

    /// The process has exited. Returns whether the outcome still depends on what the adapter concludes from exit and
    /// stderr.
    pub fn exited(&mut self, exit: Exit) -> bool {
        self.facts.exit = Some(exit);
        self.facts.declared.is_none() && !self.facts.end.cancelled && self.facts.end.timeout.is_none()
    }

    /// What the adapter concluded from exit and stderr.
    pub fn concluded(&mut self, failure: Option<Failure>) {
        self.facts.parsed = failure;
    }

    /// In a replay: what the host had done to the turn, which the agent's output does not show.
    pub fn assume(&mut self, end: EndFacts) {
        self.facts.end = end;
    }

    /// The id of the session that the agent named last.
    pub fn session_id(&self) -> Option<&str> {
        self.summary.session().map(|session| session.id.as_str())
    }

    /// Warns if the run was not in the session that the caller chose, or if that is unknown. Called at its end.
    pub fn check_session(&self, now: Duration, sink: &mut dyn EventSink) {
        if let Some(text) = self.summary.session_warning(self.facts.declared.as_ref()) {
            warn(text, now, sink);
        }
    }

    /// The result of the turn.
    pub fn result(&self) -> TurnResult {
        let (verdict, _) = decide(&Facts { denied: self.summary.denied_tool(), ..self.facts.clone() });
        let mut report = self.summary.report(verdict, self.facts.exit);
        report.omitted.asks = self.asks.omitted();
        TurnResult { report, session_usage: self.summary.session_usage(), end: self.facts.end.clone() }
    }
}

#[cfg(test)]
mod tests;

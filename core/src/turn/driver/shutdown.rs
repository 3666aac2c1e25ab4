//! How a turn's process comes to its end: it is let go, asked to stop, signalled, killed; and when that is due.

use super::Driver;
use crate::model::ExitBehavior;
use crate::turn::input::{Action, AdapterInput};
use crate::turn::stop::Stop;
use crate::turn::timeouts::Timeout;
use std::time::Duration;

impl Driver {
    pub(super) fn let_exit(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.exit_behavior {
            ExitBehavior::WhenStdinCloses => self.close_stdin(actions),
            ExitBehavior::WhenStopped if self.stop == Stop::No => self.terminate(now, actions),
            ExitBehavior::ByItself | ExitBehavior::WhenStopped => {}
        }
    }

    pub(super) fn close_stdin(&mut self, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.stdin_open) {
            actions.push(Action::CloseStdin);
        }
    }

    pub(super) fn cancel(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.stop {
            Stop::No => {
                // A turn that has ended is not cancelled by stopping its process.
                self.facts.end.cancelled = self.facts.declared.is_none();
                self.stop = Stop::Requested { until: now + self.timeouts.grace };
                actions.push(Action::Send(AdapterInput::Cancel));
            }
            Stop::Requested { .. } | Stop::Terminated { .. } => self.kill(actions),
            Stop::Killed => {}
        }
    }

    pub(super) fn adapter_failed(&mut self, fault: String, now: Duration, actions: &mut Vec<Action>) {
        self.facts.adapter_fault.get_or_insert(fault);
        if self.stop == Stop::No {
            self.terminate(now, actions);
        }
    }

    pub(super) fn terminate(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.stop = Stop::Terminated { until: now + self.timeouts.grace };
        actions.push(Action::Terminate);
    }

    pub(super) fn kill(&mut self, actions: &mut Vec<Action>) {
        if self.stop != Stop::Killed {
            self.stop = Stop::Killed;
            actions.push(Action::Kill);
        }
    }

    pub(super) fn tick(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.stop {
            Stop::Requested { until } if now >= until => self.terminate(now, actions),
            Stop::Terminated { until } if now >= until => self.kill(actions),
            _ => {}
        }
        actions.extend(self.timers.take_due(now).into_iter().map(|number| Action::Send(AdapterInput::Timer(number))));
        let late = self.asks.expire(now);
        self.answer(late, now, actions);
        if self.stop == Stop::No
            && let Some((timeout, _)) = self.next_timeout().filter(|(_, at)| now >= *at)
        {
            if self.facts.declared.is_none() {
                self.facts.end.timeout = Some(timeout);
            }
            self.terminate(now, actions);
        }
    }

    fn next_timeout(&self) -> Option<(Timeout, Duration)> {
        // While a tool runs or a person is asked, the agent may be silent. After the turn has ended, a tool that never
        // ended is no reason.
        let busy = self.facts.declared.is_none() && (self.summary.any_tool_running() || self.asks.any_waiting());
        let held = busy || self.waits_for_next_turn();
        self.timeouts.next(self.any_output.then_some(self.last_output), held)
    }

    /// When the next `Tick` is due, if nothing else happens before.
    pub fn deadline(&self) -> Option<Duration> {
        let stop = match self.stop {
            Stop::No => self.next_timeout().map(|(_, at)| at),
            stop => stop.until(),
        };
        [stop, self.timers.deadline(), self.asks.deadline()].into_iter().flatten().min()
    }
}

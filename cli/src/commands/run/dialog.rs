//! A person at the terminal: asks are shown one after the other, and lines are answers or messages.

use crate::ui::input::{self, Line, Lines};
use crate::ui::{BOLD, DIM, Shell, foreign, ours};
use std::collections::VecDeque;
use wharf::Controller;
use wharf::ask::Ask;
use wharf::event::{InputRejected, RejectedInput};

/// What a person is asked and types.
pub(super) struct Dialog<'a> {
    pub(super) lines: Lines,
    /// Asks that wait for an answer, the one that is shown first.
    open: VecDeque<Ask>,
    controller: &'a Controller,
    shell: &'a Shell,
}

impl<'a> Dialog<'a> {
    pub(super) fn new(controller: &'a Controller, shell: &'a Shell) -> Dialog<'a> {
        Dialog { lines: Lines::default(), open: VecDeque::new(), controller, shell }
    }

    /// Whether a line may still matter: an answer at the end of input is a no.
    pub(super) fn wants_line(&self) -> bool {
        !self.open.is_empty() || !self.lines.ended()
    }

    /// A question: shown at once, or after those before it.
    pub(super) fn ask(&mut self, ask: Ask) {
        if self.open.is_empty() {
            // What was typed before the question was shown is not an answer to it.
            while let Some(line) = self.lines.waiting() {
                self.send(line);
            }
            self.lines.start();
            show_ask(&ask, self.shell);
        }
        self.open.push_back(ask);
    }

    /// A question that needs no answer any more.
    pub(super) fn close(&mut self, number: u64) {
        let shown = self.open.front().is_some_and(|ask| ask.number == number);
        self.open.retain(|ask| ask.number != number);
        if shown {
            self.show_next();
        }
    }

    /// The next question. What was typed for another one is not an answer to it.
    fn show_next(&mut self) {
        if let Some(next) = self.open.front() {
            while self.lines.waiting().is_some() {}
            show_ask(next, self.shell);
        }
    }

    /// A line that a person typed: an answer, or a message to the agent.
    pub(super) fn line(&mut self, line: Option<Line>) {
        let Some(ask) = self.open.pop_front() else {
            match line {
                Some(line) => self.send(line),
                None => drop(self.controller.finish_after_turn()),
            }
            return;
        };
        let line = line.transpose().map_err(|(_, reason)| reason);
        match line.and_then(|line| input::answer(&ask, line.as_deref())) {
            Ok(answer) => {
                drop(self.controller.answer(answer.by(user())));
                self.show_next();
            }
            Err(reason) => {
                self.shell.say(foreign(reason));
                show_ask(&ask, self.shell);
                self.open.push_front(ask);
            }
        }
    }

    /// A line that answers no question is a message to the agent. The events say whether it was sent.
    fn send(&self, line: Line) {
        match line {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => drop(self.controller.message(line)),
            Err((head, reason)) => {
                self.shell.warn(ours("a line of standard input was not sent: ").foreign(&reason));
                drop(self.controller.reject(InputRejected::new(RejectedInput::Line, &head, reason)));
            }
        }
    }
}

fn show_ask(ask: &Ask, shell: &Shell) {
    shell.say(ours("? ").foreign(&ask.title).in_style(BOLD));
    if !ask.detail.is_null() {
        shell.say(ours("  ").foreign(&ask.detail).in_style(DIM));
    }
    shell.say(ours("  ").foreign(input::choices_text(ask)));
}

/// The name of the person at the terminal, for the event that says who answered.
fn user() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable("USER").or_else(|| variable("USERNAME")).unwrap_or_else(|| "terminal".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf::ask::{AskKind, Choice, ChoiceKind};

    #[test]
    fn no_text_of_an_ask_adds_a_line_to_the_question() {
        let hostile = "a\u{1b}[2K\r\u{9b}A\u{202e}\u{200b}\n? May I read README.md?\n  y = yes";
        let mut ask = Ask::new(hostile, AskKind::Permission, hostile);
        ask.tool = Some(hostile.to_owned());
        ask.detail = serde_json::json!({ hostile: hostile });
        ask.choices = vec![Choice { id: hostile.into(), kind: ChoiceKind::Other, label: hostile.into() }];
        let shell = Shell::capturing(false, true);
        show_ask(&ask, &shell);
        let shown = shell.take();
        assert_eq!(shown.lines().count(), 3, "{shown}");
        assert!(shown.lines().nth(2).is_some_and(|line| line.starts_with("  n = no, c a\\u{1b}[2K\\r")), "{shown}");
        assert!(!shown.contains(['\r', '\u{9b}', '\u{202e}', '\u{200b}']), "{shown:?}");
    }
}

//! The control channel of a program: lines of JSON on standard input, carried out one after the other. A line that is
//! not carried out is an event of the run, and a warning.

use crate::ui::input::{Control, Line, Lines};
use crate::ui::{Shell, ours};
use wharf::event::{InputRejected, RejectedInput};
use wharf::{Controller, Delivery, Ticket};

/// The lines of a program, and the control that is being carried out.
pub(super) struct Channel<'a> {
    lines: Lines,
    controller: &'a Controller,
    shell: &'a Shell,
    /// No line is read before the one before it was carried out: a flood of lines fills no memory.
    pending: Option<(Ticket, String)>,
}

impl<'a> Channel<'a> {
    /// A channel that is read, or one that is closed.
    pub(super) fn new(open: bool, controller: &'a Controller, shell: &'a Shell) -> Channel<'a> {
        let mut lines = Lines::default();
        if open {
            lines.start();
        }
        Channel { lines, controller, shell, pending: None }
    }

    /// Waits for the next line and starts to carry it out, or waits until the last one was.
    pub(super) async fn step(&mut self) {
        if let Some((ticket, _)) = &mut self.pending {
            let delivery = ticket.await;
            let head = self.pending.take().map(|(_, head)| head).unwrap_or_default();
            if let Delivery::Refused(reason) = delivery {
                self.shell.warn(
                    ours("a line of standard input was not carried out: ").foreign(reason).ours(": ").foreign(head),
                );
            }
            return;
        }
        if self.lines.ended() {
            return std::future::pending().await;
        }
        match self.lines.next().await {
            Some(line) => {
                let (Ok(text) | Err((text, _))) = &line;
                let head = text.chars().take(100).collect();
                self.pending = self.carry_out(line).map(|ticket| (ticket, head));
            }
            None => drop(self.controller.finish_after_turn()),
        }
    }

    fn carry_out(&self, line: Line) -> Option<Ticket> {
        let line = match line {
            Ok(line) if line.trim().is_empty() => return None,
            Ok(line) => line,
            Err((head, reason)) => return Some(self.reject(&head, &reason)),
        };
        Some(match Control::parse(&line) {
            Ok(Control::Message { text }) => self.controller.message(text),
            Ok(Control::Answer(answer)) => self.controller.answer(answer),
            Ok(Control::NextTurn(turn)) => self.controller.next_turn(turn),
            Ok(Control::Cancel {}) => self.controller.cancel(),
            Err(reason) => {
                self.reject(&line, &format!("it was not understood: {reason}; a line is {}", Control::VALID))
            }
        })
    }

    fn reject(&self, head: &str, reason: &str) -> Ticket {
        self.controller.reject(InputRejected::new(RejectedInput::Line, head, reason))
    }
}

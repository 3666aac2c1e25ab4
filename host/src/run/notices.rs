//! The notices of the loop itself: what is doubtful about a model, and that no more events are kept. They are recorded, so
//! that a replay has them too.

use super::event_loop::EventLoop;
use super::exchange::note_event;
use wharf_core::model::{EventKind, LogLevel, NextTurn};
use wharf_core::turn::{EventSink as _, Input};

impl EventLoop {
    /// Another turn in the same process.
    pub(super) fn next_turn(&mut self, mut next: NextTurn) -> Input {
        if let Some(model) = &mut next.model {
            let (name, notice) = (self.model_names.choose)(model);
            *model = name;
            if let Some(text) = notice {
                self.notice(text);
            }
        }
        Input::NextTurn(Box::new(self.exchange.next_turn(next)))
    }

    /// Says what is doubtful about the models of the first turn.
    pub(super) fn report_models(&mut self) {
        for text in std::mem::take(&mut self.model_names.notices) {
            self.notice(text);
        }
    }

    /// Says that no more events are kept, after the output that made them too many.
    pub(super) fn report_truncation(&mut self) {
        if !self.exchange.is_parsing()
            && let Some(text) = self.journal.take_truncation()
        {
            self.notice(text);
        }
    }

    /// A notice that neither the agent nor the adapter gave.
    fn notice(&mut self, text: String) {
        let (notice, now) = (EventKind::notice(LogLevel::Warn, text), self.clock.now());
        note_event(&notice, &mut self.journal, now);
        self.buffer.emit(notice.into(), now);
        self.hand_over();
    }
}

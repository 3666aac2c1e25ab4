//! How a run ends: by the last step, by what was looked up in the session, and by the exit of the process.

use super::RunParser;
use crate::export::Export;
use crate::failure::{self, Moment};
use crate::usage;
use wharf_adapter::{Effects, Event, ExitStatus, LogLevel, Outcome};

/// Whether a step ended without a reason: its stream was closed, or the provider's reason means nothing to `OpenCode`.
pub(super) fn is_unfinished(reason: &str) -> bool {
    matches!(reason, "unknown" | "other")
}

impl RunParser {
    /// A timer has expired: the model has answered long ago, and the process still runs.
    pub(crate) fn timer(&mut self, number: u32, out: &mut Effects) {
        if number == self.timer && !self.ended && self.step.reason.is_some() {
            self.end(out);
        }
    }

    /// The process has exited. `lookup` gets the session, if something is missing that it may have.
    pub(crate) fn finish(&mut self, exit: ExitStatus, lookup: impl FnOnce(&str) -> Option<String>, out: &mut Effects) {
        self.retries.clear();
        if self.ended {
            return;
        }
        // A process that was killed or crashed has not ended its turn, whatever it wrote before.
        if exit.code != Some(0) && self.error.is_none() && self.rejected.is_none() {
            return;
        }
        let is_complete =
            self.step.reason.as_deref().is_some_and(|reason| reason != "tool-calls" || self.denied.is_some());
        if !is_complete && self.error.is_none() {
            let session = self.session.clone();
            let found = session.and_then(|session| lookup(&session));
            match found.as_deref().map(Export::read) {
                Some(export) => self.complete(&export, out),
                None => self.report_loss(out),
            }
        }
        self.end(out);
    }

    /// Reports what the session has and the output had not.
    fn complete(&mut self, export: &Export<'_>, out: &mut Effects) {
        if self.settings.model.is_none() && self.session.is_some() {
            self.settings.model = export.model();
            self.emit_session(None, out);
        }
        for message in export.turn(self.first_message.as_deref()) {
            let id = message.id();
            if !self.counted.contains(&id) {
                self.step = super::Step::default();
            }
            for part in message.parts() {
                let is_new = part.get("id").str().is_some_and(|id| !self.parts.iter().any(|known| *known == *id));
                if is_new && self.part(part, out).is_err() {
                    out.notice(LogLevel::Debug, "a part of the exported session has an unknown form");
                }
            }
            if self.counted.contains(&id) {
                continue;
            }
            if let Some(usage) = message.usage(self.settings.model.as_deref()).filter(|usage| !usage::is_empty(usage)) {
                out.usage(usage);
            }
            self.step.reason = message.finish();
            if let Some(error) = message.error() {
                self.failed(failure::read(error, Moment { answered: self.steps > 0, at: None }));
            }
            self.counted.push(id);
        }
    }

    /// Something is missing, and it cannot be looked up.
    fn report_loss(&mut self, out: &mut Effects) {
        if self.steps > 0 && self.rejected.is_none() {
            let text = "it exited before it wrote the end of its output: figures are missing, and perhaps text";
            out.notice(LogLevel::Warn, text);
            out.emit(Event::UsageUnavailable("the output ended before the figures of the last model call".to_owned()));
        }
    }

    /// Reports how the turn ended, if that is known.
    fn end(&mut self, out: &mut Effects) {
        let Some(outcome) = self.outcome() else { return };
        self.ended = true;
        out.turn_ended(outcome, None);
    }

    fn outcome(&mut self) -> Option<Outcome> {
        if let Some(what) = self.rejected.take() {
            return Some(Outcome::Blocked(format!("a permission that nobody could be asked for: {what}")));
        }
        if let Some(failure) = self.error.take() {
            return Some(Outcome::Failed(failure));
        }
        let step = &self.step;
        Some(match step.reason.as_deref() {
            Some("tool-calls") => Outcome::Blocked(self.denied.take()?),
            Some("length") => Outcome::Limit("max-tokens".to_owned()),
            Some("content-filter") => Outcome::Refused("the provider's filter stopped the answer".to_owned()),
            Some(reason) if reason == "error" || (is_unfinished(reason) && step.is_uncounted) => {
                Outcome::Failed(failure::unfinished(self.unfinished))
            }
            Some(_) => Outcome::Completed,
            // The answer is there, only the figures are not.
            None if step.has_text => Outcome::Completed,
            None => return None,
        })
    }
}

//! The end of a turn: the `result` line, or the exit of the process without one.

use super::LineParser;
use crate::outcome::blocked_reason;
use crate::usage;
use wharf_adapter::{Effects, Event, Json, Malformed, Outcome, SessionInfo, Text};

impl LineParser {
    /// Handles the line that ends a turn.
    pub(super) fn result(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [session, code, counts, outcome, blocker] =
            line.select(["sessionId", "exitCode", "usage", "outcome", "blocker"])?;
        let code = code.i32().ok_or(Malformed)?;
        if let Some(id) = session.filled() {
            let id = id.into_owned();
            out.emit(Event::Session(SessionInfo {
                resumed: self.resumed(&id),
                id: Some(id.clone()),
                model: self.model.clone(),
                agent_version: self.settings.version.clone(),
            }));
            self.session = Some(id);
        }
        usage::result(counts, self.scope(), out);
        let changes = counts.get("codeChanges");
        if changes.is_object() {
            out.emit(Event::Other(("code-changes".to_owned(), changes.raw().to_owned())));
        }
        let outcome = if outcome.is("blocked") {
            Outcome::Blocked(blocked_reason(blocker).or_else(|| self.facts.summary.clone()).unwrap_or_default())
        } else {
            self.facts.outcome(code)
        };
        let answer = self.facts.answer().map(Text::Inline);
        out.turn_ended(outcome, answer);
        self.ended = true;
        Ok(())
    }

    fn resumed(&self, id: &str) -> Option<bool> {
        if self.settings.starts_over {
            return Some(false);
        }
        let requested = self.settings.resume.as_deref()?;
        match self.settings.resume_is_strict {
            // Otherwise it would have failed. A name or a prefix works like an id.
            true => Some(true),
            // Old versions start a new session with an unknown id: the same id proves nothing. See `doubtful`.
            false if requested == id => None,
            false => Some(id.starts_with(requested)),
        }
    }

    /// The session whose past decides whether it was resumed: only its journal shows it.
    pub(crate) fn doubtful(&self) -> Option<&str> {
        let session = self.session()?;
        (self.settings.continues && self.resumed(session).is_none()).then_some(session)
    }

    /// Reports whether the session has a history from before this run.
    pub(crate) fn report_history(&self, has_history: bool, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.session.clone(),
            resumed: Some(has_history),
            model: self.model.clone(),
            agent_version: self.settings.version.clone(),
        }));
    }

    /// The process has exited. Without a `result` line, the events before it decide.
    pub(crate) fn finish(&mut self, out: &mut Effects) {
        if self.ended {
            return;
        }
        if let Some(count) = self.premium_requests {
            usage::premium_requests(count, self.scope(), out);
        }
        if let Some(outcome) = self.facts.without_result() {
            out.turn_ended(outcome, self.facts.answer().map(Text::Inline));
            self.ended = true;
        }
    }
}

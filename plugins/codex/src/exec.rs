//! Reads the lines of `codex exec --json`: one process, one turn.
//!
//! There are no parts of texts: a message comes when it is whole. `turn.completed` and `turn.failed` end the turn, although
//! the process may take five more seconds to exit. A line `error` is not the end.

use crate::failure;
use crate::items::{Items, LATE_MILLIS, LATE_TIMER, Stage};
use crate::login;
use crate::outage::Outage;
use crate::usage;
use wharf_adapter::{
    Effects, ErrorClass, Event, Failure, Host, Json, Malformed, Outcome, SessionChoice, SessionInfo, Turn, TurnEnd,
    text,
};

/// The state between two lines.
#[derive(Debug, Default)]
pub(crate) struct Exec {
    items: Items,
    outage: Outage,
    /// The session to resume.
    resume: Option<String>,
    /// Whether the thread is the continuation of another one.
    forks: bool,
    version: Option<String>,
    thread: Option<String>,
    /// The model that the turn names.
    model: Option<String>,
    /// The model that Codex does not know, but uses.
    doubtful: Option<String>,
    /// Whether the turn is complete, and the ends of its calls are awaited.
    is_complete: bool,
    ended: bool,
}

impl Exec {
    /// The turn that the lines are read with.
    pub(crate) fn prepare(&mut self, turn: &Turn, forks: bool, version: Option<&str>) {
        self.resume = match &turn.session {
            SessionChoice::Resume(id) => Some(id.clone()),
            _ => None,
        };
        self.forks = forks;
        self.items.has_schema = turn.output_schema.is_some();
        self.version = version.map(str::to_owned);
        self.model.clone_from(&turn.model);
        self.outage.start(turn);
    }

    /// What failed last, for a process that did not say how its turn ended.
    pub(crate) fn last_failure(&self) -> Option<&Failure> {
        self.outage.last()
    }

    /// Handles a line with this type.
    pub(crate) fn line(&mut self, kind: &str, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        if self.ended {
            return Ok(());
        }
        match kind {
            "thread.started" => self.thread(line.get("thread_id").string().ok_or(Malformed)?, out),
            "turn.started" => {}
            "item.started" | "item.updated" => self.item(Stage::Started, line, out)?,
            "item.completed" => self.item(Stage::Completed, line, out)?,
            "error" => self.error(&line.get("message").str().ok_or(Malformed)?, out),
            "turn.completed" => {
                usage::of_thread(line.get("usage"), out);
                self.is_complete = true;
                if self.items.has_open_calls() {
                    out.set_timer(LATE_TIMER, LATE_MILLIS);
                }
                self.end_late(!self.items.has_open_calls(), out);
            }
            "turn.failed" => {
                let failure = failure::from_text(&line.at(&["error", "message"]).str().ok_or(Malformed)?);
                let failure = self.without_model(failure);
                self.end(failure::outcome(failure), out);
            }
            other => out.unknown(other),
        }
        Ok(())
    }

    /// The thread must be the one to resume. Codex starts a new one if it does not know a name, without a word.
    fn thread(&mut self, id: String, out: &mut Effects) {
        let resumed = self.resume.as_ref().map(|requested| requested.eq_ignore_ascii_case(&id));
        let message = self.resume.as_ref().map(|requested| {
            format!("there is no session {requested}: Codex started the new session {id}; resume a session by its id")
        });
        let resumed = resumed.or(self.forks.then_some(true));
        self.thread = Some(id);
        self.emit_session(resumed, out);
        if let (Some(false), Some(message)) = (resumed, message) {
            self.end(Outcome::Failed(Failure::new(ErrorClass::NoSession, message)), out);
        }
    }

    fn emit_session(&self, resumed: Option<bool>, out: &mut Effects) {
        let (id, model, agent_version) = (self.thread.clone(), self.model.clone(), self.version.clone());
        out.emit(Event::Session(SessionInfo { id, resumed, model, agent_version }));
    }

    /// The failure of a request to a model that Codex does not know either: the text alone may not say what is wrong.
    fn without_model(&self, failure: Failure) -> Failure {
        let is_about = |model: &String| text::contains(&failure.message, model);
        if failure.class == ErrorClass::Other && self.doubtful.as_ref().is_some_and(is_about) {
            return Failure::new(ErrorClass::UnknownModel, failure.message).code(failure.code);
        }
        failure
    }

    fn item(&mut self, stage: Stage, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, message] = line.get("item").select(["type", "message"])?;
        if let (true, Some(message)) = (kind.is("error"), message.str()) {
            self.doubtful = failure::unknown_model(&message).map(str::to_owned).or(self.doubtful.take());
        }
        if self.items.item(stage, line.get("item"), None, out)? {
            self.outage.over();
        }
        self.end_late(!self.items.has_open_calls(), out);
        Ok(())
    }

    fn error(&mut self, message: &str, out: &mut Effects) {
        let failure = failure::from_text(message);
        if failure::retried(message).is_some() {
            self.outage.retrying(&failure, out);
            out.emit(Event::Retrying(failure));
        } else {
            // `turn.failed` repeats it.
            self.outage.failed(failure);
        }
    }

    /// Ends a complete turn, if nothing more is awaited.
    fn end_late(&mut self, is_time: bool, out: &mut Effects) {
        if self.is_complete && is_time && !self.ended {
            self.end(Outcome::Completed, out);
        }
    }

    /// A timer has expired.
    pub(crate) fn timer(&mut self, number: u32, out: &mut Effects) {
        self.end_late(number == LATE_TIMER, out);
        if let Some(failure) = self.outage.expired(number).filter(|_| !self.ended) {
            self.end(Outcome::Failed(failure), out);
        }
    }

    /// The process has exited. Its output does not name the model.
    pub(crate) fn finish(&mut self, host: &dyn Host, out: &mut Effects) {
        self.end_late(true, out);
        if self.thread.is_some() && self.model.is_none() {
            self.model = login::configured_model(host);
            if self.model.is_some() {
                self.emit_session(None, out);
            }
        }
        self.items.end(out);
    }

    fn end(&mut self, outcome: Outcome, out: &mut Effects) {
        self.ended = true;
        let structured_output = self.items.end(out).filter(|_| outcome == Outcome::Completed);
        out.emit(Event::TurnEnded(TurnEnd { outcome, answer: None, structured_output }));
    }
}

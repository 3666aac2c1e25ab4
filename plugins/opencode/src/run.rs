//! Reads the JSON lines of `opencode run --format json`.
//!
//! One process is one turn. A line is a part of a message, written when the part is complete. Nothing says that the turn is
//! over: it is when the process exits by itself. Old versions exit before they have written everything; what they left out
//! is looked up in the session.

mod end;

use crate::failure::{self, Moment};
use crate::log::{Entry, Remark};
use crate::options::Limits;
use crate::retries::{Retries, cut};
use crate::{tool, usage};
use wharf_adapter::{Effects, Event, Failure, Json, LogLevel, Malformed, Phase, Round, SessionInfo};

/// The settings of the turn that its output is read with.
#[derive(Debug, Default, Clone)]
pub(crate) struct TurnSettings {
    /// The session to resume.
    pub(crate) resume: Option<String>,
    /// Whether the turn continues another session under a new id, or one that only `OpenCode` knows.
    pub(crate) continues: bool,
    /// The model, if the turn names one.
    pub(crate) model: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) limits: Limits,
}

/// The step, which is one call of the model, that the output is in.
#[derive(Debug, Default)]
struct Step {
    has_text: bool,
    has_tool: bool,
    /// Why it ended, once it has.
    reason: Option<String>,
    /// Whether the provider counted nothing, which a stream that was cut off does not.
    is_uncounted: bool,
}

/// The state between two lines.
#[derive(Debug, Default)]
pub(crate) struct RunParser {
    pub(crate) settings: TurnSettings,
    session: Option<String>,
    step: Step,
    /// How many steps have started.
    steps: u32,
    /// The first message of the turn.
    first_message: Option<String>,
    /// The parts that were reported, and the messages whose usage was.
    parts: Vec<String>,
    counted: Vec<String>,
    /// The last error; void once the model answers again.
    error: Option<Failure>,
    /// What was rejected because nobody can be asked.
    rejected: Option<String>,
    /// Why a tool of this step was denied.
    denied: Option<String>,
    retries: Retries,
    /// How many steps in a row ended without a reason.
    unfinished: u64,
    /// Whether the end of the turn was reported.
    ended: bool,
    /// The timer that must expire before a finished turn is reported although its process runs.
    timer: u32,
}

/// How long a process may run after the last answer before the turn is reported.
const LINGER_MILLIS: u32 = 10_000;

impl RunParser {
    pub(crate) fn line(&mut self, line: Json<'_>, kind: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [session, part, error, timestamp] = line.pick(["sessionID", "part", "error", "timestamp"])?;
        let kind = kind.name().ok_or(Malformed)?;
        if let Some(id) = session.filled() {
            self.enter(&id, out);
        }
        match kind {
            "step_start" => self.start(part, out),
            "text" | "reasoning" | "tool_use" => self.part(part, out)?,
            "step_finish" => self.finish_step(part, out)?,
            "error" => {
                let at = timestamp.u64().map(|millis| millis / 1000);
                self.retries.clear();
                let failure = failure::read(error, Moment { answered: self.steps > 0, at });
                self.failed(failure);
            }
            other => out.unknown(other),
        }
        Ok(())
    }

    /// A line on stderr: a remark, or the log.
    pub(crate) fn stderr_line(&mut self, line: &str, out: &mut Effects) {
        if let Some(entry) = Entry::read(line) {
            if entry.starts_call() {
                return self.call_starts(entry, out);
            }
            // It may be all that a turn says about its session. A sub-agent has its own.
            if let Some(session) = entry.session().filter(|_| self.session.is_none() && entry.is_model_call()) {
                self.enter(session, out);
            }
            if let Some(failure) = entry.failure().filter(|_| entry.is_model_call() && !self.ended)
                && let Some(failure) = self.retries.failed(failure, self.settings.limits.retries, out)
            {
                self.end_as(failure, out);
            }
            return;
        }
        match Remark::read(line) {
            Some(Remark::Rejected(what)) => {
                out.notice(LogLevel::Warn, format!("nobody could be asked, so it was rejected: {what}"));
                self.rejected = Some(what);
            }
            Some(Remark::Other(text)) => out.notice(LogLevel::Warn, text),
            None => {}
        }
    }

    /// A model call starts, says the log. It names the model, which the output does not.
    fn call_starts(&mut self, entry: Entry<'_>, out: &mut Effects) {
        let (Some(session), Some(model)) = (entry.session(), entry.model()) else { return };
        // A sub-agent has its own session.
        if self.session.as_deref().is_some_and(|known| known != session) {
            return;
        }
        if self.settings.model.as_deref() != Some(&*model) {
            self.settings.model = Some(model);
            if self.session.is_some() {
                self.emit_session(None, out);
            }
        }
        self.enter(session, out);
    }

    /// Reports the session once.
    fn enter(&mut self, id: &str, out: &mut Effects) {
        if self.session.as_deref() == Some(id) {
            return;
        }
        self.session = Some(id.to_owned());
        let resumed = self.settings.resume.as_deref().map(|requested| requested == id);
        self.emit_session(resumed.or(self.settings.continues.then_some(true)), out);
    }

    fn emit_session(&self, resumed: Option<bool>, out: &mut Effects) {
        out.emit(Event::Session(SessionInfo {
            id: self.session.clone(),
            resumed,
            model: self.settings.model.clone(),
            agent_version: self.settings.version.clone(),
        }));
    }

    fn start(&mut self, part: Json<'_>, out: &mut Effects) {
        // A step that starts again without an end was cut off.
        if self.steps > 0 && self.step.reason.is_none() && !self.step.has_tool {
            if let Some(failure) = self.retries.failed(cut(), self.settings.limits.retries, out) {
                self.end_as(failure, out);
            }
        } else {
            self.retries.answered(out);
        }
        self.error = None;
        self.denied = None;
        self.steps += 1;
        if self.first_message.is_none() {
            self.first_message = part.get("messageID").string();
        }
        self.step = Step::default();
        self.round(Phase::Begun, out);
    }

    fn round(&self, phase: Phase, out: &mut Effects) {
        let model = self.settings.model.clone();
        out.emit(Event::Round(Round { phase, parent: None, model, first_token_ms: None }));
    }

    /// A part of a message, by its own type: `text`, `reasoning` or `tool`. Others have nothing to report.
    fn part(&mut self, part: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, id, text] = part.pick(["type", "id", "text"])?;
        let id = id.str().ok_or(Malformed)?;
        match kind.name() {
            Some("text") => {
                self.step.has_text = true;
                out.message(&*id, None, text.text().ok_or(Malformed)?);
            }
            Some("reasoning") => out.thinking(&*id, None, text.text().ok_or(Malformed)?),
            Some("tool") => {
                self.retries.progressed(out);
                self.step.has_tool = true;
                self.denied = tool::report(part, out)?.or(self.denied.take());
            }
            _ => return Ok(()),
        }
        self.parts.push(id.into_owned());
        Ok(())
    }

    fn finish_step(&mut self, part: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [reason, tokens, cost, message] = part.pick(["reason", "tokens", "cost", "messageID"])?;
        let reason = reason.string().ok_or(Malformed)?;
        if let Some(message) = message.string() {
            self.counted.push(message);
        }
        let usage = usage::of_step(tokens, cost, self.settings.model.as_deref());
        self.step.is_uncounted = usage.as_ref().is_none_or(usage::is_empty);
        self.retries.progressed(out);
        self.round(Phase::Ended, out);
        // Zeros are no figures: the stream was cut off before the provider sent them.
        if let Some(usage) = usage.filter(|usage| !usage::is_empty(usage)) {
            out.usage(usage);
        }
        // Some providers end a step with tools without a reason. Then there is progress.
        let is_unfinished = end::is_unfinished(&reason) && !self.step.has_tool;
        self.unfinished = if is_unfinished { self.unfinished + 1 } else { 0 };
        let limit = self.settings.limits.unfinished;
        if is_unfinished && limit > 0 && self.unfinished >= limit {
            self.end_as(failure::unfinished(self.unfinished), out);
        } else if reason != "tool-calls" && !self.ended {
            self.timer += 1;
            out.set_timer(self.timer, LINGER_MILLIS);
        }
        self.step.reason = Some(reason);
        Ok(())
    }

    /// The first of several errors about the same says most: what follows is often "Unexpected server error".
    fn failed(&mut self, failure: Failure) {
        self.error.get_or_insert(failure);
    }

    fn end_as(&mut self, failure: Failure, out: &mut Effects) {
        if !self.ended {
            self.ended = true;
            out.failed(failure);
        }
    }
}

//! The JSON lines of a headless run: `copilot --output-format json`.
//!
//! One process is one turn. Events with an `agentId` are a sub-agent's: its text is told with a parent and is never
//! the answer. Only the `result` line ends the turn; `assistant.idle` does not.

use crate::clock;
use crate::complaint::Complaint;
use crate::kinds;
use crate::notices;
use crate::speakers::Speakers;
use crate::tools::Tools;
use crate::usage::{self, Counted};
use crate::verdict::{self, Verdict};
use std::borrow::Cow;
use wharf_adapter::{
    ChangeKind, ContextUsage, Effects, ErrorClass, Event, FileChange, Json, LogLevel, Malformed, Outcome, RateLimit,
    SessionInfo, Text, UsageScope,
};

/// What a turn was started with, as far as its output has to be read in that light.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wishes {
    /// The id that the new session was given.
    pub(crate) chosen: Option<String>,
    /// The session that was to be resumed.
    pub(crate) resume: Option<String>,
    /// Whether a session is to go on, named or not.
    pub(crate) goes_on: bool,
    /// Whether this version fails when there is no such session, rather than starting a new one.
    pub(crate) resume_is_strict: bool,
    /// The version of the CLI.
    pub(crate) version: Option<String>,
}

/// What is remembered between two lines.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) wishes: Wishes,
    session: Option<String>,
    model: Option<String>,
    /// The model that was last told.
    told_model: Option<String>,
    /// The stamp of the first event.
    pub(crate) since: Option<String>,
    tools: Tools,
    speakers: Speakers,
    verdict: Verdict,
    /// The beginning of a message that comes in several events.
    partial: String,
    /// The ids of those events.
    parts: Vec<String>,
    /// Whether this stream has `model.*` events, which say more than the notices of older versions.
    detailed: bool,
    /// The call that failed last, and whose it was.
    call_failure: Option<(Option<String>, Complaint)>,
    premium_requests: Option<f64>,
    /// Which tokens were counted.
    pub(crate) counted: Counted,
    ended: bool,
}

impl Stream {
    /// The session's id, once it is known.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// What the sums of this version count: newer ones go on where another process left a session.
    pub(crate) fn scope(&self) -> UsageScope {
        if self.detailed { UsageScope::SessionTotal } else { UsageScope::TurnTotal }
    }

    /// One line, and the fields of its envelope: type, data, agentId, timestamp.
    pub(crate) fn line(
        &mut self,
        line: Json<'_>,
        [kind, data, agent, stamp]: [Json<'_>; 4],
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let kind = kind.name().ok_or(Malformed)?;
        if self.since.is_none() {
            self.since = stamp.string();
        }
        if kind == "result" {
            return self.result(line, out);
        }
        let agent = agent.filled();
        self.event(kind, data, agent.as_deref(), stamp, out)
    }

    fn event(
        &mut self,
        kind: &str,
        data: Json<'_>,
        agent: Option<&str>,
        stamp: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        // Few events need it, and none of those that come by the thousand.
        let time = || stamp.name().and_then(clock::seconds);
        match kind {
            "assistant.message_delta" => {
                let [id, text, by] = data.pick(["messageId", "deltaContent", "parentToolCallId"])?;
                let (id, Some(text)) = (id.str().ok_or(Malformed)?, text.text()) else { return Ok(()) };
                let parent = self.speakers.parent(agent, by);
                self.speakers.draft(agent, &id);
                out.text_delta(&id, parent.as_deref(), text);
            }
            "assistant.message" => self.message(data, agent, out)?,
            "assistant.reasoning_delta" => {
                let [id, text, by] = data.pick(["reasoningId", "deltaContent", "parentToolCallId"])?;
                let (id, Some(text)) = (id.str().ok_or(Malformed)?, text.text()) else { return Ok(()) };
                let parent = self.speakers.parent(agent, by);
                self.speakers.draft(agent, &id);
                out.thinking_delta(&id, parent.as_deref(), text);
            }
            "assistant.reasoning" => {
                let [id, text, by] = data.pick(["reasoningId", "content", "parentToolCallId"])?;
                let id = id.str().unwrap_or_default();
                let parent = self.speakers.parent(agent, by);
                self.speakers.confirm(&id);
                // Reasoning that nobody may read has no text. What streamed of it stays.
                if let Some(text) = text.text() {
                    out.thinking(&id, parent.as_deref(), text);
                }
            }
            "assistant.turn_start" | "assistant.turn_end" => self.speakers.settle(agent),
            "assistant.turn_retry" => {
                let reason = data.get("reason").string().unwrap_or_default();
                self.retry(agent, &reason, "", time(), out);
            }
            "assistant.idle" | "session.idle" => {
                if agent.is_none() && data.get("aborted").is_true() {
                    self.abort("aborted", out);
                }
            }
            "tool.execution_start" => {
                let parent = self.speakers.parent(agent, data.get("parentToolCallId"));
                self.tools.start(data, parent, out).ok_or(Malformed)?;
            }
            "tool.execution_complete" => {
                let parent = self.speakers.parent(agent, data.get("parentToolCallId"));
                self.tools.complete(data, parent, out).ok_or(Malformed)?;
            }
            "tool.shell_output" => {
                let parent = self.speakers.parent(agent, data.get("parentToolCallId"));
                self.tools.increment(data, parent.as_deref(), out).ok_or(Malformed)?;
            }
            "tool.execution_partial_result" => {
                let parent = self.speakers.parent(agent, data.get("parentToolCallId"));
                self.tools.cumulative(data, parent.as_deref(), out);
            }
            "model.call_start" => self.detailed = true,
            "model.call_failure" => {
                self.detailed = true;
                self.call_failure = Some((agent.map(str::to_owned), Complaint::of_call(data, time())));
            }
            // `--model auto` is resolved only with the first prompt.
            "session.tools_updated" | "session.auto_mode_resolved" => {
                let key = if kind == "session.tools_updated" { "model" } else { "chosenModel" };
                if agent.is_none()
                    && let Some(model) = data.get(key).filled()
                {
                    self.model = Some(model.into_owned());
                    self.tell_session(out);
                }
            }
            "session.start" | "session.resume" => {
                if agent.is_none()
                    && let Some(id) = data.get("sessionId").filled()
                {
                    self.session = Some(id.into_owned());
                    self.told_model = None;
                    self.tell_session(out);
                }
            }
            "session.error" => self.session_error(data, agent, time(), out)?,
            "session.warning" => self.warning(data, agent.is_none(), time(), out),
            "session.info" => self.info(data, agent, time(), out),
            "session.mcp_server_status_changed" => notices::mcp_status(data, out),
            "session.managed_settings_enforced" => notices::enforced(data, out),
            "session.task_complete" => {
                if agent.is_none() {
                    let [summary, outcome] = data.pick(["summary", "outcome"])?;
                    self.verdict.summary = summary.filled().map(Cow::into_owned);
                    self.verdict.task_done = !outcome.is("continue");
                }
            }
            "session.autopilot_stopped" if agent.is_none() => {
                let reason = data.get("reason").string().unwrap_or_default();
                if reason == "aborted" {
                    self.abort("aborted", out);
                }
                self.verdict.stopped = Some(reason);
            }
            "session.usage_info" => {
                let [used, window] = data.pick(["currentTokens", "tokenLimit"])?;
                if let (None, Some(used), Some(window)) = (agent, used.u64(), window.u64()) {
                    out.emit(Event::Context(ContextUsage { used, window }));
                }
            }
            "session.usage_checkpoint" => {
                if usage::accounting(data.get("accountingSnapshot"), UsageScope::SessionTotal, out) {
                    self.counted = Counted::All;
                }
                self.premium_requests = data.get("totalPremiumRequests").f64();
            }
            "abort" => {
                if agent.is_none() {
                    self.abort(&data.get("reason").str().unwrap_or_default(), out);
                }
            }
            "user.message" => {
                let [content, source, continued, mode] =
                    data.pick(["content", "source", "isAutopilotContinuation", "agentMode"])?;
                let silent = content.is("") && mode.is("autopilot");
                if agent.is_none() && (continued.is_true() || source.is("autopilot") || silent) {
                    self.verdict.continuations += 1;
                    out.emit(Event::Other((
                        "autopilot-continuation".to_owned(),
                        self.verdict.continuations.to_string(),
                    )));
                }
            }
            "subagent.started" => {
                if let (Some(agent), Some(tool)) = (agent, data.get("toolCallId").filled()) {
                    self.speakers.learn(agent, &tool);
                }
            }
            "system.notification" => {
                if let Some(text) = data.get("content").filled() {
                    out.notice(LogLevel::Debug, text);
                }
            }
            // A sub-agent's own.
            "session.autopilot_stopped" => {}
            silent if kinds::is_silent(silent) => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn message(&mut self, data: Json<'_>, agent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, content, model, tokens, by, index, count] = data.pick([
            "messageId",
            "content",
            "model",
            "outputTokens",
            "parentToolCallId",
            "chunkIndex",
            "chunkCount",
        ])?;
        let id = id.str().unwrap_or_default();
        let parent = self.speakers.parent(agent, by);
        let top = parent.is_none();
        if top && let Some(model) = model.filled() {
            self.model = Some(model.into_owned());
        }
        let model = model.filled().or_else(|| self.model.as_deref().filter(|_| top).map(Into::into));
        if usage::message(tokens, model.as_deref(), out) {
            self.counted = self.counted.max(Counted::Written);
        }
        self.take_failure(agent);
        let mut text = content.text_or_empty();
        let mut empty = content.name().is_none_or(str::is_empty);
        if let (Some(index), Some(count @ 2..)) = (index.u64(), count.u64()) {
            if index == 0 {
                self.partial.clear();
                self.parts.clear();
            }
            self.partial.push_str(&content.str().unwrap_or_default());
            if index + 1 < count {
                self.parts.push(id.into_owned());
                return Ok(());
            }
            empty = self.partial.is_empty();
            text = Text::Inline(std::mem::take(&mut self.partial));
            // What streamed under the ids of its parts is told again with the whole.
            for part in std::mem::take(&mut self.parts).into_iter().filter(|part| *part != id) {
                if self.speakers.confirm(&part) {
                    out.emit(Event::Discard(part));
                }
            }
        }
        let drafted = self.speakers.confirm(&id);
        self.verdict.spoke |= top && !empty;
        // A message of tool calls only has no text: there is nothing to tell, unless text was told before.
        if !empty || drafted {
            out.message(&id, parent.as_deref(), text);
        }
        Ok(())
    }

    /// The call of this agent that failed last, unless it was made up for.
    fn take_failure(&mut self, agent: Option<&str>) -> Option<Complaint> {
        self.call_failure.take_if(|(whose, _)| whose.as_deref() == agent).map(|(_, call)| call)
    }

    /// The attempt failed and is made again: what it streamed is void.
    fn retry(&mut self, agent: Option<&str>, reason: &str, message: &str, time: Option<u64>, out: &mut Effects) {
        self.speakers.void(agent, out);
        let call = self.take_failure(agent).unwrap_or_else(|| Complaint {
            message: if message.is_empty() { format!("the model call failed: {reason}") } else { message.to_owned() },
            time,
            ..Complaint::default()
        });
        out.emit(Event::Retrying(Complaint { kind: reason.to_owned(), ..call }.failure()));
    }

    fn session_error(
        &mut self,
        data: Json<'_>,
        agent: Option<&str>,
        time: Option<u64>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let error = Complaint::of_session(data, time)?.with_call(self.take_failure(agent));
        let failure = error.failure();
        if failure.class == ErrorClass::RateLimit {
            let scope = error.code.clone().unwrap_or_else(|| "requests".to_owned());
            out.emit(Event::RateLimit(RateLimit { scope, resets_at: error.resets_at(), blocked: true }));
        }
        out.notice(LogLevel::Error, error.message.as_str());
        // Failed hooks and calls that were made up for do not fail the run.
        if agent.is_none() && !matches!(error.kind.as_str(), "model_call" | "hook") {
            self.verdict.error = Some(error);
        }
        Ok(())
    }

    fn warning(&mut self, data: Json<'_>, top: bool, time: Option<u64>, out: &mut Effects) {
        let message = data.get("message").string().unwrap_or_default();
        let kind = match data.get("warningType").name() {
            Some("policy_blocked") => "policy",
            Some("compaction_static_context_blocked") => "context_limit",
            _ => "",
        };
        if top && !kind.is_empty() && self.verdict.error.is_none() {
            self.verdict.error =
                Some(Complaint { kind: kind.to_owned(), message: message.clone(), time, ..Complaint::default() });
        }
        out.notice(LogLevel::Warn, message);
    }

    fn info(&mut self, data: Json<'_>, agent: Option<&str>, time: Option<u64>, out: &mut Effects) {
        let message = data.get("message").string().unwrap_or_default();
        match data.get("infoType").name() {
            // Newer versions tell these by events of their own, before or after.
            Some("model_retry" | "file_created" | "cancellation" | "autopilot_continuation") if self.detailed => {}
            Some("cancellation" | "autopilot_continuation") => {}
            Some("model_retry") => self.retry(agent, "", &message, time, out),
            Some("file_created") => out.emit(Event::FileChange(FileChange {
                path: message,
                kind: ChangeKind::Created,
                added: None,
                removed: None,
            })),
            _ => out.notice(LogLevel::Info, message),
        }
    }

    fn abort(&mut self, reason: &str, out: &mut Effects) {
        self.tools.abort(out);
        if self.verdict.aborted.is_none() {
            self.verdict.aborted = Some(reason.to_owned());
        }
    }

    fn tell_session(&mut self, out: &mut Effects) {
        if self.told_model == self.model && self.model.is_some() {
            return;
        }
        let known = self.session.as_ref().or(self.wishes.chosen.as_ref()).or(self.wishes.resume.as_ref());
        out.emit(Event::Session(SessionInfo {
            // The model is known long before the id, which old versions tell only at the end.
            id: known.cloned(),
            resumed: None,
            model: self.model.clone(),
            agent_version: self.wishes.version.clone(),
        }));
        self.told_model.clone_from(&self.model);
    }

    fn result(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [session, code, counts, outcome, blocker] =
            line.pick(["sessionId", "exitCode", "usage", "outcome", "blocker"])?;
        let code = code.i32().ok_or(Malformed)?;
        if let Some(id) = session.filled() {
            let id = id.into_owned();
            out.emit(Event::Session(SessionInfo {
                resumed: self.resumed(&id),
                id: Some(id.clone()),
                model: self.model.clone(),
                agent_version: self.wishes.version.clone(),
            }));
            self.session = Some(id);
        }
        usage::result(counts, self.scope(), out);
        let changes = counts.get("codeChanges");
        if changes.is_object() {
            out.emit(Event::Other(("code-changes".to_owned(), changes.raw().to_owned())));
        }
        let outcome = if outcome.is("blocked") {
            Outcome::Blocked(verdict::reason(blocker).or_else(|| self.verdict.summary.clone()).unwrap_or_default())
        } else {
            self.verdict.outcome(code)
        };
        let answer = self.verdict.answer().map(Text::Inline);
        out.turn_ended(outcome, answer);
        self.ended = true;
        Ok(())
    }

    fn resumed(&self, id: &str) -> Option<bool> {
        let wanted = self.wishes.resume.as_deref()?;
        match self.wishes.resume_is_strict {
            // It would have failed otherwise, and a name or a prefix is as good as an id.
            true => Some(true),
            // Old versions start a new session under an unknown id: that it is the same says nothing.
            false if wanted == id => None,
            false => Some(id.starts_with(wanted)),
        }
    }

    /// The process is gone. Without a `result` line, what was said before still counts.
    pub(crate) fn finish(&mut self, out: &mut Effects) {
        if self.ended {
            return;
        }
        if let Some(count) = self.premium_requests {
            usage::premium_requests(count, self.scope(), out);
        }
        if let Some(outcome) = self.verdict.without_result() {
            out.turn_ended(outcome, self.verdict.answer().map(Text::Inline));
            self.ended = true;
        }
    }
}

//! Reads the JSON lines of a headless run: `copilot --output-format json`.
//!
//! One process is one turn. Events with an `agentId` come from a sub-agent: its text has a parent and is never the answer.
//! Only the `result` line ends the turn; `assistant.idle` does not.

mod result;

use crate::agent_error::AgentError;
use crate::ignored::IGNORED;
use crate::notices;
use crate::outcome::OutcomeFacts;
use crate::subagents::Subagents;
use crate::tools::Tools;
use crate::usage::{self, Counted};
use std::borrow::Cow;
use wharf_adapter::{
    ChangeKind, ContextUsage, Drafts, Effects, ErrorClass, Event, FileChange, Json, LogLevel, Malformed, RateLimit,
    SessionInfo, Text, UsageScope, time,
};

/// The settings of the turn that its output is read with.
#[derive(Debug, Default, Clone)]
pub(crate) struct TurnSettings {
    /// The id that the new session was given.
    pub(crate) chosen: Option<String>,
    /// The session to resume.
    pub(crate) resume: Option<String>,
    /// Whether the session to continue cannot be continued, so that a new one is started.
    pub(crate) starts_over: bool,
    /// Whether the turn continues a session, by id or the most recent one.
    pub(crate) continues: bool,
    /// Whether this version fails when there is no such session, rather than starting a new one.
    pub(crate) resume_is_strict: bool,
    /// The version of the CLI.
    pub(crate) version: Option<String>,
}

/// The state between two lines.
#[derive(Debug, Default)]
pub(crate) struct LineParser {
    pub(crate) settings: TurnSettings,
    session: Option<String>,
    model: Option<String>,
    /// The model that was last reported.
    reported_model: Option<String>,
    /// The timestamp of the first event.
    pub(crate) since: Option<String>,
    tools: Tools,
    subagents: Subagents,
    drafts: Drafts,
    facts: OutcomeFacts,
    /// The text so far of a message that comes in several events.
    partial: String,
    /// The ids of those events.
    parts: Vec<String>,
    /// Whether there are `model.*` events, which replace the notices of older versions.
    detailed: bool,
    /// The last failed model call, and the agent that made it.
    call_failure: Option<(Option<String>, AgentError)>,
    premium_requests: Option<f64>,
    /// Which tokens were counted.
    pub(crate) counted: Counted,
    ended: bool,
}

impl LineParser {
    /// The session's id, once it is known.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The scope of this version's totals: newer versions continue the totals of earlier processes.
    pub(crate) fn scope(&self) -> UsageScope {
        if self.detailed { UsageScope::SessionTotal } else { UsageScope::TurnTotal }
    }

    /// Handles one line, with the fields of its envelope: type, data, agentId, timestamp.
    pub(crate) fn line(
        &mut self,
        line: Json<'_>,
        [kind, data, agent, timestamp]: [Json<'_>; 4],
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let kind = kind.name().ok_or(Malformed)?;
        if self.since.is_none() {
            self.since = timestamp.string();
        }
        if kind == "result" {
            return self.result(line, out);
        }
        let agent = agent.filled();
        self.event(kind, data, agent.as_deref(), timestamp, out)
    }

    fn event(
        &mut self,
        kind: &str,
        data: Json<'_>,
        agent: Option<&str>,
        timestamp: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        // Few events need it, and none of the frequent ones.
        let time = || timestamp.name().and_then(time::seconds);
        match kind {
            "assistant.message_delta" => {
                let [id, text, by] = data.pick(["messageId", "deltaContent", "parentToolCallId"])?;
                let (id, Some(text)) = (id.str().ok_or(Malformed)?, text.text()) else { return Ok(()) };
                let parent = self.subagents.parent(agent, by);
                self.drafts.add(agent, &id);
                out.text_delta(&id, parent.as_deref(), text);
            }
            "assistant.message" => self.message(data, agent, out)?,
            "assistant.reasoning_delta" => {
                let [id, text, by] = data.pick(["reasoningId", "deltaContent", "parentToolCallId"])?;
                let (id, Some(text)) = (id.str().ok_or(Malformed)?, text.text()) else { return Ok(()) };
                let parent = self.subagents.parent(agent, by);
                self.drafts.add(agent, &id);
                out.thinking_delta(&id, parent.as_deref(), text);
            }
            "assistant.reasoning" => {
                let [id, text, by] = data.select(["reasoningId", "content", "parentToolCallId"])?;
                let id = id.str().unwrap_or_default();
                let parent = self.subagents.parent(agent, by);
                self.drafts.confirm(&id);
                // Hidden reasoning has no text. Streamed parts of it are kept.
                if let Some(text) = text.text() {
                    out.thinking(&id, parent.as_deref(), text);
                }
            }
            "assistant.turn_start" | "assistant.turn_end" => self.drafts.keep(agent),
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
                let parent = self.subagents.parent(agent, data.get("parentToolCallId"));
                self.tools.start(data, parent, out).ok_or(Malformed)?;
            }
            "tool.execution_complete" => {
                let parent = self.subagents.parent(agent, data.get("parentToolCallId"));
                self.tools.complete(data, parent, out).ok_or(Malformed)?;
            }
            "tool.shell_output" => {
                let parent = self.subagents.parent(agent, data.get("parentToolCallId"));
                self.tools.increment(data, parent.as_deref(), out).ok_or(Malformed)?;
            }
            "tool.execution_partial_result" => {
                let parent = self.subagents.parent(agent, data.get("parentToolCallId"));
                self.tools.cumulative(data, parent.as_deref(), out);
            }
            "model.call_start" => {
                self.detailed = true;
                // 1.0.92 does not report that it retries: it only makes the call again.
                if self.call_failure.as_ref().is_some_and(|(caller, _)| caller.as_deref() == agent) {
                    self.retry(agent, "", "", time(), out);
                }
            }
            "model.call_failure" => {
                self.detailed = true;
                let error = AgentError::of_call(data, time());
                // At once: a retry is reported only after the CLI has waited, which may take minutes.
                out.notice(LogLevel::Warn, error.as_notice());
                self.call_failure = Some((agent.map(str::to_owned), error));
            }
            // `--model auto` is resolved only with the first prompt.
            "session.tools_updated" | "session.auto_mode_resolved" => {
                let key = if kind == "session.tools_updated" { "model" } else { "chosenModel" };
                if agent.is_none()
                    && let Some(model) = data.get(key).filled()
                {
                    self.model = Some(model.into_owned());
                    self.emit_session(out);
                }
            }
            "session.start" | "session.resume" => {
                if agent.is_none()
                    && let Some(id) = data.get("sessionId").filled()
                {
                    self.session = Some(id.into_owned());
                    self.reported_model = None;
                    self.emit_session(out);
                }
            }
            "session.error" => self.session_error(data, agent, time(), out)?,
            "session.warning" => self.warning(data, agent.is_none(), time(), out),
            "session.info" => self.info(data, agent, time(), out),
            "session.mcp_server_status_changed" => notices::mcp_status(data, out),
            "session.managed_settings_enforced" => notices::enforced(data, out),
            "session.task_complete" => {
                if agent.is_none() {
                    let [summary, outcome] = data.select(["summary", "outcome"])?;
                    self.facts.summary = summary.filled().map(Cow::into_owned);
                    self.facts.task_done = !outcome.is("continue");
                }
            }
            "session.autopilot_stopped" if agent.is_none() => {
                let reason = data.get("reason").string().unwrap_or_default();
                if reason == "aborted" {
                    self.abort("aborted", out);
                }
                self.facts.stopped = Some(reason);
            }
            "session.usage_info" => {
                let [used, window] = data.select(["currentTokens", "tokenLimit"])?;
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
                    data.select(["content", "source", "isAutopilotContinuation", "agentMode"])?;
                let empty = content.is("") && mode.is("autopilot");
                if agent.is_none() && (continued.is_true() || source.is("autopilot") || empty) {
                    self.facts.continuations += 1;
                    out.emit(Event::Other(("autopilot-continuation".to_owned(), self.facts.continuations.to_string())));
                }
            }
            "subagent.started" => {
                if let (Some(agent), Some(tool)) = (agent, data.get("toolCallId").filled()) {
                    self.subagents.register(agent, &tool);
                }
            }
            "system.notification" => {
                if let Some(text) = data.get("content").filled() {
                    out.notice(LogLevel::Debug, text);
                }
            }
            // Of a sub-agent.
            "session.autopilot_stopped" => {}
            known if IGNORED.contains(known) => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn message(&mut self, data: Json<'_>, agent: Option<&str>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, content, model, tokens, by, index, count] = data.select([
            "messageId",
            "content",
            "model",
            "outputTokens",
            "parentToolCallId",
            "chunkIndex",
            "chunkCount",
        ])?;
        let id = id.str().unwrap_or_default();
        let parent = self.subagents.parent(agent, by);
        let top = parent.is_none();
        if top && let Some(model) = model.filled() {
            self.model = Some(model.into_owned());
        }
        let model = model.filled().or_else(|| self.model.as_deref().filter(|_| top).map(Into::into));
        if usage::message(tokens, model.as_deref(), out) {
            self.counted = self.counted.max(Counted::Output);
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
            // Text streamed under the ids of its parts is repeated by the whole message.
            for part in std::mem::take(&mut self.parts).into_iter().filter(|part| *part != id) {
                if self.drafts.confirm(&part) {
                    out.emit(Event::Discard(part.into()));
                }
            }
        }
        let drafted = self.drafts.confirm(&id);
        self.facts.has_text |= top && !empty;
        // A message with tool calls only has no text: it is reported only if a part of it was streamed.
        if !empty || drafted {
            out.message(&id, parent.as_deref(), text);
        }
        Ok(())
    }

    /// Takes the last failed call of this agent, unless a later call succeeded.
    fn take_failure(&mut self, agent: Option<&str>) -> Option<AgentError> {
        self.call_failure.take_if(|(caller, _)| caller.as_deref() == agent).map(|(_, call)| call)
    }

    /// A model call failed and is retried: its streamed text is discarded.
    fn retry(&mut self, agent: Option<&str>, reason: &str, message: &str, time: Option<u64>, out: &mut Effects) {
        self.drafts.void(agent, out);
        let call = self.take_failure(agent).unwrap_or_else(|| AgentError {
            message: if message.is_empty() { format!("the model call failed: {reason}") } else { message.to_owned() },
            time,
            ..AgentError::default()
        });
        out.emit(Event::Retrying(AgentError { kind: reason.to_owned(), ..call }.failure()));
    }

    fn session_error(
        &mut self,
        data: Json<'_>,
        agent: Option<&str>,
        time: Option<u64>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let error = AgentError::of_session(data, time)?.with_call(self.take_failure(agent));
        let failure = error.failure();
        if failure.class == ErrorClass::RateLimit {
            let scope = error.code.clone().unwrap_or_else(|| "requests".to_owned());
            out.emit(Event::RateLimit(RateLimit { scope, resets_at: error.resets_at(), blocked: true }));
        }
        out.notice(LogLevel::Error, error.message.as_str());
        // Failed hooks, and failed calls that were retried, do not fail the run.
        if agent.is_none() && !matches!(error.kind.as_str(), "model_call" | "hook") {
            self.facts.error = Some(error);
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
        if top && !kind.is_empty() && self.facts.error.is_none() {
            self.facts.error =
                Some(AgentError { kind: kind.to_owned(), message: message.clone(), time, ..AgentError::default() });
        }
        out.notice(LogLevel::Warn, message);
    }

    fn info(&mut self, data: Json<'_>, agent: Option<&str>, time: Option<u64>, out: &mut Effects) {
        let message = data.get("message").string().unwrap_or_default();
        match data.get("infoType").name() {
            // Newer versions have separate events for these.
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
        if self.facts.aborted.is_none() {
            self.facts.aborted = Some(reason.to_owned());
        }
    }

    fn emit_session(&mut self, out: &mut Effects) {
        if self.reported_model == self.model && self.model.is_some() {
            return;
        }
        let known = self.session.as_ref().or(self.settings.chosen.as_ref()).or(self.settings.resume.as_ref());
        out.emit(Event::Session(SessionInfo {
            // The model is known long before the id, which old versions report only at the end.
            id: known.cloned(),
            resumed: self.settings.starts_over.then_some(false),
            model: self.model.clone(),
            agent_version: self.settings.version.clone(),
        }));
        self.reported_model.clone_from(&self.model);
    }
}

//! Reads the lines of stdout, and keeps the state between them.
//!
//! Every type and subtype is either handled or listed as ignored. Any other is reported as unknown.

use crate::blocks::{Partial, Tools};
use crate::failure::AgentError;
use crate::ignored;
use crate::usage::{INPUT_INCLUDES_CACHED, Ledger, api_figures};
use std::fmt::Write as _;
use wharf_adapter::json::Object;
use wharf_adapter::{
    Effects, Event, Json, LogLevel, Malformed, RateLimit, SessionChoice, SessionInfo, ToolCall, ToolStatus, Usage,
    UsageScope,
};

/// The state between two lines.
#[derive(Default)]
pub(crate) struct LineParser {
    /// The session that the turn requested.
    requested: RequestedSession,
    /// The session as last reported, so that a repeated `init` is not reported again.
    announced: Option<SessionInfo>,
    /// The message that is currently streamed.
    pub(crate) partial: Partial,
    /// The tool calls that have not ended.
    pub(crate) tools: Tools,
    /// The last error that the CLI reported or retries after.
    pub(crate) error: Option<AgentError>,
    /// Whether the CLI said that the user interrupted it.
    pub(crate) interrupted: bool,
    /// When the rate limit resets.
    resets_at: Option<u64>,
    /// Tokens and cost.
    pub(crate) ledger: Ledger,
    /// Tokens in the context of the last request of the agent itself, and the model that it went to.
    pub(crate) context: Option<(u64, String)>,
}

/// The session that the turn requested: decides whether `init` means that a session was resumed.
#[derive(Default)]
enum RequestedSession {
    #[default]
    Fresh,
    /// Under this id.
    Resumed(String),
    /// Any but this id.
    Forked(String),
}

impl LineParser {
    /// Stores the session that the turn requested.
    pub(crate) fn set_session(&mut self, session: &SessionChoice) {
        self.requested = match session {
            SessionChoice::Resume(id) => RequestedSession::Resumed(id.clone()),
            SessionChoice::Fork(id) => RequestedSession::Forked(id.clone()),
            // `--continue` starts a new session if there is none, and does not report which it did.
            SessionChoice::Fresh(_) | SessionChoice::MostRecent => RequestedSession::Fresh,
        };
    }

    /// Another turn starts in the same process.
    pub(crate) fn next_turn(&mut self) {
        self.announced = None;
        self.error = None;
        self.interrupted = false;
        self.ledger.next_turn();
    }

    /// The user denied a tool call.
    pub(crate) fn deny(&mut self, tool: &str) {
        self.tools.deny(tool);
    }

    /// The last error, unless the agent recovered from it.
    pub(crate) fn last_error(&self) -> Option<&AgentError> {
        self.error.as_ref()
    }

    /// The process has exited: its tools no longer run.
    pub(crate) fn finish(&mut self, out: &mut Effects) {
        self.tools.cancel_all(out);
    }

    /// Handles one line of this type.
    pub(crate) fn line(&mut self, kind: &str, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        match kind {
            "system" => self.system(line, out)?,
            "assistant" => self.assistant(line, out)?,
            "user" => self.user(line, out)?,
            "result" => self.result(line, out)?,
            "rate_limit_event" => self.rate_limit(line.get("rate_limit_info"), out),
            "auth_status" => {
                if let Some(error) = line.get("error").filled() {
                    out.notice(LogLevel::Warn, error);
                }
            }
            // Retracts an earlier line.
            "tombstone" => {
                if let Some(uuid) = line.at(&["message", "uuid"]).filled() {
                    out.emit(Event::Discard(self.partial.id_of(&uuid).into()));
                }
            }
            "conversation_reset" => out.notice(LogLevel::Info, "the conversation was reset"),
            "tool_progress" | "tool_use_summary" => report_other(kind, line, out),
            known if ignored::LINES.contains(known) => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn system(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [subtype] = line.pick(["subtype"])?;
        let subtype = subtype.name().ok_or(Malformed)?;
        match subtype {
            "init" => self.init(line, out)?,
            "api_retry" => self.api_retry(line, out)?,
            "permission_denied" => {
                let [id, name, parent] = line.pick(["tool_use_id", "tool_name", "parent_tool_use_id"])?;
                if let Some(id) = id.filled() {
                    // The result of an open call follows and has its text. Each denial is reported once.
                    if !self.tools.deny(&id) && self.tools.denied(&id) {
                        let denied = ToolCall::new(&id, ToolStatus::Denied);
                        out.tool(ToolCall { name: name.string(), parent: parent.text(), ..denied });
                    }
                }
            }
            "model_fallback" | "model_refusal_fallback" | "model_consent_fallback" => {
                let [content, model, retracted] =
                    line.pick(["content", "fallback_model", "retracted_message_uuids"])?;
                for uuid in retracted.items().filter_map(Json::string) {
                    out.emit(Event::Discard(self.partial.id_of(&uuid).into()));
                }
                out.notice(LogLevel::Warn, content.str().unwrap_or_default());
                self.switch_model(model.string(), out);
            }
            "model_refusal_no_fallback" | "informational" | "notification" => {
                let [content, text, level] = line.pick(["content", "text", "level"])?;
                if let Some(message) = content.filled().or_else(|| text.filled()) {
                    out.notice(if level.is("warning") { LogLevel::Warn } else { LogLevel::Info }, message);
                }
            }
            "compact_boundary" => {
                let metadata = line.get("compact_metadata");
                self.context = None;
                out.emit(Event::Other(("compacted".to_owned(), raw_or_empty(metadata))));
            }
            "hook_response" => {
                let [name, outcome, stderr] = line.pick(["hook_name", "outcome", "stderr"])?;
                if outcome.is("error") {
                    let (name, stderr) = (name.str().unwrap_or_default(), stderr.str().unwrap_or_default());
                    out.notice(LogLevel::Warn, format!("the hook {name} failed: {}", stderr.trim()));
                }
            }
            "task_started" | "task_updated" | "task_notification" | "background_tasks_changed" => {
                report_other(subtype, line, out);
            }
            "mirror_error" | "session_writes_lost" => out.notice(LogLevel::Warn, subtype.replace('_', " ")),
            known if ignored::SYSTEM.contains(known) => {}
            other => out.unknown(&format!("system/{other}")),
        }
        Ok(())
    }

    fn init(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [id, model, version, servers] = line.pick(["session_id", "model", "claude_code_version", "mcp_servers"])?;
        let id = id.string().ok_or(Malformed)?;
        self.interrupted = false;
        let resumed = match &self.requested {
            RequestedSession::Fresh => None,
            RequestedSession::Resumed(requested) => Some(*requested == id),
            // 2.0 prints an `init` with a new id even if there was no session to fork.
            RequestedSession::Forked(_) if version.name().is_some_and(|version| version.starts_with("2.0.")) => None,
            RequestedSession::Forked(from) => Some(*from != id),
        };
        let session = SessionInfo { id: Some(id), resumed, model: model.string(), agent_version: version.string() };
        if self.announced.as_ref() == Some(&session) {
            return Ok(());
        }
        for server in servers.items().filter(|server| server.get("status").is("failed")) {
            let name = server.get("name").str().unwrap_or_default();
            out.notice(LogLevel::Warn, format!("the MCP server {name} did not start"));
        }
        out.emit(Event::Session(session.clone()));
        self.announced = Some(session);
        Ok(())
    }

    /// From now on another model answers than the one that `init` named.
    fn switch_model(&mut self, model: Option<String>, out: &mut Effects) {
        if let (Some(session), Some(_)) = (&mut self.announced, &model) {
            session.model = model;
            out.emit(Event::Session(session.clone()));
        }
    }

    fn api_retry(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let keys = ["error", "error_status", "attempt", "max_retries", "retry_delay_ms"];
        let [error, status, attempt, limit, delay] = line.pick(keys)?;
        let status = status.u64().and_then(|status| u16::try_from(status).ok());
        let kind = error.string();
        let cause = match status {
            Some(status) => format!("HTTP {status}"),
            None => "Connection error".to_owned(),
        };
        let mut text = format!("{cause}, attempt {} of {}", attempt.raw(), limit.raw());
        // The time of the line is not known, so that this is no time to retry at.
        if let Some(delay) = delay.u64() {
            let _ = write!(text, " in {}.{} s", delay / 1000, delay % 1000 / 100);
        }
        let error = AgentError { kind, status, text, resets_at: self.resets_at, ..AgentError::default() };
        out.emit(Event::Retrying(error.failure()));
        self.error = Some(error);
        Ok(())
    }

    fn rate_limit(&mut self, info: Json<'_>, out: &mut Effects) {
        let Ok([status, resets_at, scope]) = info.pick(["status", "resetsAt", "rateLimitType"]) else {
            return;
        };
        let blocked = status.is("rejected");
        if blocked {
            self.resets_at = resets_at.u64();
        }
        let scope = scope.string().unwrap_or_default();
        out.emit(Event::RateLimit(RateLimit { scope, resets_at: resets_at.u64(), blocked }));
    }

    /// When the rate limit resets, if that is known.
    pub(crate) fn resets_at(&self) -> Option<u64> {
        self.resets_at
    }

    /// Handles an event of the API's stream. `parent` is the tool call of the sub-agent, `abandoned` the part of the
    /// message that the CLI discards.
    pub(crate) fn stream_event(
        &mut self,
        event: Json<'_>,
        parent: Json<'_>,
        abandoned: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let [kind, index, delta] = event.pick(["type", "index", "delta"])?;
        let index = index.u64().unwrap_or_default();
        match kind.name().ok_or(Malformed)? {
            "content_block_delta" => self.partial.delta(index, delta, parent, out)?,
            "message_start" => self.partial.start(event.get("message"), out)?,
            "content_block_start" => self.partial.open(index, event.get("content_block")),
            "message_delta" => self.usage_so_far(event.get("usage"), out),
            "message_stop" => {
                if let Some(from) = abandoned.get("from_block_index").u64() {
                    self.partial.abandon(from, out);
                }
            }
            // An error is reported again by the retry or the result that follows.
            "content_block_stop" | "ping" | "error" => {}
            other => out.unknown(&format!("stream_event/{other}")),
        }
        Ok(())
    }

    /// Reports the final figures of one API message. The result has better ones; these are for a turn without a result.
    fn usage_so_far(&self, usage: Json<'_>, out: &mut Effects) {
        if usage.is_object() {
            let figures = Usage {
                model: self.partial.model().map(str::to_owned),
                ..Usage::new(UsageScope::Delta, "stream", INPUT_INCLUDES_CACHED)
            };
            out.usage(api_figures(usage, figures));
        }
    }
}

/// Reports a line that the interface has no event for.
fn report_other(name: &str, line: Json<'_>, out: &mut Effects) {
    out.emit(Event::Other((name.replace('_', "-"), line.raw().to_owned())));
}

fn raw_or_empty(value: Json<'_>) -> String {
    if value.is_object() { value.raw().to_owned() } else { Object::new().finish() }
}

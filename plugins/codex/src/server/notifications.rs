//! What `app-server` reports while a turn runs.

use super::Server;
use crate::failure;
use crate::ignored::NOTIFICATIONS;
use crate::items::Stage;
use wharf_adapter::json::MISSING;
use wharf_adapter::{
    Effects, ErrorClass, Event, Failure, Json, LogLevel, Malformed, McpServer, McpStatus, Outcome, PlanItem,
    PlanStatus, RateLimit, Retry, Text,
};

/// Whose notification it is.
enum Owner {
    /// The thread of this connection.
    Agent,
    /// The sub-agent that this call started.
    Subagent(String),
    /// A turn that has ended, or a thread that is none of ours.
    Other,
}

impl Owner {
    fn parent(&self) -> Option<&str> {
        if let Owner::Subagent(call) = self { Some(call) } else { None }
    }
}

impl Server {
    pub(super) fn notification(&mut self, method: &str, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        match method {
            "item/agentMessage/delta"
            | "item/reasoning/summaryTextDelta"
            | "item/reasoning/textDelta"
            | "item/reasoning/summaryPartAdded"
            | "item/commandExecution/outputDelta" => self.delta(method, params, out)?,
            "item/started" | "item/completed" => self.item(method, params, out)?,
            "thread/tokenUsage/updated" => self.usage(params, out),
            "turn/started" => {
                if self.is_ours(params) {
                    self.turn_started(params.at(&["turn", "id"]).string().ok_or(Malformed)?, out);
                }
            }
            "turn/completed" => self.completed(params, out)?,
            "error" => self.error(params, out),
            "account/rateLimits/updated" => self.rate_limits(params.get("rateLimits"), out),
            "turn/plan/updated" => {
                if self.is_ours(params) {
                    out.emit(Event::Plan(params.get("plan").items().filter_map(step).collect()));
                }
            }
            "thread/name/updated" => {
                if let (true, Some(name)) = (self.is_ours(params), params.get("threadName").string()) {
                    out.emit(Event::Title(name));
                }
            }
            "serverRequest/resolved" => self.resolved(params.get("requestId").raw(), out),
            "model/rerouted" => {
                if let (true, Some(model)) = (self.is_ours(params), params.get("toModel").string()) {
                    out.notice(LogLevel::Warn, format!("Codex uses the model {model} instead"));
                    self.model = Some(model);
                    self.emit_session(None, out);
                }
            }
            "mcpServer/startupStatus/updated" => mcp_server(params, out),
            "warning" | "guardianWarning" => notice(LogLevel::Warn, params.get("message"), out),
            "configWarning" => notice(LogLevel::Info, params.get("summary"), out),
            "deprecationNotice" => notice(LogLevel::Debug, params.get("summary"), out),
            method if NOTIFICATIONS.contains(method) => {}
            other => out.unknown(other),
        }
        Ok(())
    }

    fn owner(&self, thread: Json<'_>, turn: Json<'_>) -> Owner {
        let (Some(thread), Some(ours)) = (thread.name(), self.thread.as_deref()) else { return Owner::Agent };
        if thread == ours {
            let is_over = turn.name().is_some_and(|turn| self.given_up.as_deref() == Some(turn));
            return if is_over { Owner::Other } else { Owner::Agent };
        }
        self.items.parent(thread).map_or(Owner::Other, |call| Owner::Subagent(call.to_owned()))
    }

    /// Whether a notification is about our thread.
    fn is_ours(&self, params: Json<'_>) -> bool {
        matches!(self.owner(params.get("threadId"), params.get("turnId")), Owner::Agent)
    }

    fn delta(&mut self, method: &str, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [thread, turn, id, delta, index] =
            params.pick(["threadId", "turnId", "itemId", "delta", "summaryIndex"])?;
        let owner = self.owner(thread, turn);
        let parent = owner.parent();
        id.name().ok_or(Malformed)?;
        self.outage.over();
        if matches!(owner, Owner::Other) || !self.streams {
            return Ok(());
        }
        if method == "item/reasoning/summaryPartAdded" {
            if index.u64().is_some_and(|index| index > 0) {
                self.items.thinking_delta(id, parent, Text::Inline("\n\n".to_owned()), out);
            }
            return Ok(());
        }
        let text = delta.text().ok_or(Malformed)?;
        match method {
            "item/agentMessage/delta" => self.items.text_delta(id, parent, text, out),
            "item/commandExecution/outputDelta" => out.tool_output(id.text_or_empty(), parent, text),
            _ => self.items.thinking_delta(id, parent, text, out),
        }
        Ok(())
    }

    fn item(&mut self, method: &str, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [thread, turn, item] = params.pick(["threadId", "turnId", "item"])?;
        let owner = self.owner(thread, turn);
        if matches!(owner, Owner::Other) {
            return Ok(());
        }
        let stage = if method == "item/started" { Stage::Started } else { Stage::Completed };
        if self.items.item(stage, item, owner.parent(), out)? {
            self.outage.over();
        }
        if !self.items.has_open_calls() {
            self.end_late(out);
        }
        Ok(())
    }

    fn usage(&mut self, params: Json<'_>, out: &mut Effects) {
        if !self.is_ours(params) {
            return;
        }
        let of_turn = params.get("turnId").name() == self.turn.as_deref() && self.turn.is_some();
        self.count.update(params.get("tokenUsage"), of_turn, self.model.as_deref(), out);
    }

    fn completed(&mut self, params: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let turn = params.get("turn");
        let [id, status, error] = turn.select(["id", "status", "error"])?;
        if !matches!(self.owner(params.get("threadId"), id), Owner::Agent) {
            return Ok(());
        }
        let outcome = match status.name().ok_or(Malformed)? {
            "completed" => Outcome::Completed,
            "interrupted" => Outcome::Cancelled,
            _ => {
                let mut failure = failure::from_error(error);
                if failure.message.is_empty()
                    && let Some(last) = self.outage.last()
                {
                    failure = last.clone();
                }
                self.advise(&mut failure);
                failure::outcome(failure)
            }
        };
        self.end_after_calls(outcome, out);
        Ok(())
    }

    fn error(&mut self, params: Json<'_>, out: &mut Effects) {
        let owner = self.owner(params.get("threadId"), params.get("turnId"));
        if matches!(owner, Owner::Other) {
            return;
        }
        let failure = failure::from_error(params.get("error"));
        if params.get("willRetry").is_true() {
            self.items.void(owner.parent(), out);
            self.outage.retrying(&failure, out);
            out.emit(Event::Retrying(failure));
        } else if owner.parent().is_none() {
            // `turn/completed` repeats it.
            self.outage.failed(failure);
        }
    }

    /// Reports the limits that have changed.
    fn rate_limits(&mut self, limits: Json<'_>, out: &mut Effects) {
        let is_reached = !limits.get("rateLimitReachedType").is_null();
        for window in ["primary", "secondary"] {
            let [used, resets_at] = limits.get(window).select(["usedPercent", "resetsAt"]).unwrap_or([MISSING; 2]);
            let Some(used) = used.f64() else { continue };
            let blocked = used >= 100.0 || (is_reached && window == "primary");
            let limit = RateLimit { scope: window.to_owned(), resets_at: resets_at.u64(), blocked };
            if !self.limits.contains(&limit) {
                self.limits.retain(|known| known.scope != window);
                self.limits.push(limit.clone());
                out.emit(Event::RateLimit(limit));
            }
        }
    }

    /// A used up limit is available again when it is reset.
    fn advise(&self, failure: &mut Failure) {
        if !matches!(failure.class, ErrorClass::Quota | ErrorClass::RateLimit) {
            return;
        }
        let resets = self.limits.iter().filter(|limit| limit.blocked).filter_map(|limit| limit.resets_at);
        if let Some(at) = resets.max() {
            failure.retry = Retry::At(at);
        }
    }

    /// A request was answered, by us or by somebody else.
    fn resolved(&mut self, id: &str, out: &mut Effects) {
        if let Some(at) = self.asks.iter().position(|ask| ask.id == id) {
            let ask = self.asks.swap_remove(at);
            out.emit(Event::AskWithdrawn(ask.id));
        }
    }
}

fn mcp_server(params: Json<'_>, out: &mut Effects) {
    let [name, status, error, reason] =
        params.select(["name", "status", "error", "failureReason"]).unwrap_or([MISSING; 4]);
    let status = match status.name() {
        Some("starting") => McpStatus::Connecting,
        Some("ready") => McpStatus::Connected,
        Some("cancelled") => McpStatus::Disabled,
        _ if reason.is("reauthenticationRequired") => McpStatus::NeedsAuth,
        _ => McpStatus::Failed,
    };
    let name = name.string().unwrap_or_default();
    out.emit(Event::McpServer(McpServer { name, status, error: error.string() }));
}

fn step(step: Json<'_>) -> Option<PlanItem> {
    let status = match step.get("status").name() {
        Some("inProgress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    };
    Some(PlanItem { text: step.get("step").string()?, status })
}

fn notice(level: LogLevel, text: Json<'_>, out: &mut Effects) {
    if let Some(text) = text.filled() {
        out.notice(level, text);
    }
}

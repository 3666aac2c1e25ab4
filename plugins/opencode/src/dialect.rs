//! What `OpenCode` does differently over the Agent Client Protocol.
//!
//! - The usage of a prompt is that of its last model call. That is the turn's only if there was one; else it is looked up.
//! - The cost is that of the session so far.
//! - Old versions answer a failed model call with `end_turn`, without a word and without tokens.
//! - A stream that was cut off is repeated for ever, each time as a new message.
//! - A rejected tool ends the turn, also with `end_turn`.

mod rounds;

use crate::failure::{self, Moment, is_denial};
use crate::options::Limits;
use crate::retries::Retries;
use crate::tool;
use rounds::Rounds;
use wharf_adapter::acp::{Change, Dialect, Offer, RpcError, ToolFields, Transcript};
use wharf_adapter::{
    ContextUsage, Effects, ErrorClass, Event, Failure, Json, LogLevel, Malformed, Outcome, Retry, ToolCall, ToolStatus,
    Turn, Usage,
};

/// The state of a process, and of its current turn.
#[derive(Debug, Default)]
pub(crate) struct Acp {
    pub(crate) limits: Limits,
    /// The system prompt that the configuration has.
    pub(crate) system: Option<String>,
    pub(crate) retries: Retries,
    rounds: Rounds,
    /// Whether the last thing that happened was that a tool was denied.
    denied: bool,
    /// The cost of the session: now, and before the turn as far as known.
    cost: Option<u64>,
    cost_before: Option<u64>,
    /// Why the adapter stops the turn, and whether the agent was told.
    stopped: Option<Failure>,
    told: bool,
    /// What the figures of the turn lack.
    pub(crate) missing: Missing,
}

/// What has to be looked up after the turn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Tokens or cost.
    pub(crate) usage: bool,
    /// Why the model call failed.
    pub(crate) reason: bool,
}

impl Acp {
    /// The session is new: it has cost nothing.
    pub(crate) fn starts_fresh(&mut self) {
        self.cost_before = Some(0);
    }

    /// A model call failed, and the agent retries it.
    pub(crate) fn call_failed(&mut self, failure: Failure, out: &mut Effects) {
        if let Some(failure) = self.retries.failed(failure, self.limits.retries, out) {
            self.stopped.get_or_insert(failure);
        }
    }

    /// A model call starts, says the log.
    pub(crate) fn call_started(&mut self, out: &mut Effects) {
        if let Some(failure) = self.retries.started(self.limits.retries, out) {
            self.stopped.get_or_insert(failure);
        }
    }

    /// Whether the agent must be told now to stop the turn.
    pub(crate) fn must_stop(&mut self) -> bool {
        self.stopped.is_some() && !std::mem::replace(&mut self.told, true)
    }

    /// Why the adapter stopped the turn, if it did.
    pub(crate) fn stopped(&self) -> Option<Failure> {
        self.stopped.clone()
    }

    /// The figures of the turn, from those of its last model call.
    pub(crate) fn usage_of_turn(&mut self, last: Usage) -> Option<Usage> {
        let cost = self.cost.zip(self.cost_before).map(|(now, before)| now.saturating_sub(before));
        self.cost_before = self.cost.or(self.cost_before);
        let is_whole = self.rounds.is_one() && !crate::usage::is_empty(&last);
        self.missing.usage = !is_whole || cost.is_none();
        let mut usage = Usage { cost_micros: cost, ..Usage::new(last.scope, &last.source, false) };
        if is_whole {
            usage.rounds = Some(1);
            usage.output = last.output;
            (usage.input, usage.reasoning) = (last.input, last.reasoning);
            // It leaves out zeros.
            (usage.cache_read, usage.cache_write) = (last.cache_read.or(Some(0)), last.cache_write.or(Some(0)));
        }
        usage.model = last.model;
        (is_whole || cost.is_some_and(|cost| cost > 0)).then_some(usage)
    }

    /// The message that the model wrote last.
    pub(crate) fn last_message(&self) -> Option<&str> {
        self.rounds.message()
    }

    fn usage_update(&mut self, update: Json<'_>, out: &mut Effects) {
        let [used, size, cost] = update.select(["used", "size", "cost"]).unwrap_or([wharf_adapter::json::MISSING; 3]);
        // Nothing is used after a call that failed: that is no news about the context.
        if let (Some(used), Some(window)) = (used.u64().filter(|used| *used > 0), size.u64()) {
            out.emit(Event::Context(ContextUsage { used, window }));
        }
        let currency = cost.get("currency");
        if currency.is_missing() || currency.is("USD") {
            self.cost = cost.get("amount").micros().or(self.cost);
        }
    }
}

impl Dialect for Acp {
    fn prompt(&self, turn: &Turn) -> Result<String, Failure> {
        if turn.prompt.trim().is_empty() {
            let retry = Retry::AfterUserAction("give a prompt".to_owned());
            return Err(Failure::new(ErrorClass::InvalidOption, "the prompt is empty").retry(retry));
        }
        // A process has one configuration. A later turn with another system prompt gets it in its prompt.
        let system = turn.system_prompt.as_deref().filter(|system| !system.is_empty());
        Ok(match system.filter(|system| self.system.as_deref() != Some(*system)) {
            Some(system) => format!("<system>\n{system}\n</system>\n\n{}", turn.prompt),
            None => turn.prompt.clone(),
        })
    }

    fn start_turn(&mut self) {
        self.retries.clear();
        self.rounds = Rounds::default();
        self.denied = false;
        self.stopped = None;
        self.told = false;
        self.missing = Missing::default();
    }

    fn changes(&self, turn: &Turn, offer: &Offer<'_>, out: &mut Effects) -> Vec<Change> {
        let mut changes = vec![];
        if let Some(agent) = turn.option("agent").filled() {
            match offer.mode(&agent) {
                Some(change) => changes.push(change),
                None => out.notice(LogLevel::Warn, format!("agent {agent:?} was not found; the default agent is used")),
            }
        }
        if let Some(model) = &turn.model {
            changes.push(offer.model(model));
        }
        if let Some(effort) = &turn.effort {
            match offer.effort(effort) {
                Some(change) => changes.push(change),
                None => out.notice(LogLevel::Warn, "the effort was not set: the model offers none"),
            }
        }
        changes
    }

    fn tool(&mut self, tool: &ToolFields<'_>, call: &mut ToolCall, _transcript: &Transcript) {
        if call.status == ToolStatus::Failed {
            let error = tool.output.get("error").str().unwrap_or_default();
            if is_denial(&error) {
                call.status = ToolStatus::Denied;
            } else if tool.output.at(&["metadata", "interrupted"]).is_true() {
                call.status = ToolStatus::Cancelled;
            }
        }
        self.denied = call.status == ToolStatus::Denied;
    }

    fn update(
        &mut self,
        kind: &str,
        update: Json<'_>,
        _transcript: &mut Transcript,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        match kind {
            "agent_message_chunk" => {
                self.retries.answered(out);
                self.denied = false;
                let in_a_row = self.rounds.message_chunk(update.get("messageId").filled().as_deref());
                let limit = self.limits.unfinished;
                if limit > 0 && in_a_row > limit {
                    self.stopped.get_or_insert_with(|| failure::unfinished(limit));
                }
                // What comes after the turn was stopped is more of the same.
                return Ok(self.stopped.is_some());
            }
            "agent_thought_chunk" => self.retries.answered(out),
            "tool_call" | "tool_call_update" => {
                self.retries.progressed(out);
                let status = update.get("status");
                self.rounds.tool(kind == "tool_call", matches!(status.name(), Some("completed" | "failed")));
                let has_diff = update.get("content").items().any(|item| item.get("type").is("diff"));
                if status.is("completed") && !has_diff {
                    let metadata = update.at(&["rawOutput", "metadata"]);
                    // Only tools that change files say whether the file was there.
                    if !metadata.get("exists").is_missing() || !metadata.get("filediff").is_missing() {
                        tool::changes(Json::parse("\"edit\""), metadata, out);
                    }
                }
            }
            "usage_update" => {
                self.usage_update(update, out);
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn outcome(&mut self, wrote: bool, transcript: &mut Transcript, _out: &mut Effects) -> Option<Outcome> {
        if self.denied {
            return Some(Outcome::Cancelled);
        }
        if wrote || transcript.has_output() {
            return None;
        }
        self.missing.reason = true;
        let message = "the agent ended the turn without a word, which is how this version reports a failed model call";
        Some(Outcome::Failed(Failure::new(ErrorClass::Provider, message)))
    }

    fn failure(&self, error: &RpcError<'_>) -> Failure {
        let usual = error.usual_failure();
        match error.data.get("errorName").name() {
            Some(name) => {
                let failure = failure::named(
                    name,
                    &usual.message,
                    wharf_adapter::json::MISSING,
                    Moment { answered: true, at: None },
                );
                failure.status(usual.http_status)
            }
            None => usual,
        }
    }
}

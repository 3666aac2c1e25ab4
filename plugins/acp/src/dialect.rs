//! The dialect of whichever agent answers: the protocol as it is, and the quirks of the agents that are known.

use crate::agent::Agent;
use crate::remarks::Remarks;
use crate::session_totals::SessionTotals;
use crate::tool;
use wharf_adapter::acp::{Change, Dialect, Offer, ToolFields, Transcript, failure_of, model_call};
use wharf_adapter::{
    Approvals, Effects, ErrorClass, Failure, Ignored, Json, LogLevel, Malformed, Outcome, ToolCall, Turn, UsageScope,
};

/// Any agent.
#[derive(Debug, Default)]
pub(crate) struct AnyAgent {
    /// By the name of its program, until it introduces itself.
    pub(crate) agent: Agent,
    /// The login method that the user chose.
    pub(crate) login: Option<String>,
    remarks: Remarks,
    totals: SessionTotals,
}

impl Dialect for AnyAgent {
    /// Requests of Qwen Code, which it can do without.
    const IGNORED: Ignored = Ignored::new(&["craft/drainMidTurnQueue", "qwen/notify/session/mode-update"]);
    const EXTRA_DIRS: bool = true;
    const CHANGES_AT_LOCATIONS: bool = true;
    const FORMS: bool = true;

    fn usage_scope(&self) -> UsageScope {
        self.agent.usage_scope()
    }

    fn counts_last_call_only(&self) -> bool {
        self.agent.counts_last_call_only()
    }

    fn history_millis(&self) -> u32 {
        self.agent.history_millis()
    }

    fn initialized(&mut self, agent: Json<'_>) {
        self.agent = Agent::introduced(agent).unwrap_or(self.agent);
    }

    fn opened(&mut self, session: Json<'_>) {
        self.remarks.expect_greeting(session.at(&["_meta", "piAcp", "startupInfo"]).string());
    }

    fn start_turn(&mut self) {
        self.remarks.start_turn();
        self.totals.start_turn();
    }

    fn authenticate(&self, _methods: Json<'_>) -> Option<String> {
        self.login.clone()
    }

    fn changes(&self, turn: &Turn, offer: &Offer<'_>, out: &mut Effects) -> Vec<Change> {
        let mut changes = vec![];
        if let Some(model) = &turn.model {
            changes.push(offer.model(model));
        }
        if let Some(effort) = &turn.effort {
            match offer.effort(effort) {
                Some(change) => changes.push(change),
                None => out.notice(LogLevel::Warn, "the effort was not set: the agent offers none"),
            }
        }
        let mode = turn.option("mode").filled();
        if let Some(mode) = &mode {
            changes.push(offer.mode(mode).unwrap_or_else(|| Change::mode(mode.as_ref())));
        } else if turn.approvals != Approvals::AllowAll {
            changes.extend(self.agent.asking_mode().and_then(|mode| offer.mode(mode)));
        }
        if let Some(warning) = self.agent.disobeys().filter(|_| turn.approvals != Approvals::AllowAll) {
            out.notice(LogLevel::Warn, warning);
        }
        changes
    }

    fn tool_name(&self, tool: &ToolFields<'_>) -> Option<String> {
        tool::name(self.agent, tool)
    }

    fn tool(&mut self, tool: &ToolFields<'_>, call: &mut ToolCall, _transcript: &Transcript) {
        tool::complete(self.agent, tool, call);
    }

    fn update(
        &mut self,
        kind: &str,
        update: Json<'_>,
        transcript: &mut Transcript,
        out: &mut Effects,
    ) -> Result<bool, Malformed> {
        match kind {
            "agent_message_chunk" => {
                // Qwen Code reports each model call with an empty chunk.
                if let Some(usage) = model_call(update.at(&["_meta", "usage"])) {
                    transcript.count(usage, out);
                }
                let Some(text) = update.at(&["content", "text"]).filled() else { return Ok(false) };
                let id = update.get("messageId").filled();
                return Ok(self.remarks.chunk(self.agent, &text, id.as_deref(), transcript, out));
            }
            "agent_thought_chunk" | "tool_call" | "tool_call_update" => self.remarks.proceed(transcript, out),
            "user_message_chunk" => self.remarks.prompt(transcript, out),
            "usage_update" if self.agent == Agent::Vibe => self.totals.read(update),
            _ => {}
        }
        Ok(false)
    }

    fn replayed(&mut self, kind: &str, update: Json<'_>) {
        if kind == "usage_update" && self.agent == Agent::Vibe {
            self.totals.read(update);
        }
    }

    fn notification(&mut self, method: &str, params: Json<'_>, transcript: &mut Transcript, out: &mut Effects) -> bool {
        let failure = match method {
            "_session/retrying" => retry_of_vibe(params),
            "_x.ai/session_notification" => {
                let update = params.get("update");
                let retries = update.get("sessionUpdate").is("retry_state") && update.get("type").is("retrying");
                if !retries {
                    return false;
                }
                failure_of(&update.get("reason").str().unwrap_or_default())
            }
            _ => return false,
        };
        transcript.retry(failure, out);
        true
    }

    fn outcome(&mut self, wrote: bool, transcript: &mut Transcript, out: &mut Effects) -> Option<Outcome> {
        self.totals.report(out);
        self.remarks.outcome(self.agent, wrote, transcript, out)
    }
}

/// `{"category":"rate_limited","detail":"HTTP 429"}`
fn retry_of_vibe(params: Json<'_>) -> Failure {
    let [category, detail] = ["category", "detail"].map(|key| params.get(key));
    let failure = failure_of(&detail.str().unwrap_or_default());
    match (failure.class, category.name()) {
        (ErrorClass::Other, Some("connection")) => Failure::new(ErrorClass::Network, failure.message),
        (ErrorClass::Other, Some("rate_limited")) => Failure::new(ErrorClass::RateLimit, failure.message),
        (ErrorClass::Other, Some("server_error")) => Failure::new(ErrorClass::Provider, failure.message),
        _ => failure,
    }
}

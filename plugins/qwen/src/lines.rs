//! Reads the lines of `--output-format stream-json`, and keeps the state between them.
//!
//! Every type and subtype is either handled or listed as ignored. Any other is reported as unknown.

use crate::blocks::{BlockKind, Blocks};
use crate::failure::{self, Stderr};
use crate::outcome;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use wharf_adapter::{
    Calls, Effects, ErrorClass, Event, ExitStatus, Failure, Ignored, Json, LogLevel, Malformed, McpServer, McpStatus,
    Phase, SessionChoice, SessionInfo, Subagent,
};

/// Subtypes of `system` that are known and not reported. The first two belong to the terminal's own interface.
const SYSTEM: Ignored = Ignored::new(&["session_end", "session_start", "worktree_restored", "worktree_started"]);

/// Types of `stream_event` that are known and not reported: the state of `/goal`, and signs of life of a running tool.
const STREAM: Ignored =
    Ignored::new(&["content_block_stop", "goal_state", "message_start", "message_stop", "tool_progress"]);

/// The state between two lines.
#[derive(Debug, Default)]
pub(crate) struct LineParser {
    requested: Requested,
    pub(crate) blocks: Blocks,
    /// The tool calls that have not ended.
    pub(crate) tools: Calls<OpenTool>,
    /// The ids of the calls that were reported as denied: the result lists them again.
    pub(crate) denied: BTreeSet<String>,
    /// A text that is an error of the CLI if the turn ends with it.
    pub(crate) held: Option<HeldError>,
    /// Whether a line said how the turn ended.
    pub(crate) declared: bool,
    /// Whether the last retry was announced with a delay: after it, another line says that it starts.
    is_delayed: bool,
}

/// The session that the turn requested.
#[derive(Debug, Default)]
pub(crate) enum Requested {
    #[default]
    Fresh,
    Resumed(String),
    /// Any but this one.
    Forked(String),
    /// A new one instead of a fork.
    StartedOver,
    MostRecent,
}

/// What is kept about a tool call.
#[derive(Debug)]
pub(crate) struct OpenTool {
    /// The file that it writes.
    pub(crate) path: Option<String>,
}

/// A text that starts like an error of the CLI. Versions up to 0.15 report a failed model call as such a text, and end the
/// turn with a success.
#[derive(Debug)]
pub(crate) struct HeldError {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Whether it was streamed before.
    pub(crate) streamed: bool,
}

impl LineParser {
    /// Stores the session that the turn requested.
    pub(crate) fn set_session(&mut self, session: &SessionChoice, can_fork: bool) {
        self.requested = match session {
            SessionChoice::Fresh(_) => Requested::Fresh,
            SessionChoice::Resume(id) => Requested::Resumed(id.clone()),
            SessionChoice::Fork(id) if can_fork => Requested::Forked(id.clone()),
            SessionChoice::Fork(_) => Requested::StartedOver,
            SessionChoice::MostRecent => Requested::MostRecent,
        };
    }

    /// Whether it is not known what the session used before this turn, although it may have.
    pub(crate) fn has_unknown_past(&self) -> bool {
        matches!(self.requested, Requested::MostRecent)
    }

    /// The process has exited: its tools no longer run. Some limits are reported by nothing but the exit code.
    pub(crate) fn finish(&mut self, exit: ExitStatus, stderr: &Stderr, out: &mut Effects) {
        self.release(out);
        self.tools.cancel(out);
        if !self.declared
            && let Some(outcome) = outcome::of_exit(exit, stderr)
        {
            out.turn_ended(outcome, None);
        }
    }

    /// Handles one line of this type.
    pub(crate) fn line(&mut self, kind: &str, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        if kind != "result" {
            self.release(out);
        }
        match kind {
            "system" => self.system(line, out),
            "assistant" => self.assistant(line, out),
            "user" => self.user(line, out),
            "result" => self.result(line, out),
            other => {
                out.unknown(other);
                Ok(())
            }
        }
    }

    /// The turn continues after the held text: the model wrote it.
    fn release(&mut self, out: &mut Effects) {
        if let Some(held) = self.held.take() {
            out.message(held.id, None, held.text.into());
        }
    }

    fn system(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [subtype, data] = line.pick(["subtype", "data"])?;
        let subtype = subtype.name().ok_or(Malformed)?;
        match subtype {
            "init" => self.init(line, out)?,
            "retry" => self.retry(data, out),
            "model_fallback" => {
                let [from, to] = ["fromModel", "toModel"].map(|key| data.get(key).str().unwrap_or_default());
                out.notice(LogLevel::Warn, format!("the model {from} is not available; {to} is used"));
            }
            "vision_bridge" | "vision_bridge_failed" | "vision_routing" => {
                out.notice(LogLevel::Info, data.get("notice").str().unwrap_or_default());
            }
            "continue_turn_failed" => {
                out.notice(LogLevel::Warn, data.get("error").str().unwrap_or_else(|| subtype.into()));
            }
            "task_started" => task(data, Phase::Begun, out),
            "task_notification" => task(data, Phase::Ended, out),
            known if SYSTEM.contains(known) => {}
            other => out.unknown(&format!("system/{other}")),
        }
        Ok(())
    }

    fn init(&mut self, line: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let keys = ["session_id", "model", "qwen_code_version", "mcp_servers", "permission_mode"];
        let [id, model, version, servers, mode] = line.pick(keys)?;
        let id = id.string().ok_or(Malformed)?;
        let resumed = match &self.requested {
            // `--continue` starts a new session if there is none, and does not say so.
            Requested::Fresh | Requested::MostRecent => None,
            Requested::Resumed(requested) => Some(*requested == id),
            Requested::Forked(from) => Some(*from != id),
            Requested::StartedOver => Some(false),
        };
        out.emit(Event::Session(SessionInfo {
            id: Some(id),
            resumed,
            model: model.string(),
            agent_version: version.string(),
        }));
        if let Some(mode) = mode.string() {
            out.emit(Event::Mode(mode));
        }
        for server in servers.items() {
            let status = match server.get("status").name() {
                Some("connected") => McpStatus::Connected,
                Some("connecting") => McpStatus::Connecting,
                Some("disabled") => McpStatus::Disabled,
                _ => McpStatus::Failed,
            };
            let name = server.get("name").string().unwrap_or_default();
            out.emit(Event::McpServer(McpServer { name, status, error: None }));
        }
        Ok(())
    }

    /// A model call is retried. Only a rate limit has a number of attempts and a delay.
    fn retry(&mut self, data: Json<'_>, out: &mut Effects) {
        let keys = ["attempt", "maxRetries", "delayMs", "preserveText", "reason"];
        let Ok([attempt, limit, delay, preserved, reason]) = data.pick(keys) else { return };
        if !preserved.is_true() {
            self.blocks.void(out);
        }
        // The notice about the other model says it.
        if reason.is("model_fallback") {
            return;
        }
        let was_delayed = std::mem::take(&mut self.is_delayed);
        let failure = match (attempt.u64(), delay.u64()) {
            (Some(attempt), Some(delay)) => {
                self.is_delayed = true;
                let mut text = format!("rate limit, attempt {attempt} of {}", limit.raw());
                let _ = write!(text, " in {}.{} s", delay / 1000, delay % 1000 / 100);
                Failure::new(ErrorClass::RateLimit, text)
            }
            _ if was_delayed => return,
            _ => Failure::new(ErrorClass::Provider, "the model's answer was cut off or unusable"),
        };
        out.emit(Event::Retrying(failure));
    }

    /// Handles an event of the stream. `parent` is the tool call of the sub-agent.
    pub(crate) fn stream_event(
        &mut self,
        event: Json<'_>,
        parent: Json<'_>,
        out: &mut Effects,
    ) -> Result<(), Malformed> {
        let [kind, delta] = event.pick(["type", "delta"])?;
        match kind.name().ok_or(Malformed)? {
            "content_block_delta" => self.delta(delta, parent, out)?,
            "content_block_start" => match event.at(&["content_block", "type"]).name() {
                Some("text") => self.blocks.start(parent.filled().as_deref(), BlockKind::Text),
                Some("thinking") => self.blocks.start(parent.filled().as_deref(), BlockKind::Thinking),
                _ => {}
            },
            known if STREAM.contains(known) => {}
            other => out.unknown(&format!("stream_event/{other}")),
        }
        Ok(())
    }

    fn delta(&mut self, delta: Json<'_>, parent: Json<'_>, out: &mut Effects) -> Result<(), Malformed> {
        let [kind, text, thinking] = delta.pick(["type", "text", "thinking"])?;
        let parent = parent.filled();
        let owner = parent.as_deref();
        match kind.name().ok_or(Malformed)? {
            "text_delta" => {
                let id = self.blocks.current(owner, BlockKind::Text);
                out.text_delta(id, owner, text.text_or_empty());
            }
            "thinking_delta" => {
                let id = self.blocks.current(owner, BlockKind::Thinking);
                out.thinking_delta(id, owner, thinking.text_or_empty());
            }
            // The whole call follows at once.
            "input_json_delta" => {}
            other => out.unknown(&format!("content_block_delta/{other}")),
        }
        Ok(())
    }

    /// The failure that a held text reports, if the turn ended with it.
    pub(crate) fn held_failure(&mut self, out: &mut Effects) -> Option<Failure> {
        let held = self.held.take()?;
        if held.streamed {
            out.emit(Event::Discard(held.id.into()));
        }
        Some(failure::of_text(&held.text))
    }
}

/// A sub-agent or a command that works in the background. Without a tool call it belongs to nothing that was reported.
fn task(data: Json<'_>, phase: Phase, out: &mut Effects) {
    let keys = ["tool_use_id", "subagent_type", "description", "status"];
    let Ok([id, name, title, status]) = data.pick(keys) else { return };
    let Some(id) = id.string().filter(|id| !id.is_empty()) else { return };
    // A monitor reports every event that it sees.
    if status.is("running") {
        return;
    }
    let failed = status.name().filter(|status| matches!(*status, "failed" | "cancelled"));
    let (name, title, error) = (name.string(), title.string(), failed.map(str::to_owned));
    out.emit(Event::Subagent(Subagent { id: id.into(), phase, name, title, error }));
}

//! What a run reports while it goes on: the same vocabulary for every agent. Its JSON is a public interface:
//! `wharf schema` prints the schema.

use super::activity::{CommandInfo, Compaction, McpServer, PlanItem, Round, Subagent};
use super::ask::{Ask, AskAnswered};
use super::failure::{Failure, Outcome};
use super::json;
use super::plan::UnsupportedSetting;
use super::report::Report;
use super::tool::{FileChange, ToolCall};
use super::turn::{Labels, Settings};
use super::usage::UsageFigures;
use super::{LogLevel, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// One event of a run. With `--json`, and in the run's event file, each is one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The position in the run: 1, 2, 3 …
    pub seq: u64,
    /// The time since the run started, in milliseconds in JSON.
    #[serde(with = "time::milliseconds")]
    #[schemars(with = "u64")]
    pub at: Duration,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event at a time, which is kept in whole milliseconds: an event that is read back is equal to the live one.
    pub fn new(seq: u64, at: Duration, kind: EventKind) -> Event {
        Event { seq, at: Duration::from_millis(time::millis(at)), kind }
    }
}

/// What happened. In JSON, `type` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// The first event of a run: what was started.
    RunStarted(Box<RunStarted>),
    /// The agent named its session. May come first, last, or several times, and the id may change.
    Session(SessionInfo),
    /// A piece of a message that is being written.
    TextDelta(TextPart),
    /// A whole message: replaces the deltas of its id.
    Message(TextPart),
    /// A piece of the model's reasoning.
    ThinkingDelta(TextPart),
    /// A whole piece of reasoning: replaces the deltas of its id.
    Thinking(TextPart),
    /// Forget the deltas of this message: the attempt was retried.
    Discard {
        /// The message.
        id: String,
    },
    /// A tool call, new or changed. What is null stays as it was.
    Tool(ToolCall),
    /// More output of a running tool; `id` is the tool call's.
    ToolOutput(TextPart),
    /// The agent's plan. Replaces the earlier one.
    Plan {
        /// Its steps, in order.
        items: Vec<PlanItem>,
    },
    /// The agent changed a file.
    FileChange(FileChange),
    /// Figures of usage.
    Usage(UsageFigures),
    /// The agent does not report what the turn used.
    UsageUnavailable {
        /// Why it is unavailable.
        reason: String,
    },
    /// How full the context window is, in tokens.
    Context {
        /// The tokens in use.
        used: u64,
        /// The size of the window.
        window: u64,
    },
    /// The state of a rate limit.
    RateLimit {
        /// Which limit.
        scope: String,
        /// When it resets; RFC 3339 in JSON.
        #[serde(with = "time::rfc3339_option")]
        #[schemars(with = "Option<time::Rfc3339>")]
        resets_at: Option<SystemTime>,
        /// Whether it stops the agent now.
        blocked: bool,
    },
    /// An MCP server of the agent.
    McpServer(McpServer),
    /// The agent summarizes the conversation to free context.
    Compaction(Compaction),
    /// One call of the model.
    Round(Round),
    /// A sub-agent begins or has ended.
    Subagent(Subagent),
    /// The agent's mode of work changed.
    Mode {
        /// "plan", "autopilot".
        mode: String,
    },
    /// What the agent calls the session.
    Title {
        /// For people.
        title: String,
    },
    /// The commands that a prompt can have. Replaces the earlier list.
    Commands {
        /// The commands.
        commands: Vec<CommandInfo>,
    },
    /// The prompt as the agent gave it to the model.
    Prompt(TextPart),
    /// The agent asks; somebody must answer.
    Ask(Ask),
    /// The agent no longer needs that answer.
    AskWithdrawn {
        /// The id of the ask.
        id: String,
        /// The number of the ask; null if none with that id was open.
        #[serde(default)]
        number: Option<u64>,
    },
    /// An ask was answered.
    AskAnswered(AskAnswered),
    /// A message was sent to the agent in the middle of its turn.
    MessageSent {
        /// The message.
        text: String,
    },
    /// Something that the caller sent was not carried out.
    InputRejected(InputRejected),
    /// Another turn has started in the same process.
    TurnStarted {
        /// The prompt of that turn.
        prompt: String,
    },
    /// Something a person may want to read.
    Notice {
        /// How important it is.
        level: LogLevel,
        /// For people.
        text: String,
    },
    /// The agent is retrying by itself.
    Retrying(Failure),
    /// The agent says that the turn is over. The report says how it really ended.
    TurnEnded(TurnEnd),
    /// A type of message that the adapter does not know: counted as drift.
    Unknown {
        /// The agent's name for it.
        native: String,
    },
    /// A frame that violates the protocol.
    Malformed {
        /// The beginning of the frame.
        head: String,
    },
    /// A frame beyond the size limit, skipped.
    Oversized {
        /// Which of the agent's streams it came from.
        stream: OutputStream,
        /// In bytes.
        length: u64,
        /// The beginning of the frame.
        head: String,
    },
    /// Anything else that an adapter reports.
    Other {
        /// The adapter's name for it.
        name: String,
        /// As the adapter gave it.
        #[serde(deserialize_with = "json::value")]
        payload: Value,
    },
    /// The last event: how the run ended.
    Report(Box<Report>),
}

impl EventKind {
    /// A notice for a person.
    pub fn notice(level: LogLevel, text: impl Into<String>) -> EventKind {
        EventKind::Notice { level, text: text.into() }
    }
}

/// A stream that an agent writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// What was started: the first event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RunStarted {
    /// The run's id.
    pub run: String,
    /// When it started; RFC 3339 in JSON.
    #[serde(with = "time::rfc3339")]
    #[schemars(with = "time::Rfc3339")]
    pub started: SystemTime,
    /// The adapter in use.
    pub adapter: AdapterId,
    /// The agent in use.
    pub agent: AgentId,
    /// The prompt of the first turn.
    pub prompt: String,
    /// The folder that the agent works in.
    pub workspace: String,
    /// The caller's labels.
    pub labels: Labels,
    /// What was requested of the agent beside the prompt.
    #[serde(deserialize_with = "json::by_name")]
    pub settings: Settings,
    /// The requested settings that this agent cannot apply.
    pub unsupported: Vec<UnsupportedSetting>,
}

impl RunStarted {
    /// A run of `agent` through `adapter`.
    pub fn new(run: impl Into<String>, started: SystemTime, adapter: AdapterId, agent: AgentId) -> RunStarted {
        RunStarted {
            run: run.into(),
            started,
            adapter,
            agent,
            prompt: String::new(),
            workspace: String::new(),
            labels: Labels::new(),
            settings: Settings::default(),
            unsupported: vec![],
        }
    }
}

/// An adapter, by what it calls itself and by what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdapterId {
    /// "claude", "copilot".
    pub id: String,
    /// The adapter's version, not the agent's.
    pub version: String,
    /// The SHA-256 of its component, in hexadecimal.
    pub sha256: String,
}

/// An agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentId {
    /// The absolute path.
    pub program: String,
    /// As the adapter found it; null if unknown.
    pub version: Option<String>,
    /// How the host talks to it.
    #[serde(default)]
    pub transport: String,
}

/// What is known about the agent's session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The agent's id of it; null if the model is known before the id.
    pub id: Option<String>,
    /// Whether a resume really resumed; null if none was requested or the agent does not say.
    pub resumed: Option<bool>,
    /// The model that answers.
    pub model: Option<String>,
    /// As the agent names it.
    pub agent_version: Option<String>,
}

/// Text with an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextPart {
    /// The id of the message or the tool call.
    pub id: String,
    /// The tool call whose sub-agent wrote it; null if it is the agent itself.
    pub parent: Option<String>,
    /// The text.
    pub text: String,
}

/// Something that the caller sent and that was not carried out: the run goes on as if it had not been sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct InputRejected {
    /// What it was.
    pub input: RejectedInput,
    /// The beginning of the line, of the message or of the prompt; null for an answer.
    pub head: Option<String>,
    /// The id of the ask that an answer names; null if it names none, and for anything else.
    pub ask: Option<String>,
    /// The number of the ask that an answer names; null if it names none, and for anything else.
    #[serde(default)]
    pub number: Option<u64>,
    /// Why it was not carried out.
    pub reason: String,
}

impl InputRejected {
    /// How many characters of the input are repeated.
    const HEAD: usize = 200;

    /// An input that begins with this text.
    pub fn new(input: RejectedInput, text: &str, reason: impl Into<String>) -> InputRejected {
        let head = Some(text.chars().take(InputRejected::HEAD).collect());
        InputRejected { input, head, ask: None, number: None, reason: reason.into() }
    }

    /// An answer to the ask with this id or this number.
    pub fn answer(ask: Option<String>, number: Option<u64>, reason: impl Into<String>) -> InputRejected {
        InputRejected { input: RejectedInput::Answer, head: None, ask, number, reason: reason.into() }
    }
}

/// What a rejected input was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RejectedInput {
    /// A line that was not understood.
    Line,
    /// An answer to an ask.
    Answer,
    /// A message to the agent.
    Message,
    /// Another turn.
    NextTurn,
}

/// How the agent says that the turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnEnd {
    /// According to the agent.
    pub outcome: Outcome,
    /// The limit, the blocker or the reason of a refusal.
    pub detail: Option<String>,
    /// What failed.
    pub error: Option<Failure>,
    /// The answer, if the agent gives it apart from its messages.
    pub answer: Option<String>,
    /// The answer in the requested schema.
    #[serde(default, deserialize_with = "json::optional")]
    #[schemars(!default)]
    pub structured_output: Option<Value>,
}

impl TurnEnd {
    /// An outcome without any detail.
    pub fn new(outcome: Outcome) -> TurnEnd {
        TurnEnd { outcome, detail: None, error: None, answer: None, structured_output: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolStatus;

    #[test]
    fn an_event_survives_its_json() {
        let mut call = ToolCall::new("t", ToolStatus::Succeeded);
        call.duration_ms = Some(7);
        for kind in [
            EventKind::Tool(call),
            EventKind::RateLimit { scope: "hour".into(), resets_at: Some(time::from_unix_seconds(9)), blocked: true },
            EventKind::notice(LogLevel::Warn, "careful"),
            EventKind::InputRejected(InputRejected::new(RejectedInput::Line, &"ä".repeat(300), "why")),
        ] {
            let event = Event { seq: 3, at: Duration::from_millis(12), kind };
            let line = serde_json::to_string(&event).expect("plain data");
            assert!(line.starts_with(r#"{"seq":3,"at":12,"type":""#), "{line}");
            assert_eq!(serde_json::from_str::<Event>(&line).expect("an event"), event);
        }
    }
}

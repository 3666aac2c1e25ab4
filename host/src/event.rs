//! What a turn says to the orchestrator: the same vocabulary for every runtime. Its JSON is an interface of ours;
//! `wharf schema` prints its schema, and additions are the only changes it may see.

use crate::info::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One event. With `--json` each is one line, and `type` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The runtime named its session. May come first, last, or several times, and the id may change.
    Session(SessionInfo),
    /// A piece of a message that is being written.
    TextDelta(TextPart),
    /// A whole message: replaces the deltas of its id.
    Message(TextPart),
    /// A piece of the model's reasoning.
    ThinkingDelta(TextPart),
    /// A whole piece of reasoning: replaces the deltas of its id.
    Thinking(TextPart),
    /// Forget the deltas of this id: the attempt was retried.
    Discard {
        /// The message's id.
        id: String,
    },
    /// A tool call, new or changed. What is null stays as it was.
    Tool(ToolCall),
    /// More output of a running tool; `id` is the tool call's.
    ToolOutput(TextPart),
    /// The agent's plan, in the runtime's own form.
    Plan {
        /// The plan.
        plan: Value,
    },
    /// The agent changed a file.
    FileChange(FileChange),
    /// Figures of usage, as the runtime gave them.
    Usage(UsageFigures),
    /// The runtime will not tell what the turn used.
    UsageUnavailable {
        /// Why.
        reason: String,
    },
    /// How full the context window is.
    Context {
        /// Tokens used.
        used: u64,
        /// Tokens there are.
        window: u64,
    },
    /// The state of a rate limit.
    Limit {
        /// Which limit.
        scope: String,
        /// When it resets, in seconds since 1970.
        resets_at: Option<u64>,
        /// Whether it stops the agent now.
        blocked: bool,
    },
    /// The agent asks; somebody must answer.
    Ask(Ask),
    /// The agent does not need that answer any more.
    AskWithdrawn {
        /// The ask's id.
        id: String,
    },
    /// An ask was answered, by whom.
    AskAnswered {
        /// The ask's id.
        id: String,
        /// The choice that was made.
        choice: Option<String>,
        /// Who made it: caller, rule, timeout.
        by: String,
    },
    /// Something more was said to the agent, in the middle of its turn.
    MessageSent {
        /// What.
        text: String,
    },
    /// Another turn has begun in the same process.
    TurnBegun {
        /// What the agent is asked.
        prompt: String,
    },
    /// Something a person may want to read.
    Notice {
        /// How grave it is.
        level: Level,
        /// What it is.
        text: String,
    },
    /// The runtime is retrying by itself.
    Retrying(Failure),
    /// The runtime says that the turn is over. The report says how it really ended.
    TurnEnd {
        /// How the runtime says it ended.
        outcome: Outcome,
        /// The cap, the blocker or the reason of a refusal.
        detail: Option<String>,
        /// What went wrong.
        error: Option<Failure>,
        /// The answer, where the runtime says it apart from its messages.
        answer: Option<String>,
        /// The answer in the form that was asked for.
        structured_output: Option<Value>,
    },
    /// A native type that the adapter does not know.
    Unknown {
        /// Its name.
        native: String,
    },
    /// A frame that is not what the protocol says.
    Malformed {
        /// Its beginning.
        head: String,
    },
    /// A frame beyond the limit, skipped.
    Oversized {
        /// Where it came from.
        origin: String,
        /// How long it was, in bytes.
        length: u64,
        /// Its beginning.
        head: String,
    },
    /// Anything else that an adapter passes on.
    Other {
        /// What it is.
        name: String,
        /// Its payload.
        payload: Value,
    },
    /// The last line: how it all ended.
    Report(Box<Report>),
}

/// What is known of the runtime's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionInfo {
    /// Its id; null where the model is known before it.
    pub id: Option<String>,
    /// Whether a resume really resumed; null when nothing was to be resumed or nobody knows.
    pub resumed: Option<bool>,
    /// The model.
    pub model: Option<String>,
    /// The runtime's version.
    pub runtime_version: Option<String>,
}

/// Text with an id; `parent` is the tool call whose sub-agent speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextPart {
    /// The message's or the tool call's id.
    pub id: String,
    /// The tool call whose sub-agent speaks; null when it is the agent itself.
    pub parent: Option<String>,
    /// The text.
    pub text: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool call whose sub-agent made it.
    pub parent: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// What a person would call this call.
    pub title: Option<String>,
    /// How far it is.
    pub status: ToolStatus,
    /// Its input.
    pub input: Option<Value>,
    /// Its whole output so far.
    pub output: Option<String>,
    /// The exit code of the command that it ran.
    pub exit_code: Option<i32>,
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolStatus {
    /// It waits.
    Pending,
    /// It runs.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// It was not allowed.
    Denied,
    /// It was stopped.
    Cancelled,
}

impl ToolStatus {
    /// Whether nothing more is to come.
    pub fn is_final(self) -> bool {
        !matches!(self, ToolStatus::Pending | ToolStatus::Running)
    }
}

/// A file that the agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// What happened to it: created, edited, deleted, moved, other.
    pub kind: String,
    /// Lines added.
    pub added: Option<u32>,
    /// Lines removed.
    pub removed: Option<u32>,
}

/// Figures of one source for one model. Null is unknown, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageFigures {
    /// What they cover.
    pub scope: UsageScope,
    /// Where they come from.
    pub source: String,
    /// The model.
    pub model: Option<String>,
    /// The figures themselves.
    #[serde(flatten)]
    pub usage: Usage,
}

/// What figures of usage cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UsageScope {
    /// They add to what the same source said before.
    Delta,
    /// All of the session so far.
    SessionTotal,
    /// All of this turn so far.
    TurnTotal,
}

/// What a turn used. Null is unknown, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, as the runtime counts them.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Tokens written to a cache.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// What the vendor counts beside tokens, by name.
    pub units: BTreeMap<String, f64>,
    /// Milliseconds spent waiting for the model's API.
    pub api_millis: Option<u64>,
}

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// Its id.
    pub id: String,
    /// permission, question or other.
    pub kind: String,
    /// What a person is asked.
    pub title: String,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// The tool call that it is about.
    pub tool_id: Option<String>,
    /// The tool's input, or the question's own form.
    pub detail: Value,
    /// What may be chosen.
    pub choices: Vec<Choice>,
    /// Whether a text may be given.
    pub free_text: bool,
    /// Whether the tool's input may be changed.
    pub input_editable: bool,
}

/// One of an ask's choices. Answers are chosen by kind, not by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Its id.
    pub id: String,
    /// What it means.
    pub kind: ChoiceKind,
    /// What a person reads.
    pub label: String,
}

/// What a choice means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, from now on.
    RejectAlways,
    /// No, and end the turn.
    RejectAndStop,
    /// Something else.
    Other,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The agent did what it was asked, as far as it says.
    Completed,
    /// Something went wrong; `error` says what.
    Failed,
    /// It was stopped.
    Cancelled,
    /// The model or its provider declined.
    Refused,
    /// It needs something from a person.
    Blocked,
    /// A cap was reached: of turns, of cost, of time.
    Limit,
}

/// What went wrong, and what retry makes sense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Of which class it is.
    pub class: ErrorClass,
    /// What the runtime said.
    pub message: String,
    /// The vendor's own code.
    pub code: Option<String>,
    /// The HTTP status behind it.
    pub http_status: Option<u16>,
    /// What retry makes sense.
    pub retry: Retry,
}

/// The classes of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// No login, or a bad one.
    Auth,
    /// Something was not allowed.
    Permission,
    /// There is no such model, or it may not be used.
    UnknownModel,
    /// The runtime did not take an option.
    InvalidOption,
    /// Too many requests.
    RateLimit,
    /// Nothing left to spend.
    Quota,
    /// The conversation is too long.
    ContextLength,
    /// The provider could not be reached.
    Network,
    /// The provider failed.
    Provider,
    /// The agent died.
    Crash,
    /// The agent or the adapter broke the protocol.
    Protocol,
    /// A program or a file is missing.
    NotFound,
    /// There is no such session.
    NoSession,
    /// None of these.
    Other,
}

/// What retry makes sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Retry {
    /// None.
    Never,
    /// The same turn in the same session.
    SameSession,
    /// The same turn in a new session.
    FreshSession,
    /// Not before a time.
    At {
        /// In seconds since 1970.
        time: u64,
    },
    /// Only after somebody did something.
    AfterUserAction {
        /// What.
        action: String,
    },
    /// Nobody knows.
    Unknown,
}

/// How a run ended: the last line of `--json`, and what the library returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// How the turn ended.
    pub outcome: Outcome,
    /// Which cap or clock, what is needed, why it was refused.
    pub detail: Option<String>,
    /// The final text.
    pub answer: Option<String>,
    /// The answer in the form that was asked for.
    pub structured_output: Option<Value>,
    /// The runtime's session.
    pub session: Option<ReportSession>,
    /// The model that answered.
    pub model: Option<String>,
    /// What the turn used; null when nothing is known.
    pub usage: Option<Usage>,
    /// What went wrong.
    pub error: Option<Failure>,
    /// The tool calls, in order of their first appearance.
    pub tools: Vec<ReportTool>,
    /// Files that the agent says it changed.
    pub files: Vec<FileChange>,
    /// Wishes that the runtime could not honour.
    pub ignored: Vec<IgnoredWish>,
    /// What the adapter did not know.
    pub drift: Drift,
    /// How the process ended; null when it never started.
    pub exit: Option<Exit>,
    /// Processes that had to be killed after the agent had ended.
    pub killed: Vec<String>,
    /// The run's id, under which its recording is kept.
    pub run: Option<String>,
}

/// The session, as the report has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportSession {
    /// Its id.
    pub id: String,
    /// Whether a resume really resumed.
    pub resumed: Option<bool>,
}

/// A tool call, as the report has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportTool {
    /// Its id.
    pub id: String,
    /// The tool call whose sub-agent made it.
    pub parent: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// How it ended.
    pub status: ToolStatus,
    /// The exit code of the command that it ran.
    pub exit_code: Option<i32>,
}

/// A wish that the runtime could not honour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IgnoredWish {
    /// Which wish.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What the adapter did not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Native types, with how often they came.
    pub unknown: BTreeMap<String, u64>,
    /// Frames that were not what the protocol says.
    pub malformed: u64,
}

impl Drift {
    /// Whether the adapter knew everything.
    pub fn is_empty(&self) -> bool {
        self.unknown.is_empty() && self.malformed == 0
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
}

/// The JSON Schema of one line of `--json`.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Event);
    schema.insert("$id".to_owned(), Value::from("https://wharf.dev/schema/event-0.1.json"));
    schema.insert("title".to_owned(), Value::from("One line of `wharf run --json`"));
    schema.to_value()
}

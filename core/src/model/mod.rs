//! Plain data: what a caller requests, what a run reports, what is known about agents. Nothing here decides anything.

mod action;
mod activity;
mod agent;
mod ask;
mod attachment;
mod caller_tool;
mod choice;
mod diagnosis;
mod effort;
mod event;
mod failure;
mod form;
mod json;
mod list_price;
mod money;
mod options;
mod plan;
mod policy;
mod price;
mod report;
mod schema;
pub mod time;
mod tool;
mod turn;
mod usage;

pub use action::Action;
pub use activity::{CommandInfo, Compaction, McpServer, McpStatus, Phase, PlanItem, PlanStatus, Round, Subagent};
pub use agent::{
    Access, AdapterInfo, Binary, Capability, LogLevel, Login, Model, ModelList, Note, OptionKind, OptionSpec, Support,
    Transport,
};
pub use ask::{Answer, AnsweredBy, Ask, AskAnswered, AskKind, Decision};
pub use attachment::{ATTACHMENT_LIMIT, Attachment};
pub use caller_tool::{CallerTool, HookPoint};
pub use choice::{Choice, ChoiceKind};
pub use diagnosis::{Diagnosis, Probe, ProbeEnd, Problem, Unusable};
pub use effort::Effort;
pub use event::{
    AdapterId, AgentId, Event, EventKind, InputRejected, OutputStream, RejectedInput, RunStarted, SessionInfo,
    TextPart, TurnEnd,
};
pub use failure::{ErrorClass, Failure, Outcome, Retry};
pub use form::{FieldAnswer, Question};
pub use json::{DEPTH_LIMIT, is_too_deep, json_or_text, parse_json};
pub use money::{Currency, Money};
pub use options::{SettingError, parse_option};
pub use plan::{Arg, ExitBehavior, Framing, InstructionFile, Plan, StopSignal, UnsupportedSetting};
pub use policy::{PolicyArea, PolicyDecision, PolicyRule};
pub use price::{Price, Prices};
pub use report::{Drift, Exit, Omitted, Report, ReportSession, ReportTool};
pub use schema::{Direction, EVENT as EVENT_SCHEMA, SchemaHead, schema};
pub use tool::{Diff, FileChange, FileChangeKind, ToolCall, ToolKind, ToolStatus};
pub use turn::{Approvals, Labels, NextTurn, SessionChoice, Settings, ToolRules, Turn};
pub use usage::{CostSource, Usage, UsageFigures, UsageScope};

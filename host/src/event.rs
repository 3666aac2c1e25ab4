//! Events and the report: what a run reports to its caller, the same for every agent.

pub use wharf_core::model::{
    CommandInfo, Compaction, CostSource, Currency, Diff, Drift, ErrorClass, Event, EventKind, Exit, Failure,
    FileChange, FileChangeKind, InputRejected, McpServer, McpStatus, Money, Omitted, Outcome, OutputStream, Phase,
    PlanItem, PlanStatus, RejectedInput, Report, ReportSession, ReportTool, Retry, Round, RunStarted, SessionInfo,
    Subagent, TextPart, ToolCall, ToolKind, ToolStatus, TurnEnd, UnsupportedSetting, Usage, UsageFigures, UsageScope,
    schema,
};

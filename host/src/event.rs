//! Events and the report: what a run reports to its caller, the same for every agent.

pub use wharf_core::model::{
    CostSource, Currency, Drift, ErrorClass, Event, EventKind, Exit, Failure, FileChange, FileChangeKind,
    InputRejected, Money, Omitted, Outcome, OutputStream, RejectedInput, Report, ReportSession, ReportTool, Retry,
    RunStarted, SessionInfo, TextPart, ToolCall, ToolStatus, TurnEnd, UnsupportedSetting, Usage, UsageFigures,
    UsageScope, schema,
};

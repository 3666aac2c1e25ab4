//! From `wharf-core` to the interface.

use super::bindings::types;
use serde_json::Value;
use wharf_core::model::{
    Approvals, AskAnswered, Attachment, Binary, CallerTool, Capability, Exit, FieldAnswer, HookPoint, LogLevel, Login,
    Money, PolicyArea, PolicyDecision, PolicyRule, SessionChoice, Support, Transport, Turn,
};
use wharf_core::stream::frame::Frames;
use wharf_core::turn::AdapterInput;

/// Complete frames of one of the agent's streams.
pub(crate) struct Chunk {
    /// Whether it is stderr.
    pub(crate) stderr: bool,
    /// Where the frames start in the stream.
    pub(crate) offset: u64,
    /// The frames themselves.
    pub(crate) frames: Frames,
}

pub(super) fn chunk(chunk: Chunk) -> types::Chunk {
    let data = match chunk.frames {
        Frames::Text(text) => types::Frames::Text(text),
        Frames::Bytes(bytes) => types::Frames::Bytes(bytes),
    };
    types::Chunk { stream: stream(chunk.stderr), offset: chunk.offset, data }
}

pub(super) fn stream(stderr: bool) -> types::Stream {
    if stderr { types::Stream::Stderr } else { types::Stream::Stdout }
}

pub(super) fn exit(exit: Exit) -> types::ExitStatus {
    types::ExitStatus { code: exit.code, signal: exit.signal }
}

pub(super) fn input(input: &AdapterInput) -> types::Input {
    match input {
        AdapterInput::Start => types::Input::Start,
        AdapterInput::Answer(answered) => types::Input::Answer(answer(answered)),
        AdapterInput::Message(text) => types::Input::Message(text.clone()),
        AdapterInput::NextTurn(next) => types::Input::NextTurn(next_turn(next)),
        AdapterInput::Timer(number) => types::Input::Timer(*number),
        AdapterInput::Cancel => types::Input::Cancel,
    }
}

fn next_turn(turn: &Turn) -> types::NextTurn {
    types::NextTurn {
        prompt: turn.prompt.clone(),
        attachments: turn.attachments.iter().map(attachment).collect(),
        model: turn.model.clone(),
        approvals: approvals(turn.approvals),
    }
}

fn approvals(approvals: Approvals) -> types::Approvals {
    match approvals {
        Approvals::AllowAll => types::Approvals::AllowAll,
        Approvals::Ask => types::Approvals::Ask,
        Approvals::Deny => types::Approvals::Deny,
    }
}

fn answer(answered: &AskAnswered) -> types::Answer {
    types::Answer {
        ask: answered.id.clone(),
        choice: answered.choice.clone(),
        text: answered.text.clone(),
        input: answered.input.as_ref().map(Value::to_string),
        fields: answered.fields.iter().map(field).collect(),
        value: answered.value.as_ref().map(Value::to_string),
    }
}

fn field(field: &FieldAnswer) -> types::FieldAnswer {
    types::FieldAnswer { question: field.question.clone(), choices: field.choices.clone(), text: field.text.clone() }
}

fn attachment(attachment: &Attachment) -> types::Attachment {
    types::Attachment {
        name: attachment.name.clone(),
        media_type: attachment.media_type.clone(),
        path: attachment.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        bytes: attachment.bytes.clone(),
    }
}

fn policy_rule(rule: &PolicyRule) -> types::PolicyRule {
    types::PolicyRule {
        area: match rule.area {
            PolicyArea::Commands => types::PolicyArea::Commands,
            PolicyArea::ReadPaths => types::PolicyArea::ReadPaths,
            PolicyArea::WritePaths => types::PolicyArea::WritePaths,
            PolicyArea::Hosts => types::PolicyArea::Hosts,
            PolicyArea::McpServers => types::PolicyArea::McpServers,
            _ => types::PolicyArea::Tools,
        },
        pattern: rule.pattern.clone(),
        decision: match rule.decision {
            PolicyDecision::Allow => types::Decision::Allow,
            PolicyDecision::Ask => types::Decision::Ask,
            PolicyDecision::Deny => types::Decision::Deny,
        },
    }
}

fn caller_tool(tool: &CallerTool) -> types::CallerTool {
    types::CallerTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.to_string(),
    }
}

/// The points, in the order of the interface.
const HOOKS: [(HookPoint, types::HookPoints); 10] = [
    (HookPoint::SessionStarted, types::HookPoints::SESSION_STARTED),
    (HookPoint::PromptSubmitted, types::HookPoints::PROMPT_SUBMITTED),
    (HookPoint::BeforeTool, types::HookPoints::BEFORE_TOOL),
    (HookPoint::AfterTool, types::HookPoints::AFTER_TOOL),
    (HookPoint::ToolFailed, types::HookPoints::TOOL_FAILED),
    (HookPoint::SubagentEnded, types::HookPoints::SUBAGENT_ENDED),
    (HookPoint::BeforeCompaction, types::HookPoints::BEFORE_COMPACTION),
    (HookPoint::TurnEnded, types::HookPoints::TURN_ENDED),
    (HookPoint::SessionEnded, types::HookPoints::SESSION_ENDED),
    (HookPoint::Failed, types::HookPoints::FAILED),
];

fn hooks(turn: &Turn) -> types::HookPoints {
    let chosen = HOOKS.iter().filter(|(point, _)| turn.hooks.contains(point));
    chosen.fold(types::HookPoints::empty(), |all, (_, flag)| all | *flag)
}

pub(super) fn turn(turn: &Turn) -> types::Turn {
    types::Turn {
        prompt: turn.prompt.clone(),
        attachments: turn.attachments.iter().map(attachment).collect(),
        system_prompt: turn.system_prompt.clone(),
        workspace: turn.workspace.to_string_lossy().into_owned(),
        extra_dirs: turn.extra_dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect(),
        session: match &turn.session {
            SessionChoice::Fresh(id) => {
                types::SessionChoice::Fresh(id.clone().or_else(|| turn.offered_session_id.clone()))
            }
            SessionChoice::Resume(id) => types::SessionChoice::Resume(id.clone()),
            SessionChoice::Fork(id) => types::SessionChoice::Fork(id.clone()),
            SessionChoice::MostRecent => types::SessionChoice::MostRecent,
        },
        model: turn.model.clone(),
        fallback_model: turn.fallback_model.clone(),
        effort: turn.effort.map(|effort| effort.as_str().to_owned()),
        max_turns: turn.max_turns,
        max_cost_micros: turn.max_cost.map(|Money { micros, .. }| micros),
        approvals: approvals(turn.approvals),
        tools: types::ToolRules {
            allow: turn.tools.allow.clone(),
            deny: turn.tools.deny.clone(),
            only: turn.tools.only.clone(),
            without: turn.tools.without.clone(),
        },
        policy: turn.policy.iter().map(policy_rule).collect(),
        caller_tools: turn.caller_tools.iter().map(caller_tool).collect(),
        hooks: hooks(turn),
        extra_args: turn.extra_args.clone(),
        mcp_servers: turn.mcp_servers.as_ref().map(Value::to_string),
        output_schema: turn.output_schema.as_ref().map(Value::to_string),
        stream_text: turn.stream_text,
        autopilot: turn.autopilot,
        options: turn.options.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}

/// The capabilities, in the order of the interface.
pub(super) const CAPABILITIES: [(Capability, types::Capabilities); 28] = [
    (Capability::Streaming, types::Capabilities::STREAMING),
    (Capability::SessionResume, types::Capabilities::SESSION_RESUME),
    (Capability::SessionFork, types::Capabilities::SESSION_FORK),
    (Capability::ChooseSessionId, types::Capabilities::CHOOSE_SESSION_ID),
    (Capability::SessionPersistenceControl, types::Capabilities::SESSION_PERSISTENCE_CONTROL),
    (Capability::SystemPromptFile, types::Capabilities::SYSTEM_PROMPT_FILE),
    (Capability::PromptViaArg, types::Capabilities::PROMPT_VIA_ARG),
    (Capability::ModelDiscovery, types::Capabilities::MODEL_DISCOVERY),
    (Capability::ModelShorthands, types::Capabilities::MODEL_SHORTHANDS),
    (Capability::EffortLevels, types::Capabilities::EFFORT_LEVELS),
    (Capability::FallbackModel, types::Capabilities::FALLBACK_MODEL),
    (Capability::TokenUsage, types::Capabilities::TOKEN_USAGE),
    (Capability::CostTracking, types::Capabilities::COST_TRACKING),
    (Capability::BudgetCap, types::Capabilities::BUDGET_CAP),
    (Capability::TurnCap, types::Capabilities::TURN_CAP),
    (Capability::BareMode, types::Capabilities::BARE_MODE),
    (Capability::Duplex, types::Capabilities::DUPLEX),
    (Capability::Asks, types::Capabilities::ASKS),
    (Capability::Steering, types::Capabilities::STEERING),
    (Capability::Interrupt, types::Capabilities::INTERRUPT),
    (Capability::ToolRules, types::Capabilities::TOOL_RULES),
    (Capability::McpServers, types::Capabilities::MCP_SERVERS),
    (Capability::Autopilot, types::Capabilities::AUTOPILOT),
    (Capability::StructuredOutput, types::Capabilities::STRUCTURED_OUTPUT),
    (Capability::Attachments, types::Capabilities::ATTACHMENTS),
    (Capability::CallerTools, types::Capabilities::CALLER_TOOLS),
    (Capability::Hooks, types::Capabilities::HOOKS),
    (Capability::Policy, types::Capabilities::POLICY),
];

pub(super) fn binary(binary: &Binary) -> types::Binary {
    let transport = |transport: &Transport| {
        let chosen = CAPABILITIES.iter().filter(|(capability, _)| transport.can(*capability));
        types::Transport {
            name: transport.name.clone(),
            capabilities: chosen.fold(types::Capabilities::empty(), |all, (_, flag)| all | *flag),
        }
    };
    let note = |note: &wharf_core::model::Note| types::Note {
        level: log_level(note.level),
        text: note.text.clone(),
        fix: note.fix.clone(),
    };
    types::Binary {
        program: binary.program.clone(),
        leading_args: binary.leading_args.clone(),
        version: binary.version.clone(),
        support: match binary.support {
            Support::Tested => types::Support::Tested,
            Support::BetweenTested => types::Support::BetweenTested,
            Support::NewerUntested => types::Support::NewerUntested,
            Support::OlderUntested => types::Support::OlderUntested,
            Support::BestEffort => types::Support::BestEffort,
            Support::Unsupported => types::Support::Unsupported,
        },
        unsupported_because: binary.unsupported_because.clone(),
        transports: binary.transports.iter().map(transport).collect(),
        login: match &binary.login {
            Login::Present(how) => types::Login::Present(how.clone()),
            Login::Missing(what) => types::Login::Missing(what.clone()),
            Login::Unknown => types::Login::Unknown,
        },
        notes: binary.notes.iter().map(note).collect(),
    }
}

fn log_level(level: LogLevel) -> types::LogLevel {
    match level {
        LogLevel::Debug => types::LogLevel::Debug,
        LogLevel::Info => types::LogLevel::Info,
        LogLevel::Warn => types::LogLevel::Warn,
        LogLevel::Error => types::LogLevel::Error,
    }
}

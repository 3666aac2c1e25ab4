//! From `wharf-core` to the interface.

use super::bindings::types;
use serde_json::Value;
use wharf_core::model::{
    Approvals, AskAnswered, Binary, Capability, Exit, LogLevel, Login, Money, SessionChoice, Support, Turn,
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
        AdapterInput::NextTurn(next) => types::Input::NextTurn(turn(next)),
        AdapterInput::Timer(number) => types::Input::Timer(*number),
        AdapterInput::Cancel => types::Input::Cancel,
    }
}

fn answer(answered: &AskAnswered) -> types::Answer {
    types::Answer {
        ask: answered.id.clone(),
        choice: answered.choice.clone(),
        text: answered.text.clone(),
        input: answered.input.as_ref().map(Value::to_string),
    }
}

pub(super) fn turn(turn: &Turn) -> types::Turn {
    types::Turn {
        prompt: turn.prompt.clone(),
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
        approvals: match turn.approvals {
            Approvals::AllowAll => types::Approvals::AllowAll,
            Approvals::Ask => types::Approvals::Ask,
            Approvals::Deny => types::Approvals::Deny,
        },
        tools: types::ToolRules {
            allow: turn.tools.allow.clone(),
            deny: turn.tools.deny.clone(),
            only: turn.tools.only.clone(),
            without: turn.tools.without.clone(),
        },
        mcp_servers: turn.mcp_servers.as_ref().map(Value::to_string),
        output_schema: turn.output_schema.as_ref().map(Value::to_string),
        stream_text: turn.stream_text,
        autopilot: turn.autopilot,
        options: turn.options.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}

/// The capabilities, in the order of the interface.
pub(super) const CAPABILITIES: [(Capability, types::Capabilities); 24] = [
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
];

pub(super) fn binary(binary: &Binary) -> types::Binary {
    let chosen = CAPABILITIES.iter().filter(|(capability, _)| binary.can(*capability));
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
        capabilities: chosen.fold(types::Capabilities::empty(), |all, (_, flag)| all | *flag),
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

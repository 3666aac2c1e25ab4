//! Adapters: how they are found, what they request, what is granted to them, and the agent that they found.

pub use crate::guest::imports::BASE_ENVIRONMENT;
pub use crate::guest::{Adapter, AdapterEntry, NamedAgent, Source, Waiting};
pub use wharf_core::model::{
    Access, AdapterId, AdapterInfo, AgentId, Arg, Binary, Capability, Diagnosis, ExitBehavior, Framing,
    InstructionFile, LogLevel, Login, Model, ModelList, Note, OptionKind, OptionSpec, Plan, Problem, StopSignal,
    Support, Transport, Unusable,
};
pub use wharf_core::policy::{Denial, DenialReason, Grants};

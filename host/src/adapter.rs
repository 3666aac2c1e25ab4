//! Adapters: how they are found, what they request, what is granted to them, and the agent that they found.

pub use crate::guest::imports::BASE_ENVIRONMENT;
pub use crate::guest::{Adapter, AdapterEntry, Source};
pub use wharf_core::model::{
    Access, AdapterId, AdapterInfo, AgentId, Arg, Binary, Capability, ExitBehavior, Framing, LogLevel, Login, Model,
    ModelList, Note, OptionKind, OptionSpec, Plan, Support,
};
pub use wharf_core::policy::{Denial, DenialReason, Grants};

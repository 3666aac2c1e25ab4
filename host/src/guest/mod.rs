//! An adapter as a guest: compiled, checked, run with limits, and given only the access that was granted.
//!
//! This room never decides how a turn goes on, and starts no agent. WIT types exist only in [`v0_1`]; everything else
//! uses the types of `wharf-core`.

mod adapter;
mod cache;
mod catalog;
mod clean;
mod compiler;
mod component;
mod engine;
mod fault;
pub(crate) mod imports;
mod instance;
mod named_agent;
mod settings;
mod source;
mod state;
mod stderr_tail;
mod structure;
mod v0_1;
mod wasi;

pub use adapter::Adapter;
pub use catalog::AdapterEntry;
pub(crate) use catalog::{Catalog, grants};
pub(crate) use compiler::CompileLimits;
pub use compiler::compile_in_child;
pub(crate) use engine::{Engine, Limits};
pub(crate) use fault::Fault;
pub(crate) use imports::{Environment, HttpClient, Imports, is_probe_id};
pub use imports::{Variable, Waiting};
pub(crate) use instance::{Effects, Instance, Launch, PromptDelivery};
pub use named_agent::NamedAgent;
pub use source::Source;
pub(crate) use v0_1::Chunk;

//! The sessions that wharf remembers: the agents' own conversations, by the ids that the agents gave them.
//!
//! A session is one entry even if its id changes: it is found by every id that it has had. Drift and usage are counted in
//! the same `SQLite` file, because they outlive a run too. Any number of wharf processes may use the file at once. The content of
//! a conversation is never stored, only what is needed to resume it.

mod database;
mod drift;
mod entry;
mod live;
mod merge;
mod store;
#[cfg(test)]
mod tests;
mod usage;

pub use drift::DriftRow;
pub use entry::{SessionEntry, SessionFilter};
pub(crate) use merge::SessionTurn;
pub use store::Sessions;
pub(crate) use usage::RunUsage;
pub use usage::{UsageGroup, UsageKey, UsageQuery};

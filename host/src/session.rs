//! Sessions: the agents' own conversations that wharf remembers.

pub use crate::sessions::{DriftRow, SessionEntry, SessionFilter, Sessions, UsageGroup, UsageKey, UsageQuery};

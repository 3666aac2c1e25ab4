//! Agents that wharf has installed, and the packages that they come from.

pub use crate::agents::{Agents, InstalledAgent};
pub use crate::packages::{Package, Registry};

//! The agents that `wharf agent install` has put into a folder of wharf's, several versions side by side.
//!
//! This room finds and removes them. It downloads nothing and starts nothing.

mod installed;
mod store;
mod version;

pub use installed::InstalledAgent;
pub(crate) use installed::Manifest;
pub use store::Agents;
pub(crate) use store::Change;
pub(crate) use version::{compare, is_preview, is_version};

//! The commands, one a file, each with its arguments.

pub(crate) mod adapters;
pub(crate) mod agent;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod fixture;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod receipt;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod usage;

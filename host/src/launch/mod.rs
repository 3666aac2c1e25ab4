//! From a turn to a started process: finds the agent, builds and checks the command line, writes the files.

mod environment;
mod files;
mod options;
mod plan;
mod resolve;
mod start;

pub(crate) use environment::environment_for;
pub(crate) use files::remove_launch_folders;
pub use options::{RunOptions, WhenBusy};
pub(crate) use plan::plan_unchecked;
pub(crate) use start::Launcher;

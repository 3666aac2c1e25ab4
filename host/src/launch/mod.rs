//! From a turn to a started process: finds the agent, builds and checks the command line, writes the files.

mod attachments;
mod diagnose;
mod environment;
mod explain;
mod files;
mod options;
mod plan;
mod program;
mod resolve;
mod session;
mod start;

pub use diagnose::Preflight;
pub(crate) use diagnose::usable;
pub(crate) use environment::environment_for;
pub(crate) use explain::Explained;
pub(crate) use files::remove_launch_folders;
pub use options::{RunOptions, SessionBusy, WhenBusy};
pub(crate) use plan::plan_unchecked;
pub(crate) use program::package_of;
pub(crate) use start::Launcher;

//! What every command takes: how much is printed, and in which colors.

use clap::{Args, ValueEnum};

/// The heading of what every command takes, apart from what only one takes.
const GENERAL: &str = "General options";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Print only what was requested
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub(crate) quiet: bool,
    /// Print more: the adapters' log lines, reasoning, tool output
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub(crate) verbose: bool,
    /// Color: auto (terminals, unless `NO_COLOR` is set), always, never
    #[arg(long, global = true, help_heading = GENERAL, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

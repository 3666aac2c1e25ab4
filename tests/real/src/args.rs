//! The command line, which `cargo xtask real` writes.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// The agents that the suite can run.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum AgentName {
    Copilot,
    Claude,
}

/// Run a real agent through wharf, against a mock model. `cargo xtask real` installs agents and starts this program.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "wharf-real-suite")]
pub(crate) struct Args {
    /// The agent to run.
    #[arg(long)]
    pub(crate) agent: AgentName,
    /// The agent's version.
    #[arg(long)]
    pub(crate) version: String,
    /// The folder in which npm installed it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) install: PathBuf,
    /// The folder for the scenarios' files; it is emptied first.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) work: PathBuf,
    /// The wharf binary to test.
    #[arg(long, value_name = "FILE")]
    pub(crate) wharf: PathBuf,
    /// The folders of PATH, after the agent's own.
    #[arg(long, value_name = "FOLDERS")]
    pub(crate) path: String,
    /// A component to use instead of the bundled adapter, to try a change without building the host.
    #[arg(long, value_name = "FILE")]
    pub(crate) adapter: Option<PathBuf>,
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// The file with the table of results to update.
    #[arg(long, value_name = "FILE")]
    pub(crate) table: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    const REQUIRED: &str = "suite --agent claude --version 2.0.76 --install i --work w --wharf bin --path /bin";

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn everything_but_the_last_three_arguments_is_required() {
        let args = Args::try_parse_from(REQUIRED.split(' ')).expect("all are there");
        assert_eq!((args.agent, args.version.as_str(), args.table), (AgentName::Claude, "2.0.76", None));
        for name in ["agent", "version", "install", "work", "wharf", "path"] {
            let line: Vec<&str> = REQUIRED.split(' ').collect();
            let at = line.iter().position(|arg| *arg == format!("--{name}")).expect("it is there");
            let without = [&line[..at], &line[at + 2..]].concat();
            let error = Args::try_parse_from(without).expect_err(name).to_string();
            assert!(error.contains(&format!("--{name}")), "{error}");
        }
        let error = Args::try_parse_from(REQUIRED.replace("claude", "codex").split(' ')).expect_err("no such agent");
        assert!(error.to_string().contains("codex"), "{error}");
    }
}

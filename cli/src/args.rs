//! The command line. Help, man pages and completions all come from here and from the structs in `commands/`.

use crate::commands::run::args::RunArgs;
use crate::commands::{adapters, agent, doctor, fixture, models, receipt, replay, runs, schema, sessions, show, usage};
use crate::ui::Common;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The exit codes, which `exit` chooses, and what they mean.
pub(crate) const EXIT_CODES: [(&str, &str); 9] = [
    ("0", "the turn completed, or the command succeeded"),
    ("1", "the turn failed"),
    ("2", "invalid input: arguments, configuration, prompt, workspace, unknown adapter"),
    ("3", "the agent's program is missing or cannot be used"),
    ("4", "the adapter was refused, or failed before the agent started"),
    ("5", "the turn was refused, or blocked because it needs something from a person"),
    ("6", "a limit was reached: rounds, budget, time"),
    ("7", "the file system or the operating system failed"),
    ("130", "the turn was cancelled"),
];

/// The environment variables, and what they set.
pub(crate) const VARIABLES: [(&str, &str); 7] = [
    ("WHARF_ADAPTER", "the adapter, if none is named"),
    ("WHARF_CONFIG", "your configuration file"),
    ("WHARF_DATA", "the folder of runs, sessions and installed agents"),
    ("WHARF_CACHE", "the folder of compiled adapters and lists of models"),
    ("WHARF_ADAPTERS", "the folder of your own adapters"),
    ("WHARF_PROFILE", "`perfmap` writes a map of the adapters' functions for `perf`"),
    ("NO_COLOR", "no colors, unless --color is given"),
];

/// What the help ends with.
fn after_help() -> String {
    let table = |title: &str, width: usize, rows: &[(&str, &str)]| {
        let rows = rows.iter().map(|(name, meaning)| format!("\n  {name:<width$}  {meaning}"));
        format!("{title}:{}", rows.collect::<String>())
    };
    format!("{}\n\n{}", table("Exit codes", 3, &EXIT_CODES), table("Environment variables", 14, &VARIABLES))
}

/// Run coding-agent CLIs behind one interface, through sandboxed adapters.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, after_help = after_help(), propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn of an agent
    ///
    /// Examples:
    ///   wharf run --adapter claude "Fix the failing test"
    ///   wharf run --adapter copilot --json --file task.md --label task=42
    ///   git diff | wharf run --adapter claude --system "You review code"
    #[command(verbatim_doc_comment)]
    Run(Box<RunArgs>),
    /// Show a whole turn with the bundled example agent
    Demo,
    /// Show what a turn would start, without starting it
    Explain(Box<RunArgs>),
    /// List the adapters, or show what one requests and what it is granted
    Adapters(adapters::AdaptersArgs),
    /// Install agents from npm or PyPI into a folder of wharf's, list them, or remove some
    ///
    /// Several versions of an agent can be installed. `[agents.NAME] version` in the configuration or --agent-version
    /// chooses one; without that, the program in PATH is used, and if there is none, the newest that is installed.
    ///
    /// Examples:
    ///   wharf agent install claude
    ///   wharf agent install claude@2.1.325
    ///   wharf agent remove claude@2.1.325
    #[command(verbatim_doc_comment)]
    Agent(agent::AgentArgs),
    /// Check which agents are usable and how to fix the rest
    ///
    /// It runs each agent's own version and login commands, for at most 5 seconds an adapter, and no turn. An agent is
    /// unusable if no turn can work: its program is missing, hangs, crashes or prints no version, its version is known
    /// not to work, or there is no login. A login that cannot be determined is no problem.
    ///
    /// Exit codes: 0 if every named adapter's agent is usable; without names, if at least one is, the example not
    /// counted. 2 for an unknown adapter, 3 if an agent is unusable, 4 if an adapter failed. With --json, `reason` is
    /// one of not-found, not-granted, cannot-start, hangs, crashes, no-version, unsupported-version, no-login,
    /// adapter-error, system-error, other.
    Doctor(doctor::DoctorArgs),
    /// List the models that an agent offers
    Models(models::ModelsArgs),
    /// List the sessions that wharf remembers, show one, or delete some
    ///
    /// Examples:
    ///   wharf sessions --workspace . --label task=42
    ///   wharf sessions last
    ///   wharf sessions rm 0d5c21f2
    #[command(verbatim_doc_comment)]
    Sessions(sessions::SessionsArgs),
    /// List the recorded runs, or delete some
    ///
    /// Examples:
    ///   wharf runs --label task=42
    ///   wharf runs rm 20261116T015713-ab12cd34
    #[command(verbatim_doc_comment)]
    Runs(runs::RunsArgs),
    /// Add up what the recorded runs have used: tokens and cost
    ///
    /// Examples:
    ///   wharf usage --by day,model --since 7d
    ///   wharf usage --by label:team --label project=web --json
    #[command(verbatim_doc_comment)]
    Usage(usage::UsageArgs),
    /// Show what happened in a run
    Show(show::ShowArgs),
    /// Print the receipt of a run, or verify it
    Receipt(receipt::ReceiptArgs),
    /// Play a recording or a bare capture to an adapter
    ///
    /// Examples:
    ///   wharf replay last
    ///   wharf replay last --adapter ./claude-next.wasm --diff
    ///   wharf replay --adapter copilot --stdout out.jsonl --stderr err.txt --exit 1 --json
    #[command(verbatim_doc_comment)]
    Replay(replay::ReplayArgs),
    /// Turn a recording into a redacted test fixture
    Fixture(fixture::FixtureArgs),
    /// Print a JSON Schema: of events, of what a command prints, or of what wharf reads
    ///
    /// Examples:
    ///   wharf schema --list
    ///   wharf schema | npx json-schema-to-typescript > events.d.ts
    ///   wharf schema runs > runs.schema.json
    #[command(verbatim_doc_comment)]
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write all of them into a folder
    Man {
        /// The folder to write them to
        folder: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}

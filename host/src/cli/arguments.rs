//! What may stand on the command line. Help, man pages and completions all come from here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    the turn completed, or the command did what it was asked
  1    the turn failed
  2    bad input: arguments, configuration, prompt, workspace, no such adapter
  3    the agent's program is missing or cannot be used
  4    the adapter was refused, or failed before the agent started
  5    the turn was refused, or blocked because it needs something from a person
  6    a limit was reached: turns, budget, time
  7    the file system or the operating system failed
  130  the turn was cancelled";

/// The heading of what every command takes, which would otherwise stand between what only one takes.
const GENERAL: &str = "General options";

/// Run coding-agent CLIs behind one interface, through sandboxed adapters.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, about, after_help = EXIT_CODES, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Say only what was asked for
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub(crate) quiet: bool,
    /// Say more: the adapters' log lines, reasoning, tool output
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub(crate) verbose: bool,
    /// Colour: auto (terminals, unless `NO_COLOR` is set), always, never
    #[arg(long, global = true, help_heading = GENERAL, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one turn of an agent
    ///
    /// Examples:
    ///   wharf run --adapter claude "Fix the failing test"
    ///   wharf run --adapter copilot --json --file task.md
    ///   git diff | wharf run --adapter claude --system "You review code"
    #[command(verbatim_doc_comment)]
    Run(Box<RunOrder>),
    /// Show a whole turn against the bundled example agent
    Demo,
    /// Show what a turn would start, without starting it
    Explain(Box<RunOrder>),
    /// List the adapters, or show what one needs and what it is granted
    Adapters(AdaptersOrder),
    /// Tell whether the agents can be used, and what would mend it
    Doctor(DoctorOrder),
    /// List the models that an agent offers
    Models(ModelsOrder),
    /// List the sessions that wharf remembers, or show one
    Sessions(SessionsOrder),
    /// List the recorded runs
    Runs(RunsOrder),
    /// Show what happened in a run
    Show(ShowOrder),
    /// Show a run's receipt, or check it against the files
    Receipt(ReceiptOrder),
    /// Feed a recording or a bare capture through an adapter
    ///
    /// Examples:
    ///   wharf replay last
    ///   wharf replay last --adapter ./claude-next.wasm --diff
    ///   wharf replay --adapter copilot --stdout out.jsonl --stderr err.txt --exit 1 --json
    #[command(verbatim_doc_comment)]
    Replay(ReplayOrder),
    /// Turn a recording into a redacted test fixture
    Fixture(FixtureOrder),
    /// Print the JSON Schema of one line of `run --json`
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write all of them into a folder
    Man {
        /// Where to write them
        folder: Option<PathBuf>,
    },
}

/// A turn.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunOrder {
    /// What to ask the agent; `-` or nothing reads standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    pub(crate) file: Option<PathBuf>,
    /// The adapter: an id, or the path of a component
    #[arg(short, long, value_name = "ADAPTER", env = "WHARF_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// The model, by the agent's own name for it
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// The model to take when the first one is not to be had
    #[arg(long, value_name = "MODEL")]
    pub(crate) fallback_model: Option<String>,
    /// Go on with a session: its id, or `last`
    #[arg(short, long, value_name = "SESSION", conflicts_with = "fork")]
    pub(crate) resume: Option<String>,
    /// Go on with a copy of a session
    #[arg(long, value_name = "SESSION")]
    pub(crate) fork: Option<String>,
    /// The id for a new session, where the agent lets the caller choose
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "fork"])]
    pub(crate) session_id: Option<String>,
    /// A system prompt; `@FILE` reads it from a file
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// How hard to think: none, minimal, low, medium, high, xhigh, max
    #[arg(short, long)]
    pub(crate) effort: Option<String>,
    /// An option of the adapter, as NAME=VALUE (`wharf adapters show` lists them)
    #[arg(short, long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// The folder to work in
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Another folder that the agent may use
    #[arg(long, value_name = "FOLDER")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// The program to run instead of what the adapter would find
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Let the agent use its tools without asking
    #[arg(long, conflicts_with_all = ["deny", "ask"])]
    pub(crate) approve: bool,
    /// Let the agent use no tool that needs asking
    #[arg(long, conflicts_with = "ask")]
    pub(crate) deny: bool,
    /// Ask for each tool (the usual on a terminal)
    #[arg(long)]
    pub(crate) ask: bool,
    /// A TOML file with rules that answer asks
    #[arg(long, value_name = "FILE", conflicts_with_all = ["approve", "deny"])]
    pub(crate) rules: Option<PathBuf>,
    /// A tool that the agent may use without asking, in its own notation
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow_tool: Vec<String>,
    /// A tool that it may never use
    #[arg(long, value_name = "TOOL")]
    pub(crate) deny_tool: Vec<String>,
    /// The only tools that the model is shown
    #[arg(long, value_name = "TOOL")]
    pub(crate) only_tool: Vec<String>,
    /// Tools that the model is not shown
    #[arg(long, value_name = "TOOL")]
    pub(crate) without_tool: Vec<String>,
    /// MCP servers: a JSON file in the `{"mcpServers": …}` form
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// A JSON Schema file that the answer shall follow
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// The most rounds that the agent may go through
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// The most that the turn may cost, in US dollars
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_cost: Option<f64>,
    /// Let the agent go on by itself until the task is done
    #[arg(long)]
    pub(crate) autopilot: bool,
    /// No text while it is being written, only whole messages
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Read messages to the agent from standard input while the turn runs, one a line
    ///
    /// With --json each line is an object: {"type":"message","text":…}, {"type":"answer","ask":…,"decision":…} or
    /// {"type":"cancel"}. The prompt comes as an argument or with --file.
    #[arg(long)]
    pub(crate) messages: bool,
    /// Keep the agent's process for further turns, which come with --messages and --json
    ///
    /// As {"type":"next-turn","prompt":…}, once a turn has ended, with another "model" or other "approvals" where they are
    /// given. The end of standard input is the end of it.
    #[arg(long, requires_all = ["messages", "json"])]
    pub(crate) stay: bool,
    /// Seconds until the first output
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit_first_output: Option<f64>,
    /// Seconds without output, while no tool runs and nothing is asked
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit_idle: Option<f64>,
    /// Seconds for the whole turn
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit_total: Option<f64>,
    /// Seconds until an ask counts as refused
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit_ask: Option<f64>,
    /// Seconds between asking the agent to stop and killing it
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<f64>,
    /// Bytes of the longest line; a longer one is reported and skipped
    #[arg(long, value_name = "BYTES")]
    pub(crate) limit_frame: Option<usize>,
    /// Keep no recording of this run
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Print JSON: of a run its events, one a line, the last of which is the report
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AdaptersOrder {
    #[command(subcommand)]
    pub(crate) command: Option<AdaptersCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AdaptersCommand {
    /// List them
    List,
    /// Show what one needs, what it is granted, and its options
    Show {
        /// An id, or the path of a component
        adapter: String,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorOrder {
    /// Which adapters; all of them when none is named
    pub(crate) adapters: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModelsOrder {
    /// The adapter: an id, or the path of a component
    #[arg(env = "WHARF_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// Ask anew, not what was found a short while ago
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SessionsOrder {
    /// Show this one: an id, its beginning, or `last`
    pub(crate) session: Option<String>,
    /// How many to list
    #[arg(short = 'n', long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunsOrder {
    /// How many to list
    #[arg(short = 'n', long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Remove the oldest ones beyond what the configuration keeps
    #[arg(long)]
    pub(crate) prune: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ShowOrder {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// Print the raw bytes of the agent's stdout instead
    #[arg(long, conflicts_with_all = ["stderr", "json"])]
    pub(crate) stdout: bool,
    /// Print the raw bytes of its stderr instead
    #[arg(long, conflicts_with = "json")]
    pub(crate) stderr: bool,
    /// Print the events as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReceiptOrder {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// Check the receipt, the recording and the events against their digests
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayOrder {
    /// The run: an id, its beginning, or `last`
    #[arg(required_unless_present = "stdout")]
    pub(crate) run: Option<String>,
    /// Another adapter than the one that was used: an id, or the path of a component
    #[arg(short, long, required_unless_present = "run")]
    pub(crate) adapter: Option<String>,
    /// A capture of an agent's stdout, instead of a run
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) stdout: Option<PathBuf>,
    /// The capture's stderr
    #[arg(long, value_name = "FILE", requires = "stdout")]
    pub(crate) stderr: Option<PathBuf>,
    /// The capture's exit code
    #[arg(long, value_name = "CODE", requires = "stdout", conflicts_with = "signal", allow_hyphen_values = true)]
    pub(crate) exit: Option<i32>,
    /// The signal that ended it
    #[arg(long, value_name = "NUMBER", requires = "stdout")]
    pub(crate) signal: Option<i32>,
    /// The version of the agent that wrote it
    #[arg(long, value_name = "VERSION", requires = "stdout")]
    pub(crate) runtime_version: Option<String>,
    /// It was cancelled by whoever ran it
    #[arg(long, requires = "stdout")]
    pub(crate) cancelled: bool,
    /// An option of the adapter, as NAME=VALUE
    #[arg(short, long = "option", value_name = "NAME=VALUE", requires = "stdout")]
    pub(crate) options: Vec<String>,
    /// What the approvals were: allow-all, ask, deny
    #[arg(long, requires = "stdout", value_name = "HOW")]
    pub(crate) approvals: Option<String>,
    /// Feed so many bytes at once
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk: Option<usize>,
    /// Show only what differs from the events that were recorded
    #[arg(long, conflicts_with_all = ["stdout", "json"])]
    pub(crate) diff: bool,
    /// Print events as JSON, one a line; the last is the report
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FixtureOrder {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// The folder to write it into
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) into: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}

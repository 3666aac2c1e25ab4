//! The arguments of `wharf run` and `wharf explain`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use wharf::{HookPoint, TimeoutSetting};

/// A turn, and how it runs.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct RunArgs {
    /// What to ask the agent; `-` or nothing reads standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    pub(crate) file: Option<PathBuf>,
    /// The adapter: an id, or the path of a component
    #[arg(short, long, value_name = "ADAPTER", env = "WHARF_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// The model: the agent's own name for it, or a shorthand of `[models]`
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// Fallback model if the first is unavailable
    #[arg(long, value_name = "MODEL")]
    pub(crate) fallback_model: Option<String>,
    /// Continue a session: its id, or `last`
    #[arg(short, long, value_name = "SESSION", conflicts_with = "fork")]
    pub(crate) resume: Option<String>,
    /// Continue a copy of a session
    #[arg(long, value_name = "SESSION")]
    pub(crate) fork: Option<String>,
    /// If another run uses the session: refuse to start, or wait until it has ended
    #[arg(long, value_enum, value_name = "WHAT", default_value = "refuse")]
    pub(crate) session_busy: SessionBusy,
    /// The id for a new session, if the agent lets the caller choose
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "fork"])]
    pub(crate) session_id: Option<String>,
    /// A system prompt; `@FILE` reads it from a file
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Reasoning effort: none, minimal, low, medium, high, xhigh, max
    #[arg(short, long, value_name = "EFFORT")]
    pub(crate) effort: Option<String>,
    /// An option of the adapter, as NAME=VALUE (`wharf adapters show` lists them)
    #[arg(short, long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// The folder to work in
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// A file or an image that goes with the prompt
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Another folder that the agent may use
    #[arg(long, value_name = "FOLDER")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// The agent's program, instead of the one that the adapter finds
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// The version of the agent, one that `wharf agent install` has installed
    #[arg(long, value_name = "VERSION", conflicts_with = "program")]
    pub(crate) agent_version: Option<String>,
    /// Let the agent use its tools without asking
    #[arg(long, conflicts_with_all = ["deny", "ask"])]
    pub(crate) approve: bool,
    /// Deny every tool that needs approval
    #[arg(long, conflicts_with = "ask")]
    pub(crate) deny: bool,
    /// Ask for each tool (the default on a terminal)
    #[arg(long)]
    pub(crate) ask: bool,
    /// A TOML file with rules that answer asks
    #[arg(long, value_name = "FILE", conflicts_with_all = ["approve", "deny"])]
    pub(crate) rules: Option<PathBuf>,
    /// A tool that the agent may use without asking, in the agent's own notation
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow_tool: Vec<String>,
    /// A tool that it may never use
    #[arg(long, value_name = "TOOL")]
    pub(crate) deny_tool: Vec<String>,
    /// The only tools that the model sees
    #[arg(long, value_name = "TOOL")]
    pub(crate) only_tool: Vec<String>,
    /// Tools that the model does not see
    #[arg(long, value_name = "TOOL")]
    pub(crate) without_tool: Vec<String>,
    /// MCP servers: a JSON file in the `{"mcpServers": …}` form
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// Tools that you run yourself: a JSON file with a list of `{"name", "description", "input_schema"}`. Each call is an ask
    /// of the kind `tool`
    #[arg(long, value_name = "FILE")]
    pub(crate) caller_tools: Option<PathBuf>,
    /// A point at which you are asked, if the agent has it: before-tool, after-tool, prompt-submitted, turn-ended …
    #[arg(long, value_name = "POINT", value_parser = hook_point)]
    pub(crate) hook: Vec<HookPoint>,
    /// How to talk to the agent, instead of the transport that the turn needs; `wharf doctor` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: Option<String>,
    /// An argument for the agent's own command line, unchanged. Your configuration must grant it: `extra_args`
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) agent_arg: Vec<String>,
    /// A file with the JSON Schema of the answer
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// The maximum number of rounds (model calls)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) max_turns: Option<u32>,
    /// The maximum cost of the turn, in US dollars
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<String>,
    /// Let the agent continue by itself until the task is done
    #[arg(long)]
    pub(crate) autopilot: bool,
    /// Report whole messages only, not text while it is being written
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Control the turn from standard input while it runs: answers, messages, a cancel
    ///
    /// With --json each line is an object: {"type":"message","text":…}, {"type":"answer","number":…,"decision":…} or
    /// {"type":"cancel"}. An answer may have a "name", for the event. A line that is not carried out is an
    /// input-rejected event. Without --json each line is a message to the agent. The prompt comes as an argument or with
    /// --file.
    #[arg(long)]
    pub(crate) control: bool,
    /// Keep the agent's process alive for further turns, which come with --control and --json
    ///
    /// After a turn has ended, as {"type":"next-turn","prompt":…}, with another "model" or other "approvals" if they are
    /// given. The end of standard input finishes the run after the current turn.
    #[arg(long, requires_all = ["control", "json"])]
    pub(crate) keep_alive: bool,
    /// Timeout for the first output: none, or a duration such as 90s, 5m, 1h30m (default: 5m)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) first_output_timeout: Option<TimeoutSetting>,
    /// Timeout without output, while no tool runs and no ask is open (default: 15m)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) idle_timeout: Option<TimeoutSetting>,
    /// Timeout for the whole run (default: none)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) total_timeout: Option<TimeoutSetting>,
    /// Time until an ask counts as denied, which blocks the turn; none waits (default: 5m)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) ask_timeout: Option<TimeoutSetting>,
    /// Time between asking the agent to stop and killing it (default: 5s)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = wharf::parse_duration)]
    pub(crate) grace: Option<Duration>,
    /// Size limit of a line in bytes; a longer one is reported and skipped
    #[arg(long, value_name = "BYTES")]
    pub(crate) limit_frame: Option<usize>,
    /// A label to find the run by, as NAME=VALUE; repeat it for several
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub(crate) labels: Vec<String>,
    /// An environment variable for the agent, as NAME=VALUE, or NAME to pass on wharf's own; repeat it for several
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) variables: Vec<String>,
    /// The same for a value that is not secret: it stays in events, recordings and logs
    #[arg(long = "env-plain", value_name = "NAME[=VALUE]")]
    pub(crate) plain_variables: Vec<String>,
    /// The agent's home folder, instead of yours
    #[arg(long, value_name = "FOLDER")]
    pub(crate) home: Option<PathBuf>,
    /// An isolated folder for the agent's state: logins, sessions, settings
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Keep no recording of this run
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Print JSON; for a run its events, one per line, the last of which is the report
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do if another run uses the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionBusy {
    Refuse,
    Wait,
}

fn hook_point(name: &str) -> Result<HookPoint, String> {
    let known = HookPoint::ALL.into_iter().find(|point| point.to_string() == name);
    known.ok_or_else(|| format!("the points are: {}", HookPoint::ALL.map(|point| point.to_string()).join(", ")))
}

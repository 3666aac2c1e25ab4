//! The command line of the benchmark, and the sizes that it selects.

use crate::corpus::{AgentKind, Mix};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What wharf costs, compared with what people would write without it.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "wharf-bench", args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct ProgramArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

/// The parts of the benchmark that run in a separate process.
#[derive(Debug, Subcommand, PartialEq, Eq)]
pub(crate) enum Command {
    /// Run a command and print what it cost
    Measure(MeasureArgs),
    /// Run an agent in a loop that parses with `serde_json`
    Native { agent: AgentKind, program: PathBuf },
    /// Run an agent and copy its output
    Copy { program: PathBuf },
    /// Run an agent and parse its output in a sidecar process
    Relay(RelayArgs),
    /// Use wharf as a library, and print what it cost
    #[command(subcommand)]
    Library(LibraryCommand),
    /// Print a corpus
    Corpus { agent: AgentKind, mix: Mix, size: usize },
}

#[derive(Debug, Args, PartialEq, Eq)]
pub(crate) struct MeasureArgs {
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args, PartialEq, Eq)]
pub(crate) struct RelayArgs {
    pub(crate) program: PathBuf,
    #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
    pub(crate) sidecar: Vec<OsString>,
}

/// What is measured in a process that uses the library.
#[derive(Debug, Subcommand, PartialEq, Eq)]
pub(crate) enum LibraryCommand {
    /// The start of turns
    Start { folder: PathBuf, turns: usize },
    /// The memory of live runs
    Memory { folder: PathBuf, runs: usize },
    /// The memory of adapter instances
    Instances { allocation: Allocation, live: usize },
}

/// Where an instance's memory comes from.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// Allocated when the instance starts, as in a run.
    OnDemand,
    /// Taken from a pool that was allocated before.
    Pool,
}

/// What can be measured, in the order in which it is measured: the short ones first.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Section {
    Operators,
    Parse,
    Start,
    Latency,
    Memory,
    Growth,
    Pipeline,
}

/// The arguments of the benchmark itself.
#[derive(Debug, Clone, Args, PartialEq, Eq)]
pub(crate) struct BenchArgs {
    /// Where files are created
    #[arg(long, value_name = "PATH", default_value = "target/bench")]
    pub(crate) folder: PathBuf,
    /// Measure only these
    #[arg(long, value_name = "SECTION", num_args = 1..)]
    only: Vec<Section>,
    /// Small sizes, to see that it works
    #[arg(long)]
    pub(crate) quick: bool,
    /// How many rounds, an odd number
    #[arg(long, value_name = "N", default_value = "5", value_parser = odd)]
    pub(crate) rounds: usize,
    /// Exit with 1 if a bar is missed
    #[arg(long, conflicts_with_all = ["profile", "record"])]
    pub(crate) check: bool,
    #[command(flatten)]
    instead: InsteadArgs,
}

/// What to do instead of measuring. At most one.
#[derive(Debug, Clone, Args, PartialEq, Eq)]
#[group(multiple = false)]
struct InsteadArgs {
    /// Write a profile instead of figures
    #[arg(long)]
    profile: bool,
    /// Record the operators in bench/operators.json, and measure nothing else
    #[arg(long, requires = "only")]
    record: bool,
    /// Write the document again from the figures of the last run
    #[arg(long)]
    report: bool,
}

/// What the benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Measure, and write the document.
    Measure,
    /// Write the document from the figures of the last run.
    Report,
    /// Write a profile.
    Profile,
    /// Record the operators.
    Record,
}

/// Odd, so that the median is one of the rounds.
fn odd(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| number % 2 == 1).ok_or_else(|| "it must be an odd number".to_owned())
}

impl BenchArgs {
    pub(crate) fn task(&self) -> Result<Task, String> {
        match &self.instead {
            InsteadArgs { profile: true, .. } => Ok(Task::Profile),
            InsteadArgs { report: true, .. } => Ok(Task::Report),
            InsteadArgs { record: true, .. } if self.only == [Section::Operators] => Ok(Task::Record),
            InsteadArgs { record: true, .. } => Err("`--record` needs `--only operators`".to_owned()),
            InsteadArgs { .. } => Ok(Task::Measure),
        }
    }

    /// What is measured.
    pub(crate) fn sections(&self) -> &[Section] {
        if self.only.is_empty() { Section::value_variants() } else { &self.only }
    }

    /// Whether everything is measured, at full size.
    pub(crate) fn is_complete(&self) -> bool {
        !self.quick && Section::value_variants().iter().all(|section| self.sections().contains(section))
    }

    /// Bytes of a corpus for the whole pipeline.
    pub(crate) fn pipeline_size(&self) -> usize {
        if self.quick { 20_000_000 } else { 172_000_000 }
    }

    /// Bytes of a corpus for parsing alone.
    pub(crate) fn parse_size(&self) -> usize {
        if self.quick { 2_000_000 } else { 32_000_000 }
    }

    /// Bytes of the turns of growing length.
    pub(crate) fn growth_sizes(&self) -> &'static [usize] {
        if self.quick { &[1_000_000, 10_000_000] } else { &[1_000_000, 10_000_000, 100_000_000, 1_000_000_000] }
    }

    /// How many runs are live at once.
    pub(crate) fn live_runs(&self) -> &'static [usize] {
        if self.quick { &[100] } else { &[100, 1000] }
    }

    /// How many lines are timed in each round.
    pub(crate) fn timed_lines(&self) -> usize {
        if self.quick { 200 } else { 1000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<ProgramArgs, String> {
        let words = std::iter::once("wharf-bench").chain(line.split_whitespace());
        ProgramArgs::try_parse_from(words).map_err(|error| error.to_string())
    }

    fn task(line: &str) -> Result<(BenchArgs, Task), String> {
        let args = parse(line)?.bench;
        let task = args.task()?;
        Ok((args, task))
    }

    #[test]
    fn flags_are_understood() {
        let (args, what) = task("").expect("everything");
        assert!(args.is_complete() && args.rounds == 5 && !args.check && what == Task::Measure);
        let (args, _) = task("--check --quick --rounds 3").expect("a quick check");
        assert!(args.check && args.quick && !args.is_complete() && args.rounds == 3);
        let (args, _) = task("--only start latency --check --folder /x").expect("two sections");
        assert_eq!(args.sections(), [Section::Start, Section::Latency]);
        assert!(args.check && !args.is_complete() && args.folder == *"/x");
        assert_eq!(task("--only operators --record").expect("a recording").1, Task::Record);
        assert_eq!(task("--profile --quick").expect("a profile").1, Task::Profile);
        assert_eq!(task("--report --check").expect("a report").1, Task::Report);
    }

    #[test]
    fn invalid_arguments_are_named() {
        for (line, part) in [
            ("fast", "'fast'"),
            ("--only", "'--only <SECTION>...'"),
            ("--only speed", "'speed'"),
            ("--rounds 4", "odd number"),
            ("--record", "--only"),
            ("--record --only start", "--only operators"),
            ("--folder", "'--folder <PATH>'"),
            ("--profile --check", "'--profile' cannot be used with '--check'"),
            ("measure", "COMMAND"),
            ("native gemini /agent", "'gemini'"),
        ] {
            let error = task(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn the_parts_in_other_processes_take_the_commands_as_they_are() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let measure = MeasureArgs { command: words(&["wharf", "run", "--json", "--check", "hello"]) };
        let parsed = parse("measure -- wharf run --json --check hello").expect("a command");
        assert_eq!(parsed.command, Some(Command::Measure(measure)));
        let relay = RelayArgs { program: "/agent".into(), sidecar: words(&["node", "--version", "-x"]) };
        assert_eq!(parse("relay /agent node --version -x").expect("a relay").command, Some(Command::Relay(relay)));
        let instances = LibraryCommand::Instances { allocation: Allocation::OnDemand, live: 3 };
        let parsed = parse("library instances on-demand 3").expect("instances");
        assert_eq!(parsed.command, Some(Command::Library(instances)));
    }
}

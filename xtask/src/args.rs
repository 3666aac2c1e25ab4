//! The command line.

use crate::bench::BenchArgs;
use crate::dist::DistArgs;
use crate::real::RealArgs;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;
use std::num::NonZeroU32;

/// The development tasks of the Wharf repository.
///
/// A task stops at the first command that fails and exits with that command's code. `CARGO_TARGET_DIR` is respected.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "xtask", bin_name = "cargo xtask", subcommand_value_name = "TASK", subcommand_help_heading = "Tasks")]
pub(crate) struct Args {
    /// None shows the help.
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
}

impl Args {
    /// Parses a command line, the program's name included.
    pub(crate) fn read<A: Into<OsString> + Clone>(line: impl IntoIterator<Item = A>) -> Result<Args, clap::Error> {
        Args::try_parse_from(line)
    }

    /// Prints the help to stdout.
    pub(crate) fn print_help() -> std::io::Result<()> {
        Args::command().print_help()
    }
}

/// What to do.
#[derive(Debug, Subcommand, PartialEq, Eq)]
pub(crate) enum Task {
    /// Build wharf and show one whole turn against the bundled fake agent.
    Demo,
    /// Run all tests, those of the documentation and `schema` too.
    Test(TestArgs),
    /// Check formatting, the copies of the interface, clippy (the supervisor for Windows and macOS too), rustdoc, the
    /// packages and cargo-deny.
    Lint,
    /// Check that every published crate can be packaged and contains all that it needs.
    Package,
    /// Copy wit/runtime.wit into the packages that contain it.
    Wit,
    /// Run the demo and write its output as a picture, docs/images/demo.svg (Unix).
    Screenshot,
    /// Check that generators make named types of the JSON Schemas, with npm and Python; what is missing is skipped.
    Schema,
    /// Build the test guests in tests/guests as components.
    Guests,
    /// Run the fake agent 10,000 times in one process, 100 runs at a time, and look for leaks.
    Soak(SoakArgs),
    /// Run the suite of real agents, from npm, against a mock model.
    Real(RealArgs),
    /// Measure what wharf costs and write docs/performance.md (Linux; about ten minutes after the build).
    Bench(BenchArgs),
    /// Build the archive of a release for one target, with its checksum, in target/dist.
    Dist(DistArgs),
    /// Install the wasm32-wasip2 target if it is missing. The other tasks that need it do this too.
    Setup,
}

impl Task {
    /// Whether it needs the target of the adapters.
    pub(crate) fn builds_components(&self) -> bool {
        !matches!(self, Task::Package | Task::Wit)
    }
}

/// The arguments of `cargo xtask test`.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
pub(crate) struct TestArgs {
    /// Arguments for `cargo test`.
    #[arg(last = true, value_name = "ARG")]
    pub(crate) cargo: Vec<OsString>,
}

/// The arguments of `cargo xtask soak`. Numbers that are not given are left to the program.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
pub(crate) struct SoakArgs {
    /// How many runs [default: 10000].
    #[arg(long, value_name = "N")]
    runs: Option<NonZeroU32>,
    /// How many runs at a time [default: 100].
    #[arg(long, value_name = "N")]
    parallel: Option<NonZeroU32>,
    /// Stop after this many seconds [default: 165].
    #[arg(long, value_name = "N")]
    seconds: Option<NonZeroU32>,
}

impl SoakArgs {
    /// The same arguments, for the program that does the work.
    pub(crate) fn forwarded(&self) -> Vec<String> {
        let all = [("--runs", self.runs), ("--parallel", self.parallel), ("--seconds", self.seconds)];
        let given = all.into_iter().filter_map(|(flag, number)| Some((flag, number?)));
        given.flat_map(|(flag, number)| [flag.to_owned(), number.to_string()]).collect()
    }
}

/// Parses what follows `cargo xtask`, for the tests.
#[cfg(test)]
pub(crate) fn parse(line: &str) -> Result<Task, clap::Error> {
    let args = Args::read(std::iter::once("xtask").chain(line.split_whitespace()))?;
    Ok(args.task.expect("the tests name a task"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn command_lines() {
        let test = |args: &[&str]| Task::Test(TestArgs { cargo: args.iter().map(OsString::from).collect() });
        let five = Some(NonZeroU32::new(5).expect("five is not zero"));
        for (line, task) in [
            ("setup", Task::Setup),
            ("demo", Task::Demo),
            ("lint", Task::Lint),
            ("guests", Task::Guests),
            ("package", Task::Package),
            ("wit", Task::Wit),
            ("screenshot", Task::Screenshot),
            ("soak", Task::Soak(SoakArgs::default())),
            ("soak --runs 5", Task::Soak(SoakArgs { runs: five, ..SoakArgs::default() })),
            ("test", test(&[])),
            ("test --", test(&[])),
            ("test -- outcome -- --nocapture", test(&["outcome", "--", "--nocapture"])),
        ] {
            assert_eq!(parse(line).expect(line), task, "{line}");
        }
    }

    #[test]
    fn help_is_no_error() {
        assert_eq!(Args::read(["xtask"]).expect("no task is fine"), Args { task: None });
        for line in ["--help", "-h", "help", "bench --help", "real -h"] {
            let help = parse(line).expect_err(line);
            assert_eq!((help.kind(), help.exit_code()), (ErrorKind::DisplayHelp, 0), "{line}");
        }
    }

    #[test]
    fn an_invalid_command_line_is_an_error_that_names_the_argument() {
        for (line, argument) in [
            ("dmeo", "dmeo"),
            ("demo now", "now"),
            ("test outcome", "outcome"),
            ("lint --fix", "--fix"),
            ("soak hard", "hard"),
            ("soak --runs", "--runs"),
            ("soak --runs 0", "--runs"),
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(argument), "{error}");
        }
    }

    #[test]
    fn soak_forwards_what_was_given() {
        let Ok(Task::Soak(args)) = parse("soak --seconds 7 --runs 5") else { panic!("it parses") };
        assert_eq!(args.forwarded(), ["--runs", "5", "--seconds", "7"]);
        assert!(SoakArgs::default().forwarded().is_empty());
    }
}

//! The command line.

use crate::bench;
use crate::real::Order;

/// What `cargo xtask` prints when it is not told what to do.
pub(crate) const HELP: &str = "\
Usage: cargo xtask COMMAND

  demo              build wharf and show one whole turn against the bundled fake agent
  test [-- ARG…]    run all tests; what follows `--` goes to `cargo test`
  lint              formatting, clippy (the supervisor for Windows and macOS too), rustdoc and cargo-deny
  guests            build the guests of tests/guests as components
  soak [FLAG…]      run the tests' agent 10,000 times, 100 at a time, in one process, and look for leaks; stops after
                    165 seconds; takes --runs N, --parallel N, --seconds N
  real [AGENT] …    run the suite of real agents: copilot or claude, all of both when none is named
       --version V     only this version      --scenario NAME  only scenarios with this in their name
       --offline       skip it, and say so    --ci             skip what cannot be installed, write no table
  bench [FLAG…]     measure what wharf costs and write docs/performance.md; some ten minutes after the build; on Linux
       --check         exit with 1 when a bar is missed   --quick          small sizes, to see that it works
       --only NAME…    operators, parse, start, latency, memory, growth, pipeline
       --profile       leave a profile instead            --rounds N       instead of 5; odd
       --record        with `--only operators`: record them in bench/operators.json
       --report        write the document again from the figures of the last time
  setup             install the wasm32-wasip2 target where it is missing; the others do it too

CARGO_TARGET_DIR is honoured, and for `real` WHARF_BIN, a wharf to be used instead of building one. A failing step ends the command with its exit code.";

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Setup,
    Demo,
    /// With arguments for `cargo test`.
    Test(Vec<String>),
    Lint,
    Guests,
    /// With flags for the soak.
    Soak(Vec<String>),
    /// With flags for the benchmark.
    Bench(Vec<String>),
    /// Which agents, and how.
    Real(Order),
}

impl Command {
    /// From the words of the command line, or why not.
    pub(crate) fn parse(words: &[String]) -> Result<Command, String> {
        let Some((name, arguments)) = words.split_first() else {
            return Ok(Command::Help);
        };
        let command = match name.as_str() {
            "help" | "--help" | "-h" => Command::Help,
            "setup" => Command::Setup,
            "demo" => Command::Demo,
            "lint" => Command::Lint,
            "guests" => Command::Guests,
            "soak" => return soak(arguments),
            "bench" => return bench::parse(arguments).map(Command::Bench),
            "real" => return Order::parse(arguments).map(Command::Real),
            "test" => match arguments.split_first() {
                None => return Ok(Command::Test(vec![])),
                Some((dashes, rest)) if dashes == "--" => return Ok(Command::Test(rest.to_vec())),
                Some((word, _)) => {
                    return Err(format!("`test` takes what is meant for `cargo test` after `--`, not `{word}`"));
                }
            },
            other => return Err(format!("there is no command `{other}`")),
        };
        match arguments.first() {
            Some(argument) => Err(format!("`{name}` takes no argument, and got `{argument}`")),
            None => Ok(command),
        }
    }
}

/// Flags and numbers, in pairs.
fn soak(arguments: &[String]) -> Result<Command, String> {
    for pair in arguments.chunks(2) {
        let flag = &pair[0];
        if !["--runs", "--parallel", "--seconds"].contains(&flag.as_str()) {
            return Err(format!("`soak` has no flag `{flag}`"));
        }
        if pair.get(1).and_then(|number| number.parse::<u32>().ok()).is_none_or(|number| number == 0) {
            return Err(format!("`{flag}` needs a number"));
        }
    }
    Ok(Command::Soak(arguments.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let test = |arguments: &[&str]| Command::Test(arguments.iter().map(|word| (*word).to_owned()).collect());
        for (line, command) in [
            ("", Command::Help),
            ("--help", Command::Help),
            ("setup", Command::Setup),
            ("demo", Command::Demo),
            ("lint", Command::Lint),
            ("guests", Command::Guests),
            ("soak", Command::Soak(vec![])),
            ("soak --runs 5", Command::Soak(vec!["--runs".to_owned(), "5".to_owned()])),
            ("bench --quick", Command::Bench(vec!["--quick".to_owned()])),
            ("test", test(&[])),
            ("test --", test(&[])),
            ("test -- outcome -- --nocapture", test(&["outcome", "--", "--nocapture"])),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn wrong_command_lines_name_the_wrong_word() {
        for (line, word) in [
            ("dmeo", "dmeo"),
            ("demo now", "now"),
            ("test outcome", "outcome"),
            ("lint --fix", "--fix"),
            ("soak hard", "hard"),
            ("bench hard", "hard"),
            ("soak --runs", "--runs"),
            ("soak --runs 0", "--runs"),
        ] {
            let why = parse(line).expect_err(line);
            assert!(why.contains(&format!("`{word}`")), "{why}");
        }
    }

    #[test]
    fn the_help_names_every_command() {
        for name in ["demo", "test", "lint", "guests", "soak", "bench", "real", "setup"] {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
            assert!(parse(name).is_ok(), "{name}");
        }
    }
}

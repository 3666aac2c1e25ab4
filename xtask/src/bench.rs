//! The benchmark: builds wharf and the benchmark in one go, and runs the benchmark with the same arguments.

use crate::command::Command;
use crate::workspace::Workspace;
use clap::ValueEnum;
use std::path::PathBuf;

/// The arguments of `cargo xtask bench`. Checked here, because the build takes minutes.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
pub(crate) struct BenchArgs {
    /// Measure only these.
    #[arg(long, value_name = "SECTION", num_args = 1..)]
    only: Vec<Section>,
    /// Small sizes, to see that it works.
    #[arg(long)]
    quick: bool,
    /// How many rounds, an odd number [default: 5].
    #[arg(long, value_name = "N", value_parser = odd)]
    rounds: Option<usize>,
    /// Exit with 1 if a bar is missed.
    #[arg(long, conflicts_with_all = ["profile", "record"])]
    check: bool,
    #[command(flatten)]
    instead: Instead,
}

/// What to do instead of measuring. At most one.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
#[group(multiple = false)]
struct Instead {
    /// Write a profile instead of figures.
    #[arg(long)]
    profile: bool,
    /// With `--only operators`: record them in bench/operators.json.
    #[arg(long)]
    record: bool,
    /// Write the document again from the figures of the last run.
    #[arg(long)]
    report: bool,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
enum Section {
    Operators,
    Parse,
    Start,
    Latency,
    Memory,
    Growth,
    Pipeline,
}

impl Section {
    fn as_str(self) -> &'static str {
        match self {
            Section::Operators => "operators",
            Section::Parse => "parse",
            Section::Start => "start",
            Section::Latency => "latency",
            Section::Memory => "memory",
            Section::Growth => "growth",
            Section::Pipeline => "pipeline",
        }
    }
}

/// Odd, so that the median is one of the rounds.
fn odd(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| number % 2 == 1).ok_or_else(|| "it must be an odd number".to_owned())
}

impl BenchArgs {
    /// The same arguments, for the program that measures.
    fn forwarded(&self) -> Vec<String> {
        let mut args = vec![];
        if !self.only.is_empty() {
            args.push("--only".to_owned());
            args.extend(self.only.iter().map(|section| section.as_str().to_owned()));
        }
        if let Some(rounds) = self.rounds {
            args.extend(["--rounds".to_owned(), rounds.to_string()]);
        }
        let flags = [
            ("--quick", self.quick),
            ("--check", self.check),
            ("--profile", self.instead.profile),
            ("--record", self.instead.record),
            ("--report", self.instead.report),
        ];
        args.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned()));
        args
    }
}

/// Builds both in one command, so that they share their dependencies' features, and measures.
pub(crate) fn commands(workspace: &Workspace, args: &BenchArgs) -> Vec<Command> {
    let build =
        Command::cargo(&["build", "--release", "--locked", "--package", "wharf-cli", "--package", "wharf-bench"]);
    let build = build.note(" (takes minutes the first time)");
    let (build, target) =
        if args.instead.profile { profiled(build, workspace) } else { (build, workspace.target.clone()) };
    let program = target.join("release").join(format!("wharf-bench{}", std::env::consts::EXE_SUFFIX));
    let run = Command::new(program, &["--folder"]).args([workspace.target.join("bench")]).args(args.forwarded());
    vec![build, run]
}

/// The build for a profile: with frame pointers, by which perf finds the callers, and with the names of the guests'
/// functions. In a separate folder, because the two builds would overwrite each other.
fn profiled(build: Command, workspace: &Workspace) -> (Command, PathBuf) {
    let target = workspace.target.join("profiled");
    // This replaces the user's RUSTFLAGS: without frame pointers the call chains are cut, and nothing in the
    // profile would show that.
    let build = build
        .variable("RUSTFLAGS", "-Cforce-frame-pointers=yes")
        .variable("CARGO_PROFILE_ADAPTER_STRIP", "none")
        .variable("CARGO_TARGET_DIR", &target);
    (build, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Task, parse};

    fn bench(line: &str) -> BenchArgs {
        match parse(&format!("bench {line}")).expect(line) {
            Task::Bench(args) => args,
            other => panic!("not {other:?}"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_benchmark_that_was_built_gets_the_same_arguments() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let commands = commands(&workspace, &bench("--only start latency --check"));
        let shown: Vec<String> = commands.iter().map(ToString::to_string).collect();
        assert_eq!(shown[0], "cargo build --release --locked --package wharf-cli --package wharf-bench");
        assert_eq!(shown[1], "wharf-bench --folder /elsewhere/bench --only start latency --check");
        assert_eq!(commands[1], run_from("/elsewhere/release", &["--only", "start", "latency", "--check"]));
    }

    #[cfg(unix)]
    #[test]
    fn a_profile_has_its_own_build() {
        let workspace = Workspace { root: "/repository".into(), target: "/elsewhere".into() };
        let commands = commands(&workspace, &bench("--profile --quick"));
        assert_eq!(
            commands[0].to_string(),
            "RUSTFLAGS=-Cforce-frame-pointers=yes CARGO_PROFILE_ADAPTER_STRIP=none CARGO_TARGET_DIR=/elsewhere/profiled \
             cargo build --release --locked --package wharf-cli --package wharf-bench"
        );
        assert_eq!(commands[1], run_from("/elsewhere/profiled/release", &["--quick", "--profile"]));
    }

    /// The program from this folder. Its own files are in the same place in every case.
    #[cfg(unix)]
    fn run_from(folder: &str, args: &[&str]) -> Command {
        let program = std::path::Path::new(folder).join(format!("wharf-bench{}", std::env::consts::EXE_SUFFIX));
        Command::new(program, &["--folder", "/elsewhere/bench"]).args(args)
    }

    #[test]
    fn invalid_arguments_are_rejected_before_anything_is_built() {
        for (line, part) in [
            ("fast", "'fast'"),
            ("--only", "'--only <SECTION>...'"),
            ("--only speed", "'speed'"),
            ("--only start --quick now", "'now'"),
            ("--rounds 2", "odd number"),
            ("--rounds many", "odd number"),
            ("--profile --check", "'--profile' cannot be used with '--check'"),
            ("--only operators --record --check", "'--record' cannot be used with '--check'"),
            ("--report --quick --profile", "'--report' cannot be used with '--profile'"),
        ] {
            let error = parse(&format!("bench {line}")).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn valid_arguments_are_forwarded_in_one_order() {
        for (line, forwarded) in [
            ("", ""),
            ("--check", "--check"),
            ("--rounds 3 --quick", "--rounds 3 --quick"),
            ("--check --only start latency", "--only start latency --check"),
            ("--only operators --record", "--only operators --record"),
            ("--report --check", "--check --report"),
        ] {
            assert_eq!(bench(line).forwarded().join(" "), forwarded, "{line}");
        }
    }
}

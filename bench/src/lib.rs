//! What wharf costs, compared with what people would write without it. `cargo xtask bench` builds and runs it.
//!
//! Without a subcommand it is the benchmark (`bench`), with a file for each section. The subcommands are the parts that
//! need a separate process: `measure` runs a command and prints what it cost; `native`, `copy` and `relay` are loops that
//! wharf is compared with; `library` uses wharf as a library, in a process that is measured as a whole. `corpus` prints a
//! corpus.
//!
//! It reads /proc, and is empty on systems other than Linux.
#![cfg(target_os = "linux")]

mod args;
mod bars;
mod bench;
mod corpus;
pub mod events;
mod figures;
mod growth;
mod latency;
mod machine;
mod measure;
mod memory;
mod native;
mod operators;
mod parse;
mod pipeline;
mod profile;
mod relay;
mod report;
mod stage;
mod start;
mod statistics;

use args::{Command, LibraryCommand, ProgramArgs};
use clap::Parser as _;
use serde::Serialize;
use std::io::Write as _;
use std::process::ExitCode;

/// Any error ends the benchmark and is printed.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// An error with this text.
fn error(text: impl Into<String>) -> Box<dyn std::error::Error> {
    text.into().into()
}

/// Prints a line of progress to stderr.
fn progress(line: impl AsRef<str>) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "bench: {}", line.as_ref());
}

/// Runs the program with the arguments of the process. Exits with 1 if a bar is missed, and with 2 after an error.
pub fn main() -> ExitCode {
    match run(ProgramArgs::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            progress(error.to_string());
            ExitCode::from(2)
        }
    }
}

fn run(args: ProgramArgs) -> Result<bool> {
    let Some(command) = args.command else { return bench::run(&args.bench) };
    match command {
        Command::Measure(args) => print(&measure::run(&args.command)?)?,
        Command::Native { agent, program } => native::run(agent, &program)?,
        Command::Copy { program } => relay::copy(&program)?,
        Command::Relay(args) => relay::sidecar(&args.program, &args.sidecar)?,
        Command::Library(LibraryCommand::Start { folder, turns }) => print(&start::in_library(&folder, turns)?)?,
        Command::Library(LibraryCommand::Memory { folder, runs }) => print(&memory::in_library(&folder, runs)?)?,
        Command::Library(LibraryCommand::Instances { allocation, live }) => {
            print(&memory::of_instances(allocation, live)?)?;
        }
        Command::Corpus { agent, mix, size } => corpus::write(agent, mix, size, &mut std::io::stdout().lock())?,
    }
    Ok(true)
}

/// Prints figures for the process that started this one.
fn print(figures: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(figures)?;
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}

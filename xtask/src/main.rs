//! The chores of the repository, as `cargo xtask COMMAND`.
//!
//! It only starts other programs, one step after the other, and stops at the first that fails. What a chore consists
//! of is plain data ([`chore`]); only [`step`] starts programs and prints.

mod bench;
mod chore;
mod command;
mod guest;
mod real;
mod step;
mod target;
mod workspace;

use command::Command;
use std::process::ExitCode;
use step::{Failed, say};
use workspace::Workspace;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match Command::parse(&words) {
        Ok(Command::Help) => {
            step::print(command::HELP);
            ExitCode::SUCCESS
        }
        Ok(command) => run(&command, &Workspace::of_process()).map_or_else(Failed::report, |()| ExitCode::SUCCESS),
        Err(why) => {
            say(&format!("xtask: {why}\nhint: `cargo xtask` lists the commands"));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command, workspace: &Workspace) -> Result<(), Failed> {
    target::ensure(workspace, &target::Tools::of_process(target::TARGET))?;
    match command {
        Command::Help | Command::Setup => Ok(()),
        Command::Demo => step::run_all(workspace, &chore::demo(workspace)),
        Command::Test(arguments) => step::run_all(workspace, &chore::test(arguments)),
        Command::Lint => chore::lint(workspace),
        Command::Guests => chore::guests(workspace),
        Command::Soak(flags) => step::run_all(workspace, &chore::soak(workspace, flags)),
        Command::Bench(flags) => step::run_all(workspace, &bench::steps(workspace, flags)),
        Command::Real(order) => real::run(order, workspace),
    }
}

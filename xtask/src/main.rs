//! The development tasks of the repository, as `cargo xtask TASK`.
//!
//! It only starts other programs, one after the other, and stops at the first that fails. What a task consists of is
//! plain data ([`tasks`]); only [`command`] starts programs and prints.

mod args;
mod bench;
mod command;
mod dependencies;
mod dist;
mod guests;
mod package;
mod real;
mod schema;
mod screenshot;
mod tasks;
mod toolchain;
mod wit;
mod workspace;

use args::{Args, Task};
use command::Error;
use std::process::ExitCode;
use workspace::Workspace;

fn main() -> ExitCode {
    let args = Args::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match args.task {
        None => Args::print_help().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some(task) => run(&task, &Workspace::from_env()).map_or_else(Error::report, |()| ExitCode::SUCCESS),
    }
}

fn run(task: &Task, workspace: &Workspace) -> Result<(), Error> {
    if task.builds_components() {
        toolchain::ensure(workspace, &toolchain::Tools::from_env(toolchain::TARGET))?;
    }
    match task {
        Task::Setup => Ok(()),
        Task::Demo => command::run_all(workspace, &tasks::demo(workspace)),
        Task::Test(args) => {
            command::run_all(workspace, &tasks::test(args))?;
            // Somebody who names tests wants only those.
            if args.cargo.is_empty() { schema::run(workspace) } else { Ok(()) }
        }
        Task::Schema => schema::run(workspace),
        Task::Lint => tasks::lint(workspace),
        Task::Package => package::check(workspace),
        Task::Wit => wit::copy(workspace),
        Task::Dist(args) => dist::run(args, workspace),
        Task::Screenshot => screenshot::run(workspace),
        Task::Guests => tasks::guests(workspace),
        Task::Soak(args) => command::run_all(workspace, &tasks::soak(workspace, args)),
        Task::Bench(args) => command::run_all(workspace, &bench::commands(workspace, args)),
        Task::Real(args) => real::run(args, workspace),
    }
}

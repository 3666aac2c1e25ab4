//! The `wharf` command: a thin shell around the library.
//!
//! # Theory of operation
//!
//! The command line is parsed into plain structs (`args`, and one struct a command in `commands/`). A command builds
//! what the library needs from its struct, calls the library, and prints through `ui/`. Stdout is data, stderr is for
//! people; only `ui/` prints, and everything an agent wrote goes through it. `exit` maps outcomes and errors to exit
//! codes. The example agent of the echo adapter is part of this program, so that a demo needs nothing else.

mod args;
mod commands;
mod exit;
mod host;
mod labels;
mod signals;
mod threads;
mod turn;
mod ui;

use args::{Arguments, Command};
use clap::{CommandFactory as _, Parser as _};
use commands::{
    adapters, agent, completions, doctor, explain, fixture, man, models, receipt, replay, run, runs, schema, sessions,
    show, usage,
};
use std::process::ExitCode;
use ui::{Shell, Text, foreign, logs, ours, panics, visible_line};
use wharf::{Dirs, Result};

fn main() -> ExitCode {
    wharf::compile_in_child();
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("echo-agent") {
        // The example agent has its own flags.
        return wharf_echo_agent::main(words);
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|error| invalid_arguments(&error));
    let shell = Shell::new(&arguments.common);
    logs::install(&arguments.common);
    panics::install();
    let runtime = match threads::start(&arguments.command) {
        Ok(runtime) => runtime,
        Err(error) => {
            if let Command::Run(args) = &arguments.command {
                run::not_started(args, &error, &shell);
            }
            return shell.failed(&error);
        }
    };
    // The program is a task like those that it waits for: a single thread switches between tasks without polling the
    // system for new events, which it does before it returns to `block_on`.
    let program = runtime.spawn(async move {
        signals::survive_file_size_limit();
        match dispatch(arguments.command, &shell).await {
            Ok(code) => code,
            Err(error) => shell.failed(&error),
        }
    });
    let code = runtime.block_on(program).unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    // A thread that waits for the terminal must not keep the program from exiting.
    runtime.shutdown_background();
    code
}

/// Prints what is wrong with the arguments, or the help, and exits. A program that reads the lines of `run --json` gets
/// a report, as for every other turn that could not be started.
fn invalid_arguments(error: &clap::Error) -> ! {
    let words: Vec<_> = std::env::args_os().collect();
    let is_run = words.get(1).is_some_and(|word| word == "run") && words.iter().any(|word| word == "--json");
    if error.exit_code() != 0 && is_run {
        let text = error.to_string();
        let message = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        let error = wharf::Error::invalid(message).with_hint("`wharf run --help` lists the arguments");
        run::print_not_started(&error, &Shell::default());
    }
    // The message repeats what was typed, perhaps the name of a file: of visible words it is visible.
    let visible = words.iter().map(|word| visible_line(&word.to_string_lossy()));
    Arguments::try_parse_from(visible).err().as_ref().unwrap_or(error).exit()
}

/// Carries a command out.
async fn dispatch(command: Command, shell: &Shell) -> Result<ExitCode> {
    if let Err(error) = reap(&command, shell) {
        if let Command::Run(args) = &command {
            run::not_started(args, &error, shell);
        }
        return Err(error);
    }
    match command {
        Command::Run(args) => run::run(*args, shell).await,
        Command::Demo => run::demo(shell).await,
        Command::Explain(args) => explain::explain(*args, shell).await,
        Command::Adapters(args) => adapters::adapters(args, shell).await,
        Command::Agent(args) => agent::agent(args, shell).await,
        Command::Doctor(args) => doctor::doctor(args, shell).await,
        Command::Models(args) => models::models(args, shell).await,
        Command::Sessions(args) => sessions::sessions(args, shell),
        Command::Runs(args) => runs::runs(args, shell),
        Command::Usage(args) => usage::usage(&args, shell),
        Command::Show(args) => show::show(&args, shell),
        Command::Receipt(args) => receipt::receipt(&args, shell),
        Command::Replay(args) => replay::replay(args, shell).await,
        Command::Fixture(args) => fixture::fixture(&args, shell).await,
        Command::Schema(args) => schema::schema(&args, shell),
        Command::Completions { shell: kind } => completions::completions(kind, &mut Arguments::command(), shell),
        Command::Man { folder } => man::man(folder.as_deref(), Arguments::command(), shell),
    }
}

fn reap(command: &Command, shell: &Shell) -> Result<()> {
    // Every command that may start something first kills what a killed wharf has left running.
    if !matches!(command, Command::Schema(_) | Command::Completions { .. } | Command::Man { .. }) {
        for reaped in wharf::reap_orphans(&Dirs::from_env()?) {
            let count = reaped.cleanup.killed.len();
            if !reaped.cleanup.survivors.is_empty() {
                let commands = reaped.cleanup.survivors.iter().map(|process| foreign(&process.command));
                shell.warn(ours("leftover processes could not be killed: ").then(Text::joined(commands, ", ")));
            }
            if count > 0 {
                let killed = ours("killed ").foreign(count).ours(" leftover processes of run ");
                shell.say(killed.foreign(&reaped.run).ours(", whose wharf was killed"));
            }
        }
    }
    Ok(())
}

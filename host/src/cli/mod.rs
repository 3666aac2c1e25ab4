//! The command line: plain structs first, behaviour second. Only `shell` prints.

mod adapters;
mod arguments;
mod doctor;
mod exit;
mod explain;
mod history;
mod input;
mod output;
mod replay;
mod run;
mod shell;
mod turn;
mod view;

use arguments::{Arguments, Command};
use clap::{CommandFactory as _, Parser as _};
use shell::Shell;
use std::path::Path;
use std::process::ExitCode;
use wharf::{Config, Host, Places, Result};

/// The whole program.
pub(crate) fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("echo-agent") {
        // The example agent is this very program, so that a demo needs nothing else. It has its own flags.
        return wharf_echo_agent::main(words);
    }
    let arguments = Arguments::parse();
    let shell = Shell::new(&arguments.common);
    // Lines of JSON are passed on by one thread: see `output`. What is shown to a person may wait for the terminal.
    let mut runtime = match &arguments.command {
        Command::Run(order) if order.json => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => return shell.failed(&wharf::Error::invalid(format!("the program cannot start: {why}"))),
    };
    // A task like those that it waits for: between two tasks one thread looks for nothing new, between a task and what the
    // runtime was started with it does.
    let program = runtime.spawn(async move {
        match carry_out(arguments.command, &shell).await {
            Ok(code) => code,
            Err(error) => shell.failed(&error),
        }
    });
    let code = runtime.block_on(program).unwrap_or_else(|why| std::panic::resume_unwind(why.into_panic()));
    // A thread that waits for the terminal must not keep the program from ending.
    runtime.shutdown_background();
    code
}

async fn carry_out(command: Command, shell: &Shell) -> Result<ExitCode> {
    // Whatever is started next ends what a wharf that was killed has left behind.
    if !matches!(command, Command::Schema | Command::Completions { .. } | Command::Man { .. }) {
        for reaped in wharf::reap_orphans(&Places::of_user()) {
            let count = reaped.swept.killed.len();
            shell.say(format!("ended {count} processes of run {}, whose wharf was killed", reaped.run));
        }
    }
    match command {
        Command::Run(order) => run::run(*order, shell).await,
        Command::Demo => run::demo(shell).await,
        Command::Explain(order) => explain::explain(*order, shell).await,
        Command::Adapters(order) => adapters::adapters(order, shell).await,
        Command::Doctor(order) => doctor::doctor(order, shell).await,
        Command::Models(order) => adapters::models(order, shell).await,
        Command::Sessions(order) => history::sessions(&order, shell),
        Command::Runs(order) => history::runs(&order, shell),
        Command::Show(order) => history::show(&order, shell),
        Command::Receipt(order) => history::receipt(&order, shell),
        Command::Replay(order) => replay::replay(order, shell).await,
        Command::Fixture(order) => replay::fixture(&order, shell).await,
        Command::Schema => shell.json(&wharf::schema()),
        Command::Completions { shell: kind } => {
            let mut script = Vec::new();
            clap_complete::generate(kind, &mut Arguments::command(), "wharf", &mut script);
            shell.bytes(&script)
        }
        Command::Man { folder } => man(folder.as_deref(), shell),
    }
}

/// The man page, or all of them into a folder.
fn man(folder: Option<&Path>, shell: &Shell) -> Result<ExitCode> {
    let failed = |why: std::io::Error| wharf::Error::invalid(format!("the man pages cannot be written: {why}"));
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
        Ok(ExitCode::SUCCESS)
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Arguments::command()).render(&mut page).map_err(failed)?;
        shell.bytes(&page)
    }
}

/// The host for a workspace. The echo adapter's agent is this program, unless the user names another.
fn host(workspace: &Path) -> Result<Host> {
    let places = Places::of_user();
    let mut config = Config::load(&places.config, workspace)?;
    if let Ok(here) = std::env::current_exe() {
        config.programs.entry("echo".to_owned()).or_insert(here);
    }
    Host::new(places, config)
}

//! `wharf run` and `wharf demo`: a live turn.

pub(crate) mod args;
mod channel;
mod dialog;

use args::RunArgs;

use crate::exit;
use crate::host::host;
use crate::signals::Signals;
use crate::turn::{adapter_for, nobody_answers, reads_prompt, run_options, turn};
use crate::ui::{BOLD, DIM, Shell, View, foreign, input, ours, output};
use channel::Channel;
use dialog::Dialog;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use wharf::event::{EventKind, Outcome};
use wharf::{Error, Result, Run};

/// What a person reads after the first signal.
const STOPPING: &str = "Stopping; press Ctrl-C again to kill it";

/// Runs a turn.
pub(crate) async fn run(args: RunArgs, shell: &Shell) -> Result<ExitCode> {
    // On a terminal a person can be asked; elsewhere nobody can, unless rules say so.
    let terminal = shell.has_person() && !args.json;
    let Some((run, signals)) =
        start(&args, terminal, shell).await.inspect_err(|error| not_started(&args, error, shell))?
    else {
        return Ok(exit::of_outcome(Outcome::Cancelled));
    };
    if shell.verbose {
        shell.say(ours("  run ").foreign(run.id()).in_style(DIM));
    }
    if args.json {
        shell.never_wait();
        return print(run, &args, signals, shell).await;
    }
    watch(run, &args, terminal, signals, shell).await
}

/// With `--json` a turn that could not be started has a report too: a program needs to read nothing else.
pub(crate) fn not_started(args: &RunArgs, error: &Error, shell: &Shell) {
    if args.json {
        print_not_started(error, shell);
    }
}

pub(crate) fn print_not_started(error: &Error, shell: &Shell) {
    let mut line = serde_json::to_vec(&wharf::not_started(error)).unwrap_or_default();
    line.push(b'\n');
    shell.json_lines(&line);
}

/// Starts a run. None if a signal came before the agent had started.
async fn start(args: &RunArgs, terminal: bool, shell: &Shell) -> Result<Option<(Run, Signals)>> {
    // This program starts no children but agents, so it may adopt the processes that they leave behind.
    wharf::become_subreaper().map_err(|error| Error::system("becoming the parent of orphaned processes", error))?;
    let host = host(&args.workspace)?;
    let (adapter, host) = adapter_for(args, host).await?;
    let turn = turn(args, &host, &adapter, terminal)?;
    let options = run_options(args, &host)?;
    if let Some(warning) = nobody_answers(args, &turn, &options, terminal) {
        shell.warn(foreign(warning));
    }
    // Until the agent has started, a signal ends everything at once, the probes too. One that comes while the agent is
    // being started is for the run: the same listener receives it.
    let mut signals = Signals::listen()?;
    tokio::select! {
        started = host.start(&adapter, turn, options) => Ok(Some((started?, signals))),
        () = signals.any() => Ok(None),
    }
}

/// How long the reader of the lines may take for one batch, after the run was to be killed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints a run's events as lines of JSON, as many at once as there are.
///
/// Their reader may have closed its end, or be stuck. The first ends the run; the second is waited for until the run is
/// stopped a second time: everything is recorded, and the receipt still has to be written.
async fn print(mut run: Run, args: &RunArgs, signals: Signals, shell: &Shell) -> Result<ExitCode> {
    let controller = run.controller();
    let mut channel = Channel::new(args.control, &controller, shell);
    let mut stops = signals.stop(&controller);
    let mut writing: Option<Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>> = None;
    let mut reader = Ok(());
    let mut given_up = false;
    let mut stopped = 0;
    let mut ended = None;
    loop {
        if let Some(code) = ended.filter(|_| writing.is_none()) {
            return reader.and(Ok(code));
        }
        tokio::select! {
            batch = run.next_batch(), if writing.is_none() => {
                let batch = batch.ok_or_else(|| Error::system("waiting for the run", "it ended without a report"))?;
                if let Some(EventKind::Report(report)) = batch.events.last().map(|event| &event.kind) {
                    ended = Some(exit::of_outcome(report.outcome));
                }
                if !given_up {
                    writing = Some(Box::pin(output::write_json_lines(batch.into_json_lines())));
                }
            }
            written = async { writing.as_mut().expect("there is one").await }, if writing.is_some() => {
                writing = None;
                if let Err(error) = written {
                    // Nobody gets the rest. Cancelled once: a second time would not leave the agent time to stop.
                    given_up = true;
                    drop(controller.cancel());
                    if error.kind() != std::io::ErrorKind::BrokenPipe {
                        reader = Err(Error::system("writing the events to standard output", error));
                    }
                }
            }
            () = channel.step() => {}
            () = tokio::time::sleep(PATIENCE), if stopped > 1 && writing.is_some() => {
                given_up = true;
                writing = None;
            }
            () = stops.next() => {
                stopped += 1;
                shell.say(ours(STOPPING).in_style(DIM));
            }
        }
    }
}

/// A whole turn with the example agent, with everything shown.
pub(crate) async fn demo(shell: &Shell) -> Result<ExitCode> {
    /// The arguments of the demo, parsed as those of `wharf run`.
    #[derive(clap::Parser)]
    struct Demo {
        #[command(flatten)]
        args: RunArgs,
    }
    shell.say(ours("a turn of the bundled example agent, through its WebAssembly adapter").in_style(DIM));
    shell.say(ours("$ wharf run --adapter echo --approve \"Hello, harbour! What do you see?\"").in_style(BOLD));
    let prompt = "Hello, harbour! What do you see?";
    let words = ["wharf run", "--adapter", "echo", "--approve", "--option", "delay=40", prompt];
    let Demo { args } = <Demo as clap::Parser>::parse_from(words);
    run(args, shell).await
}

/// Shows a run until its end.
async fn watch(mut run: Run, args: &RunArgs, terminal: bool, signals: Signals, shell: &Shell) -> Result<ExitCode> {
    let mut view = View::new(shell);
    let controller = run.controller();
    let mut dialog = Dialog::new(&controller, shell);
    if args.control || (terminal && !reads_prompt(args) && input::in_foreground()) {
        dialog.lines.start();
    }
    let mut stops = signals.stop(&controller);
    loop {
        tokio::select! {
            event = run.next() => match event.map(|event| event.kind) {
                None => return Err(Error::system("waiting for the run", "it ended without a report")),
                Some(EventKind::Report(report)) => {
                    view.report(&report);
                    return Ok(exit::of_outcome(report.outcome));
                }
                Some(EventKind::Ask(ask)) if terminal => {
                    view.end_line();
                    dialog.ask(ask);
                }
                Some(EventKind::AskWithdrawn { number: Some(number), .. }) => dialog.close(number),
                Some(EventKind::AskAnswered(answered)) => {
                    dialog.close(answered.number);
                    view.show(&EventKind::AskAnswered(answered));
                }
                Some(kind) => view.show(&kind),
            },
            line = dialog.lines.next(), if dialog.wants_line() => dialog.line(line),
            () = stops.next() => {
                view.end_line();
                shell.say(ours(STOPPING).in_style(DIM));
            }
        }
    }
}

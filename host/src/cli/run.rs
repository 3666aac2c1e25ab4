//! `wharf run` and `wharf demo`: a turn, live.

use super::arguments::RunOrder;
use super::exit;
use super::input::{self, Lines, Said};
use super::output;
use super::shell::{BOLD, DIM, Shell, styled};
use super::turn::{adapter_for, reads_prompt, run_options, turn};
use super::view::{View, visible};
use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::mpsc;
use wharf::{Ask, Controller, Error, Event, Result, SessionChoice};

/// Run a turn.
pub(crate) async fn run(order: RunOrder, shell: &Shell) -> Result<ExitCode> {
    // This program starts no children but agents, so that it may take in what they leave behind.
    wharf::become_subreaper().map_err(|why| Error::invalid(format!("orphans cannot be taken in: {why}")))?;
    let host = super::host(&order.workspace)?;
    let (adapter, host) = adapter_for(&order, host).await?;
    // On a terminal a person can be asked; elsewhere nobody can, unless rules say so.
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !order.json;
    let turn = turn(&order, &host, &adapter, terminal)?;
    let options = run_options(&order, &host, terminal)?;
    let wanted = match &turn.session {
        SessionChoice::Resume(id) => Some(id.clone()),
        _ => None,
    };
    // Until the agent is up a signal ends everything at once, the programs that look for it too. One that comes while it
    // is getting up is for the run: the same listener hears it.
    let mut signals = Signals::listen()?;
    let started = tokio::select! {
        started = host.start(&adapter, turn, options) => started,
        () = signals.any() => return Ok(exit::of_outcome(wharf::Outcome::Cancelled)),
    };
    let run = match started {
        Ok(run) => run,
        Err(error) => {
            if order.json && matches!(error.kind(), wharf::ErrorKind::Runtime | wharf::ErrorKind::Adapter) {
                let mut line =
                    serde_json::to_vec(&Event::Report(Box::new(wharf::not_started(&error)))).unwrap_or_default();
                line.push(b'\n');
                shell.raw(&line);
            }
            return Err(error);
        }
    };
    if shell.verbose {
        shell.say(styled(DIM, format!("  run {}", run.id())));
    }
    if order.json {
        shell.never_wait();
        return print(run, &order, wanted, signals, shell).await;
    }
    watch(run, &order, terminal, wanted, signals, shell).await
}

/// How long whoever reads the lines may take for one batch, once somebody wanted it stopped at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Pass a run's events on as lines of JSON, as many at once as there are.
///
/// Whoever reads them may be gone, or stuck. One that is gone ends the run; one that is stuck is waited for until
/// somebody wants it stopped a second time: all is recorded, and how it ended still has to be written down.
async fn print(
    mut run: wharf::Run,
    order: &RunOrder,
    wanted: Option<String>,
    signals: Signals,
    shell: &Shell,
) -> Result<ExitCode> {
    let mut lines = Lines::default();
    if order.messages {
        lines.start();
    }
    let controller = run.controller();
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
                let batch = batch.ok_or_else(|| Error::invalid("the run ended without a report"))?;
                if let Some(Event::Report(report)) = batch.events.last() {
                    ended = Some(exit::of_outcome(report.outcome));
                    if let Some(wanted) = &wanted {
                        say_resumed(wanted, report, shell);
                    }
                }
                if !given_up {
                    writing = Some(Box::pin(output::write(batch.into_json_lines())));
                }
            }
            written = async { writing.as_mut().expect("there is one").await }, if writing.is_some() => {
                writing = None;
                if let Err(why) = written {
                    // Nobody gets the rest. Once: a second time would not leave the agent its time to end.
                    given_up = true;
                    controller.cancel();
                    if why.kind() != std::io::ErrorKind::BrokenPipe {
                        reader = Err(Error::system("writing the events to standard output", why));
                    }
                }
            }
            line = lines.next(), if !lines.ended() => match line {
                Some(line) => pass_on_json(&line, &controller, shell),
                None => controller.no_next_turn(),
            },
            () = tokio::time::sleep(PATIENCE), if stopped > 1 && writing.is_some() => {
                given_up = true;
                writing = None;
            }
            () = stops.next() => {
                stopped += 1;
                shell.say(styled(DIM, "stopping; once more to stop at once"));
            }
        }
    }
}

/// A whole turn against the example agent, with everything shown.
pub(crate) async fn demo(shell: &Shell) -> Result<ExitCode> {
    shell.say(styled(DIM, "a turn of the bundled example agent, through its WebAssembly adapter"));
    shell.say(styled(BOLD, "$ wharf run --adapter echo --approve \"Hello, harbour! What do you see?\""));
    let prompt = "Hello, harbour! What do you see?";
    let words = ["wharf", "run", "--adapter", "echo", "--approve", "--option", "delay=40", prompt];
    let arguments = <super::Arguments as clap::Parser>::parse_from(words);
    let super::Command::Run(order) = arguments.command else { unreachable!("the words say `run`") };
    run(*order, shell).await
}

/// Show a run until its end.
async fn watch(
    mut run: wharf::Run,
    order: &RunOrder,
    terminal: bool,
    wanted: Option<String>,
    signals: Signals,
    shell: &Shell,
) -> Result<ExitCode> {
    let mut view = View::new(shell);
    let mut lines = Lines::default();
    if order.messages || (terminal && !reads_prompt(order) && input::in_foreground()) {
        lines.start();
    }
    // Asks that wait for a person, the one that was shown first.
    let mut open: VecDeque<Ask> = VecDeque::new();
    let controller = run.controller();
    let mut stops = signals.stop(&controller);
    loop {
        tokio::select! {
            event = run.next() => {
                let Some(event) = event else {
                    return Err(Error::invalid("the run ended without a report"));
                };
                match &event {
                    Event::Report(report) => {
                        view.report(report);
                        if let Some(wanted) = wanted {
                            say_resumed(&wanted, report, shell);
                        }
                        return Ok(exit::of_outcome(report.outcome));
                    }
                    Event::Ask(ask) if terminal => {
                        view.end_line();
                        open.push_back(ask.clone());
                        if open.len() == 1 {
                            // What was typed before the question was seen is no answer to it.
                            while let Some(line) = lines.waiting() {
                                pass_on(&line, &controller);
                            }
                            lines.start();
                            prompt(ask, shell);
                        }
                    }
                    Event::AskAnswered { id, .. } | Event::AskWithdrawn { id } => {
                        let first = open.front().is_some_and(|ask| ask.id == *id);
                        open.retain(|ask| ask.id != *id);
                        if let Some(next) = open.front().filter(|_| first) {
                            // Nor is what was typed for another question.
                            while lines.waiting().is_some() {}
                            prompt(next, shell);
                        }
                    }
                    event => view.show(event),
                }
            }
            line = lines.next(), if !open.is_empty() || !lines.ended() => {
                if let Some(ask) = open.pop_front() {
                    match input::answer(&ask, line.as_deref()) {
                        Ok(answer) => {
                            controller.answer(answer);
                            if let Some(next) = open.front() {
                                while lines.waiting().is_some() {}
                                prompt(next, shell);
                            }
                        }
                        Err(why) => {
                            shell.say(why);
                            prompt(&ask, shell);
                            open.push_front(ask);
                        }
                    }
                } else if let Some(line) = line {
                    pass_on(&line, &controller);
                } else {
                    controller.no_next_turn();
                }
            }
            () = stops.next() => {
                view.end_line();
                shell.say(styled(DIM, "stopping; once more to stop at once"));
            }
        }
    }
}

/// A resume that did not resume is said aloud.
fn say_resumed(wanted: &str, report: &wharf::Report, shell: &Shell) {
    match &report.session {
        Some(session) if session.resumed == Some(false) => {
            shell.warn(format!("the session {wanted} was not resumed; the agent worked in {}", session.id));
        }
        Some(session) if session.id != wanted && session.resumed != Some(true) => {
            shell.warn(format!("the session {wanted} was asked for, and the agent says it worked in {}", session.id));
        }
        None if report.is_completed() => shell.warn(format!("the agent did not say whether it resumed {wanted}")),
        _ => {}
    }
}

fn prompt(ask: &Ask, shell: &Shell) {
    // What an agent writes must not repaint what a person is asked.
    shell.say(format!("{} {}", styled(BOLD, "?"), styled(BOLD, visible(&ask.title))));
    if !ask.detail.is_null() {
        shell.say(styled(DIM, format!("  {}", visible(&ask.detail.to_string()))));
    }
    shell.say(format!("  {}", input::ways(ask)));
}

/// A line that answers no question: for the agent. Whether it took it is told by the events.
fn pass_on(line: &str, controller: &Controller) {
    if !line.trim().is_empty() {
        controller.send(line);
    }
}

/// A line of JSON, which may be more than a message.
fn pass_on_json(line: &str, controller: &Controller, shell: &Shell) {
    if line.trim().is_empty() {
        return;
    }
    match Said::read(line) {
        Ok(Said::Message { text }) => controller.send(text),
        Ok(Said::Answer(answer)) => controller.answer(answer),
        Ok(Said::NextTurn(turn)) => controller.next_turn(turn),
        Ok(Said::Cancel) => controller.cancel(),
        Err(why) => shell.warn(why),
    }
}

/// Ctrl-C, and on Unix the signals that ask a program to end. They stop the run by themselves: whoever shows the events
/// may be stuck because nobody reads them.
struct StopSignals(mpsc::UnboundedReceiver<()>);

impl StopSignals {
    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// What asks this program to end: Ctrl-C, and on Unix the signals for it. Heard from when it is made, so that none is
/// lost between two who wait for it.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let signals = kinds.into_iter().map(signal).collect::<std::io::Result<_>>();
        signals.map(Signals).map_err(|why| Error::invalid(format!("signals cannot be received: {why}")))
    }

    /// The first of them.
    async fn any(&mut self) {
        std::future::poll_fn(|context| {
            let heard = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if heard { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    /// From here on they stop a run.
    fn stop(self, controller: &Controller) -> StopSignals {
        let (sender, receiver) = mpsc::unbounded_channel();
        for mut signal in self.0 {
            let (sender, controller) = (sender.clone(), controller.clone());
            tokio::spawn(async move {
                while signal.recv().await.is_some() {
                    controller.cancel();
                    let _ = sender.send(());
                }
            });
        }
        StopSignals(receiver)
    }
}

/// What asks this program to end: Ctrl-C.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    fn listen() -> Result<Signals> {
        Ok(Signals)
    }

    /// The first of them.
    async fn any(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }

    /// From here on they stop a run.
    fn stop(self, controller: &Controller) -> StopSignals {
        let (sender, receiver) = mpsc::unbounded_channel();
        let controller = controller.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                controller.cancel();
                let _ = sender.send(());
            }
        });
        StopSignals(receiver)
    }
}

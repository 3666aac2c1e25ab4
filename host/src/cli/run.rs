//! `wharf run` and `wharf demo`: a turn, live.

use super::arguments::RunOrder;
use super::exit;
use super::shell::{BOLD, DIM, Shell, styled};
use super::view::{View, visible};
use std::collections::VecDeque;
use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::mpsc;
use wharf::{
    Adapter, Answer, Approvals, Ask, AskRules, Clocks, Decision, Error, Event, Host, Result, RunOptions, SessionChoice,
    ToolRules, Turn,
};

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
    // Until the agent is up a signal ends everything at once, the programs that look for it too.
    let started = tokio::select! {
        started = host.start(&adapter, turn, options) => started,
        () = any_stop_signal() => return Ok(exit::of_outcome(wharf::Outcome::Cancelled)),
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
    if order.json { print(run, wanted, shell).await } else { watch(run, terminal, wanted, shell).await }
}

/// Pass a run's events on as lines of JSON, as many at once as there are.
async fn print(mut run: wharf::Run, wanted: Option<String>, shell: &Shell) -> Result<ExitCode> {
    let controller = run.controller();
    let mut stops = stop_signals(&controller)?;
    loop {
        tokio::select! {
            batch = run.next_batch() => {
                let batch = batch.ok_or_else(|| Error::invalid("the run ended without a report"))?;
                let mut ended = None;
                if let Some(Event::Report(report)) = batch.events.last() {
                    ended = Some(exit::of_outcome(report.outcome));
                    if let Some(wanted) = &wanted {
                        say_resumed(wanted, report, shell);
                    }
                }
                if !shell.raw(&batch.into_json_lines()) {
                    // Whoever read the events is gone: nobody wants the rest.
                    controller.cancel();
                }
                if let Some(code) = ended {
                    return Ok(code);
                }
            }
            () = stops.next() => shell.say(styled(DIM, "stopping; once more to stop at once")),
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
async fn watch(mut run: wharf::Run, terminal: bool, wanted: Option<String>, shell: &Shell) -> Result<ExitCode> {
    let mut view = View::new(shell);
    let mut lines = Lines::default();
    // Asks that wait for a person, the one that was shown first.
    let mut open: VecDeque<Ask> = VecDeque::new();
    let controller = run.controller();
    let mut stops = stop_signals(&controller)?;
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
                            lines.start();
                            prompt(ask, shell);
                        }
                    }
                    Event::AskAnswered { id, .. } | Event::AskWithdrawn { id } => {
                        let first = open.front().is_some_and(|ask| ask.id == *id);
                        open.retain(|ask| ask.id != *id);
                        if let Some(next) = open.front().filter(|_| first) {
                            lines.start();
                            prompt(next, shell);
                        }
                    }
                    event => view.show(event),
                }
            }
            line = lines.next(), if !open.is_empty() => {
                if let Some(ask) = open.pop_front() {
                    match answer(&ask, line.as_deref()) {
                        Ok(answer) => {
                            controller.answer(answer);
                            if let Some(next) = open.front() {
                                lines.start();
                                prompt(next, shell);
                            }
                        }
                        Err(why) => {
                            shell.say(why);
                            prompt(&ask, shell);
                            open.push_front(ask);
                        }
                    }
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
    let mut ways = vec!["y = yes", "n = no"];
    if ask.choices.iter().any(|choice| choice.kind == wharf::ChoiceKind::AllowAlways) {
        ways.push("a = always");
    }
    if ask.choices.iter().any(|choice| choice.kind == wharf::ChoiceKind::RejectAndStop) {
        ways.push("s = no, and stop");
    }
    if ask.input_editable {
        ways.push("e {JSON} = yes, with this input");
    }
    if ask.free_text {
        ways.push("t TEXT = answer with a text");
    }
    let others = ask.choices.iter().filter(|choice| choice.kind == wharf::ChoiceKind::Other);
    let others: Vec<String> = others.map(|choice| format!("c {} = {}", choice.id, choice.label)).collect();
    shell.say(format!("  {}", ways.into_iter().map(str::to_owned).chain(others).collect::<Vec<_>>().join(", ")));
}

/// What a person's line means. No line at all is a no.
fn answer(ask: &Ask, line: Option<&str>) -> std::result::Result<Answer, String> {
    let line = line.unwrap_or("n").trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let plain = |decision| Ok(Answer::new(&ask.id, decision));
    match word {
        "y" | "yes" => plain(Decision::Allow),
        "a" | "always" => plain(Decision::AllowAlways),
        "n" | "no" => plain(Decision::Deny),
        "s" | "stop" => plain(Decision::DenyAndStop),
        "e" if ask.input_editable => match serde_json::from_str(rest) {
            Ok(input) => Ok(Answer { input: Some(input), ..Answer::new(&ask.id, Decision::Allow) }),
            Err(why) => Err(format!("  that input is not JSON: {why}")),
        },
        "t" if ask.free_text => Ok(Answer { text: Some(rest.to_owned()), ..Answer::new(&ask.id, Decision::Allow) }),
        "c" => plain(Decision::Choice(rest.trim().to_owned())),
        _ => Err("  that is none of the answers".to_owned()),
    }
}

/// Lines from the terminal, read by a thread of its own from the first ask on.
#[derive(Default)]
struct Lines(Option<mpsc::UnboundedReceiver<String>>);

impl Lines {
    /// From here on lines count. What was typed before the question was seen is no answer to it.
    fn start(&mut self) {
        let lines = self.0.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    if line.is_err() || sender.send(line.unwrap_or_default()).is_err() {
                        return;
                    }
                }
            });
            receiver
        });
        while lines.try_recv().is_ok() {}
    }

    async fn next(&mut self) -> Option<String> {
        match &mut self.0 {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }
}

/// The first signal that asks this program to end.
async fn any_stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
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

fn stop_signals(controller: &wharf::Controller) -> Result<StopSignals> {
    let (sender, receiver) = mpsc::unbounded_channel();
    #[cfg(unix)]
    for kind in [
        tokio::signal::unix::SignalKind::interrupt(),
        tokio::signal::unix::SignalKind::terminate(),
        tokio::signal::unix::SignalKind::hangup(),
    ] {
        let mut signal = tokio::signal::unix::signal(kind)
            .map_err(|why| Error::invalid(format!("signals cannot be received: {why}")))?;
        let (sender, controller) = (sender.clone(), controller.clone());
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                controller.cancel();
                let _ = sender.send(());
            }
        });
    }
    #[cfg(not(unix))]
    tokio::spawn({
        let controller = controller.clone();
        async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                controller.cancel();
                let _ = sender.send(());
            }
        }
    });
    Ok(StopSignals(receiver))
}

/// The adapter that an order names, and the host with the program that it names.
pub(crate) async fn adapter_for(order: &RunOrder, host: Host) -> Result<(Adapter, Host)> {
    let adapter = host.adapter(&adapter_name(order, &host)?).await?;
    let Some(program) = &order.program else { return Ok((adapter, host)) };
    let program = std::path::absolute(program)
        .map_err(|why| Error::invalid(format!("the program {} cannot be used: {why}", program.display())))?;
    let host = host.with_program(&adapter, program);
    Ok((adapter, host))
}

fn adapter_name(order: &RunOrder, host: &Host) -> Result<String> {
    let named = order.adapter.clone().or_else(|| host.config().adapter.clone());
    named.ok_or_else(|| {
        Error::invalid("no adapter is named")
            .hint("use --adapter, or set `adapter` in the configuration; `wharf adapters` lists them")
    })
}

/// The turn that an order describes.
pub(crate) fn turn(order: &RunOrder, host: &Host, adapter: &Adapter, terminal: bool) -> Result<Turn> {
    let config = host.config();
    let approvals = match order {
        order if order.approve => Approvals::AllowAll,
        order if order.deny => Approvals::Deny,
        order if order.ask || order.rules.is_some() => Approvals::Ask,
        _ => config.approvals.unwrap_or(if terminal { Approvals::Ask } else { Approvals::Deny }),
    };
    let mut turn = Turn {
        system_prompt: order.system.as_deref().map(system_prompt).transpose()?,
        workspace: order.workspace.clone(),
        extra_dirs: order.add_dir.clone(),
        session: session(order, host, adapter)?,
        model: order.model.clone().or_else(|| config.model.clone()),
        fallback_model: order.fallback_model.clone(),
        effort: order.effort.clone().or_else(|| config.effort.clone()),
        max_turns: order.max_turns,
        max_cost_micros: order.max_cost.map(micros).transpose()?,
        approvals,
        tools: ToolRules {
            allow: order.allow_tool.clone(),
            deny: order.deny_tool.clone(),
            only: order.only_tool.clone(),
            without: order.without_tool.clone(),
        },
        mcp_servers: order.mcp.as_deref().map(json_file).transpose()?,
        output_schema: order.output_schema.as_deref().map(json_file).transpose()?,
        stream_text: !order.no_stream,
        autopilot: order.autopilot,
        ..Turn::new(prompt_text(order)?)
    };
    for option in &order.options {
        let (name, value) = split_option(option)?;
        turn.options.insert(name.to_owned(), wharf::parse_option(&adapter.info().options, name, value));
    }
    Ok(turn)
}

pub(crate) fn split_option(option: &str) -> Result<(&str, &str)> {
    option
        .split_once('=')
        .ok_or_else(|| Error::invalid(format!("the option `{option}` has no value")).hint("write it as NAME=VALUE"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn micros(dollars: f64) -> Result<u64> {
    if (0.0..1e9).contains(&dollars) {
        Ok((dollars * 1e6).round() as u64)
    } else {
        Err(Error::invalid(format!("{dollars} is not an amount of dollars")))
    }
}

fn prompt_text(order: &RunOrder) -> Result<String> {
    if let Some(file) = &order.file {
        return text_file(file);
    }
    match order.prompt.as_deref() {
        Some(prompt) if prompt != "-" => Ok(prompt.to_owned()),
        None if std::io::stdin().is_terminal() => Ok(String::new()),
        _ => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|why| Error::invalid(format!("the prompt cannot be read from standard input: {why}")))?;
            String::from_utf8(bytes).map_err(|_| Error::invalid("the prompt on standard input is not UTF-8"))
        }
    }
}

fn system_prompt(text: &str) -> Result<String> {
    match text.strip_prefix('@') {
        Some(file) => text_file(Path::new(file)),
        None => Ok(text.to_owned()),
    }
}

fn text_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|why| Error::invalid(format!("the file {} cannot be read: {why}", path.display())))
}

fn json_file(path: &Path) -> Result<serde_json::Value> {
    serde_json::from_str(&text_file(path)?)
        .map_err(|why| Error::invalid(format!("the file {} is not JSON: {why}", path.display())))
}

fn session(order: &RunOrder, host: &Host, adapter: &Adapter) -> Result<SessionChoice> {
    let known = |name: &str| -> Result<String> {
        let sessions = host.known_sessions()?;
        if name == "last" {
            let workspace = std::fs::canonicalize(&order.workspace).unwrap_or_else(|_| order.workspace.clone());
            let last =
                sessions.map(|sessions| sessions.last(Some(&adapter.info().id), Some(&workspace))).transpose()?;
            return last.flatten().map(|entry| entry.id).ok_or_else(|| {
                Error::invalid(format!("no session of {} in this workspace is remembered", adapter.info().id))
                    .hint("`wharf sessions` lists those that are")
            });
        }
        // A session that wharf does not remember may still be one that the agent knows.
        let known = sessions.map(|sessions| sessions.find(name)).transpose()?.flatten();
        Ok(known.map_or_else(|| name.to_owned(), |entry| entry.id))
    };
    if let Some(name) = &order.resume {
        return known(name).map(SessionChoice::Resume);
    }
    if let Some(name) = &order.fork {
        return known(name).map(SessionChoice::Fork);
    }
    Ok(SessionChoice::Fresh(order.session_id.clone()))
}

fn run_options(order: &RunOrder, host: &Host, terminal: bool) -> Result<RunOptions> {
    let usual = host.clocks();
    let seconds = |value: Option<f64>| -> Result<Option<Duration>> {
        let bad = |value| Error::invalid(format!("{value} is not a number of seconds"));
        let sound =
            |value: f64| Duration::try_from_secs_f64(value).ok().filter(|time| *time < Duration::from_hours(24 * 365));
        value.map(|value| sound(value).ok_or_else(|| bad(value))).transpose()
    };
    let clocks = Clocks {
        first_output: seconds(order.limit_first_output)?.or(usual.first_output),
        idle: seconds(order.limit_idle)?.or(usual.idle),
        total: seconds(order.limit_total)?.or(usual.total),
        // Where nobody can be asked there is no use in waiting for an answer, unless somebody set a time for it.
        ask: seconds(order.limit_ask)?.unwrap_or(if terminal || host.config().limits.ask.is_some() {
            usual.ask
        } else {
            Duration::ZERO
        }),
        grace: seconds(order.grace)?.unwrap_or(usual.grace),
    };
    let rules = match &order.rules {
        Some(path) => rules_file(path)?,
        None => AskRules::default(),
    };
    Ok(RunOptions { clocks: Some(clocks), rules, unrecorded: order.no_record, frame_limit: order.limit_frame })
}

fn rules_file(path: &Path) -> Result<AskRules> {
    let text = text_file(path)?;
    toml::from_str(&text).map_err(|why| {
        let line = why.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Error::invalid(format!(
            "the rules {}, line {line}: {}",
            path.display(),
            why.message().trim().replace('\n', "; ")
        ))
    })
}

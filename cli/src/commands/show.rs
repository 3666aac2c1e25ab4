//! `wharf show`: what happened in a run.

use crate::host::host_without_project;
use crate::ui::{BOLD, Shell, View, foreign, ours};
use clap::Args;
use std::process::ExitCode;
use wharf::Result;
use wharf::event::EventKind;
use wharf::recording::{RecordedEvents, RecordedRun};

#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// Print the raw bytes of the agent's stdout instead
    #[arg(long, conflicts_with_all = ["stderr", "json"])]
    pub(crate) stdout: bool,
    /// Print the raw bytes of its stderr instead
    #[arg(long, conflicts_with = "json")]
    pub(crate) stderr: bool,
    /// Print the events as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn show(args: &ShowArgs, shell: &Shell) -> Result<ExitCode> {
    let run = host_without_project()?.runs().find(&args.run)?;
    if args.stdout || args.stderr {
        let streams = run.streams()?;
        return shell.bytes(if args.stdout { &streams.stdout } else { &streams.stderr });
    }
    if args.json {
        let lines = run.event_lines()?;
        shell.json_lines(&lines);
        warn_of_unreadable(&run, &RecordedEvents::parse(&lines), shell);
        return Ok(ExitCode::SUCCESS);
    }
    let launch = run.launch()?;
    let started = &launch.started;
    let id = foreign(run.id()).in_style(BOLD);
    shell.line(id.ours(" ").foreign(&started.adapter.id).ours(" ").foreign(&started.adapter.version));
    shell.line(ours("  program   ").foreign(&launch.binary.program).ours(" ").foreign(launch.args.join(" ")));
    shell.line(ours("  workspace ").foreign(&started.workspace));
    shell.line(ours("  prompt    ").foreign(started.prompt.lines().next().unwrap_or_default()));
    for (name, value) in &started.labels {
        shell.line(ours("  label     ").foreign(name).ours("=").foreign(value));
    }
    let recorded = run.events()?;
    let mut view = View::new(shell);
    for event in &recorded.events {
        match &event.kind {
            EventKind::Report(report) => view.report(report),
            kind => view.show(kind),
        }
    }
    view.end_line();
    warn_of_unreadable(&run, &recorded, shell);
    Ok(ExitCode::SUCCESS)
}

/// How many lines are reported one by one.
const MOST_REPORTED: usize = 20;

/// Reports the lines of the event file that are not events.
pub(crate) fn warn_of_unreadable(run: &RecordedRun, recorded: &RecordedEvents, shell: &Shell) {
    for line in recorded.unreadable.iter().take(MOST_REPORTED) {
        let what = ours("line ").foreign(line.number).ours(" of the events of run ").foreign(run.id());
        shell.warn(what.ours(" is not an event: ").foreign(&line.reason));
    }
    let more = recorded.unreadable.len().saturating_sub(MOST_REPORTED);
    if more > 0 {
        shell.warn(foreign(more).ours(" more lines are not events"));
    }
    if !recorded.unreadable.is_empty() {
        let hint = ours("hint:").in_style(BOLD).ours(" `wharf receipt ").foreign(run.id());
        shell.say(hint.ours(" --verify` checks whether they were changed after the run"));
    }
}

//! `wharf show`: what happened in a run.

use crate::host::host_without_project;
use crate::ui::{BOLD, Shell, View, styled, visible};
use clap::Args;
use std::process::ExitCode;
use wharf::Result;
use wharf::event::EventKind;

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
        return shell.bytes(&run.event_lines()?);
    }
    let launch = run.launch()?;
    let started = &launch.started;
    shell.line(format!(
        "{} {} {}",
        styled(BOLD, run.id()),
        visible(&started.adapter.id),
        visible(&started.adapter.version)
    ));
    shell.line(format!("  program   {} {}", visible(&launch.binary.program), visible(&launch.args.join(" "))));
    shell.line(format!("  workspace {}", visible(&started.workspace)));
    shell.line(format!("  prompt    {}", visible(started.prompt.lines().next().unwrap_or_default())));
    for (name, value) in &started.labels {
        shell.line(format!("  label     {}", visible(&format!("{name}={value}"))));
    }
    let mut view = View::new(shell);
    for event in run.events()? {
        match &event.kind {
            EventKind::Report(report) => view.report(report),
            kind => view.show(kind),
        }
    }
    view.end_line();
    Ok(ExitCode::SUCCESS)
}

//! `wharf runs`: the recorded runs.

use super::filter::FilterArgs;
use crate::host::host_without_project;
use crate::ui::{BAD, BOLD, DIM, Shell, Text, foreign, ours, outcome_text};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use wharf::recording::{RunEntry, RunFilter, RunState};
use wharf::{Host, Result};

#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Delete the oldest ones beyond what the configuration keeps
    #[arg(long, conflicts_with_all = ["labels", "workspace", "limit"])]
    pub(crate) prune: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RunsCommand {
    /// Delete runs with their recordings, events and receipts
    Rm {
        /// The runs: ids, their beginnings, or `last`
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

pub(crate) fn runs(args: RunsArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    match args.command {
        Some(RunsCommand::Rm { runs }) => remove(&host, &runs, shell),
        None if args.prune => prune(&host, shell),
        None => list(&host, &args.filter, shell),
    }
}

fn remove(host: &Host, names: &[String], shell: &Shell) -> Result<ExitCode> {
    let runs = host.runs();
    // All names first: one that is wrong deletes nothing, and `last` means one run however often it is named.
    let mut found = names.iter().map(|name| runs.find(name)).collect::<Result<Vec<_>>>()?;
    found.sort_by(|a, b| a.id().cmp(b.id()));
    found.dedup_by(|a, b| a.id() == b.id());
    for run in found {
        runs.delete(&run)?;
        shell.say(ours("deleted run ").foreign(run.id()));
    }
    Ok(ExitCode::SUCCESS)
}

fn prune(host: &Host, shell: &Shell) -> Result<ExitCode> {
    let keep = &host.config().recording;
    let pruned = host.runs().prune(keep.keep_runs, keep.keep_bytes)?;
    let deleted = ours("deleted ").foreign(pruned.removed.len()).ours(" runs, ").foreign(pruned.freed).ours(" bytes; ");
    shell.say(deleted.foreign(pruned.runs).ours(" are left"));
    Ok(ExitCode::SUCCESS)
}

fn list(host: &Host, args: &FilterArgs, shell: &Shell) -> Result<ExitCode> {
    let mut filter = RunFilter::default();
    filter.labels = args.labels()?;
    filter.workspace = args.workspace();
    filter.limit = Some(args.limit);
    let entries = host.runs().list(&filter)?;
    if args.json {
        return shell.json(&entries);
    }
    for entry in entries {
        shell.line(line(&entry));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(entry: &RunEntry) -> Text {
    let state = match &entry.state {
        RunState::Ended { outcome, .. } => outcome_text(*outcome),
        RunState::Running => ours("running").in_style(DIM),
        RunState::Torn => ours("torn: its wharf was killed").in_style(DIM),
        RunState::Unreadable { reason } => foreign(reason).in_style(BAD),
        _ => Text::default(),
    };
    let bytes = foreign(format!("{:>10}", entry.bytes)).ours(" bytes").in_style(DIM);
    let adapter = foreign(entry.adapter.as_deref().unwrap_or("?")).padded(10);
    let labels = entry.labels.iter().map(|(name, value)| foreign(name).ours("=").foreign(value));
    let labels = Text::joined(labels, " ").in_style(DIM);
    Text::joined([foreign(&entry.id).in_style(BOLD), bytes, adapter, state, labels], " ")
}

//! `wharf runs`: the recorded runs.

use super::filter::FilterArgs;
use crate::host::host_without_project;
use crate::ui::{BAD, BOLD, DIM, Shell, outcome_text, styled, visible};
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
        shell.say(format!("deleted run {}", run.id()));
    }
    Ok(ExitCode::SUCCESS)
}

fn prune(host: &Host, shell: &Shell) -> Result<ExitCode> {
    let keep = &host.config().recording;
    let pruned = host.runs().prune(keep.keep_runs, keep.keep_bytes)?;
    shell.say(format!("deleted {} runs, {} bytes; {} are left", pruned.removed.len(), pruned.freed, pruned.runs));
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

fn line(entry: &RunEntry) -> String {
    let state = match &entry.state {
        RunState::Ended { outcome, .. } => outcome_text(*outcome),
        RunState::Running => styled(DIM, "running"),
        RunState::Torn => styled(DIM, "torn: its wharf was killed"),
        RunState::Unreadable { reason } => styled(BAD, visible(reason)),
        _ => String::new(),
    };
    let labels: Vec<String> = entry.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!(
        "{} {} {:<10} {state} {}",
        styled(BOLD, &entry.id),
        styled(DIM, format!("{:>10} bytes", entry.bytes)),
        visible(entry.adapter.as_deref().unwrap_or("?")),
        styled(DIM, visible(&labels.join(" "))),
    )
}

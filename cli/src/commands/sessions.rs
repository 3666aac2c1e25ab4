//! `wharf sessions`: the sessions that wharf remembers.

use super::filter::FilterArgs;
use crate::host::host_without_project;
use crate::ui::{BOLD, DIM, Shell, Text, foreign, ours, outcome_text, usage_text};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use wharf::session::{SessionEntry, SessionFilter, Sessions};
use wharf::{Error, Host, Result};

#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
    /// Show this one: an id, its beginning, or `last`
    #[arg(conflicts_with_all = ["labels", "workspace", "limit"])]
    pub(crate) session: Option<String>,
    /// Only sessions of this adapter
    #[arg(short, long, value_name = "ADAPTER")]
    pub(crate) adapter: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Forget sessions; the agents keep their own copies, and the runs stay
    Rm {
        /// The sessions: ids, their beginnings, or `last`
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Only sessions of this adapter: two adapters may have a session with the same id
        #[arg(short, long, value_name = "ADAPTER")]
        adapter: Option<String>,
    },
}

pub(crate) fn sessions(args: SessionsArgs, shell: &Shell) -> Result<ExitCode> {
    let sessions = host_without_project()?.sessions()?;
    if let Some(SessionsCommand::Rm { sessions: names, adapter }) = args.command {
        // All names first: one that is wrong deletes nothing, and `last` means one session however often it is named.
        let mut found =
            names.iter().map(|name| find(&sessions, adapter.as_deref(), name)).collect::<Result<Vec<_>>>()?;
        found.sort_by(|a, b| (&a.id, &a.adapter).cmp(&(&b.id, &b.adapter)));
        found.dedup();
        for entry in found {
            sessions.delete(&entry)?;
            shell.say(ours("forgot session ").foreign(&entry.id));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.session {
        let entry = find(&sessions, args.adapter.as_deref(), name)?;
        if args.filter.json {
            return shell.json(&entry);
        }
        show(&entry, shell);
        return Ok(ExitCode::SUCCESS);
    }
    let mut filter = SessionFilter::default();
    filter.adapter = args.adapter;
    filter.labels = args.filter.labels()?;
    filter.workspace = args.filter.workspace();
    filter.limit = Some(args.filter.limit);
    let entries = sessions.list(&filter)?;
    if args.filter.json {
        return shell.json(&entries);
    }
    for entry in entries {
        let id = foreign(&entry.id).in_style(BOLD);
        let adapter = foreign(&entry.adapter).padded(10);
        let turns = foreign(entry.turns).ours(if entry.turns == 1 { " turn" } else { " turns" });
        let workspace = foreign(entry.workspace.display()).in_style(DIM);
        shell.line(Text::joined([id, adapter, turns, outcome_text(entry.outcome), workspace], " "));
    }
    Ok(ExitCode::SUCCESS)
}

fn find(sessions: &Sessions, adapter: Option<&str>, name: &str) -> Result<SessionEntry> {
    let found = if name == "last" { sessions.last(adapter, None)? } else { sessions.find_of(adapter, None, name)? };
    found.ok_or_else(|| {
        Error::invalid(format!("wharf remembers no session `{name}`")).with_hint("`wharf sessions` lists the sessions")
    })
}

fn show(entry: &SessionEntry, shell: &Shell) {
    let line = |name: &'static str, value: &str| {
        shell.line(ours("  ").then(ours(name).padded(10)).ours(" ").foreign(value));
    };
    shell.line(foreign(&entry.id).in_style(BOLD));
    line("adapter", &format!("{} {}", entry.adapter, entry.adapter_version));
    line("agent", entry.agent_version.as_deref().unwrap_or("unknown"));
    line("model", entry.model.as_deref().unwrap_or("unknown"));
    line("workspace", &entry.workspace.display().to_string());
    line("turns", &entry.turns.to_string());
    line("outcome", &entry.outcome.to_string());
    line("usage", &usage_text(&entry.usage));
    if entry.ids.len() > 1 {
        line("ids", &entry.ids.join(", "));
    }
    for (name, value) in &entry.labels {
        line("label", &format!("{name}={value}"));
    }
    for run in &entry.runs {
        line("run", run);
    }
}

/// What an adapter did not know so far, as text.
pub(crate) fn drift(host: &Host, adapter: &str) -> Vec<String> {
    let known = host.known_sessions().ok().flatten();
    let rows = known.and_then(|sessions| sessions.drift(adapter).ok()).unwrap_or_default();
    rows.iter()
        .flat_map(|row| {
            let version = row.agent_version.clone().unwrap_or_else(|| "unknown version".to_owned());
            let unknown = row.drift.unknown.iter().map(|(name, count)| format!("{name} ×{count}"));
            let malformed = (row.drift.malformed > 0).then(|| format!("{} malformed", row.drift.malformed));
            unknown.chain(malformed).map(move |what| format!("{what} ({version})")).collect::<Vec<_>>()
        })
        .collect()
}

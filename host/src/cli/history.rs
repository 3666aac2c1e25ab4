//! `wharf runs`, `show`, `receipt` and `sessions`: what was.

use super::arguments::{ReceiptOrder, RunsOrder, SessionsOrder, ShowOrder};
use super::shell::{BAD, BOLD, DIM, GOOD, Shell, styled};
use super::view::{View, usage_text};
use std::path::Path;
use std::process::ExitCode;
use wharf::{Error, Event, Host, Result, RunFolder, SessionEntry};

/// A run by its id, its beginning, or `last`.
pub(crate) fn find(host: &Host, name: &str) -> Result<RunFolder> {
    wharf::find_run(&host.runs_folder(), name)
}

/// The events of a run.
pub(crate) fn events(folder: &RunFolder) -> Result<Vec<Event>> {
    let path = folder.events();
    let text = std::fs::read_to_string(&path)
        .map_err(|why| Error::invalid(format!("the events {} cannot be read: {why}", path.display())))?;
    // A line that was cut off by the end of the host is no event.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

pub(crate) fn runs(order: &RunsOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    if order.prune {
        let keep = &host.config().recording;
        let pruned = wharf::prune_runs(&host.runs_folder(), keep.keep_runs, keep.keep_bytes, &[])?;
        shell.say(format!("removed {} runs, {} bytes; {} are left", pruned.removed.len(), pruned.freed, pruned.runs));
        return Ok(ExitCode::SUCCESS);
    }
    let mut entries = wharf::list_runs(&host.runs_folder())?;
    entries.truncate(order.limit);
    if order.json {
        return shell.json(&entries);
    }
    for entry in entries {
        let state = match &entry.state {
            wharf::RunState::Ended { adapter, outcome, .. } => format!("{adapter:<10} {}", outcome_word(*outcome)),
            wharf::RunState::Running => styled(DIM, "running"),
            wharf::RunState::Torn => styled(DIM, "torn: its wharf was killed"),
            wharf::RunState::Unreadable { why } => styled(BAD, why),
        };
        shell.line(format!(
            "{} {} {state}",
            styled(BOLD, &entry.id),
            styled(DIM, format!("{:>10} bytes", entry.bytes))
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn outcome_word(outcome: wharf::Outcome) -> String {
    let word = serde_json::json!(outcome).as_str().unwrap_or_default().to_owned();
    styled(if outcome == wharf::Outcome::Completed { GOOD } else { BAD }, word)
}

pub(crate) fn show(order: &ShowOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let folder = find(&host, &order.run)?;
    if order.stdout || order.stderr {
        let streams = wharf::streams(&folder.recording())?;
        return shell.bytes(if order.stdout { &streams.stdout } else { &streams.stderr });
    }
    if order.json {
        let path = folder.events();
        let bytes = std::fs::read(&path)
            .map_err(|why| Error::invalid(format!("the events {} cannot be read: {why}", path.display())))?;
        return shell.bytes(&bytes);
    }
    let launch = wharf::launch_record(&folder.recording())?;
    shell.line(format!("{} {} {}", styled(BOLD, folder.id()), launch.adapter.id, launch.adapter.version));
    shell.line(format!("  program   {} {}", launch.binary.program, launch.args.join(" ")));
    shell.line(format!("  workspace {}", launch.turn.workspace.display()));
    shell.line(format!("  prompt    {}", launch.turn.prompt.lines().next().unwrap_or_default()));
    let mut view = View::new(shell);
    for event in events(&folder)? {
        match &event {
            Event::Report(report) => view.report(report),
            event => view.show(event),
        }
    }
    view.end_line();
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn receipt(order: &ReceiptOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let folder = find(&host, &order.run)?;
    if !order.verify {
        let path = folder.receipt();
        let text = std::fs::read(&path).map_err(|why| {
            Error::invalid(format!("the receipt {} cannot be read: {why}", path.display()))
                .hint("a run that was killed, or goes on, has none")
        })?;
        return shell.bytes(&text);
    }
    let verified = wharf::verify_receipt(folder.path())?;
    for check in &verified.checks {
        let mark = if check.holds() { styled(GOOD, "✓") } else { styled(BAD, "✗") };
        shell.line(format!("{mark} {check}"));
    }
    Ok(if verified.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn sessions(order: &SessionsOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let sessions = host.sessions()?;
    if let Some(name) = &order.session {
        let found = if name == "last" { sessions.last(None, None)? } else { sessions.find(name)? };
        let entry = found.ok_or_else(|| {
            Error::invalid(format!("no session `{name}` is remembered")).hint("`wharf sessions` lists those that are")
        })?;
        if order.json {
            return shell.json(&entry);
        }
        show_session(&entry, shell);
        return Ok(ExitCode::SUCCESS);
    }
    let entries = sessions.list(order.limit)?;
    if order.json {
        return shell.json(&entries);
    }
    for entry in entries {
        let turns = if entry.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", entry.turns) };
        let place = styled(DIM, entry.workspace.display());
        shell.line(format!(
            "{} {:<10} {turns} {} {place}",
            styled(BOLD, &entry.id),
            entry.adapter,
            outcome_word(entry.outcome)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show_session(entry: &SessionEntry, shell: &Shell) {
    let line = |name: &str, value: String| shell.line(format!("  {name:<10} {value}"));
    shell.line(styled(BOLD, &entry.id));
    line("adapter", format!("{} {}", entry.adapter, entry.adapter_version));
    line("runtime", entry.runtime_version.clone().unwrap_or_else(|| "unknown".to_owned()));
    line("model", entry.model.clone().unwrap_or_else(|| "unknown".to_owned()));
    line("workspace", entry.workspace.display().to_string());
    line("turns", entry.turns.to_string());
    line("outcome", outcome_word(entry.outcome));
    line("usage", usage_text(&entry.usage));
    if entry.ids.len() > 1 {
        line("ids", entry.ids.join(", "));
    }
    line("last run", entry.last_run.clone().unwrap_or_default());
}

/// What an adapter did not know so far, in words.
pub(crate) fn drift(host: &Host, adapter: &str) -> Vec<String> {
    let rows = host.sessions().and_then(|sessions| sessions.drift(adapter)).unwrap_or_default();
    rows.iter()
        .flat_map(|row| {
            let version = row.runtime_version.clone().unwrap_or_else(|| "unknown version".to_owned());
            let unknown = row.drift.unknown.iter().map(|(name, count)| format!("{name} ×{count}"));
            let malformed = (row.drift.malformed > 0).then(|| format!("{} malformed", row.drift.malformed));
            unknown.chain(malformed).map(move |what| format!("{what} ({version})")).collect::<Vec<_>>()
        })
        .collect()
}

//! `wharf replay`: a recording or a bare capture, played to an adapter.

use super::show::warn_of_unreadable;
use crate::host::host_without_project;
use crate::ui::{BAD, GOOD, Shell, View, ours};
use crate::{exit, turn};
use clap::Args;
use similar::{ChangeTag, TextDiff};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use wharf::event::{Event, EventKind, Exit};
use wharf::recording::{Capture, Replayed};
use wharf::{Approvals, Error, Host, Result, Turn};

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// The run: an id, its beginning, or `last`
    #[arg(required_unless_present = "stdout")]
    pub(crate) run: Option<String>,
    /// Another adapter than the one that was used: an id, or the path of a component
    #[arg(short, long, required_unless_present = "run")]
    pub(crate) adapter: Option<String>,
    /// A capture of an agent's stdout, instead of a run
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) stdout: Option<PathBuf>,
    /// The capture's stderr
    #[arg(long, value_name = "FILE", requires = "stdout")]
    pub(crate) stderr: Option<PathBuf>,
    /// The capture's exit code
    #[arg(long, value_name = "CODE", requires = "stdout", conflicts_with = "signal", allow_hyphen_values = true)]
    pub(crate) exit: Option<i32>,
    /// The signal that killed the agent
    #[arg(long, value_name = "NUMBER", requires = "stdout")]
    pub(crate) signal: Option<i32>,
    /// The version of the agent that wrote it
    #[arg(long, value_name = "VERSION", requires = "stdout")]
    pub(crate) agent_version: Option<String>,
    /// The captured turn was cancelled
    #[arg(long, requires = "stdout")]
    pub(crate) cancelled: bool,
    /// An option of the adapter, as NAME=VALUE
    #[arg(short, long = "option", value_name = "NAME=VALUE", requires = "stdout")]
    pub(crate) options: Vec<String>,
    /// The approvals of the captured turn: allow-all, ask, deny
    #[arg(long, requires = "stdout", value_name = "APPROVALS")]
    pub(crate) approvals: Option<String>,
    /// How many bytes to play at once
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// Show only how the events differ from the recorded ones; times are not compared
    #[arg(long, conflicts_with_all = ["stdout", "json"])]
    pub(crate) diff: bool,
    /// Print events as JSON, one per line; the last is the report
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn replay(args: ReplayArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    let (replayed, recorded) = match (&args.stdout, &args.run) {
        (Some(_), _) => (capture(&host, &args).await?, None),
        (None, Some(name)) => {
            let run = host.runs().find(name)?;
            let used = run.launch()?.started.adapter;
            let adapter = host.adapter(args.adapter.as_deref().unwrap_or(&used.id)).await?;
            if args.adapter.is_none() && adapter.digest() != used.sha256 {
                let then = ours("the run used ").foreign(&used.id).ours(" ").foreign(&used.version);
                shell.warn(then.ours(", this is ").foreign(&adapter.info().version));
            }
            let recorded = run.events()?;
            if args.diff {
                warn_of_unreadable(&run, &recorded, shell);
            }
            (host.replay(&adapter, &run, args.chunk.map(NonZeroUsize::get)).await?, Some(recorded.events))
        }
        (None, None) => return Err(Error::invalid("neither a run nor a capture is named")),
    };
    if replayed.torn {
        shell.warn(ours("the recording is incomplete: wharf was killed, the run goes on, or it was too large"));
    }
    if args.diff {
        return Ok(diff(recorded.unwrap_or_default(), replayed.events, shell));
    }
    let mut view = View::new(shell);
    for event in &replayed.events {
        match &event.kind {
            _ if args.json => {
                let mut line = serde_json::to_vec(event).unwrap_or_default();
                line.push(b'\n');
                if !shell.json_lines(&line) {
                    break;
                }
            }
            EventKind::Report(report) => view.report(report),
            kind => view.show(kind),
        }
    }
    Ok(replayed.report().map_or(ExitCode::FAILURE, |report| exit::of_outcome(report.outcome)))
}

/// The largest capture: all of it is held in memory.
const CAPTURE_LIMIT: u64 = 1 << 30;

async fn capture(host: &Host, args: &ReplayArgs) -> Result<Replayed> {
    let name = args.adapter.as_deref().ok_or_else(|| Error::invalid("a capture needs --adapter"))?;
    let adapter = host.adapter(name).await?;
    let read = |path: &Path| turn::named_file("the capture", path, CAPTURE_LIMIT);
    let mut turn = Turn::new("(a capture)").with_approvals(approvals(args)?);
    for option in &args.options {
        let (name, value) = turn::split_option(option)?;
        turn.options.insert(name.to_owned(), wharf::parse_option(&adapter.info().options, name, value));
    }
    let mut capture = Capture::default();
    capture.stdout = args.stdout.as_deref().map(read).transpose()?.unwrap_or_default();
    capture.stderr = args.stderr.as_deref().map(read).transpose()?.unwrap_or_default();
    let code = if args.signal.is_some() { None } else { Some(args.exit.unwrap_or(0)) };
    capture.exit = Exit { code, signal: args.signal };
    capture.agent_version.clone_from(&args.agent_version);
    capture.cancelled = args.cancelled;
    capture.chunk = args.chunk.map(NonZeroUsize::get);
    capture.turn = Some(turn);
    host.replay_capture(&adapter, capture).await
}

fn approvals(args: &ReplayArgs) -> Result<Approvals> {
    match args.approvals.as_deref() {
        None | Some("allow-all") => Ok(Approvals::AllowAll),
        Some("ask") => Ok(Approvals::Ask),
        Some("deny") => Ok(Approvals::Deny),
        Some(other) => {
            Err(Error::invalid(format!("`{other}` is not a value for --approvals")).with_hint("allow-all, ask or deny"))
        }
    }
}

/// The lines that differ: what was recorded, and what came out now. Times are not compared.
fn diff(recorded: Vec<Event>, replayed: Vec<Event>, shell: &Shell) -> ExitCode {
    let lines = |events: Vec<Event>| -> String {
        let line = |event| format!("{}\n", serde_json::json!(Event { at: Duration::ZERO, ..event }));
        events.into_iter().map(line).collect()
    };
    let mut replayed = replayed;
    let all = replayed.len();
    // A run that reached its limit has kept its first events and its report.
    if recorded.last().is_some_and(|last| last.seq > recorded.len() as u64) {
        let kept: HashSet<u64> = recorded.iter().map(|event| event.seq).collect();
        replayed.retain(|event| kept.contains(&event.seq));
    }
    let count = replayed.len();
    let (before, after) = (lines(recorded), lines(replayed));
    if before == after {
        let same = ours("the same ").foreign(count).ours(" events");
        let same = if count < all { same.ours("; ").foreign(all - count).ours(" more were not kept") } else { same };
        shell.say(same.in_style(GOOD));
        return ExitCode::SUCCESS;
    }
    for change in TextDiff::from_lines(&before, &after).iter_all_changes() {
        let (style, mark) = match change.tag() {
            ChangeTag::Delete => (BAD, "- "),
            ChangeTag::Insert => (GOOD, "+ "),
            ChangeTag::Equal => continue,
        };
        shell.line(ours(mark).foreign(change.value().trim_end()).in_style(style));
    }
    ExitCode::FAILURE
}

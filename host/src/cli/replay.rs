//! `wharf replay` and `wharf fixture`: recordings, fed through adapters again.

use super::arguments::{FixtureOrder, ReplayOrder};
use super::shell::{BAD, GOOD, Shell, styled};
use super::view::View;
use super::{exit, history, turn};
use std::path::Path;
use std::process::ExitCode;
use wharf::{Approvals, Capture, Error, Event, Exit, Host, Replayed, Result, Turn};

pub(crate) async fn replay(order: ReplayOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let (replayed, recorded) = match (&order.stdout, &order.run) {
        (Some(_), _) => (capture(&host, &order).await?, None),
        (None, Some(name)) => {
            let folder = history::find(&host, name)?;
            let launch = wharf::launch_record(&folder.recording())?;
            let adapter = host.adapter(order.adapter.as_deref().unwrap_or(&launch.adapter.id)).await?;
            if order.adapter.is_none() && adapter.digest() != launch.adapter.digest {
                shell.warn(format!(
                    "the run was made with {} {}, this is {}",
                    launch.adapter.id,
                    launch.adapter.version,
                    adapter.info().version
                ));
            }
            let replayed = host.replay(&adapter, &folder.recording(), order.chunk).await?;
            (replayed, Some(history::events(&folder)?))
        }
        (None, None) => return Err(Error::invalid("neither a run nor a capture is named")),
    };
    if replayed.torn {
        shell.warn("the recording does not hold everything: wharf was killed, the run goes on, or it was too large");
    }
    if order.diff {
        return Ok(diff(&recorded.unwrap_or_default(), &replayed.events, shell));
    }
    let mut view = View::new(shell);
    for event in &replayed.events {
        match event {
            event if order.json => {
                let mut line = serde_json::to_vec(event).unwrap_or_default();
                line.push(b'\n');
                if !shell.raw(&line) {
                    break;
                }
            }
            Event::Report(report) => view.report(report),
            event => view.show(event),
        }
    }
    Ok(replayed.report().map_or(ExitCode::FAILURE, |report| exit::of_outcome(report.outcome)))
}

async fn capture(host: &Host, order: &ReplayOrder) -> Result<Replayed> {
    let name = order.adapter.as_deref().ok_or_else(|| Error::invalid("a capture needs --adapter"))?;
    let adapter = host.adapter(name).await?;
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|why| Error::invalid(format!("the capture {} cannot be read: {why}", path.display())))
    };
    let mut turn = Turn { approvals: approvals(order)?, ..Turn::new("(a capture)") };
    for option in &order.options {
        let (name, value) = turn::split_option(option)?;
        turn.options.insert(name.to_owned(), wharf::parse_option(&adapter.info().options, name, value));
    }
    let capture = Capture {
        stdout: order.stdout.as_deref().map(read).transpose()?.unwrap_or_default(),
        stderr: order.stderr.as_deref().map(read).transpose()?.unwrap_or_default(),
        exit: Exit {
            code: if order.signal.is_some() { None } else { Some(order.exit.unwrap_or(0)) },
            signal: order.signal,
        },
        runtime_version: order.runtime_version.clone(),
        cancelled: order.cancelled,
        chunk: order.chunk,
        turn: Some(turn),
    };
    host.replay_capture(&adapter, capture).await
}

fn approvals(order: &ReplayOrder) -> Result<Approvals> {
    match order.approvals.as_deref() {
        None | Some("allow-all") => Ok(Approvals::AllowAll),
        Some("ask") => Ok(Approvals::Ask),
        Some("deny") => Ok(Approvals::Deny),
        Some(other) => {
            Err(Error::invalid(format!("`{other}` is not a way of approving")).hint("allow-all, ask or deny"))
        }
    }
}

/// The lines that differ: what was recorded, and what came out now.
fn diff(recorded: &[Event], replayed: &[Event], shell: &Shell) -> ExitCode {
    let lines =
        |events: &[Event]| -> Vec<String> { events.iter().map(|event| serde_json::json!(event).to_string()).collect() };
    let (before, after) = (lines(recorded), lines(replayed));
    let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let mut same_end =
        before.iter().rev().zip(after.iter().rev()).take_while(|(before, after)| before == after).count();
    same_end = same_end.min(before.len() - same).min(after.len() - same);
    if before == after {
        shell.say(styled(GOOD, format!("the same {} events", after.len())));
        return ExitCode::SUCCESS;
    }
    for line in &before[same..before.len() - same_end] {
        shell.line(styled(BAD, format!("- {line}")));
    }
    for line in &after[same..after.len() - same_end] {
        shell.line(styled(GOOD, format!("+ {line}")));
    }
    ExitCode::FAILURE
}

/// A fixture: the streams, the exit, and what came out, in the form that the adapters' tests read.
pub(crate) async fn fixture(order: &FixtureOrder, shell: &Shell) -> Result<ExitCode> {
    let host = super::host(Path::new("."))?;
    let folder = history::find(&host, &order.run)?;
    let launch = wharf::launch_record(&folder.recording())?;
    let adapter = host.adapter(&launch.adapter.id).await?;
    let replayed = host.replay(&adapter, &folder.recording(), None).await?;
    let streams = wharf::streams(&folder.recording())?;
    let failed =
        |why: std::io::Error| Error::invalid(format!("the fixture {} cannot be written: {why}", order.into.display()));
    std::fs::create_dir_all(&order.into).map_err(failed)?;
    let exit = match streams.exit {
        Exit { signal: Some(signal), .. } => format!("-{signal}\n"),
        Exit { code, .. } => format!("{}\n", code.unwrap_or_default()),
    };
    // Where this user lives is nobody's business.
    let clean = |bytes: &[u8]| wharf::anonymous(bytes, &launch.turn.workspace);
    let report = serde_json::to_string_pretty(&replayed.report()).unwrap_or_default();
    let report = clean(report.as_bytes());
    for (name, content) in [
        ("stdout.jsonl", clean(&streams.stdout)),
        ("stderr.txt", clean(&streams.stderr)),
        ("exit", exit.into_bytes()),
        ("runtime-version", launch.binary.version.clone().unwrap_or_default().into_bytes()),
        ("expected.json", report),
    ] {
        std::fs::write(order.into.join(name), content).map_err(failed)?;
    }
    shell.say(format!(
        "wrote {}; read expected.json before you commit it: it is what came out, not what is right",
        order.into.display()
    ));
    Ok(ExitCode::SUCCESS)
}

//! `wharf fixture`: a recording as a test fixture.

use crate::host::host_without_project;
use crate::ui::{Shell, ours};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use wharf::event::Exit;
use wharf::recording::anonymous;
use wharf::{Error, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct FixtureArgs {
    /// The run: an id, its beginning, or `last`
    pub(crate) run: String,
    /// The folder to write it to
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) into: PathBuf,
}

/// A fixture: the streams, the exit, and what came out, in the form that the adapters' tests read.
pub(crate) async fn fixture(args: &FixtureArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    let run = host.runs().find(&args.run)?;
    let launch = run.launch()?;
    let adapter = host.adapter(&launch.started.adapter.id).await?;
    let replayed = host.replay(&adapter, &run, None).await?;
    let streams = run.streams()?;
    let failed = |error: std::io::Error| Error::system(format!("writing the fixture {}", args.into.display()), error);
    std::fs::create_dir_all(&args.into).map_err(failed)?;
    let exit = match streams.exit {
        Exit { signal: Some(signal), .. } => format!("-{signal}\n"),
        Exit { code, .. } => format!("{}\n", code.unwrap_or_default()),
    };
    // A fixture is published: it must not identify the user.
    let clean = |bytes: &[u8]| anonymous(bytes, &launch.turn.workspace);
    let report = serde_json::to_string_pretty(&replayed.report()).unwrap_or_default();
    for (name, content) in [
        ("stdout.jsonl", clean(&streams.stdout)),
        ("stderr.txt", clean(&streams.stderr)),
        ("exit", exit.into_bytes()),
        ("agent-version", launch.binary.version.clone().unwrap_or_default().into_bytes()),
        ("expected.json", clean(report.as_bytes())),
    ] {
        std::fs::write(args.into.join(name), content).map_err(failed)?;
    }
    let advice = "; read expected.json before you commit it: it is what came out, not what is right";
    shell.say(ours("wrote ").foreign(args.into.display()).ours(advice));
    Ok(ExitCode::SUCCESS)
}

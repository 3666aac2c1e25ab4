//! `wharf doctor`: which agents are usable, and how to fix the rest.

use super::sessions::drift;
use crate::host::host_without_project;
use crate::ui::{BAD, BOLD, DIM, GOOD, ODD, Shell, foreign, ours};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;
use wharf::adapter::{Adapter, Binary, LogLevel, Login, Support};
use wharf::{Host, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// The adapters to check; all of them if none is named
    pub(crate) adapters: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What was found of one adapter's agent.
struct Finding {
    name: String,
    adapter: Result<Adapter>,
    agent: Option<Result<Binary>>,
    drift: Vec<String>,
}

pub(crate) async fn doctor(args: DoctorArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    let names: Vec<String> = if args.adapters.is_empty() {
        host.adapters()?.into_iter().filter(|entry| !entry.shadowed).map(|entry| entry.id).collect()
    } else {
        args.adapters.clone()
    };
    let mut findings = Vec::new();
    for name in names {
        findings.push(examine(&host, name).await);
    }
    // Named adapters must be usable; a check of all of them never fails.
    let usable = |finding: &Finding| matches!(finding.agent, Some(Ok(_)));
    let good = args.adapters.is_empty() || findings.iter().all(usable);
    if args.json {
        shell.json(&findings.iter().map(DoctorEntry::new).collect::<Vec<_>>())?;
    } else {
        for finding in &findings {
            show(finding, shell);
        }
    }
    if let Some(Err(error)) = findings.iter().map(|finding| &finding.adapter).find(|adapter| adapter.is_err())
        && !args.adapters.is_empty()
    {
        return Err(error.clone());
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

async fn examine(host: &Host, name: String) -> Finding {
    let adapter = host.adapter(&name).await;
    let agent = match &adapter {
        Ok(adapter) => Some(host.resolve(adapter).await),
        Err(_) => None,
    };
    let drift = adapter.as_ref().ok().map(|adapter| drift(host, &adapter.info().id)).unwrap_or_default();
    Finding { name, adapter, agent, drift }
}

/// What was found of one adapter's agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DoctorEntry")]
pub(crate) struct DoctorEntry<'a> {
    /// The adapter, as it was named.
    adapter: &'a str,
    /// The adapter's version; null if it cannot be loaded.
    version: Option<&'a str>,
    /// The versions of the agent that it was tested with; null if it cannot be loaded.
    tested_with: Option<&'a [String]>,
    /// Whether the agent can be used.
    usable: bool,
    /// The agent; null if it was not found.
    agent: Option<&'a Binary>,
    /// Why it cannot be used.
    error: Option<String>,
    /// What the adapter did not know in earlier runs.
    drift: &'a [String],
}

impl<'a> DoctorEntry<'a> {
    fn new(finding: &'a Finding) -> DoctorEntry<'a> {
        let (agent, error) = match &finding.agent {
            Some(Ok(binary)) => (Some(binary), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, finding.adapter.as_ref().err().map(ToString::to_string)),
        };
        let info = finding.adapter.as_ref().ok().map(Adapter::info);
        DoctorEntry {
            adapter: &finding.name,
            version: info.map(|info| info.version.as_str()),
            tested_with: info.map(|info| info.tested_with.as_slice()),
            usable: agent.is_some(),
            agent,
            error,
            drift: &finding.drift,
        }
    }
}

fn show(finding: &Finding, shell: &Shell) {
    let fix = |text: &str| shell.line(ours("    ").then(ours("fix:").in_style(BOLD)).ours(" ").foreign(text));
    let head = |style, mark: &'static str, text: String| {
        let name = foreign(&finding.name).in_style(BOLD);
        shell.line(ours(mark).in_style(style).ours(" ").then(name).ours(" ").foreign(text));
    };
    let info = match &finding.adapter {
        Ok(adapter) => adapter.info(),
        Err(error) => {
            head(BAD, "✗", error.to_string());
            error.hint().into_iter().for_each(fix);
            return;
        }
    };
    match &finding.agent {
        Some(Ok(binary)) => {
            let version = binary.version.as_deref().unwrap_or("of an unknown version");
            let (style, tested) = match binary.support {
                Support::Tested => (GOOD, "tested".to_owned()),
                Support::NewerUntested => (ODD, format!("newer than tested ({})", info.tested_with.join(", "))),
                Support::OlderUntested => (ODD, format!("older than tested ({})", info.tested_with.join(", "))),
                Support::BestEffort => (ODD, "not tested; it may work".to_owned()),
                Support::Unsupported => (BAD, "known not to work".to_owned()),
            };
            head(style, "✓", format!("{version}, {tested}"));
            let arguments = binary.leading_args.join(" ");
            shell.line(ours("    program: ").foreign(&binary.program).ours(" ").foreign(arguments));
            match &binary.login {
                Login::Present(how) => shell.line(ours("    login: ").foreign(how)),
                Login::Missing(what) => {
                    shell.line(ours("    login: ").then(ours("none").in_style(BAD)));
                    fix(what);
                }
                Login::Unknown => shell.line(ours("    login: unknown").in_style(DIM)),
            }
            for note in &binary.notes {
                let style = if note.level >= LogLevel::Warn { ODD } else { DIM };
                shell.line(ours("    ").then(foreign(&note.text).in_style(style)));
                note.fix.as_deref().into_iter().for_each(fix);
            }
        }
        Some(Err(error)) => {
            head(BAD, "✗", error.to_string());
            fix(error.hint().unwrap_or(&info.install_hint));
        }
        None => {}
    }
    if !finding.drift.is_empty() {
        let unknown = finding.drift.join(", ");
        shell.line(ours("    unknown to the adapter so far: ").foreign(unknown).in_style(DIM));
    }
}

//! `wharf doctor`: which agents are usable, and how to fix the rest. A preflight: it starts no turn, but runs the
//! adapters' probes, those of all adapters at the same time.

use super::sessions::drift;
use crate::exit;
use crate::host::host_without_project;
use crate::ui::{BAD, BOLD, DIM, GOOD, ODD, Shell, foreign, ours};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;
use wharf::adapter::{
    Adapter, AdapterInfo, Binary, Diagnosis, LogLevel, Login, Problem, Source, Support, Unusable, Waiting,
};
use wharf::agent::InstalledAgent;
use wharf::{Error, Host, Preflight, Result};

/// How long a probe may run before its name is shown.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// An error if the adapter failed.
    agent: Result<Diagnosis>,
    drift: Vec<String>,
    /// The versions of the agent that wharf has installed, the newest first.
    installed: Vec<InstalledAgent>,
    /// What is doubtful about the configured model.
    model: Option<String>,
}

impl Finding {
    fn info(&self) -> Option<&AdapterInfo> {
        self.adapter.as_ref().ok().map(Adapter::info)
    }

    fn binary(&self) -> Option<&Binary> {
        self.agent.as_ref().ok().and_then(|diagnosis| diagnosis.binary.as_ref())
    }

    fn problem(&self) -> Option<Problem> {
        match &self.agent {
            Ok(diagnosis) => diagnosis.problem.clone(),
            Err(error) => Some(Problem {
                reason: Unusable::AdapterError,
                message: error.to_string(),
                fix: error.hint().map_or_else(
                    || format!("`wharf adapters show {}` shows whether the adapter itself works", self.name),
                    str::to_owned,
                ),
            }),
        }
    }

    /// The bundled example, which works without any agent.
    fn is_example(&self) -> bool {
        let Ok(adapter) = &self.adapter else { return false };
        matches!(adapter.source(), Source::Bundled) && adapter.info().id == "echo"
    }
}

pub(crate) async fn doctor(args: DoctorArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    let names: Vec<String> = if args.adapters.is_empty() {
        host.adapters()?.into_iter().filter(|entry| !entry.shadowed).map(|entry| entry.id).collect()
    } else {
        args.adapters.clone()
    };
    let findings = examine_all(&host, names, shell).await;
    if args.json {
        shell.json(&findings.iter().map(DoctorEntry::new).collect::<Vec<_>>())?;
    } else {
        for finding in &findings {
            show(finding, shell);
        }
    }
    if args.adapters.is_empty() {
        // What has been installed decides which of all agents there are; a machine with none can run nothing.
        let ready = findings.iter().any(|finding| finding.problem().is_none() && !finding.is_example());
        return Ok(if ready { ExitCode::SUCCESS } else { ExitCode::from(3) });
    }
    if let Some(Err(error)) = findings.iter().map(|finding| &finding.adapter).find(|adapter| adapter.is_err()) {
        return Err(error.clone());
    }
    let failed = findings.iter().find_map(|finding| finding.agent.as_ref().err());
    Ok(match failed {
        Some(error) => exit::of_error(error),
        None if findings.iter().all(|finding| finding.problem().is_none()) => ExitCode::SUCCESS,
        None => exit::of_error(&Error::agent("")),
    })
}

/// Examines all at once, in the given order, and says what it waits for.
async fn examine_all(host: &Host, names: Vec<String>, shell: &Shell) -> Vec<Finding> {
    let mut tasks = JoinSet::new();
    let mut waiting = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        let preflight = Preflight::default();
        waiting.push(preflight.waiting.clone());
        let host = host.clone();
        tasks.spawn(async move { (at, examine(&host, name, &preflight).await) });
    }
    let mut findings = Vec::new();
    let mut said = BTreeSet::new();
    loop {
        tokio::select! {
            ended = tasks.join_next() => match ended {
                Some(Ok(finding)) => findings.push(finding),
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
                None => break,
            },
            () = tokio::time::sleep(PATIENCE) => {
                for what in waiting.iter().filter_map(Waiting::now) {
                    if said.insert(what.clone()) {
                        shell.say(ours("waiting for ").foreign(&what));
                    }
                }
            }
        }
    }
    findings.sort_by_key(|(at, _)| *at);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

async fn examine(host: &Host, name: String, preflight: &Preflight) -> Finding {
    let adapter = host.adapter(&name).await;
    let agent = match &adapter {
        Ok(adapter) => host.diagnose(adapter, preflight).await,
        Err(error) => Err(error.clone()),
    };
    let loaded = adapter.as_ref().ok();
    let drift = loaded.map(|adapter| drift(host, &adapter.info().id)).unwrap_or_default();
    let installed = loaded.and_then(|adapter| host.installed(adapter).ok()).unwrap_or_default();
    let model = loaded.zip(host.config().model.as_deref());
    let model = model.and_then(|(adapter, model)| host.model(adapter, model).warning);
    Finding { name, adapter, agent, drift, installed, model }
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
    /// Whether a turn can work with the agent.
    usable: bool,
    /// The kind of the reason why not.
    reason: Option<Unusable>,
    /// Why not, for people.
    error: Option<String>,
    /// What to do about it.
    fix: Option<String>,
    /// The agent; null if it was not found.
    agent: Option<&'a Binary>,
    /// What the adapter did not know in earlier runs.
    drift: &'a [String],
    /// The versions of the agent that wharf has installed, the newest first.
    installed: Vec<&'a str>,
    /// What is doubtful about the model in the configuration, for this agent.
    model: Option<&'a str>,
}

impl<'a> DoctorEntry<'a> {
    fn new(finding: &'a Finding) -> DoctorEntry<'a> {
        let (info, problem) = (finding.info(), finding.problem());
        DoctorEntry {
            adapter: &finding.name,
            version: info.map(|info| info.version.as_str()),
            tested_with: info.map(|info| info.tested_with.as_slice()),
            usable: problem.is_none(),
            reason: problem.as_ref().map(|problem| problem.reason),
            error: problem.as_ref().map(|problem| problem.message.clone()),
            fix: problem.map(|problem| problem.fix),
            agent: finding.binary(),
            drift: &finding.drift,
            installed: finding.installed.iter().map(|installed| installed.version.as_str()).collect(),
            model: finding.model.as_deref(),
        }
    }
}

fn show(finding: &Finding, shell: &Shell) {
    let fix = |text: &str| shell.line(ours("    ").then(ours("fix:").in_style(BOLD)).ours(" ").foreign(text));
    let head = |style, mark: &'static str, text: &str| {
        let name = foreign(&finding.name).in_style(BOLD);
        shell.line(ours(mark).in_style(style).ours(" ").then(name).ours(" ").foreign(text));
    };
    let problem = finding.problem();
    if let Some(problem) = &problem {
        head(BAD, "✗", &problem.message);
        fix(&problem.fix);
    }
    if let (Some(binary), Some(info)) = (finding.binary(), finding.info()) {
        let version = binary.version.as_deref().unwrap_or("of an unknown version");
        let (style, tested) = tested(binary.support, info);
        let version = format!("{version}, {tested}");
        match &problem {
            None => head(style, "✓", &version),
            Some(_) if binary.version.is_some() => shell.line(ours("    version: ").foreign(&version)),
            Some(_) => {}
        }
        if problem.is_none() && binary.support == Support::OlderUntested && !info.install_hint.is_empty() {
            fix(&format!("update it: {}", info.install_hint));
        }
        show_details(binary, problem.is_none_or(|problem| problem.reason != Unusable::NoLogin), shell, fix);
    }
    if !finding.installed.is_empty() {
        let used = |installed: &InstalledAgent| {
            finding.binary().is_some_and(|binary| Path::new(&binary.program) == installed.program)
        };
        let version = |installed: &InstalledAgent| {
            format!("{}{}", installed.version, if used(installed) { " (used)" } else { "" })
        };
        let versions: Vec<String> = finding.installed.iter().map(version).collect();
        shell.line(ours("    installed by wharf: ").foreign(versions.join(", ")).in_style(DIM));
    }
    if let Some(warning) = &finding.model {
        shell.line(ours("    ").then(foreign(warning).in_style(ODD)));
    }
    if !finding.drift.is_empty() {
        let unknown = finding.drift.join(", ");
        shell.line(ours("    unknown to the adapter so far: ").foreign(unknown).in_style(DIM));
    }
}

fn show_details(binary: &Binary, tell_login: bool, shell: &Shell, fix: impl Fn(&str)) {
    let command: Vec<&str> = std::iter::once(&binary.program).chain(&binary.leading_args).map(String::as_str).collect();
    shell.line(ours("    program: ").foreign(command.join(" ")));
    if let [first, others @ ..] = binary.transports.as_slice() {
        let names = others.iter().fold(first.name.clone(), |names, transport| format!("{names}, {}", transport.name));
        shell.line(ours("    transports: ").foreign(names).in_style(DIM));
    }
    if let Some(reason) = &binary.unsupported_because {
        shell.line(ours("    ").then(foreign(reason).in_style(BAD)));
    }
    match &binary.login {
        Login::Present(how) => shell.line(ours("    login: ").foreign(how)),
        Login::Missing(what) => {
            shell.line(ours("    login: ").then(ours("none").in_style(BAD)));
            if tell_login {
                fix(what);
            }
        }
        Login::Unknown => shell.line(ours("    login: unknown").in_style(DIM)),
    }
    for note in &binary.notes {
        let style = if note.level >= LogLevel::Warn { ODD } else { DIM };
        shell.line(ours("    ").then(foreign(&note.text).in_style(style)));
        note.fix.as_deref().into_iter().for_each(&fix);
    }
}

/// How well the version is tested, in words, with the tested ones.
fn tested(support: Support, info: &AdapterInfo) -> (anstyle::Style, String) {
    let with = info.tested_with.join(", ");
    match support {
        Support::Tested => (GOOD, "tested".to_owned()),
        Support::BetweenTested => (ODD, format!("between tested versions ({with})")),
        Support::NewerUntested => (ODD, format!("newer than tested ({with})")),
        Support::OlderUntested => (ODD, format!("older than tested ({with})")),
        Support::BestEffort => (ODD, "not tested; it may work".to_owned()),
        Support::Unsupported => (BAD, format!("known not to work (tested: {with})")),
    }
}

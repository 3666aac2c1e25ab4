//! `wharf agent`: agents from npm and PyPI in a folder of wharf's.

use crate::exit;
use crate::host::host_without_project;
use crate::signals::Signals;
use crate::ui::{BOLD, DIM, Shell, foreign, ours};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use wharf::agent::{InstalledAgent, Package, Registry};
use wharf::event::Outcome;
use wharf::{Error, Host, Result};

#[derive(Debug, Clone, Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AgentCommand {
    /// Install an agent from npm or PyPI
    ///
    /// It is put into a folder below the data of wharf, beside its other versions. Nothing global is touched, and no
    /// install script of a package is run. It needs `npm`, or for an agent from PyPI `uv` or `python3`.
    Install {
        /// The agent, with the version if it is not to be the latest: claude, claude@2.1.325
        #[arg(value_name = "NAME[@VERSION]")]
        agent: String,
    },
    /// List the installed agents
    List {
        /// List the agents that can be installed instead
        #[arg(long)]
        available: bool,
    },
    /// Remove installed agents
    Remove {
        /// The agents with their versions: claude@2.1.325
        #[arg(required = true, value_name = "NAME@VERSION")]
        agents: Vec<String>,
    },
}

/// An installed agent in the list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentRow")]
pub(crate) struct AgentRow<'a> {
    #[serde(flatten)]
    agent: &'a InstalledAgent,
    /// Whether the configuration chooses this version.
    chosen: bool,
}

/// An agent that can be installed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AvailableAgent")]
pub(crate) struct AvailableAgent {
    /// The agent's name.
    agent: &'static str,
    /// Where it is downloaded from.
    registry: Registry,
    /// The name of its package there.
    package: String,
    /// The name of its program.
    program: &'static str,
    /// The adapter that runs it: `acp`, or the one with the agent's name.
    adapter: &'static str,
    /// The arguments with which that adapter starts it before all others.
    args: &'static [&'static str],
}

pub(crate) async fn agent(args: AgentArgs, shell: &Shell) -> Result<ExitCode> {
    let host = host_without_project()?;
    match &args.command {
        AgentCommand::Install { agent } => install(&host, agent, args.json, shell).await,
        AgentCommand::List { available: false } => list(&host, args.json, shell),
        AgentCommand::List { available: true } => available(args.json, shell),
        AgentCommand::Remove { agents } => remove(&host, agents, shell),
    }
}

/// The name and the version of `claude@2.1.325`.
fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)))
}

async fn install(host: &Host, agent: &str, json: bool, shell: &Shell) -> Result<ExitCode> {
    let (name, version) = split(agent);
    if version.is_some_and(str::is_empty) {
        return Err(Error::invalid(format!("`{agent}` has no version after the `@`"))
            .with_hint(format!("`wharf agent install {name}` installs the latest")));
    }
    let mut signals = Signals::listen()?;
    let progress = |line: &str| shell.say(foreign(line).in_style(DIM));
    let installed = tokio::select! {
        installed = host.install_agent(name, version, &progress) => installed?,
        () = signals.any() => {
            shell.say(ours("stopped: nothing was installed"));
            return Ok(exit::of_outcome(Outcome::Cancelled));
        }
    };
    if json {
        return shell.json(&row(host, &installed));
    }
    shell.line(foreign(&installed.agent).in_style(BOLD).ours(" ").foreign(&installed.version));
    Ok(ExitCode::SUCCESS)
}

/// Whether the configuration chooses a version, for the agent's own adapter.
fn row<'a>(host: &Host, agent: &'a InstalledAgent) -> AgentRow<'a> {
    let settings = host.config().agents.get(&agent.agent);
    let version = settings.and_then(|settings| settings.version.as_deref());
    AgentRow { agent, chosen: version == Some(agent.version.as_str()) }
}

fn list(host: &Host, json: bool, shell: &Shell) -> Result<ExitCode> {
    let installed = host.agents().list()?;
    let rows: Vec<AgentRow<'_>> = installed.iter().map(|agent| row(host, agent)).collect();
    if json {
        return shell.json(&rows);
    }
    for AgentRow { agent, chosen } in rows {
        let name = foreign(&agent.agent).padded(12).in_style(BOLD);
        let chosen = ours(if chosen { " (chosen)" } else { "" });
        let program = foreign(agent.program.display()).in_style(DIM);
        shell.line(name.ours(" ").foreign(&agent.version).then(chosen).ours(" ").then(program));
    }
    if installed.is_empty() {
        shell.say(ours("no agent is installed; `wharf agent list --available` lists those that can be"));
    }
    Ok(ExitCode::SUCCESS)
}

fn available(json: bool, shell: &Shell) -> Result<ExitCode> {
    let rows = Package::all().iter().map(|package| AvailableAgent {
        agent: package.agent,
        registry: package.registry,
        package: package.name(),
        program: package.program,
        adapter: if package.acp.is_some() { "acp" } else { package.agent },
        args: package.acp.unwrap_or_default(),
    });
    let rows: Vec<AvailableAgent> = rows.collect();
    if json {
        return shell.json(&rows);
    }
    for row in rows {
        let registry = ours(if row.registry == Registry::Pypi { "PyPI " } else { "npm " });
        let acp = ours(if row.adapter == "acp" { " (by the adapter acp)" } else { "" }).in_style(DIM);
        shell
            .line(foreign(row.agent).padded(17).in_style(BOLD).ours(" ").then(registry).foreign(row.package).then(acp));
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(host: &Host, names: &[String], shell: &Shell) -> Result<ExitCode> {
    let agents = host.agents();
    // All names first: one that is wrong removes nothing, and one that is named twice is removed once.
    let mut found = BTreeMap::new();
    for name in names {
        let (agent, version) = split(name);
        let installed = agents.versions(agent)?;
        let versions: Vec<&str> = installed.iter().map(|installed| installed.version.as_str()).collect();
        let versions = if versions.is_empty() { "none".to_owned() } else { versions.join(", ") };
        let Some(version) = version else {
            return Err(Error::invalid(format!("`{name}` names no version"))
                .with_hint(format!("name it as {agent}@VERSION; installed: {versions}")));
        };
        let Some(installed) = installed.into_iter().find(|installed| installed.version == version) else {
            return Err(Error::invalid(format!("{agent} {version} is not installed"))
                .with_hint(format!("installed versions of {agent}: {versions}")));
        };
        found.insert(installed.folder.clone(), installed);
    }
    for installed in found.into_values() {
        agents.remove(&installed)?;
        shell.say(ours("removed ").foreign(&installed.agent).ours(" ").foreign(&installed.version));
    }
    Ok(ExitCode::SUCCESS)
}

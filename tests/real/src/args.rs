//! The command line, which `cargo xtask real` writes.

use crate::agent::Agent;
use crate::agents;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Run real agents through wharf, against a mock model. `cargo xtask real` starts this program.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "wharf-real-suite")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, Subcommand, PartialEq, Eq)]
pub(crate) enum Task {
    /// Install the agents. Needs a network.
    Install(InstallArgs),
    /// Run scenarios with agents that are installed.
    Run(RunArgs),
    /// Start an agent's own program against the mock model, without wharf.
    ByHand(ByHandArgs),
    /// Serve MCP on stdin and stdout: the agents start it.
    ServeMcp,
}

/// Which agents, versions and transports.
#[derive(Debug, Clone, Default, clap::Args, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Only these agents.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// Only this version: a pinned one, or any of a single agent.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    version: Option<String>,
    /// Only this transport.
    #[arg(long, value_name = "NAME")]
    transport: Option<String>,
    /// What CI runs: the newest version of each agent, and the scenarios that are marked for it. Skips agents that are
    /// not installed.
    #[arg(long)]
    pub(crate) ci: bool,
}

#[derive(Debug, clap::Args, PartialEq, Eq)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// The folder of all installations.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args, PartialEq, Eq)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) places: Places,
    /// The wharf binary to test.
    #[arg(long, value_name = "FILE")]
    pub(crate) wharf: PathBuf,
    /// A component to use instead of the bundled adapter of a single agent.
    #[arg(long, value_name = "FILE")]
    pub(crate) adapter: Option<PathBuf>,
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// The file with the results so far. What passed there must not become "not offered".
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The page to write from the results, after adding those of this run to them.
    #[arg(long, value_name = "FILE", requires = "results")]
    pub(crate) page: Option<PathBuf>,
}

#[derive(Debug, clap::Args, PartialEq, Eq)]
pub(crate) struct ByHandArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) places: Places,
    /// The prompt.
    #[arg(long, value_name = "TEXT", default_value = "Say ahoy.")]
    pub(crate) prompt: String,
    /// Let the model first run this command with the agent's own tool.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) shell: Option<String>,
    /// What the model answers: a scenario of the mock model, a JSON file.
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// The program's arguments, instead of those for JSON lines. stdin is passed on.
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, clap::Args, PartialEq, Eq)]
pub(crate) struct Places {
    /// The folder of all installations.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The folder for the scenarios' files.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) work: PathBuf,
    /// The folders of PATH, after the agent's own.
    #[arg(long, value_name = "FOLDERS")]
    pub(crate) path: String,
}

/// An agent to run: one version over one transport.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) agent: &'static dyn Agent,
    pub(crate) version: String,
    pub(crate) transport: &'static str,
}

/// Checks that a version is one: it becomes the name of a folder and a part of a package's name.
fn version(text: &str) -> Result<String, String> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || ".-+".contains(character);
    let valid = text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(allowed);
    if valid { Ok(text.to_owned()) } else { Err("not a version, such as 2.1.250".to_owned()) }
}

impl Selection {
    /// The versions, each once, newest first for each agent.
    pub(crate) fn versions(&self) -> Result<Vec<(&'static dyn Agent, String)>, String> {
        let named: Result<Vec<_>, String> = self.agents.iter().map(|id| agents::find(id)).collect();
        let named = named?;
        let selected = if named.is_empty() { agents::ALL.to_vec() } else { named };
        let mut all = vec![];
        for agent in &selected {
            let pinned = agent.versions();
            let pinned = if self.ci && self.version.is_none() { &pinned[..1] } else { pinned };
            let wanted = pinned.iter().filter(|one| self.version.as_ref().is_none_or(|version| version == *one));
            all.extend(wanted.map(|version| (*agent, (*version).to_owned())));
        }
        match (&self.version, selected.as_slice()) {
            (Some(version), [agent]) if all.is_empty() => all.push((*agent, version.clone())),
            (Some(version), _) if all.is_empty() => {
                return Err(format!(
                    "version {version} is not pinned: name its agent, as in `--agent claude --version {version}`"
                ));
            }
            _ => {}
        }
        Ok(all)
    }

    /// The versions with each of their transports.
    pub(crate) fn choices(&self) -> Result<Vec<Choice>, String> {
        let mut all = vec![];
        for (agent, version) in self.versions()? {
            let wanted = |name: &&&'static str| self.transport.as_ref().is_none_or(|one| one == **name);
            let transports = agent.transports().iter().filter(wanted);
            all.extend(transports.map(|transport| Choice { agent, version: version.clone(), transport }));
        }
        match &self.transport {
            Some(transport) if all.is_empty() => Err(format!("none of these agents has a transport `{transport}`")),
            _ => Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn choices(line: &str) -> Result<Vec<String>, String> {
        let line = format!("suite run --folder f --work w --path /bin --wharf bin {line}");
        let args = Args::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        let Task::Run(args) = args.task else { return Err("not a run".to_owned()) };
        let name = |one: Choice| format!("{} {} {}", one.agent.id(), one.version, one.transport);
        Ok(args.selection.choices()?.into_iter().map(name).collect())
    }

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn agents_are_selected_by_name_version_and_transport() {
        let claude = agents::find("claude").expect("an agent");
        let (newest, oldest) = (claude.versions()[0], claude.versions()[1]);
        let of = |version: &str| format!("claude {version} {}", claude.transports()[0]);
        assert_eq!(choices("--agent claude"), Ok(vec![of(newest), of(oldest)]));
        assert_eq!(choices("--agent claude --ci"), Ok(vec![of(newest)]));
        assert_eq!(choices(&format!("--version {oldest}")), Ok(vec![of(oldest)]));
        assert_eq!(choices(&format!("--version {oldest} --ci")), Ok(vec![of(oldest)]));
        assert_eq!(choices("--agent claude --version 2.1.9999"), Ok(vec![of("2.1.9999")]), "any version");
        let both = choices("--agent claude --agent copilot").expect("both");
        assert!(both.len() > 2 && both[0].starts_with("claude") && both.iter().any(|one| one.starts_with("copilot")));
        let all = choices("").expect("all");
        assert!(agents::ALL.iter().all(|agent| all.iter().any(|one| one.starts_with(agent.id()))), "{all:?}");
    }

    #[test]
    fn an_invalid_selection_is_named() {
        for (line, part) in [
            ("--agent no-such-agent", "no-such-agent"),
            ("--version 9.9.9", "--agent claude --version 9.9.9"),
            ("--agent claude --version ../2.1.326", "../2.1.326"),
            ("--agent claude --version latest", "latest"),
            ("--agent claude --transport no-such-transport", "no-such-transport"),
        ] {
            let error = choices(line).expect_err(line);
            assert!(error.contains(part), "{error}");
        }
    }
}

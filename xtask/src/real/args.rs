//! Which agents to run, and how.

use clap::ValueEnum;
use std::fmt;

/// The arguments of `cargo xtask real`.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
#[command(after_help = "WHARF_BIN names a wharf binary to use instead of building one.")]
pub(crate) struct RealArgs {
    /// Only this agent.
    agent: Option<AgentName>,
    /// Only this version: one of the pinned ones, or any version on npm of the named agent. The table in
    /// docs/compatibility.md has only the pinned ones.
    #[arg(long, value_name = "VERSION", value_parser = npm_version)]
    version: Option<String>,
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// Skip the suite and say so.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Skip agents that cannot be installed, and do not write docs/compatibility.md.
    #[arg(long)]
    pub(crate) ci: bool,
}

/// An agent that the suite runs.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum AgentName {
    Copilot,
    Claude,
}

/// One version of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) name: AgentName,
    pub(crate) version: String,
    /// Whether the adapter is tested with it.
    pub(crate) pinned: bool,
}

/// The versions that the adapters are tested with: the newest and the oldest of each agent.
const PINNED: [(AgentName, &str); 4] = [
    (AgentName::Copilot, "1.0.102"),
    (AgentName::Claude, "2.1.325"),
    (AgentName::Claude, "2.0.76"),
    (AgentName::Copilot, "1.0.35"),
];

/// Checks that a version is one: it becomes the name of a folder and a part of a package's name.
fn npm_version(text: &str) -> Result<String, String> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || ".-+".contains(character);
    let valid = text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(allowed);
    if valid { Ok(text.to_owned()) } else { Err("not a version, such as 2.1.250".to_owned()) }
}

impl AgentName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AgentName::Copilot => "copilot",
            AgentName::Claude => "claude",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.name.as_str(), self.version)
    }
}

impl RealArgs {
    /// An error message if the version is not pinned, so that the agent has to be named.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.agents().is_empty() {
            return Ok(());
        }
        let version = self.version.as_deref().unwrap_or_default();
        Err(format!("version {version} is not pinned: name its agent, as in `real claude --version {version}`"))
    }

    /// The agents to run, newest versions first.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        let is_selected = |(name, version): &(AgentName, &str)| {
            self.agent.is_none_or(|agent| agent == *name) && self.version.as_ref().is_none_or(|one| one == version)
        };
        let pinned = PINNED.into_iter().filter(is_selected);
        let mut agents: Vec<Agent> =
            pinned.map(|(name, version)| Agent { name, version: version.to_owned(), pinned: true }).collect();
        if let (true, Some(name), Some(version)) = (agents.is_empty(), self.agent, &self.version) {
            agents.push(Agent { name, version: version.clone(), pinned: false });
        }
        agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Task, parse};

    fn real(line: &str) -> RealArgs {
        match parse(&format!("real {line}")).expect(line) {
            Task::Real(args) => args,
            other => panic!("not {other:?}"),
        }
    }

    #[test]
    fn agents_are_selected_by_name_and_version() {
        for (line, agents) in [
            ("", vec!["copilot-1.0.102", "claude-2.1.325", "claude-2.0.76", "copilot-1.0.35"]),
            ("claude", vec!["claude-2.1.325", "claude-2.0.76"]),
            ("--version 1.0.35 --ci", vec!["copilot-1.0.35"]),
            ("copilot --version 1.0.102 --scenario resume", vec!["copilot-1.0.102"]),
            ("copilot --version 1.0.60", vec!["copilot-1.0.60"]),
            ("claude --version 2.1.326", vec!["claude-2.1.326"]),
        ] {
            let selected: Vec<String> = real(line).agents().iter().map(ToString::to_string).collect();
            assert_eq!(selected, agents, "{line}");
        }
        assert!(real("--offline").offline && real("--ci").ci);
        assert_eq!(real("--scenario resume").scenario.as_deref(), Some("resume"));
    }

    #[test]
    fn an_invalid_argument_is_named() {
        for (line, argument) in [
            ("codex", "codex"),
            ("claude copilot", "copilot"),
            ("--version 2.1.326", "real claude --version 2.1.326"),
            ("claude --version ../2.1.326", "../2.1.326"),
            ("claude --version latest", "latest"),
            ("--version 9.9.9", "9.9.9"),
            ("--version", "--version"),
            ("--fast", "--fast"),
        ] {
            let error = parse(&format!("real {line}")).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(argument), "{error}");
        }
    }
}

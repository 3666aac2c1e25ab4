//! Which agents to run, and how.

use clap::ValueEnum;
use std::fmt;

/// The arguments of `cargo xtask real`.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
#[command(after_help = "WHARF_BIN names a wharf binary to use instead of building one.")]
pub(crate) struct RealArgs {
    /// Only this agent.
    agent: Option<AgentName>,
    /// Only this version, which must be one of the pinned ones.
    #[arg(long, value_name = "VERSION", value_parser = PINNED.map(|agent| agent.version))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) name: AgentName,
    pub(crate) version: &'static str,
}

/// The versions that the adapters are tested with: the newest and the oldest of each agent.
const PINNED: [Agent; 4] = [
    Agent { name: AgentName::Copilot, version: "1.0.102" },
    Agent { name: AgentName::Claude, version: "2.1.325" },
    Agent { name: AgentName::Claude, version: "2.0.76" },
    Agent { name: AgentName::Copilot, version: "1.0.35" },
];

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
    /// An error message if the version is another agent's.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.agents().is_empty() {
            return Ok(());
        }
        let pinned = PINNED.map(|agent| agent.to_string()).join(", ");
        let version = self.version.as_deref().unwrap_or_default();
        Err(format!("version {version} is not pinned for this agent; the pinned ones are {pinned}"))
    }

    /// The agents to run, newest versions first.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        let is_selected = |agent: &Agent| {
            self.agent.is_none_or(|name| name == agent.name)
                && self.version.as_ref().is_none_or(|version| version == agent.version)
        };
        PINNED.into_iter().filter(is_selected).collect()
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
            ("claude --version 1.0.102", "1.0.102"),
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

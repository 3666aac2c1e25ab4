//! Which agents to run, and how. The suite itself knows the agents and checks their names and versions.

/// The arguments of `cargo xtask real`.
#[derive(Debug, Default, clap::Args, PartialEq, Eq)]
#[command(after_help = "WHARF_BIN names a wharf binary to use instead of building one.")]
pub(crate) struct RealArgs {
    /// Only this agent; repeat it for several.
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// Only this version: one of the pinned ones, or any version of the named agent. docs/compatibility.md has only the
    /// pinned ones.
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Only this transport.
    #[arg(long, value_name = "NAME")]
    transport: Option<String>,
    /// Only scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Skip the suite and say so.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Only the newest version of each agent and some scenarios; skip agents that cannot be installed, and do not write
    /// docs/compatibility.md.
    #[arg(long)]
    pub(crate) ci: bool,
    /// Start the agent's own program against the mock model, without wharf: arguments of `wharf-real-suite by-hand`,
    /// such as `--prompt TEXT`, `--shell COMMAND`, or `-- ARGS` of the program.
    #[arg(long, value_name = "ARGS", num_args = 0.., allow_hyphen_values = true, conflicts_with_all = ["scenario", "ci"])]
    pub(crate) by_hand: Option<Vec<String>>,
}

impl RealArgs {
    /// The arguments that select agents, versions and transports, for the suite.
    pub(crate) fn selection(&self) -> Vec<String> {
        let named = [("--version", &self.version), ("--transport", &self.transport)];
        let mut all: Vec<String> = self.agents.iter().flat_map(|name| ["--agent".to_owned(), name.clone()]).collect();
        all.extend(named.into_iter().flat_map(|(name, value)| option(name, value.as_ref())));
        all.extend(self.ci.then(|| "--ci".to_owned()));
        all
    }

    /// The arguments that select scenarios.
    pub(crate) fn scenario(&self) -> Vec<String> {
        option("--scenario", self.scenario.as_ref())
    }
}

/// An argument with its value, if it has one.
pub(crate) fn option(name: &str, value: Option<&String>) -> Vec<String> {
    value.into_iter().flat_map(|value| [name.to_owned(), value.clone()]).collect()
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
    fn the_selection_is_passed_on() {
        for line in ["", "--agent claude --agent copilot", "--agent claude --version 2.1.9 --transport acp --ci"] {
            assert_eq!(real(line).selection().join(" "), line);
        }
        assert_eq!(real("--scenario resume").scenario(), ["--scenario", "resume"]);
        assert!(real("--offline").offline && real("--ci").ci);
        assert_eq!(real("--by-hand").by_hand, Some(vec![]));
        let by_hand = real("--agent codex --by-hand --shell ls -- exec -").by_hand;
        assert_eq!(by_hand, Some(["--shell", "ls", "--", "exec", "-"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn an_unknown_argument_is_named() {
        for (line, argument) in [("claude", "claude"), ("--version", "--version"), ("--fast", "--fast")] {
            let error = parse(&format!("real {line}")).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(argument), "{error}");
        }
    }
}

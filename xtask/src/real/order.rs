//! Which agents are to be run, and how.

use std::fmt;

/// The arguments of `cargo xtask real`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    kind: Option<Kind>,
    version: Option<String>,
    /// Only scenarios with this in their name.
    pub(crate) scenario: Option<String>,
    /// Do nothing, and say so.
    pub(crate) offline: bool,
    /// Skip what cannot be installed, and write no table.
    pub(crate) ci: bool,
}

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Copilot,
    Claude,
}

/// One version of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) kind: Kind,
    pub(crate) version: &'static str,
}

/// The versions that the adapters promise to work with: the newest and the oldest of each.
const PINNED: [Agent; 4] = [
    Agent { kind: Kind::Copilot, version: "1.0.102" },
    Agent { kind: Kind::Claude, version: "2.1.325" },
    Agent { kind: Kind::Claude, version: "2.0.76" },
    Agent { kind: Kind::Copilot, version: "1.0.35" },
];

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Copilot => "copilot",
            Kind::Claude => "claude",
        }
    }

    fn parse(name: &str) -> Option<Kind> {
        [Kind::Copilot, Kind::Claude].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.kind.name(), self.version)
    }
}

impl Order {
    /// From the words after `real`, or why not.
    pub(crate) fn parse(words: &[String]) -> Result<Order, String> {
        let mut order = Order::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().cloned().ok_or_else(|| format!("`{word}` wants a value"));
            match word.as_str() {
                "--offline" => order.offline = true,
                "--ci" => order.ci = true,
                "--version" => order.version = Some(value()?),
                "--scenario" => order.scenario = Some(value()?),
                name if order.kind.is_none() => {
                    order.kind = Some(Kind::parse(name).ok_or_else(|| format!("`real` knows no agent `{name}`"))?);
                }
                other => return Err(format!("`real` does not take `{other}`")),
            }
        }
        if order.agents().is_empty() {
            let pinned: Vec<String> = PINNED.iter().map(ToString::to_string).collect();
            let version = order.version.unwrap_or_default();
            return Err(format!("`{version}` is not one of the pinned versions: {}", pinned.join(", ")));
        }
        Ok(order)
    }

    /// What it names, newest versions first.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        let is_meant = |agent: &Agent| {
            self.kind.is_none_or(|kind| kind == agent.kind)
                && self.version.as_ref().is_none_or(|version| version == agent.version)
        };
        PINNED.into_iter().filter(is_meant).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Order, String> {
        Order::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn orders() {
        for (line, agents) in [
            ("", vec!["copilot-1.0.102", "claude-2.1.325", "claude-2.0.76", "copilot-1.0.35"]),
            ("claude", vec!["claude-2.1.325", "claude-2.0.76"]),
            ("--version 1.0.35 --ci", vec!["copilot-1.0.35"]),
            ("copilot --version 1.0.102 --scenario resume", vec!["copilot-1.0.102"]),
        ] {
            let named: Vec<String> = parse(line).expect(line).agents().iter().map(ToString::to_string).collect();
            assert_eq!(named, agents, "{line}");
        }
        assert!(parse("--offline").expect("an order").offline);
    }

    #[test]
    fn wrong_orders_name_the_wrong_word() {
        for (line, word) in [
            ("codex", "codex"),
            ("claude copilot", "copilot"),
            ("claude --version 1.0.102", "1.0.102"),
            ("--version", "--version"),
            ("--fast", "--fast"),
        ] {
            let why = parse(line).expect_err(line);
            assert!(why.contains(&format!("`{word}`")), "{why}");
        }
    }
}

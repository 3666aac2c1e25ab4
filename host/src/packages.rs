//! Which package an agent comes from: one table. Plain data; nothing is installed here.
//!
//! An agent that has an adapter of its own has the name of that adapter. One that the adapter `acp` runs also has the
//! arguments with which it speaks ACP.

use std::env::consts::{ARCH, OS};

/// Where packages are downloaded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Registry {
    /// npm.
    Npm,
    /// The Python Package Index.
    Pypi,
}

/// The package of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Package {
    /// The agent's name, as in `wharf agent install NAME`.
    pub agent: &'static str,
    /// Where it is downloaded from.
    pub registry: Registry,
    /// Its name there. `{os}` and `{arch}` stand for the platform, as npm packages name it.
    name: &'static str,
    /// The name of its program, in the package and in PATH.
    pub program: &'static str,
    /// The arguments with which the program speaks ACP; none if the agent has an adapter of its own.
    pub acp: Option<&'static [&'static str]>,
    /// How the names of the packages start that have the program for one platform, if it is started without the
    /// launcher of the package: an install script would link it, or signals do not reach the agent through the launcher.
    pub(crate) native: Option<&'static str>,
    /// Another package that the agent needs.
    pub(crate) companion: Option<Companion>,
}

/// A program of another package that an agent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Companion {
    /// The package.
    pub(crate) package: &'static str,
    /// Its program.
    pub(crate) program: &'static str,
    /// The variable by which the agent finds that program.
    pub(crate) variable: &'static str,
}

/// An agent from npm with an adapter of its own.
const fn npm(agent: &'static str, name: &'static str) -> Package {
    Package { agent, registry: Registry::Npm, name, program: agent, acp: None, native: None, companion: None }
}

/// An agent from npm that speaks ACP with these arguments.
const fn acp(agent: &'static str, name: &'static str, arguments: &'static [&'static str]) -> Package {
    Package { acp: Some(arguments), ..npm(agent, name) }
}

const PACKAGES: [Package; 15] = [
    Package { native: Some("@anthropic-ai/claude-code"), ..npm("claude", "@anthropic-ai/claude-code") },
    Package { native: Some("@github/copilot"), ..npm("copilot", "@github/copilot") },
    npm("codex", "@openai/codex"),
    npm("gemini", "@google/gemini-cli"),
    Package { native: Some("opencode"), ..npm("opencode", "opencode-ai") },
    npm("qwen", "@qwen-code/qwen-code"),
    acp("goose", "@aaif/goose-binary-{os}-{arch}", &["acp", "--with-builtin", "developer"]),
    acp("grok", "@xai-official/grok", &["agent", "--no-leader", "stdio"]),
    acp("kimi", "@moonshot-ai/kimi-code", &["acp"]),
    Package { registry: Registry::Pypi, program: "vibe-acp", ..acp("vibe", "mistral-vibe", &[]) },
    Package { native: Some("@cline/cli"), ..acp("cline", "cline", &["--acp"]) },
    Package {
        program: "pi-acp",
        companion: Some(Companion {
            package: "@earendil-works/pi-coding-agent",
            program: "pi",
            variable: "PI_ACP_PI_COMMAND",
        }),
        ..acp("pi", "pi-acp", &[])
    },
    Package { native: Some("@kilocode/cli"), ..acp("kilo", "@kilocode/cli", &["acp"]) },
    acp("claude-agent-acp", "@agentclientprotocol/claude-agent-acp", &[]),
    acp("codex-acp", "@agentclientprotocol/codex-acp", &[]),
];

impl Package {
    /// Every agent that can be installed.
    pub fn all() -> &'static [Package] {
        &PACKAGES
    }

    /// The package of an agent.
    pub fn of(agent: &str) -> Option<&'static Package> {
        PACKAGES.iter().find(|package| package.agent == agent)
    }

    /// Its name in the registry, on this platform.
    pub fn name(&self) -> String {
        self.name.replace("{os}", npm_os()).replace("{arch}", npm_arch())
    }
}

/// The operating system, as packages of npm name it.
pub(crate) fn npm_os() -> &'static str {
    match OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// The architecture, as packages of npm name it.
pub(crate) fn npm_arch() -> &'static str {
    match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_agent_is_in_the_table_once_under_a_name_that_can_be_a_folder() {
        let names: HashSet<&str> = PACKAGES.iter().map(|package| package.agent).collect();
        assert_eq!(names.len(), PACKAGES.len());
        let plain = |character: char| character.is_ascii_lowercase() || character == '-';
        assert!(names.iter().all(|name| !name.is_empty() && name.chars().all(plain)), "{names:?}");
        assert!(PACKAGES.iter().all(|package| !package.name().contains(['{', '}'])));
    }
}

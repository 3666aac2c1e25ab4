//! The agent under test: its files, its environment and the names of its tools.

use crate::args::{AgentName, Args};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// One version of one agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) name: AgentName,
    pub(crate) version: String,
    install: PathBuf,
    /// Shared by all scenarios, because an agent unpacks itself there, which takes seconds.
    pub(crate) home: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) wharf: PathBuf,
    path: String,
    adapter: Option<PathBuf>,
}

/// The credentials that the agent gets, and with them the model's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Login {
    /// An API key for a provider, which both agents support.
    Key,
    /// A GitHub token, for Copilot.
    Token,
    /// No credentials.
    None,
}

impl Agent {
    pub(crate) fn new(args: &Args) -> Agent {
        Agent {
            name: args.agent,
            version: args.version.clone(),
            install: args.install.clone(),
            home: args.work.join("home"),
            work: args.work.clone(),
            wharf: args.wharf.clone(),
            path: args.path.clone(),
            adapter: args.adapter.clone(),
        }
    }

    /// Empties the work folder and creates the home.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", self.work.display());
        if self.work.exists() {
            fs::remove_dir_all(&self.work).map_err(failed)?;
        }
        fs::create_dir_all(&self.home).map_err(failed)
    }

    /// Its display name and version.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.display_name(), self.version)
    }

    pub(crate) fn display_name(&self) -> &'static str {
        match self.name {
            AgentName::Copilot => "Copilot CLI",
            AgentName::Claude => "Claude Code",
        }
    }

    /// The adapter's id.
    pub(crate) fn id(&self) -> &'static str {
        match self.name {
            AgentName::Copilot => "copilot",
            AgentName::Claude => "claude",
        }
    }

    /// The value of `--adapter`.
    pub(crate) fn adapter(&self) -> String {
        self.adapter.as_deref().map_or_else(|| self.id().to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// The configuration file: a component that replaces the bundled adapter gets the bundled adapter's grants.
    pub(crate) fn config(&self, grants: Option<&str>) -> String {
        match (&self.adapter, grants) {
            (Some(path), Some(grants)) => {
                let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                format!("[grants.{:?}]\n{grants}", path.to_string_lossy())
            }
            _ => String::new(),
        }
    }

    /// Whether this is the older of the two pinned versions.
    pub(crate) fn is_old(&self) -> bool {
        match self.name {
            AgentName::Copilot => self.version == "1.0.35",
            AgentName::Claude => self.version.starts_with("2.0."),
        }
    }

    /// Whether this is the newest pinned version, of which everything is known. What another version lacks is found out
    /// by its runs.
    pub(crate) fn is_newest(&self) -> bool {
        matches!((self.name, self.version.as_str()), (AgentName::Copilot, "1.0.102") | (AgentName::Claude, "2.1.325"))
    }

    /// Its program, as it is found in PATH.
    pub(crate) fn program(&self) -> PathBuf {
        let folders = [self.install.join("bin"), self.install.join("node_modules/.bin")];
        let programs = folders.map(|folder| folder.join(self.id()));
        programs.iter().find(|program| program.exists()).unwrap_or(&programs[1]).clone()
    }

    /// A newer version of this agent that is installed in a folder beside it: its program.
    pub(crate) fn newer_program(&self) -> Option<PathBuf> {
        let prefix = format!("{}-", self.id());
        let folders = fs::read_dir(self.install.parent()?).ok()?.flatten().map(|entry| entry.path());
        let newer = folders.filter(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(&prefix).is_some_and(|version| numbers(version) > numbers(&self.version))
        });
        newer.map(|folder| folder.join("node_modules/.bin").join(self.id())).find(|program| program.exists())
    }

    pub(crate) fn is_copilot(&self) -> bool {
        self.name == AgentName::Copilot
    }

    /// The whole environment of `wharf`. The agent can inherit nothing else.
    pub(crate) fn environment(&self, folder: &Path, url: &str, login: Login) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut path = String::new();
        for folder in [self.install.join("bin"), self.install.join("node_modules/.bin")] {
            let _ = write!(path, "{}:", folder.display());
        }
        let mut all = vec![
            ("PATH", path + &self.path),
            ("HOME", text(self.home.clone())),
            ("USER", "mock".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("TMPDIR", text(folder.join("tmp"))),
            ("WHARF_CONFIG", text(folder.join("config.toml"))),
            ("WHARF_DATA", text(folder.join("data"))),
            ("WHARF_CACHE", text(self.work.join("cache"))),
        ];
        all.extend(self.variables(url, login));
        all
    }

    fn variables(&self, url: &str, login: Login) -> Vec<(&'static str, String)> {
        let set =
            |pairs: &[(&'static str, &str)]| pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let provider = format!("{url}/v1");
        match (self.name, login) {
            (AgentName::Copilot, Login::Key) => set(&[
                ("COPILOT_PROVIDER_BASE_URL", &provider),
                ("COPILOT_PROVIDER_API_KEY", "fake-key-of-the-suite"),
                ("COPILOT_MODEL", "mock-model"),
                ("COPILOT_OFFLINE", "true"),
            ]),
            (AgentName::Copilot, Login::Token) => set(&[
                ("COPILOT_DEBUG_GITHUB_API_URL", url),
                ("COPILOT_API_URL", url),
                ("COPILOT_GITHUB_TOKEN", "github_pat_fake_token_of_the_suite"),
            ]),
            (AgentName::Copilot, Login::None) => vec![],
            (AgentName::Claude, login) => {
                let mut all: Vec<_> = set(&[
                    ("ANTHROPIC_BASE_URL", url),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                    ("DISABLE_TELEMETRY", "1"),
                    ("DISABLE_ERROR_REPORTING", "1"),
                ]);
                if login != Login::None {
                    all.push(("ANTHROPIC_API_KEY", "sk-ant-fake-key-of-the-suite".to_owned()));
                }
                all
            }
        }
    }

    /// The arguments that allow the agent everything. Claude Code refuses that as root unless it is in a sandbox, which
    /// this is.
    pub(crate) fn approve(&self) -> Vec<&'static str> {
        match self.name {
            AgentName::Copilot => vec!["--approve"],
            AgentName::Claude => vec!["--approve", "--option", "sandboxed=true"],
        }
    }

    /// The arguments that limit the agent's own retries, if it has such a setting.
    pub(crate) fn retries(&self, count: u32) -> Vec<String> {
        match self.name {
            AgentName::Copilot => vec![],
            AgentName::Claude => vec!["--option".to_owned(), format!("max-retries={count}")],
        }
    }

    /// The name of the tool that runs commands.
    pub(crate) fn shell_tool(&self) -> &'static str {
        match self.name {
            AgentName::Copilot => "bash",
            AgentName::Claude => "Bash",
        }
    }

    /// A tool call that runs a command.
    pub(crate) fn shell(&self, command: &str) -> (&'static str, Value) {
        (self.shell_tool(), json!({ "command": command, "description": "a command of the suite" }))
    }

    /// A tool call that starts a sub-agent and waits for it. `tools` are the names that the model was shown.
    pub(crate) fn delegate(&self, prompt: &str, tools: &[String]) -> (&'static str, Value) {
        match self.name {
            AgentName::Copilot => (
                "task",
                json!({
                    "agent_type": "general-purpose", "name": "diver", "description": "dive", "prompt": prompt,
                    "mode": "sync",
                }),
            ),
            AgentName::Claude => {
                let is_renamed = tools.iter().any(|name| name == "Agent");
                let name = if is_renamed { "Agent" } else { "Task" };
                let mut input = json!({ "description": "dive", "prompt": prompt, "subagent_type": "general-purpose" });
                if is_renamed {
                    input["run_in_background"] = json!(false);
                }
                (name, input)
            }
        }
    }

    /// A rule for all calls of one program.
    pub(crate) fn command_rule(&self, program: &str) -> String {
        match self.name {
            AgentName::Copilot => format!("shell({program})"),
            AgentName::Claude => format!("Bash({program}:*)"),
        }
    }

    /// The name of a tool of an MCP server.
    pub(crate) fn server_tool(&self, server: &str, tool: &str) -> String {
        match self.name {
            AgentName::Copilot => format!("{server}-{tool}"),
            AgentName::Claude => format!("mcp__{server}__{tool}"),
        }
    }
}

/// A version as numbers, because 1.0.102 is newer than 1.0.35.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

//! The agent under test: where it is, what it is told, and how its tools are called.

use crate::options::{Kind, Options};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// One version of one agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) kind: Kind,
    pub(crate) version: String,
    install: PathBuf,
    /// Shared by all scenarios: an agent unpacks itself there, which takes seconds.
    pub(crate) home: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) wharf: PathBuf,
    path: String,
    adapter: Option<PathBuf>,
}

/// Where the model is, for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Login {
    /// A key for a provider: both agents have that.
    Key,
    /// A token of GitHub, for Copilot.
    Token,
    /// None.
    None,
}

impl Agent {
    pub(crate) fn new(options: &Options) -> Agent {
        Agent {
            kind: options.kind,
            version: options.version.clone(),
            install: options.install.clone(),
            home: options.work.join("home"),
            work: options.work.clone(),
            wharf: options.wharf.clone(),
            path: options.path.clone(),
            adapter: options.adapter.clone(),
        }
    }

    /// Empty folders, and the program where PATH finds it.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let failed = |why: std::io::Error| format!("{} cannot be prepared: {why}", self.work.display());
        if self.work.exists() {
            fs::remove_dir_all(&self.work).map_err(failed)?;
        }
        fs::create_dir_all(&self.home).map_err(failed)
    }

    /// How people call it.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name(), self.version)
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Copilot => "Copilot CLI",
            Kind::Claude => "Claude Code",
        }
    }

    /// The adapter's id.
    pub(crate) fn id(&self) -> &'static str {
        match self.kind {
            Kind::Copilot => "copilot",
            Kind::Claude => "claude",
        }
    }

    /// What `--adapter` says.
    pub(crate) fn adapter(&self) -> String {
        self.adapter.as_deref().map_or_else(|| self.id().to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// The configuration: what the bundled adapter is granted, for a component that is named instead of it.
    pub(crate) fn config(&self, grants: Option<&str>) -> String {
        match (&self.adapter, grants) {
            (Some(_), Some(grants)) => format!("[grants.{}]\n{grants}", self.id()),
            _ => String::new(),
        }
    }

    /// Whether this is the older of the versions that the suite was written for.
    pub(crate) fn is_old(&self) -> bool {
        match self.kind {
            Kind::Copilot => self.version == "1.0.35",
            Kind::Claude => self.version.starts_with("2.0."),
        }
    }

    pub(crate) fn is_copilot(&self) -> bool {
        self.kind == Kind::Copilot
    }

    /// The environment of `wharf`: all of it. What is in there is all that the agent can get.
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
        match (self.kind, login) {
            (Kind::Copilot, Login::Key) => set(&[
                ("COPILOT_PROVIDER_BASE_URL", &provider),
                ("COPILOT_PROVIDER_API_KEY", "fake-key-of-the-suite"),
                ("COPILOT_MODEL", "mock-model"),
                ("COPILOT_OFFLINE", "true"),
            ]),
            (Kind::Copilot, Login::Token) => set(&[
                ("COPILOT_DEBUG_GITHUB_API_URL", url),
                ("COPILOT_API_URL", url),
                ("COPILOT_GITHUB_TOKEN", "github_pat_fake_token_of_the_suite"),
            ]),
            (Kind::Copilot, Login::None) => vec![],
            (Kind::Claude, login) => {
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

    /// The arguments that let the agent do everything. Claude Code does not for root, unless in a sandbox: this is one.
    pub(crate) fn approve(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Copilot => vec!["--approve"],
            Kind::Claude => vec!["--approve", "--option", "sandboxed=true"],
        }
    }

    /// The arguments that cap the agent's own retries, where it can be told.
    pub(crate) fn retries(&self, count: u32) -> Vec<String> {
        match self.kind {
            Kind::Copilot => vec![],
            Kind::Claude => vec!["--option".to_owned(), format!("max-retries={count}")],
        }
    }

    /// The name of the tool that runs commands.
    pub(crate) fn shell_tool(&self) -> &'static str {
        match self.kind {
            Kind::Copilot => "bash",
            Kind::Claude => "Bash",
        }
    }

    /// A call that runs a command.
    pub(crate) fn shell(&self, command: &str) -> (&'static str, Value) {
        (self.shell_tool(), json!({ "command": command, "description": "a step of the suite" }))
    }

    /// A call that starts a sub-agent, and waits for it.
    pub(crate) fn delegate(&self, prompt: &str) -> (&'static str, Value) {
        match self.kind {
            Kind::Copilot => (
                "task",
                json!({
                    "agent_type": "general-purpose", "name": "diver", "description": "dive", "prompt": prompt,
                    "mode": "sync",
                }),
            ),
            Kind::Claude => {
                let name = if self.is_old() { "Task" } else { "Agent" };
                let mut input = json!({ "description": "dive", "prompt": prompt, "subagent_type": "general-purpose" });
                if !self.is_old() {
                    input["run_in_background"] = json!(false);
                }
                (name, input)
            }
        }
    }

    /// A rule for commands that begin with a word.
    pub(crate) fn command_rule(&self, word: &str) -> String {
        match self.kind {
            Kind::Copilot => format!("shell({word})"),
            Kind::Claude => format!("Bash({word}:*)"),
        }
    }

    /// The name of a tool of an MCP server.
    pub(crate) fn server_tool(&self, server: &str, tool: &str) -> String {
        match self.kind {
            Kind::Copilot => format!("{server}-{tool}"),
            Kind::Claude => format!("mcp__{server}__{tool}"),
        }
    }
}

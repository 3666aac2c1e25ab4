//! What the suite must know of an agent to run it: one implementation in a file of [`crate::agents`].
//!
//! An implementation says where the agent comes from, how it reaches the mock model, and what its tools are called. What
//! a version or a transport can do is not said here: it is found out by running it. [`Agent::cannot`] is for what no run
//! shows.

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};

/// An agent.
pub(crate) trait Agent: fmt::Debug + Sync {
    /// The value of `--adapter`.
    fn id(&self) -> &'static str;

    /// The bundled adapter that runs it.
    fn adapter(&self) -> &'static str {
        self.id()
    }

    /// What people call it.
    fn name(&self) -> &'static str;

    /// The versions that the adapter is tested with, newest first. CI runs the first.
    fn versions(&self) -> &'static [&'static str];

    /// The transports, best first, as the adapter names them. The first is not forced: the host chooses it, or another
    /// if a turn needs it, as for users.
    fn transports(&self) -> &'static [&'static str];

    // ── where it comes from ─────────────────────────────────────────────────────────────

    /// The packages of a version.
    fn packages(&self, version: &str) -> Vec<Package>;

    /// The name under which its program is found in PATH.
    fn program(&self) -> &'static str {
        self.id()
    }

    /// Programs in `node_modules` to link under the name of the program, as the package's install script, which is not
    /// run, would do. The first that exists is linked. Patterns: `{os}` and `{arch}` are npm's names of this platform.
    fn natives(&self) -> &'static [&'static str] {
        &[]
    }

    // ── how it reaches the mock model ───────────────────────────────────────────────────

    /// The API that it speaks.
    fn api(&self) -> Api;

    /// Whether all scenarios share a home. Only for agents that unpack themselves there, which takes seconds.
    fn shares_home(&self) -> bool {
        false
    }

    /// Its environment variables beyond PATH, HOME, TMPDIR and the like. What its adapter is not granted must be in
    /// [`Agent::config`].
    fn variables(&self, at: &Place<'_>) -> Vec<(&'static str, String)>;

    /// The files in its home, by their path in it. If the home is shared, they must not depend on the model's address.
    fn files(&self, _at: &Place<'_>) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// Lines for wharf's configuration file.
    fn config(&self, _at: &Place<'_>) -> String {
        String::new()
    }

    /// Texts in requests to the model that are not part of a turn, although they have tools.
    fn side_texts(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of `--model` that is not its default, but exists.
    fn model(&self) -> &'static str {
        "mock-model"
    }

    /// The login with which it lists models, those that it must list and those that it must not.
    fn models(&self) -> Models {
        Models { login: Login::Key, listed: &["mock-model", "mock-model-mini"], hidden: &[] }
    }

    // ── how it is run ───────────────────────────────────────────────────────────────────

    /// Arguments of `wharf run` that allow everything.
    fn approve(&self) -> Vec<&'static str> {
        vec!["--approve"]
    }

    /// Arguments of `wharf run` that limit the agent's own retries; none if it has no such setting.
    fn retries(&self, _count: u32) -> Vec<String> {
        vec![]
    }

    /// Arguments of `wharf run` that keep the instructions of the workspace from the model, if there are such.
    fn without_instructions(&self) -> Option<[&'static str; 2]> {
        None
    }

    /// The file with instructions that it reads from the workspace.
    fn instructions(&self) -> &'static str {
        "AGENTS.md"
    }

    /// The arguments of the program itself over a transport, to try it without wharf.
    fn by_hand(&self, transport: &str, prompt: &str) -> ByHand;

    // ── its tools ───────────────────────────────────────────────────────────────────────

    /// The model's call of the tool that runs a command.
    fn shell(&self, command: &str) -> Call;

    /// The name of that tool in wharf's events and rules.
    fn shell_tool(&self) -> &'static str;

    /// The model's call that starts a sub-agent and waits for it; none if it has no sub-agents. `tools` are the names
    /// that the model was shown.
    fn delegate(&self, _prompt: &str, _tools: &[String]) -> Option<Call> {
        None
    }

    /// A rule in the agent's own notation for all calls of one program, if it has such rules.
    fn command_rule(&self, _program: &str) -> Option<String> {
        None
    }

    /// The name of an MCP server's tool, as the model is shown it.
    fn server_tool(&self, server: &str, tool: &str) -> String;

    /// The name of an MCP server's tool in wharf's events.
    fn server_tool_in_events(&self, server: &str, tool: &str) -> String {
        self.server_tool(server, tool)
    }

    /// An MCP server in the agent's own form: by default that of most agents, `command` and `args`.
    fn mcp_server(&self, server: Value) -> Value {
        server
    }

    // ── what no run shows ───────────────────────────────────────────────────────────────

    /// How it differs from what scenarios expect of every agent.
    fn quirks(&self, _version: &str, _transport: &str) -> Quirks {
        Quirks::default()
    }

    /// Why it cannot run a scenario. Only for what neither its adapter's capabilities nor a report tells.
    fn cannot(&self, _scenario: &str, _version: &str, _transport: &str) -> Option<&'static str> {
        None
    }
}

/// A package to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Package {
    /// From npm: `name@version`. `{os}` and `{arch}` are npm's names of this platform.
    Npm(String),
    /// Node itself, from npm, for agents that need a newer one than the user may have.
    Node,
}

/// The APIs of models that the mock serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl Api {
    /// Whether a request with this path belongs to it.
    pub(crate) fn has_path(self, path: &str) -> bool {
        match self {
            Api::Chat => path.ends_with("/chat/completions"),
            Api::Responses => path.ends_with("/responses"),
            Api::Messages => path.ends_with("/v1/messages"),
            Api::Gemini => path.contains(":generateContent") || path.contains(":streamGenerateContent"),
        }
    }
}

/// The credentials that the agent gets, and with them the model's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Login {
    /// An API key, which every agent supports.
    Key,
    /// A GitHub token, for Copilot.
    Token,
    /// No credentials.
    None,
}

/// Where a run takes place.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The mock model's address, without a trailing slash.
    pub(crate) url: &'a str,
    pub(crate) login: Login,
    /// The agent's home.
    pub(crate) home: &'a Path,
    /// The agent's program.
    pub(crate) program: PathBuf,
}

/// How the program is started without wharf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ByHand {
    /// With these arguments, one of which is the prompt.
    Once(Vec<String>),
    /// With these arguments it speaks the Agent Client Protocol.
    Acp(Vec<String>),
}

impl ByHand {
    pub(crate) fn once(args: &[&str]) -> ByHand {
        ByHand::Once(args.iter().map(|arg| (*arg).to_owned()).collect())
    }

    pub(crate) fn acp(args: &[&str]) -> ByHand {
        ByHand::Acp(args.iter().map(|arg| (*arg).to_owned()).collect())
    }
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) input: Value,
}

/// What a list of models must contain.
#[derive(Debug)]
pub(crate) struct Models {
    pub(crate) login: Login,
    pub(crate) listed: &'static [&'static str],
    pub(crate) hidden: &'static [&'static str],
}

/// How an agent differs from what scenarios expect of every agent. Each was measured.
#[derive(Debug)]
pub(crate) struct Quirks {
    /// The number of verses in the long reply.
    pub(crate) verses: usize,
    /// Whether what nobody approves is not denied, but runs in the agent's own sandbox and fails there.
    pub(crate) has_sandbox: bool,
    /// Whether the cap on turns counts how often its autopilot continues.
    pub(crate) cap_is_on_autopilot: bool,
}

impl Default for Quirks {
    fn default() -> Quirks {
        Quirks { verses: 1500, has_sandbox: false, cap_is_on_autopilot: false }
    }
}

/// Pairs of a name and a value, owned.
pub(crate) fn pairs(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

/// The line of wharf's configuration that passes these variables on to the agent. Those that are not keys may be recorded.
pub(crate) fn environment(variables: &[(&'static str, String)]) -> String {
    let entry = |name: &str| format!("{{ name = \"{name}\", secret = {} }}", name.ends_with("KEY"));
    let entries: Vec<String> = variables.iter().map(|(name, _)| entry(name)).collect();
    format!("environment = [{}]\n", entries.join(", "))
}

/// A version as numbers, because 1.0.102 is newer than 1.0.35.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

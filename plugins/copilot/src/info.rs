//! The adapter's name, options and requested access.

use crate::features::TESTED;
use wharf_adapter::{AdapterInfo, OptionKind};

/// How to install the CLI.
pub(crate) const INSTALL: &str = "npm install -g @github/copilot";

/// The link that `WinGet` creates, in the home folder.
pub(crate) const WINGET: &str = "AppData/Local/Microsoft/WinGet/Links/copilot.exe";

/// The API that lists the models, unless `COPILOT_API_URL` is set.
pub(crate) const API: &str = "https://api.githubcopilot.com";

/// Read by the adapter, passed to the CLI, or set for it.
const VARIABLES: &[&str] = &[
    // The login, in the CLI's own order.
    "COPILOT_GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_HOST",
    // A custom provider.
    "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_PROVIDER_API_KEY",
    "COPILOT_PROVIDER_API_KEY_COMMAND",
    "COPILOT_PROVIDER_BEARER_TOKEN",
    "COPILOT_PROVIDER_TYPE",
    "COPILOT_PROVIDER_WIRE_API",
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    // Folders, servers, timeouts.
    "HOME",
    "USERPROFILE",
    "COPILOT_HOME",
    "COPILOT_CACHE_HOME",
    "COPILOT_API_URL",
    "COPILOT_DEBUG_GITHUB_API_URL",
    "COPILOT_ALLOW_ALL",
    "COPILOT_TASK_WAIT_TIMEOUT_SECONDS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    // Set by the adapter.
    "COPILOT_AUTO_UPDATE",
    "COPILOT_DISABLE_RESUME_AUTO_CD",
];

/// The adapter's description.
pub(crate) fn describe() -> AdapterInfo {
    let mut info = AdapterInfo::new("copilot", "GitHub Copilot CLI", env!("CARGO_PKG_VERSION"))
        .program("copilot")
        .program("**/node_modules/@github/copilot-*/copilot")
        .program("**/node_modules/@github/copilot-*/copilot.exe")
        .program("~/AppData/Local/Microsoft/WinGet/Links/copilot.exe")
        .program("gh")
        .origin(API)
        .origin("https://api.individual.githubcopilot.com")
        .origin("https://api.business.githubcopilot.com")
        .origin("https://api.enterprise.githubcopilot.com")
        .origin("https://api.github.com")
        .origin("$COPILOT_API_URL")
        .origin("$COPILOT_PROVIDER_BASE_URL")
        .variables(VARIABLES)
        .state_variable("COPILOT_HOME")
        .file("~/.copilot/config.json")
        .file("~/.copilot/session-state/*/events.jsonl")
        .file("$COPILOT_HOME/config.json")
        .file("$COPILOT_HOME/session-state/*/events.jsonl")
        .option(
            "max-autopilot-continues",
            OptionKind::Integer,
            Some("50"),
            "how often autopilot may continue by itself, unless max-turns is set",
        )
        .option("agent", OptionKind::Text, None, "the custom agent to use")
        .option(
            "no-custom-instructions",
            OptionKind::Flag,
            Some("false"),
            "keep AGENTS.md, CLAUDE.md and copilot-instructions.md out of the prompt",
        )
        .option("disable-builtin-mcps", OptionKind::Flag, Some("true"), "do not start the built-in MCP servers")
        .option("reasoning-summaries", OptionKind::Flag, Some("false"), "request summaries of the reasoning")
        .option("experimental", OptionKind::Flag, Some("false"), "enable experimental features")
        .option("max-ai-credits", OptionKind::Integer, None, "stop after this many AI credits (at least 30)");
    info.tested_with = TESTED.to_string();
    INSTALL.clone_into(&mut info.install_hint);
    info
}

//! Who the adapter is, what it needs, what can be set.

use crate::features::{NEWEST, OLDEST};
use wharf_adapter::{AdapterInfo, OptionKind};

/// How to get the CLI.
pub(crate) const INSTALL: &str = "npm install -g @github/copilot";

/// Where `WinGet` links programs, below the home.
pub(crate) const WINGET: &str = "AppData/Local/Microsoft/WinGet/Links/copilot.exe";

/// Where models are listed, unless `COPILOT_API_URL` says otherwise.
pub(crate) const API: &str = "https://api.githubcopilot.com";

/// Read by the adapter, passed on to the CLI, or set for it.
const VARIABLES: &[&str] = &[
    // The login, in the CLI's own order.
    "COPILOT_GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_HOST",
    // A provider of one's own.
    "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_PROVIDER_API_KEY",
    "COPILOT_PROVIDER_API_KEY_COMMAND",
    "COPILOT_PROVIDER_BEARER_TOKEN",
    "COPILOT_PROVIDER_TYPE",
    "COPILOT_PROVIDER_WIRE_API",
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    // Where it keeps its things, whom it calls, how long it waits.
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
        .file("~/.copilot/config.json")
        .file("~/.copilot/session-state/*/events.jsonl")
        .choice("transport", &["auto", "jsonl", "acp"], "how the CLI is talked to; auto takes acp where it must ask")
        .option(
            "max-autopilot-continues",
            OptionKind::Integer,
            Some("50"),
            "how often autopilot may go on by itself, unless the turn caps it",
        )
        .option("agent", OptionKind::Text, None, "the custom agent to use")
        .option(
            "no-custom-instructions",
            OptionKind::Flag,
            Some("true"),
            "keep AGENTS.md, CLAUDE.md and copilot-instructions.md out of the prompt",
        )
        .option("disable-builtin-mcps", OptionKind::Flag, Some("true"), "start none of the built-in MCP servers")
        .option("reasoning-summaries", OptionKind::Flag, Some("false"), "ask for summaries of the reasoning")
        .option("experimental", OptionKind::Flag, Some("false"), "turn experimental features on")
        .option("max-ai-credits", OptionKind::Integer, None, "stop after so many AI credits (at least 30)");
    info.tested_with = format!(">={OLDEST}, <={NEWEST}");
    INSTALL.clone_into(&mut info.install_hint);
    info
}

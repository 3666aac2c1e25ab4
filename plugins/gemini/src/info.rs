//! The adapter's name, options and requested access.

use crate::features::TESTED;
use wharf_adapter::{AdapterInfo, OptionKind};

/// How to install the CLI.
pub(crate) const INSTALL: &str = "npm install -g @google/gemini-cli";

/// The folder that has the CLI's own folder `.gemini`; without it the home folder.
pub(crate) const STATE: &str = "GEMINI_CLI_HOME";

/// The variables that are read or passed on, and at the end those that the adapter sets.
const VARIABLES: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GEMINI_CLI_USE_COMPUTE_ADC",
    "GEMINI_MODEL",
    "GEMINI_SANDBOX",
    "GEMINI_TELEMETRY_ENABLED",
    "HOME",
    "USERPROFILE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    // Set by the adapter.
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_CLI_TRUST_WORKSPACE",
    "GEMINI_SYSTEM_MD",
];

/// The adapter's description.
pub(crate) fn describe() -> AdapterInfo {
    let info = AdapterInfo::new("gemini", "Gemini CLI", env!("CARGO_PKG_VERSION"));
    AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
        .program("gemini")
        .variables(VARIABLES)
        .state_variable(STATE)
        .file("~/.gemini/settings.json")
        .file("~/.gemini/google_accounts.json")
        .file("$GEMINI_CLI_HOME/.gemini/settings.json")
        .file("$GEMINI_CLI_HOME/.gemini/google_accounts.json")
        .choice(
            "system-prompt-mode",
            &["replace", "prompt"],
            "replace the CLI's own system prompt, or put it before the prompt",
        )
        .choice(
            "approval-mode",
            &["by-approvals", "default", "auto_edit", "yolo", "plan"],
            "the CLI's own mode, instead of the one for the approvals",
        )
        .option(
            "trust-workspace",
            OptionKind::Flag,
            Some("true"),
            "use a workspace that was not trusted in the CLI, with its settings, hooks and MCP servers",
        )
        .option("extensions", OptionKind::List, None, "the extensions to use; without it all that are installed")
}

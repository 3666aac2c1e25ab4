//! The adapter's name, options and requested access.

use crate::binary::TESTED;
use wharf_adapter::{AdapterInfo, OptionKind, Version};

/// Shown if the program is missing.
pub(crate) const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";

/// Variables that contain a login, in the order in which the CLI reads them.
pub(crate) const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Switches to other providers, which have their own logins, and the version since which each is known. 2.0.76 does not
/// contain the last two, and 2.1.100 does.
pub(crate) const PROVIDERS: [(&str, Version); 5] = [
    ("CLAUDE_CODE_USE_BEDROCK", Version(0, 0, 0)),
    ("CLAUDE_CODE_USE_VERTEX", Version(0, 0, 0)),
    ("CLAUDE_CODE_USE_FOUNDRY", Version(2, 0, 0)),
    ("CLAUDE_CODE_USE_MANTLE", Version(2, 1, 0)),
    ("CLAUDE_CODE_USE_ANTHROPIC_AWS", Version(2, 1, 0)),
];

/// The API that lists the models.
pub(crate) const API: &str = "https://api.anthropic.com";

/// Where installers put the program outside of PATH: the native installer, `claude migrate-installer`, npm.
pub(crate) const PLACES: [&str; 5] = [
    "~/.local/bin/claude",
    "~/.claude/local/claude",
    "~/.npm-global/bin/claude",
    "/usr/local/bin/claude",
    "/opt/homebrew/bin/claude",
];

/// Read by the CLI itself, and passed to it if they are set.
const PASSED_THROUGH: [&str; 31] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_REGION",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CONFIG_DIR",
    "API_TIMEOUT_MS",
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "USER",
];

/// Set for the agent by `build_args`.
pub(crate) const SET: [&str; 5] = [
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD",
    "DISABLE_AUTOUPDATER",
    "IS_SANDBOX",
];

/// The adapter's description.
pub(crate) fn info() -> AdapterInfo {
    let mut info = AdapterInfo::new("claude", "Claude Code", env!("CARGO_PKG_VERSION"))
        .program("claude")
        .program("npm")
        .variables(&KEYS)
        .variables(&PROVIDERS.map(|(name, _)| name))
        .variables(&PASSED_THROUGH)
        .variables(&SET)
        .state_variable("CLAUDE_CONFIG_DIR")
        .origin(API)
        .origin("$ANTHROPIC_BASE_URL")
        .choice(
            "system-prompt-mode",
            &["append", "replace"],
            "whether the system prompt adds to Claude's own or replaces it",
        )
        .choice(
            "permission-mode",
            &["by-approvals", "acceptEdits", "plan", "auto", "dontAsk"],
            "a permission mode of Claude Code, instead of the one for the approvals",
        )
        .option(
            "project-settings",
            OptionKind::Flag,
            Some("false"),
            "use the settings, hooks, MCP servers and skills of the workspace: they run without a trust prompt",
        )
        .option(
            "project-instructions",
            OptionKind::Flag,
            Some("true"),
            "read CLAUDE.md and .claude/rules of the workspace (since 2.1.197)",
        )
        .option("settings", OptionKind::Json, None, "settings for this turn, as in settings.json")
        .option("agents", OptionKind::Json, None, "sub-agents for this turn, by name")
        .option("max-retries", OptionKind::Integer, Some("4"), "how often Claude Code retries a failed request")
        .option("background-tasks", OptionKind::Flag, Some("true"), "let commands and sub-agents run in the background")
        .option("persist-session", OptionKind::Flag, Some("true"), "keep the session, so that it can be resumed")
        .option("bare", OptionKind::Flag, Some("false"), "no CLAUDE.md, hooks or plugins, few tools (since 2.1)")
        .option("sandboxed", OptionKind::Flag, Some("false"), "the machine is a sandbox: root may skip permissions")
        .option(
            "slash-commands",
            OptionKind::Flag,
            Some("false"),
            "a prompt that starts with / is a command of Claude Code",
        )
        .option(
            "gates",
            OptionKind::List,
            None,
            "hook events to ask about: PreToolUse, PostToolUse, UserPromptSubmit, Stop (implies duplex)",
        );
    info.access.programs.extend(PLACES.map(str::to_owned));
    // In npm's global prefix, which can be any folder.
    info.access.programs.push("**/bin/claude".to_owned());
    AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_requested_twice() {
        let access = info().access;
        let mut names = access.variables.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), access.variables.len());
    }

    #[test]
    fn every_option_is_documented() {
        let page = include_str!("../../../docs/adapters/claude.md");
        for option in info().options {
            assert!(page.contains(&format!("\n| `{}` |", option.name)), "{} is not on its page", option.name);
        }
    }
}

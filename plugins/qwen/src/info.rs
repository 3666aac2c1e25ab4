//! The adapter's name, options and requested access.

use crate::features::TESTED;
use wharf_adapter::{AdapterInfo, OptionKind};

/// How to install the CLI.
pub(crate) const INSTALL: &str = "npm install -g @qwen-code/qwen-code";

/// The option that names the provider.
pub(crate) const AUTH_TYPES: [&str; 7] =
    ["configured", "openai", "openai-responses", "anthropic", "qwen-oauth", "gemini", "vertex-ai"];

/// The modes of Qwen Code that replace the one for the approvals.
pub(crate) const MODES: [&str; 6] = ["by-approvals", "plan", "default", "auto-edit", "auto", "yolo"];

/// Read by the adapter, passed to the CLI, or set for it.
const VARIABLES: &[&str] = &[
    // The providers: key, address, model.
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "QWEN_MODEL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "GEMINI_API_KEY",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "GOOGLE_MODEL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "DASHSCOPE_API_KEY",
    "BAILIAN_CODING_PLAN_API_KEY",
    "OPENROUTER_API_KEY",
    "QWEN_OAUTH",
    // Folders, limits, network.
    "HOME",
    "USERPROFILE",
    "QWEN_HOME",
    "QWEN_RUNTIME_DIR",
    "QWEN_CODE_MAX_OUTPUT_TOKENS",
    "QWEN_SANDBOX",
    "TAVILY_API_KEY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    // Set by the adapter.
    "QWEN_CODE_SUPPRESS_YOLO_WARNING",
];

/// The adapter's description.
pub(crate) fn describe() -> AdapterInfo {
    let mut info = AdapterInfo::new("qwen", "Qwen Code", env!("CARGO_PKG_VERSION"))
        .program("qwen")
        .origin("$OPENAI_BASE_URL")
        .variables(VARIABLES)
        .state_variable("QWEN_HOME")
        .file("~/.qwen/settings.json")
        .file("$QWEN_HOME/settings.json")
        .choice("auth-type", &AUTH_TYPES, "the provider, instead of the one that is configured")
        .choice("approval-mode", &MODES, "a mode of Qwen Code, instead of the one for the approvals")
        .choice(
            "system-prompt-mode",
            &["append", "replace"],
            "whether the system prompt adds to Qwen Code's own or replaces it",
        )
        .option("max-tool-calls", OptionKind::Integer, None, "stop after this many tool calls (since 0.21)")
        .option("persist-session", OptionKind::Flag, Some("true"), "keep the session, so that it can be resumed")
        .option(
            "bare",
            OptionKind::Flag,
            Some("false"),
            "nothing that is found by itself: no QWEN.md, hooks, extensions, skills or MCP servers of the workspace",
        )
        .option(
            "slash-commands",
            OptionKind::Flag,
            Some("false"),
            "a prompt that starts with / is a command of Qwen Code",
        );
    info.tested_with = TESTED.to_string();
    INSTALL.clone_into(&mut info.install_hint);
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_requested_twice() {
        let access = describe().access;
        let mut names = access.variables.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), access.variables.len());
    }

    #[test]
    fn every_option_is_documented() {
        let page = include_str!("../../../docs/adapters/qwen.md");
        for option in describe().options {
            assert!(page.contains(&format!("\n| `{}` |", option.name)), "{} is not on its page", option.name);
        }
    }
}

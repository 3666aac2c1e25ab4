//! The adapter's name, options and requested access.

use crate::product::{INSTALL, TESTED};
use wharf_adapter::{AdapterInfo, OptionKind};

/// Variables of `OpenCode`; Kilo has the same with another prefix. They are read by the adapter, passed to the program, or
/// set for it.
const OWN: &[&str] = &[
    "API_KEY",
    "CONFIG",
    "CONFIG_CONTENT",
    "CONFIG_DIR",
    "PERMISSION",
    "DISABLE_AUTOUPDATE",
    "DISABLE_MODELS_FETCH",
    "DISABLE_PROJECT_CONFIG",
    "MODELS_URL",
];

/// Keys of providers, in the order in which a login is reported.
pub(crate) const KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
];

/// Folders and proxies.
const COMMON: &[&str] = &[
    "HOME",
    "USERPROFILE",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
];

pub(crate) fn describe() -> AdapterInfo {
    let own = ["OPENCODE_", "KILO_"].iter().flat_map(|prefix| OWN.iter().map(move |name| [*prefix, name].concat()));
    let own: Vec<String> = own.collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let info = AdapterInfo::new("opencode", "OpenCode", env!("CARGO_PKG_VERSION"));
    let info = AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
        .program("opencode")
        .program("kilo")
        .variables(&own)
        .variables(KEYS)
        .variables(COMMON);
    let info = ["opencode", "kilo"].iter().fold(info, |info, name| {
        let data = |root: &str| format!("{root}/{name}/auth.json");
        info.file(&data("~/.local/share")).file(&data("$XDG_DATA_HOME"))
    });
    info.option("agent", OptionKind::Text, None, "OpenCode's own agent: build, plan, or one of the configuration")
        .option(
            "max-retries",
            OptionKind::Integer,
            Some("5"),
            "How many failed model calls in a row OpenCode may retry before the turn has failed; 0: any number",
        )
        .option(
            "max-unfinished-steps",
            OptionKind::Integer,
            Some("3"),
            "How many answers in a row may end without a reason before the turn has failed; 0: any number",
        )
        .option(
            "usage-lookup",
            OptionKind::Flag,
            Some("true"),
            "Run `opencode export` after a turn if its output lacks tokens or the answer",
        )
        .option(
            "no-project-config",
            OptionKind::Flag,
            Some("false"),
            "Ignore the configuration and the instructions of the workspace",
        )
        .option("no-plugins", OptionKind::Flag, Some("false"), "Run without external plugins (--pure)")
}

//! The adapter's name, options and requested access.

use crate::binary::TESTED;
use crate::outage;
use crate::permissions::{POLICIES, POLICY, SANDBOX, SANDBOXES};
use wharf_adapter::{AdapterInfo, OptionKind};

/// Shown if the program is missing.
pub(crate) const INSTALL: &str = "npm install -g @openai/codex";

/// The variable with a key that Codex reads.
pub(crate) const KEY: &str = "CODEX_API_KEY";

/// A variable with a key that Codex does not read by itself.
pub(crate) const OTHER_KEY: &str = "OPENAI_API_KEY";

/// Read by Codex itself, and passed to it if they are set.
const PASSED_THROUGH: [&str; 5] =
    ["HOME", "USERPROFILE", "OPENAI_ORGANIZATION", "CODEX_CA_CERTIFICATE", "CODEX_SQLITE_HOME"];

/// The adapter's description. It requests no network: Codex itself lists its models.
pub(crate) fn describe() -> AdapterInfo {
    let info = AdapterInfo::new("codex", "OpenAI Codex", env!("CARGO_PKG_VERSION"))
        .program("codex")
        .variables(&[KEY, OTHER_KEY])
        .variables(&PASSED_THROUGH)
        .state_variable("CODEX_HOME")
        .file("~/.codex/auth.json")
        .file("~/.codex/config.toml")
        .file("$CODEX_HOME/auth.json")
        .file("$CODEX_HOME/config.toml")
        .choice(SANDBOX, &SANDBOXES, "the sandbox for commands, instead of the one for the approvals")
        .choice(POLICY, &POLICIES, "when Codex asks, instead of the policy for the approvals")
        .option(
            outage::OPTION,
            OptionKind::Integer,
            Some(outage::SECONDS),
            "how long the model may be unreachable before the turn fails; 0 waits without end",
        )
        .choice(
            "reasoning-summary",
            &["default", "auto", "concise", "detailed", "none"],
            "which summaries of the reasoning to request",
        )
        .option("ephemeral", OptionKind::Flag, Some("false"), "do not keep the session: it cannot be resumed")
        .option(
            "no-custom-instructions",
            OptionKind::Flag,
            Some("false"),
            "keep AGENTS.md of the workspace out of the prompt",
        );
    AdapterInfo { tested_with: TESTED.to_string(), install_hint: INSTALL.to_owned(), ..info }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_documented() {
        let page = include_str!("../../../docs/adapters/codex.md");
        for option in describe().options {
            assert!(page.contains(&format!("\n| `{}` |", option.name)), "{} is not on its page", option.name);
        }
    }
}

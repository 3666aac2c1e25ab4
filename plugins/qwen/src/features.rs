//! What a version of Qwen Code can do.
//!
//! Measured on 0.15.10 and 0.24.4, and looked up in the packages of 0.5.0, 0.7.1, 0.12.0 and 0.21.2. It is not known which
//! version in between added a flag, so the help text of those versions is read when they are found, and flags in it become
//! capabilities. An unknown version gets what 0.15.10 has.

use crate::transport::Transport;
use wharf_adapter::{Binary, Capabilities, Tested, Version, text};

/// The versions that were tested.
pub(crate) const TESTED: Tested = Tested(&[OLDEST, NEWEST]);
const OLDEST: Version = Version(0, 15, 10);
const NEWEST: Version = Version(0, 24, 4);

/// The oldest version that was seen to have `--acp`: 0.5.0 has `--experimental-acp` only.
const ACP_SINCE: Version = Version(0, 7, 0);
/// The oldest version that was seen to have `--fork-session`, `--fallback-model` and `--max-tool-calls`.
const NEW_SINCE: Version = Version(0, 21, 2);

/// What differs between versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent features")]
pub(crate) struct Features {
    /// `--acp` instead of `--experimental-acp`.
    pub(crate) acp: bool,
    /// `--fork-session`.
    pub(crate) fork: bool,
    /// `--fallback-model`.
    pub(crate) fallback: bool,
    /// `--max-tool-calls`.
    pub(crate) tool_call_cap: bool,
    /// `--mcp-config`, and the flags for system prompts, which came with it.
    pub(crate) servers: bool,
    /// `--json-schema`.
    pub(crate) schema: bool,
}

impl Features {
    /// The features of a program: by its version, or by capabilities that were found in its help text.
    pub(crate) fn of(binary: &Binary) -> Features {
        let version = binary.version.as_deref().and_then(Version::find).unwrap_or(OLDEST);
        let found = |capability| binary.can(capability);
        // Over ACP the protocol has them.
        let lines = binary.transports.iter().find(|transport| transport.name == Transport::Lines.name());
        let in_lines = |capability| lines.is_some_and(|transport| transport.capabilities.contains(capability));
        let (is_new, is_measured) = (version >= NEW_SINCE, version >= OLDEST);
        Features {
            acp: version >= ACP_SINCE,
            fork: is_new || found(Capabilities::SESSION_FORK),
            fallback: is_new || found(Capabilities::FALLBACK_MODEL),
            // There is no capability for it. If the version does not have it, it says so.
            tool_call_cap: version > OLDEST,
            servers: is_measured || in_lines(Capabilities::MCP_SERVERS),
            schema: is_measured || found(Capabilities::STRUCTURED_OUTPUT),
        }
    }

    /// Whether the help text of this version has to be read.
    pub(crate) fn need_help(version: Version) -> bool {
        version != OLDEST && version < NEW_SINCE
    }

    /// The features of a program with this help text.
    pub(crate) fn with_help(self, help: &str) -> Features {
        let names = |flag| text::contains(help, flag);
        Features {
            fork: self.fork || names("--fork-session"),
            fallback: self.fallback || names("--fallback-model"),
            servers: self.servers || names("--mcp-config"),
            schema: self.schema || names("--json-schema"),
            ..self
        }
    }

    /// Names the transports, each with the capabilities for these features.
    pub(crate) fn transports(self, binary: &mut Binary) {
        let mut always = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::SESSION_PERSISTENCE_CONTROL
            | Capabilities::MODEL_DISCOVERY
            | Capabilities::TOKEN_USAGE
            | Capabilities::TOOL_RULES
            | Capabilities::POLICY
            | Capabilities::BARE_MODE;
        if self.fallback {
            always |= Capabilities::FALLBACK_MODEL;
        }
        let mut lines = always | Capabilities::CHOOSE_SESSION_ID | Capabilities::TURN_CAP | Capabilities::ATTACHMENTS;
        for (has, capability) in [
            (self.fork, Capabilities::SESSION_FORK),
            (self.servers, Capabilities::MCP_SERVERS),
            (self.schema, Capabilities::STRUCTURED_OUTPUT),
        ] {
            if has {
                lines |= capability;
            }
        }
        // No efforts: only some models offer them, and only in the protocol it is known which.
        let acp =
            always | Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::INTERRUPT | Capabilities::MCP_SERVERS;
        binary.transports.clear();
        binary.transport(Transport::Lines.name(), lines);
        binary.transport(Transport::Acp.name(), acp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::binary;

    fn of(version: &str) -> Features {
        Features::of(&binary(version))
    }

    #[test]
    fn features_depend_on_the_version() {
        for (version, acp, new, measured) in [
            ("0.5.0", false, false, false),
            ("0.7.1", true, false, false),
            ("0.12.0", true, false, false),
            ("0.15.10", true, false, true),
            ("0.21.2", true, true, true),
            ("0.24.4", true, true, true),
            ("1.0.0", true, true, true),
        ] {
            let features = of(version);
            assert_eq!((features.acp, features.fork, features.fallback), (acp, new, new), "{version}");
            assert_eq!((features.servers, features.schema), (measured, measured), "{version}");
        }
        assert_eq!(Features::of(&Binary::at(String::new())), of("0.15.10"), "an unknown version");
    }

    #[test]
    fn flags_in_the_help_text_become_capabilities() {
        let mut between = binary("0.18.0");
        let found = Features::of(&between).with_help("  --fork-session  …\n  --fallback-model  …");
        assert!(found.fork && found.fallback && !of("0.18.0").fork);
        found.transports(&mut between);
        assert_eq!(Features::of(&between), found);
    }

    #[test]
    fn no_version_claims_what_qwen_code_lacks() {
        let lacks = Capabilities::PROMPT_VIA_ARG
            | Capabilities::SYSTEM_PROMPT_FILE
            | Capabilities::COST_TRACKING
            | Capabilities::EFFORT_LEVELS
            | Capabilities::MODEL_SHORTHANDS
            | Capabilities::BUDGET_CAP
            | Capabilities::AUTOPILOT
            | Capabilities::STEERING;
        let mut binary = binary("0.24.4");
        of("0.24.4").transports(&mut binary);
        assert!(binary.transports.iter().all(|transport| !transport.capabilities.intersects(lacks)));
        let names: Vec<_> = binary.transports.iter().map(|transport| transport.name.as_str()).collect();
        assert_eq!(names, ["stream-json", "acp"], "the first that has what a turn needs is used");
    }
}

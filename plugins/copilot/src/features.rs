//! What a version of the CLI can do.
//!
//! Measured on 1.0.35 and 1.0.102. It is not known which version in between added a feature, so the help text of those
//! versions is read when they are found, and flags in it become capabilities. An unknown version gets only the features
//! that all versions have.

use crate::transport::Transport;
use wharf_adapter::{Binary, Capabilities, Effort, Tested, Version, text};

/// The versions that were tested.
pub(crate) const TESTED: Tested = Tested(&[OLDEST, NEWEST]);
/// The oldest of them.
pub(crate) const OLDEST: Version = Version(1, 0, 35);
/// The newest of them.
pub(crate) const NEWEST: Version = Version(1, 0, 102);

const OLD_EFFORTS: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];

/// What differs between versions.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent features")]
pub(crate) struct Features {
    /// `--session-id`.
    pub(crate) session_id: bool,
    /// `--resume` of an unknown id is an error. Older versions start a new session.
    pub(crate) strict_resume: bool,
    /// `--usage-output-file`.
    pub(crate) usage_file: bool,
    /// `--max-ai-credits`.
    pub(crate) credits_cap: bool,
    /// MCP servers start over ACP too.
    pub(crate) protocol_servers: bool,
    /// The values of `--reasoning-effort`.
    pub(crate) efforts: &'static [Effort],
}

impl Features {
    /// The features of a program: by its version, or by capabilities that were found in its help text.
    pub(crate) fn of(binary: &Binary) -> Features {
        let new = is_new(binary);
        Features {
            session_id: new || binary.can(Capabilities::CHOOSE_SESSION_ID),
            strict_resume: new,
            usage_file: new || binary.can(Capabilities::TOKEN_USAGE),
            credits_cap: new,
            protocol_servers: new,
            efforts: if new { &Effort::ALL } else { OLD_EFFORTS },
        }
    }

    /// The features of a program with this help text.
    pub(crate) fn from_help(binary: &Binary, help: &str) -> Features {
        let known = Features::of(binary);
        let names = |flag| text::contains(help, flag);
        Features {
            session_id: known.session_id || names("--session-id"),
            usage_file: known.usage_file || names("--usage-output-file"),
            ..known
        }
    }

    /// Names the transports, each with the capabilities for these features.
    pub(crate) fn transports(self, binary: &mut Binary) {
        let always = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::MODEL_DISCOVERY
            | Capabilities::EFFORT_LEVELS
            | Capabilities::TOOL_RULES
            | Capabilities::AUTOPILOT;
        let mut lines = always | Capabilities::TURN_CAP | Capabilities::MCP_SERVERS;
        if self.session_id {
            lines |= Capabilities::CHOOSE_SESSION_ID;
        }
        if self.usage_file {
            lines |= Capabilities::TOKEN_USAGE;
        }
        let mut acp = always | Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::INTERRUPT;
        if self.protocol_servers {
            acp |= Capabilities::MCP_SERVERS | Capabilities::TOKEN_USAGE;
        }
        binary.transports.clear();
        binary.transport(Transport::Lines.name(), lines);
        binary.transport(Transport::Acp.name(), acp);
    }
}

/// Whether the version is at least the newest measured one.
pub(crate) fn is_new(binary: &Binary) -> bool {
    binary.version.as_deref().and_then(Version::find).is_some_and(|version| version >= NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(version: Option<&str>) -> Binary {
        Binary { version: version.map(str::to_owned), ..Binary::at("/usr/bin/copilot".to_owned()) }
    }

    #[test]
    fn features_depend_on_the_version() {
        for (version, new) in [
            (Some("1.0.35"), false),
            (Some("1.0.101"), false),
            (Some("1.0.102"), true),
            (Some("1.1.0"), true),
            (Some("GitHub Copilot CLI 1.0.102."), true),
            (Some("garbage"), false),
            (None, false),
        ] {
            let features = Features::of(&program(version));
            let flags = [features.session_id, features.usage_file, features.strict_resume, features.credits_cap];
            assert_eq!(flags, [new; 4], "{version:?}");
            assert_eq!(features.efforts.contains(&Effort::Max), new, "{version:?}");
            let mut binary = program(version);
            features.transports(&mut binary);
            for differs in [Capabilities::CHOOSE_SESSION_ID, Capabilities::TOKEN_USAGE] {
                assert_eq!(binary.can(differs), new, "{version:?}");
            }
        }
    }

    #[test]
    fn flags_in_the_help_text_become_capabilities() {
        let mut between = program(Some("1.0.60"));
        assert_eq!(Features::from_help(&between, "--resume --continue"), Features::of(&between));
        let found = Features::from_help(&between, "  --session-id <id>  …\n  --usage-output-file <file>");
        assert!(found.session_id && found.usage_file && !found.strict_resume && !found.credits_cap);
        found.transports(&mut between);
        assert_eq!(Features::of(&between), found);
    }

    #[test]
    fn no_version_claims_what_the_cli_lacks() {
        let lacks = Capabilities::PROMPT_VIA_ARG
            | Capabilities::SYSTEM_PROMPT_FILE
            | Capabilities::COST_TRACKING
            | Capabilities::MODEL_SHORTHANDS
            | Capabilities::BUDGET_CAP
            | Capabilities::BARE_MODE
            | Capabilities::FALLBACK_MODEL
            | Capabilities::SESSION_FORK
            | Capabilities::SESSION_PERSISTENCE_CONTROL
            | Capabilities::STRUCTURED_OUTPUT
            | Capabilities::STEERING;
        let mut binary = program(Some("1.0.102"));
        Features::of(&binary).transports(&mut binary);
        assert!(binary.transports.iter().all(|transport| !transport.capabilities.intersects(lacks)));
    }
}

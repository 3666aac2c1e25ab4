//! What a version of the CLI can do.
//!
//! Measured on 1.0.35 and 1.0.102. When a feature came in between is not known, so only versions from the one on which
//! it was measured are trusted with it; an unknown version gets what all of them have.

use wharf_adapter::{Capabilities, Effort, Support, Version};

/// The oldest version that was tested.
pub(crate) const OLDEST: Version = Version(1, 0, 35);
/// The newest version that was tested.
pub(crate) const NEWEST: Version = Version(1, 0, 102);

const OLD_EFFORTS: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];

/// What differs between versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Features {
    /// `--session-id`; and `--resume` of an unknown id is an error, where it used to start a session.
    pub(crate) session_id: bool,
    /// `--usage-output-file`.
    pub(crate) usage_file: bool,
    /// `--max-ai-credits`.
    pub(crate) credits_cap: bool,
    /// The values of `--reasoning-effort`.
    pub(crate) efforts: &'static [Effort],
}

impl Features {
    /// Those of a version as the host knows it.
    pub(crate) fn of(version: Option<&str>) -> Features {
        let new = version.and_then(Version::find).is_some_and(|version| version >= NEWEST);
        let efforts: &[Effort] = if new { &Effort::ALL } else { OLD_EFFORTS };
        Features { session_id: new, usage_file: new, credits_cap: new, efforts }
    }

    /// The same, in the interface's words.
    pub(crate) fn capabilities(self) -> Capabilities {
        let mut all = Capabilities::STREAMING
            | Capabilities::SESSION_RESUME
            | Capabilities::MODEL_DISCOVERY
            | Capabilities::EFFORT_LEVELS
            | Capabilities::TOKEN_USAGE
            | Capabilities::TURN_CAP
            | Capabilities::DUPLEX
            | Capabilities::ASKS
            | Capabilities::INTERRUPT
            | Capabilities::TOOL_RULES
            | Capabilities::MCP_SERVERS
            | Capabilities::AUTOPILOT;
        if self.session_id {
            all |= Capabilities::CHOOSE_SESSION_ID;
        }
        all
    }
}

/// How far a version is known.
pub(crate) fn support(version: Option<Version>) -> Support {
    match version {
        None => Support::BestEffort,
        Some(version) if version < OLDEST => Support::OlderUntested,
        Some(version) if version > NEWEST => Support::NewerUntested,
        Some(_) => Support::Tested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_go_by_version() {
        for (version, session_id, max) in [
            (Some("1.0.35"), false, false),
            (Some("1.0.101"), false, false),
            (Some("1.0.102"), true, true),
            (Some("1.1.0"), true, true),
            (Some("GitHub Copilot CLI 1.0.102."), true, true),
            (Some("garbage"), false, false),
            (None, false, false),
        ] {
            let features = Features::of(version);
            assert_eq!((features.session_id, features.usage_file), (session_id, session_id), "{version:?}");
            assert_eq!(features.efforts.contains(&Effort::Max), max, "{version:?}");
            assert_eq!(features.capabilities().contains(Capabilities::CHOOSE_SESSION_ID), session_id);
        }
        assert_eq!(support(Version::find("1.0.34")), Support::OlderUntested);
        assert_eq!(support(Version::find("1.0.60")), Support::Tested);
        assert_eq!(support(Version::find("1.0.103")), Support::NewerUntested);
        assert_eq!(support(None), Support::BestEffort);
    }

    #[test]
    fn no_version_has_what_the_cli_lacks() {
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
        assert!(!Features::of(Some("1.0.102")).capabilities().intersects(lacks));
    }
}

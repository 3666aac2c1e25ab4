//! What a version of the CLI can do.
//!
//! 0.45.2 and 0.61.0 were measured. Of 0.10.0, 0.12.0, 0.32.1, 0.36.0, 0.39.0 and 0.41.2 only the help text was read: a flag
//! is used from the first version in which it was seen. A version that is unknown gets what all of these have.

use crate::login::Access;
use crate::transport::Transport;
use wharf_adapter::{Binary, Capabilities, Refused, Tested, Version};

/// The versions that were tested.
pub(crate) const TESTED: Tested = Tested(&[Version(0, 45, 2), Version(0, 61, 0)]);

/// 0.10.0 knows only `text` and `json`.
pub(crate) const REFUSED: &[Refused] =
    &[Refused { from: Version(0, 0, 0), before: Some(Version(0, 11, 0)), reason: "it has no stream-json output" }];

/// What differs between versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// `--resume`, and `--policy` for rules about tools.
    pub(crate) resume: bool,
    /// `--acp`; before that `--experimental-acp`, which later versions accept too.
    pub(crate) acp: bool,
    /// `--session-id`.
    pub(crate) session_id: bool,
}

impl Features {
    /// The features of a program.
    pub(crate) fn of(binary: &Binary) -> Features {
        let version = binary.version.as_deref().and_then(Version::find);
        let since = |first: Version| version.is_some_and(|version| version >= first);
        Features {
            resume: since(Version(0, 32, 1)),
            acp: since(Version(0, 36, 0)),
            session_id: since(Version(0, 41, 2)),
        }
    }

    /// Names the transports, each with the capabilities for these features and this way to log in. stream-json comes first:
    /// it shows the input of tools, counts cached tokens and recognizes a reply that broke off.
    pub(crate) fn transports(self, access: &Access, binary: &mut Binary) {
        let always = Capabilities::STREAMING
            | Capabilities::SYSTEM_PROMPT_FILE
            | Capabilities::MODEL_DISCOVERY
            | Capabilities::MODEL_SHORTHANDS
            | Capabilities::TOKEN_USAGE;
        let mut lines = always;
        let mut acp =
            always | Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::INTERRUPT | Capabilities::MCP_SERVERS;
        if self.resume {
            lines |= Capabilities::SESSION_RESUME | Capabilities::TOOL_RULES | Capabilities::POLICY;
            acp |= Capabilities::TOOL_RULES | Capabilities::POLICY;
        }
        if access.loads {
            acp |= Capabilities::SESSION_RESUME;
        }
        if self.session_id {
            lines |= Capabilities::CHOOSE_SESSION_ID;
        }
        if !access.needs_acp {
            binary.transport(Transport::StreamJson.name(), lines);
        }
        binary.transport(Transport::Acp.name(), acp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::binary;

    #[test]
    fn a_flag_is_used_from_the_first_version_in_which_it_was_seen() {
        for (version, resume, acp, session_id) in [
            ("0.12.0", false, false, false),
            ("0.32.1", true, false, false),
            ("0.36.0", true, true, false),
            ("0.41.2", true, true, true),
            ("0.61.0", true, true, true),
            ("1.0.0", true, true, true),
            ("garbage", false, false, false),
        ] {
            assert_eq!(Features::of(&binary(version)), Features { resume, acp, session_id }, "{version}");
        }
    }
}

//! How well the version that was found is supported.

use crate::{Binary, LogLevel, Support, Tested, Version};

/// Versions that are known not to work with an adapter.
#[derive(Debug, Clone, Copy)]
pub struct Refused {
    /// The first of them.
    pub from: Version,
    /// The first one after them, if any is.
    pub before: Option<Version>,
    /// What does not work.
    pub reason: &'static str,
}

impl Binary {
    /// Sets the version and how well it is supported. A refused version is unsupported, whatever else is known about it,
    /// and a note says why. That a version was not tested needs no note: the host says it.
    pub fn set_version(&mut self, version: Option<Version>, tested: Tested, refused: &[Refused], install: &str) {
        self.version = version.map(|version| version.to_string());
        self.support = tested.support(version);
        let Some(version) = version else { return };
        let is_refused =
            |refused: &&Refused| refused.from <= version && refused.before.is_none_or(|before| version < before);
        if let Some(refused) = refused.iter().find(is_refused) {
            self.support = Support::Unsupported;
            self.note(LogLevel::Error, format!("{version} does not work: {}", refused.reason), Some(install));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untested_version_has_its_support_and_a_refused_one_its_reason() {
        const TESTED: Tested = Tested(&[Version(1, 0, 0), Version(2, 0, 0)]);
        let refused = [
            Refused { from: Version(0, 0, 0), before: Some(Version(0, 5, 0)), reason: "it has no JSON" },
            Refused { from: Version(3, 0, 0), before: None, reason: "it prints XML" },
        ];
        for (version, support, note) in [
            (Version(1, 0, 0), Support::Tested, None),
            (Version(0, 9, 0), Support::OlderUntested, None),
            (Version(2, 9, 0), Support::NewerUntested, None),
            (Version(1, 5, 0), Support::BetweenTested, None),
            (Version(0, 4, 9), Support::Unsupported, Some("it has no JSON")),
            (Version(3, 0, 0), Support::Unsupported, Some("it prints XML")),
        ] {
            let mut binary = Binary::at("/bin/agent".to_owned());
            binary.set_version(Some(version), TESTED, &refused, "install it");
            assert_eq!((binary.version, binary.support), (Some(version.to_string()), support));
            assert_eq!(binary.notes.len(), usize::from(note.is_some()), "{version}");
            assert!(note.is_none_or(|note| binary.notes[0].text.contains(note)), "{version}");
        }
        let mut unknown = Binary::at("/bin/agent".to_owned());
        unknown.set_version(None, TESTED, &refused, "install it");
        assert_eq!((unknown.version, unknown.support, unknown.notes.len()), (None, Support::BestEffort, 0));
    }
}

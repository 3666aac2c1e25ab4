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
    /// Sets the version and how well it is supported, with a note for every version that was not tested. A refused version
    /// is unsupported, whatever else is known about it.
    pub fn set_version(&mut self, version: Option<Version>, tested: Tested, refused: &[Refused], install: &str) {
        self.version = version.map(|version| version.to_string());
        self.support = tested.support(version);
        let (Some(version), [oldest, .., newest] | [oldest @ newest]) = (version, tested.0) else { return };
        let is_refused =
            |refused: &&Refused| refused.from <= version && refused.before.is_none_or(|before| version < before);
        if let Some(refused) = refused.iter().find(is_refused) {
            self.support = Support::Unsupported;
            self.note(LogLevel::Error, format!("{version} does not work: {}", refused.reason), Some(install));
            return;
        }
        match self.support {
            Support::Tested => {}
            Support::OlderUntested => {
                self.note(LogLevel::Warn, format!("the oldest tested version is {oldest}"), Some(install));
            }
            Support::NewerUntested => self.note(LogLevel::Info, format!("the newest tested version is {newest}"), None),
            _ => self.note(LogLevel::Info, format!("it was not tested; tested versions are {tested}"), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untested_version_has_a_note_and_a_refused_one_its_reason() {
        const TESTED: Tested = Tested(&[Version(1, 0, 0), Version(2, 0, 0)]);
        let refused = [
            Refused { from: Version(0, 0, 0), before: Some(Version(0, 5, 0)), reason: "it has no JSON" },
            Refused { from: Version(3, 0, 0), before: None, reason: "it prints XML" },
        ];
        for (version, support, note) in [
            (Version(1, 0, 0), Support::Tested, None),
            (Version(0, 9, 0), Support::OlderUntested, Some("the oldest tested version is 1.0.0")),
            (Version(2, 9, 0), Support::NewerUntested, Some("the newest tested version is 2.0.0")),
            (Version(1, 5, 0), TESTED.support(Some(Version(1, 5, 0))), Some("tested versions are 1.0.0, 2.0.0")),
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

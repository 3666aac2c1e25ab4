//! Versions as CLIs print them.

use crate::Support;
use std::fmt;

/// Major, minor, patch. Anything after the patch number is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64, pub u64, pub u64);

impl Version {
    /// The first version in a text: "GitHub Copilot CLI 1.0.102." gives 1.0.102.
    pub fn find(text: &str) -> Option<Version> {
        let mut starts = text.char_indices().filter(|(at, character)| {
            character.is_ascii_digit()
                && !text[..*at].ends_with(|before: char| before.is_ascii_digit() || before == '.')
        });
        starts.find_map(|(at, _)| Version::leading(&text[at..]))
    }

    fn leading(text: &str) -> Option<Version> {
        let mut parts = text.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        let rest = parts.next()?;
        let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        Some(Version(major, minor, rest[..digits].parse().ok()?))
    }
}

/// The versions of an agent that its adapter was tested with, in rising order. Nothing is claimed about any other.
#[derive(Debug, Clone, Copy)]
pub struct Tested(pub &'static [Version]);

impl Tested {
    /// How well a version is tested. Which of two tested versions one between them resembles is unknown.
    pub fn support(self, version: Option<Version>) -> Support {
        let (Some(version), [oldest, .., newest] | [oldest @ newest]) = (version, self.0) else {
            return Support::BestEffort;
        };
        if self.0.contains(&version) {
            Support::Tested
        } else if version < *oldest {
            Support::OlderUntested
        } else if version > *newest {
            Support::NewerUntested
        } else {
            Support::BetweenTested
        }
    }
}

impl fmt::Display for Tested {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<String> = self.0.iter().map(Version::to_string).collect();
        formatter.write_str(&versions.join(", "))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_output_of_clis() {
        for (text, version) in [
            ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update'", Some(Version(1, 0, 102))),
            ("2.1.325 (Claude Code)", Some(Version(2, 1, 325))),
            ("codex-cli 0.166.0-alpha.1", Some(Version(0, 166, 0))),
            ("v20.20.2", Some(Version(20, 20, 2))),
            ("1.2", None),
            ("no version", None),
            ("", None),
        ] {
            assert_eq!(Version::find(text), version, "{text}");
        }
        assert!(Version(1, 0, 102) > Version(1, 0, 35));
    }

    #[test]
    fn a_version_between_two_tested_ones_is_not_tested() {
        let tested = Tested(&[Version(1, 0, 35), Version(1, 0, 102)]);
        assert_eq!(tested.to_string(), "1.0.35, 1.0.102");
        for (version, support) in [
            (Some(Version(1, 0, 35)), Support::Tested),
            (Some(Version(1, 0, 102)), Support::Tested),
            (Some(Version(1, 0, 60)), Support::BetweenTested),
            (Some(Version(0, 0, 423)), Support::OlderUntested),
            (Some(Version(1, 1, 0)), Support::NewerUntested),
            (None, Support::BestEffort),
        ] {
            assert_eq!(tested.support(version), support, "{version:?}");
        }
        assert_eq!(Tested(&[Version(1, 0, 0)]).support(Some(Version(1, 0, 0))), Support::Tested);
        assert_eq!(Tested(&[]).support(Some(Version(1, 0, 0))), Support::BestEffort);
    }
}

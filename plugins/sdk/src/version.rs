//! Versions as CLIs print them.

use crate::Support;
use std::fmt;

/// Major, minor, patch. Anything after the patch number is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64, pub u64, pub u64);

impl Version {
    /// The first version in a text: "GitHub Copilot CLI 1.0.102." gives 1.0.102.
    pub fn find(text: &str) -> Option<Version> {
        let bytes = text.as_bytes();
        let starts = |at: &usize| *at == 0 || !matches!(bytes[at - 1], b'0'..=b'9' | b'.');
        (0..bytes.len()).filter(starts).find_map(|at| Version::leading(&bytes[at..]))
    }

    fn leading(bytes: &[u8]) -> Option<Version> {
        let mut numbers = [0u64; 3];
        let mut at = 0;
        for (index, number) in numbers.iter_mut().enumerate() {
            if index > 0 {
                (bytes.get(at) == Some(&b'.')).then_some(())?;
                at += 1;
            }
            let start = at;
            while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
                *number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
                at += 1;
            }
            (at > start).then_some(())?;
        }
        let [major, minor, patch] = numbers;
        Some(Version(major, minor, patch))
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
        for (number, version) in self.0.iter().enumerate() {
            formatter.write_str(if number > 0 { ", " } else { "" })?;
            version.fmt(formatter)?;
        }
        Ok(())
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

//! What the compilation of one component may take.

use std::ffi::OsStr;
use std::time::Duration;

/// What the compilation of one component may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompileLimits {
    /// Processor time in seconds, of all threads together.
    pub(crate) seconds: u64,
    /// Memory in bytes.
    pub(crate) bytes: u64,
}

impl Default for CompileLimits {
    /// Ten times what the largest known adapters take: Python's has 18 MB.
    fn default() -> CompileLimits {
        CompileLimits { seconds: 120, bytes: 2 << 30 }
    }
}

impl CompileLimits {
    /// How long it may take on the clock. Where its processor time is limited, the machine may be busy with other things.
    pub(super) fn wall(self) -> Duration {
        Duration::from_secs(self.seconds.saturating_mul(if cfg!(unix) { 5 } else { 1 }))
    }

    /// As one word, for the child.
    pub(super) fn to_word(self) -> String {
        format!("{}:{}", self.seconds, self.bytes)
    }

    pub(super) fn from_word(word: &OsStr) -> Option<CompileLimits> {
        let (seconds, bytes) = word.to_str()?.split_once(':')?;
        Some(CompileLimits { seconds: seconds.parse().ok()?, bytes: bytes.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_gives_the_same_limits_and_nothing_else_is_one() {
        let limits = CompileLimits { seconds: 7, bytes: u64::MAX };
        assert_eq!(CompileLimits::from_word(OsStr::new(&limits.to_word())), Some(limits));
        for word in ["", "1", "1:", ":1", "1:2:3", "-1:2", "1 2"] {
            assert_eq!(CompileLimits::from_word(OsStr::new(word)), None, "{word}");
        }
    }
}

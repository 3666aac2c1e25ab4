//! Where an adapter came from.

use std::fmt;
use std::path::PathBuf;

/// Where an adapter came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// It is part of the program.
    Bundled,
    /// A file in the user's adapters folder, whose name is the adapter's id.
    Installed(PathBuf),
    /// A file that was named by its path.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Bundled => formatter.write_str("bundled"),
            Source::Installed(path) | Source::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

//! The one error of the library: what was attempted, on what, why it failed, and what to do about it.

use std::fmt;

/// What kind of thing went wrong. Stable: programs may match on it, and the exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller asked for something that cannot be: an unknown adapter or option, an empty prompt, a bad file.
    InvalidInput,
    /// A configuration file cannot be read or has something in it that it must not have.
    Config,
    /// The agent's program is missing or cannot be used.
    Runtime,
    /// A component was refused, or an adapter trapped or broke the interface.
    Adapter,
    /// The file system or the operating system failed us.
    System,
}

/// An error with a stable kind and, where there is one, a hint that says what to do.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hint: None }
    }

    /// Bad input.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidInput, message)
    }

    /// The runtime cannot be used.
    pub fn runtime(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Runtime, message)
    }

    pub(crate) fn adapter(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Adapter, message)
    }

    /// The system did not do what was attempted.
    pub fn system(attempt: impl fmt::Display, why: impl fmt::Display) -> Error {
        Error::new(ErrorKind::System, format!("{attempt}: {why}"))
    }

    /// With a hint that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

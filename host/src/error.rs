//! The error of the library: what was attempted, on what, why it failed, and what to do about it.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use wharf_core::model::ErrorClass;
use wharf_core::stream::Secrets;

/// What kind of thing failed. Stable: programs may match on it, and the exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller requested something impossible: an unknown adapter or option, an empty prompt, a bad file.
    InvalidInput,
    /// A configuration file cannot be read, or contains something that it must not contain.
    Config,
    /// The agent's program is missing or cannot be used.
    Agent,
    /// A component was refused, or an adapter trapped or violated the interface.
    Adapter,
    /// The file system or the operating system failed.
    System,
    /// As many runs as allowed are live, and the caller did not want to wait.
    Busy,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            ErrorKind::InvalidInput => "invalid input",
            ErrorKind::Config => "configuration",
            ErrorKind::Agent => "agent",
            ErrorKind::Adapter => "adapter",
            ErrorKind::System => "system",
            ErrorKind::Busy => "busy",
        })
    }
}

/// An error with a stable kind and, if there is one, a hint on what to do.
///
/// Its text is complete: it includes the cause, which [`source`](StdError::source) gives as a value.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    class: Option<ErrorClass>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hint: None, class: None, source: None }
    }

    /// Invalid input.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidInput, message)
    }

    /// The agent cannot be used.
    pub fn agent(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Agent, message)
    }

    pub(crate) fn adapter(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Adapter, message)
    }

    /// The operating system failed at what was attempted.
    pub fn system(attempt: impl fmt::Display, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let source: Arc<dyn StdError + Send + Sync> = Arc::from(source.into());
        Error { source: Some(source.clone()), ..Error::new(ErrorKind::System, format!("{attempt}: {source}")) }
    }

    /// With a hint on what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// With the class that a report has for it, if the kind does not tell.
    pub(crate) fn with_class(mut self, class: ErrorClass) -> Error {
        self.class = Some(class);
        self
    }

    /// The class of the failure that a report has for it.
    pub(crate) fn class(&self) -> ErrorClass {
        self.class.unwrap_or(match self.kind {
            ErrorKind::Agent => ErrorClass::NotFound,
            ErrorKind::InvalidInput | ErrorKind::Config => ErrorClass::InvalidOption,
            ErrorKind::Adapter => ErrorClass::Protocol,
            ErrorKind::System | ErrorKind::Busy => ErrorClass::Other,
        })
    }

    /// Without secrets in its texts. The source is dropped if it may contain one.
    pub(crate) fn redacted(mut self, secrets: &Secrets) -> Error {
        let source = self.source.take().filter(|source| !secrets.are_in(source.to_string().as_bytes()));
        let redact = |text: &str| secrets.redact(text).into_owned();
        Error { message: redact(&self.message), hint: self.hint.as_deref().map(redact), source, ..self }
    }

    /// What kind of thing failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}

impl From<wharf_core::model::SettingError> for Error {
    fn from(error: wharf_core::model::SettingError) -> Error {
        Error::invalid(error.message).with_hint(error.hint)
    }
}

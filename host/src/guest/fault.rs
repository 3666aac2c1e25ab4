//! An adapter that trapped, ran into a limit, or violated the interface.

use crate::error::Error;
use std::fmt;

/// What an adapter did wrong.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// The function of the interface in which it happened.
    pub(crate) call: &'static str,
    /// What happened.
    pub(crate) reason: String,
    /// The end of the guest's stderr: the text of a panic.
    pub(crate) stderr: String,
}

impl Fault {
    /// A fault about which the guest wrote nothing.
    pub(crate) fn new(call: &'static str, reason: impl Into<String>) -> Fault {
        Fault { call, reason: reason.into(), stderr: String::new() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "in {}: {}", self.call, self.reason)?;
        if !self.stderr.is_empty() {
            write!(formatter, "; its stderr: {}", self.stderr)?;
        }
        Ok(())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::adapter(fault.to_string())
    }
}

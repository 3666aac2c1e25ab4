//! Exit codes: what a program that calls `wharf` may rely on.

use std::process::ExitCode;
use wharf::event::Outcome;
use wharf::{Error, ErrorKind};

/// For a turn that ended.
pub(crate) fn of_outcome(outcome: Outcome) -> ExitCode {
    ExitCode::from(match outcome {
        Outcome::Completed => 0,
        Outcome::Refused | Outcome::Blocked => 5,
        Outcome::Limit => 6,
        Outcome::Cancelled => 130,
        _ => 1,
    })
}

/// For an error.
pub(crate) fn of_error(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::Config => 2,
        ErrorKind::Agent => 3,
        ErrorKind::Adapter => 4,
        _ => 7,
    })
}

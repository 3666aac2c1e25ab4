//! Exit codes: what a program that calls us may rely on.

use std::process::ExitCode;
use wharf::{Error, ErrorKind, Outcome};

/// Of a turn that ended.
pub(crate) fn of_outcome(outcome: Outcome) -> ExitCode {
    ExitCode::from(match outcome {
        Outcome::Completed => 0,
        Outcome::Failed => 1,
        Outcome::Refused | Outcome::Blocked => 5,
        Outcome::Limit => 6,
        Outcome::Cancelled => 130,
    })
}

/// Of an error.
pub(crate) fn of_error(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::Config => 2,
        ErrorKind::Runtime => 3,
        ErrorKind::Adapter => 4,
        _ => 7,
    })
}

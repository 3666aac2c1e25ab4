//! Why a component could not be compiled.

/// Why a component could not be compiled.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is not valid, with the compiler's words.
    Invalid(String),
    /// It exceeded a limit, in words.
    Limit(String),
    /// The compiler did not survive it.
    Crashed(String),
    /// The compiler could not be started.
    System(String),
}

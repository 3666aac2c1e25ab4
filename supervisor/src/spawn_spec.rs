//! What to start: plain data, checked before anything is started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use crate::error::{SpawnError, SpawnErrorKind};

/// The environment variable with the run id. Every process of a run inherits it.
pub const MARKER_RUN: &str = "WHARF_RUN";
/// The environment variable that identifies the host of a run: `<process id>:<start time>`.
pub const MARKER_HOST: &str = "WHARF_HOST";

/// The agent to start: program, arguments, environment and supervision.
///
/// Create it with [`SpawnSpec::new`], then set the fields that differ from the defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpawnSpec {
    /// Absolute path of the program. It is not searched for in `PATH`.
    pub program: PathBuf,
    /// The arguments, without the program name. Default: none.
    pub args: Vec<OsString>,
    /// The working directory of the agent.
    pub workspace: PathBuf,
    /// The complete environment except for the markers; nothing is inherited. Default: empty.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether stdin is a pipe. Default: no, stdin is empty.
    pub stdin: bool,
    /// The run id, unique among all hosts on the machine. Letters, digits, `-` and `_` only, because file names contain
    /// it.
    pub run: String,
    /// The folder of live runs, on a local disk, which [`reap_orphans`](crate::reap_orphans) reads after a crash.
    /// Default: none; if the host is then killed, only the agent itself gets a signal, and it may ignore that.
    pub registry: Option<PathBuf>,
    /// Whether to try to create a cgroup for the run. Default: yes.
    pub cgroup: bool,
}

impl SpawnSpec {
    /// A spec with the defaults that the fields document.
    pub fn new(program: impl Into<PathBuf>, workspace: impl Into<PathBuf>, run: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            workspace: workspace.into(),
            environment: Vec::new(),
            stdin: false,
            run: run.into(),
            registry: None,
            cgroup: true,
        }
    }

    /// Rejects a spec that cannot be started exactly as written.
    pub(crate) fn check(&self) -> Result<(), SpawnError> {
        let invalid = |reason: &str| Err(self.error(SpawnErrorKind::Invalid, reason));
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if self.run.is_empty() || self.run.len() > 100 || !self.run.bytes().all(allowed) {
            return invalid("the run id must be 1 to 100 letters, digits, '-' or '_'");
        }
        if !self.program.is_absolute() {
            return invalid("the program must be an absolute path");
        }
        // The standard library replaces a string with a NUL by another one, and reports it only when it spawns.
        let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
        if has_nul(self.program.as_os_str()) || has_nul(self.workspace.as_os_str()) {
            return invalid("the path of the program or of the workspace contains a NUL byte");
        }
        if self.args.iter().any(|arg| has_nul(arg)) {
            return invalid("an argument contains a NUL byte");
        }
        for (name, value) in &self.environment {
            if name.is_empty() || name.as_encoded_bytes().contains(&b'=') || has_nul(name) || has_nul(value) {
                return invalid("an environment variable has an empty name, '=' in its name, or a NUL byte");
            }
        }
        Ok(())
    }

    /// An error about this spec.
    pub(crate) fn error(&self, kind: SpawnErrorKind, reason: &str) -> SpawnError {
        SpawnError::new(&self.program, &self.workspace, kind, reason)
    }

    /// An error about this spec that the system explains further.
    #[cfg(unix)]
    pub(crate) fn error_with_source(&self, kind: SpawnErrorKind, reason: &str, source: io::Error) -> SpawnError {
        self.error(kind, reason).with_source(source)
    }

    /// The error for a spawn that the system refused.
    pub(crate) fn system_error(&self, source: io::Error) -> SpawnError {
        SpawnError::from_system(&self.program, &self.workspace, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SpawnSpec {
        SpawnSpec {
            args: vec!["-p".into()],
            environment: vec![("HOME".into(), "/home/a=b".into())],
            ..SpawnSpec::new(std::env::temp_dir().join("agent"), std::env::temp_dir(), "0b5c-1_A")
        }
    }

    #[test]
    fn a_valid_spec_passes() {
        assert!(spec().check().is_ok());
    }

    #[test]
    fn invalid_specs_are_rejected_with_a_reason() {
        type Change = fn(&mut SpawnSpec);
        let table: [(Change, &str); 10] = [
            (|spec| spec.run = String::new(), "run id"),
            (|spec| spec.run = "../up".into(), "run id"),
            (|spec| spec.run = "a".repeat(101), "run id"),
            (|spec| spec.program = "agent".into(), "absolute"),
            (|spec| spec.program.push("a\0b"), "path"),
            (|spec| spec.workspace.push("a\0b"), "path"),
            (|spec| spec.args.push("a\0b".into()), "argument"),
            (|spec| spec.environment.push((OsString::new(), "x".into())), "variable"),
            (|spec| spec.environment.push(("A=B".into(), "x".into())), "variable"),
            (|spec| spec.environment.push(("A".into(), "x\0".into())), "variable"),
        ];
        for (change, reason) in table {
            let mut spec = spec();
            change(&mut spec);
            let error = spec.check().expect_err(reason);
            assert_eq!(error.kind(), SpawnErrorKind::Invalid);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}

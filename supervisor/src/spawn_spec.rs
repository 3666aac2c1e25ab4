//! What to start: a plain description, checked before anything is done.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{SpawnError, SpawnErrorKind};

/// The variable that every process of a run inherits: the run's id.
pub const MARKER_RUN: &str = "WHARF_RUN";
/// The variable that says whose run it is: `<process id>:<start time>` of the host.
pub const MARKER_HOST: &str = "WHARF_HOST";

/// An agent to be started.
#[derive(Clone, Debug)]
pub struct Order {
    /// Absolute path: whoever orders has found the program already.
    pub program: PathBuf,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The folder it starts in.
    pub workspace: PathBuf,
    /// The complete environment, but for the markers: nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether stdin is a pipe; otherwise it is empty.
    pub stdin: bool,
    /// The run's id: letters, digits, `-` and `_`, because it names files. Unique over all hosts of the machine.
    pub run: String,
    /// The folder of live runs, on this machine's own disk, which [`super::reap_orphans`] reads after a crash.
    /// Without one, a run whose host is killed depends on the agent to end by the signal that it gets.
    pub registry: Option<PathBuf>,
    /// Whether to try for a cgroup.
    pub cgroup: bool,
}

impl Order {
    /// Refuses what could not be carried out as it is meant.
    pub(super) fn check(&self) -> Result<(), SpawnError> {
        let invalid = |reason: &str| Err(SpawnError::new(self, SpawnErrorKind::Invalid, reason));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if self.run.is_empty() || self.run.len() > 100 || !self.run.bytes().all(plain) {
            return invalid("the run's id must be 1 to 100 letters, digits, '-' or '_'");
        }
        if !self.program.is_absolute() {
            return invalid("the program must be an absolute path");
        }
        // The standard library would put another name in the place of one with a NUL, and say so only at the start.
        let cut = |text: &OsStr| text.as_encoded_bytes().contains(&0);
        if cut(self.program.as_os_str()) || cut(self.workspace.as_os_str()) {
            return invalid("the path of the program or of the workspace contains a NUL byte");
        }
        if self.args.iter().any(|argument| cut(argument)) {
            return invalid("an argument contains a NUL byte");
        }
        for (name, value) in &self.environment {
            if name.is_empty() || name.as_encoded_bytes().contains(&b'=') || cut(name) || cut(value) {
                return invalid("a variable's name is empty or has '=' in it, or it contains a NUL byte");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            program: std::env::temp_dir().join("agent"),
            args: vec!["-p".into()],
            workspace: std::env::temp_dir(),
            environment: vec![("HOME".into(), "/home/a=b".into())],
            stdin: false,
            run: "0b5c-1_A".into(),
            registry: None,
            cgroup: true,
        }
    }

    #[test]
    fn a_sound_order_passes() {
        assert!(order().check().is_ok());
    }

    #[test]
    fn unsound_orders_are_refused_with_a_reason() {
        type Spoil = fn(&mut Order);
        let table: [(Spoil, &str); 10] = [
            (|order| order.run = String::new(), "run's id"),
            (|order| order.run = "../up".into(), "run's id"),
            (|order| order.run = "a".repeat(101), "run's id"),
            (|order| order.program = "agent".into(), "absolute"),
            (|order| order.program.push("a\0b"), "path"),
            (|order| order.workspace.push("a\0b"), "path"),
            (|order| order.args.push("a\0b".into()), "argument"),
            (|order| order.environment.push((OsString::new(), "x".into())), "variable"),
            (|order| order.environment.push(("A=B".into(), "x".into())), "variable"),
            (|order| order.environment.push(("A".into(), "x\0".into())), "variable"),
        ];
        for (spoil, reason) in table {
            let mut order = order();
            spoil(&mut order);
            let error = order.check().expect_err(reason);
            assert_eq!(error.kind(), SpawnErrorKind::Invalid);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}

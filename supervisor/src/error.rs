//! Why an agent could not be started, told so that a person knows what to mend.

use std::io;
use std::path::PathBuf;

use super::Order;

/// Stable names for what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnErrorKind {
    /// There is no such program.
    ProgramNotFound,
    /// The program is there, but the system cannot run it.
    NotExecutable,
    /// Arguments and environment together are more than the system takes.
    ArgumentsTooLong,
    /// The workspace is missing, or not a folder that can be entered.
    Workspace,
    /// The order itself makes no sense.
    Invalid,
    /// The run could not be noted in the folder of live runs.
    Registry,
    /// The system is out of processes, descriptors or memory: later it may work.
    Resources,
    /// Anything else that the system said.
    Other,
}

/// An agent that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {} in {}: {reason}", program.display(), workspace.display())]
pub struct SpawnError {
    program: PathBuf,
    workspace: PathBuf,
    kind: SpawnErrorKind,
    reason: String,
    #[source]
    source: Option<io::Error>,
}

impl SpawnError {
    pub(super) fn new(order: &Order, kind: SpawnErrorKind, reason: impl Into<String>) -> Self {
        let (program, workspace) = (order.program.clone(), order.workspace.clone());
        Self { program, workspace, kind, reason: reason.into(), source: None }
    }

    /// With the system's own words.
    #[cfg(unix)]
    pub(super) fn because(order: &Order, kind: SpawnErrorKind, reason: &str, source: io::Error) -> Self {
        Self { source: Some(source), ..Self::new(order, kind, reason) }
    }

    /// The system reports a missing workspace and a missing program alike, so the files themselves are asked.
    pub(super) fn from_system(order: &Order, source: io::Error) -> Self {
        let scene = Scene { workspace_is_folder: order.workspace.is_dir(), program_is_file: order.program.is_file() };
        let (kind, reason) = classify(source.kind(), source.raw_os_error(), scene);
        let reason = reason.map_or_else(|| source.to_string(), str::to_owned);
        Self { source: Some(source), ..Self::new(order, kind, reason) }
    }

    /// What went wrong, for programs.
    pub fn kind(&self) -> SpawnErrorKind {
        self.kind
    }
}

/// What is on the disk, as far as it explains an error.
#[derive(Clone, Copy)]
struct Scene {
    workspace_is_folder: bool,
    program_is_file: bool,
}

/// Gives the kind, and a reason where it can say more than the system does.
fn classify(kind: io::ErrorKind, code: Option<i32>, scene: Scene) -> (SpawnErrorKind, Option<&'static str>) {
    /// ENOEXEC has one number on every Unix; on Windows it is `ERROR_BAD_FORMAT` or `ERROR_BAD_EXE_FORMAT`.
    const NO_EXECUTABLE_FORMAT: &[i32] = if cfg!(windows) { &[11, 193] } else { &[8] };
    /// ENFILE and EMFILE, for which the standard library has no kind.
    const NO_DESCRIPTORS: &[i32] = &[23, 24];
    match kind {
        io::ErrorKind::ArgumentListTooLong => {
            (SpawnErrorKind::ArgumentsTooLong, Some("arguments and environment are longer than the system takes"))
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::QuotaExceeded => {
            (SpawnErrorKind::Resources, None)
        }
        _ if cfg!(unix) && code.is_some_and(|code| NO_DESCRIPTORS.contains(&code)) => (SpawnErrorKind::Resources, None),
        _ if !scene.workspace_is_folder => (SpawnErrorKind::Workspace, Some("the workspace is not a folder")),
        io::ErrorKind::NotFound if scene.program_is_file => (
            SpawnErrorKind::NotExecutable,
            Some("the program is there, but the interpreter or loader that it names is not"),
        ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            (SpawnErrorKind::ProgramNotFound, Some("there is no such program"))
        }
        io::ErrorKind::PermissionDenied => {
            (SpawnErrorKind::NotExecutable, Some("no permission to run the program, or to enter the workspace"))
        }
        _ if code.is_some_and(|code| NO_EXECUTABLE_FORMAT.contains(&code)) => {
            (SpawnErrorKind::NotExecutable, Some("the file is not a program of this system"))
        }
        _ => (SpawnErrorKind::Other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind::{ArgumentListTooLong, NotADirectory, NotFound, PermissionDenied, TimedOut, WouldBlock};

    #[test]
    fn every_kind_is_told_from_error_and_scene() {
        let table = [
            (NotFound, true, false, SpawnErrorKind::ProgramNotFound),
            (NotADirectory, true, false, SpawnErrorKind::ProgramNotFound),
            (NotFound, false, true, SpawnErrorKind::Workspace),
            (NotFound, false, false, SpawnErrorKind::Workspace),
            (NotADirectory, false, true, SpawnErrorKind::Workspace),
            (NotFound, true, true, SpawnErrorKind::NotExecutable),
            (PermissionDenied, true, true, SpawnErrorKind::NotExecutable),
            (ArgumentListTooLong, true, true, SpawnErrorKind::ArgumentsTooLong),
            (WouldBlock, true, true, SpawnErrorKind::Resources),
            (TimedOut, true, true, SpawnErrorKind::Other),
        ];
        for (error, workspace_is_folder, program_is_file, expected) in table {
            let scene = Scene { workspace_is_folder, program_is_file };
            assert_eq!(classify(error, None, scene).0, expected, "{error:?} {workspace_is_folder} {program_is_file}");
        }
    }
    #[cfg(unix)]
    #[test]
    fn numbers_without_a_kind_are_known() {
        use rustix::io::Errno;
        let scene = Scene { workspace_is_folder: true, program_is_file: true };
        for (code, expected) in [
            (Errno::NOEXEC, SpawnErrorKind::NotExecutable),
            (Errno::AGAIN, SpawnErrorKind::Resources),
            (Errno::NFILE, SpawnErrorKind::Resources),
            (Errno::MFILE, SpawnErrorKind::Resources),
        ] {
            let error = io::Error::from(code);
            assert_eq!(classify(error.kind(), error.raw_os_error(), scene).0, expected, "{error}");
        }
    }
}

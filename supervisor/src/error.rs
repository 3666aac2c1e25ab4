//! Why an agent could not be started, in terms that tell a person what to fix.

use std::io;
use std::path::{Path, PathBuf};

/// Stable names for the causes of a [`SpawnError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// The program does not exist.
    ProgramNotFound,
    /// The program exists, but the system cannot run it.
    NotExecutable,
    /// The arguments and the environment together exceed the limit of the system.
    ArgumentsTooLong,
    /// The workspace does not exist, or is not an accessible folder.
    Workspace,
    /// The [`SpawnSpec`](crate::SpawnSpec) is invalid.
    Invalid,
    /// The run could not be recorded in the folder of live runs.
    Registry,
    /// The system is out of processes, descriptors or memory. A later attempt may work.
    Resources,
    /// Any other error that the system reported.
    Other,
}

/// An agent could not be started.
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
    pub(crate) fn new(program: &Path, workspace: &Path, kind: SpawnErrorKind, reason: impl Into<String>) -> Self {
        let (program, workspace) = (program.to_owned(), workspace.to_owned());
        Self { program, workspace, kind, reason: reason.into(), source: None }
    }

    pub(crate) fn with_source(self, source: io::Error) -> Self {
        Self { source: Some(source), ..self }
    }

    /// The system reports a missing workspace and a missing program with the same error, so the files are checked.
    pub(crate) fn from_system(program: &Path, workspace: &Path, source: io::Error) -> Self {
        let files = Files { workspace_is_folder: workspace.is_dir(), program_is_file: program.is_file() };
        let (kind, reason) = classify(source.kind(), source.raw_os_error(), files);
        let reason = reason.map_or_else(|| source.to_string(), str::to_owned);
        Self::new(program, workspace, kind, reason).with_source(source)
    }

    /// The cause, for code that handles the error.
    pub fn kind(&self) -> SpawnErrorKind {
        self.kind
    }
}

/// What is on disk, as far as it explains an error.
#[derive(Clone, Copy)]
struct Files {
    workspace_is_folder: bool,
    program_is_file: bool,
}

/// Returns the kind, and a reason if there is a better one than the error text of the system.
fn classify(kind: io::ErrorKind, code: Option<i32>, files: Files) -> (SpawnErrorKind, Option<&'static str>) {
    /// ENOEXEC has the same number on every Unix. On Windows: `ERROR_BAD_FORMAT` or `ERROR_BAD_EXE_FORMAT`.
    const NO_EXECUTABLE_FORMAT: &[i32] = if cfg!(windows) { &[11, 193] } else { &[8] };
    /// ENFILE and EMFILE, for which the standard library has no kind.
    const NO_DESCRIPTORS: &[i32] = &[23, 24];
    match kind {
        io::ErrorKind::ArgumentListTooLong => {
            (SpawnErrorKind::ArgumentsTooLong, Some("arguments and environment exceed the limit of the system"))
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::QuotaExceeded => {
            (SpawnErrorKind::Resources, None)
        }
        _ if cfg!(unix) && code.is_some_and(|code| NO_DESCRIPTORS.contains(&code)) => (SpawnErrorKind::Resources, None),
        _ if !files.workspace_is_folder => (SpawnErrorKind::Workspace, Some("the workspace is not a folder")),
        io::ErrorKind::NotFound if files.program_is_file => (
            SpawnErrorKind::NotExecutable,
            Some("the program exists, but the interpreter or loader that it names does not"),
        ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            (SpawnErrorKind::ProgramNotFound, Some("the program does not exist"))
        }
        io::ErrorKind::PermissionDenied => {
            (SpawnErrorKind::NotExecutable, Some("no permission to run the program or to enter the workspace"))
        }
        _ if code.is_some_and(|code| NO_EXECUTABLE_FORMAT.contains(&code)) => {
            (SpawnErrorKind::NotExecutable, Some("the file is not a program for this system"))
        }
        _ => (SpawnErrorKind::Other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind::{ArgumentListTooLong, NotADirectory, NotFound, PermissionDenied, TimedOut, WouldBlock};

    #[test]
    fn the_kind_follows_from_the_error_and_the_files() {
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
            let files = Files { workspace_is_folder, program_is_file };
            assert_eq!(classify(error, None, files).0, expected, "{error:?} {workspace_is_folder} {program_is_file}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn error_numbers_without_a_standard_kind_are_classified() {
        use rustix::io::Errno;
        let files = Files { workspace_is_folder: true, program_is_file: true };
        for (code, expected) in [
            (Errno::NOEXEC, SpawnErrorKind::NotExecutable),
            (Errno::AGAIN, SpawnErrorKind::Resources),
            (Errno::NFILE, SpawnErrorKind::Resources),
            (Errno::MFILE, SpawnErrorKind::Resources),
        ] {
            let error = io::Error::from(code);
            assert_eq!(classify(error.kind(), error.raw_os_error(), files).0, expected, "{error}");
        }
    }
}

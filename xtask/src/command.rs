//! A command that a task runs: a program, its arguments, and the line that announces it. All printing is here.

use crate::workspace::Workspace;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::process::{self, ExitCode, ExitStatus};

/// A program to run in the workspace's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    program: OsString,
    args: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    /// Follows the command in the line that announces it.
    note: &'static str,
}

/// Why a task stopped.
#[derive(Debug)]
pub(crate) enum Error {
    /// A command failed, and has printed why.
    Command(String, ExitStatus),
    /// Anything else: the message.
    Other(String),
}

impl Command {
    pub(crate) fn new(program: impl Into<OsString>, args: &[&str]) -> Command {
        let args = args.iter().map(Into::into).collect();
        Command { program: program.into(), args, variables: vec![], note: "" }
    }

    /// The cargo that runs xtask.
    pub(crate) fn cargo(args: &[&str]) -> Command {
        Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
    }

    /// Adds arguments.
    pub(crate) fn args<A: Into<OsString>>(mut self, more: impl IntoIterator<Item = A>) -> Command {
        self.args.extend(more.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Command {
        self.variables.push((name, value.into()));
        self
    }

    /// Adds a note to the line that announces it.
    pub(crate) fn note(mut self, note: &'static str) -> Command {
        self.note = note;
        self
    }

    /// Announces it and runs it. An exit code other than 0 is an error.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<(), Error> {
        log(&format!("xtask: {self}{}", self.note));
        match self.process(workspace).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Command(self.to_string(), status)),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    /// Runs it without announcing it, and returns its stdout.
    pub(crate) fn output(&self, workspace: &Workspace) -> Result<String, Error> {
        let output = self.process(workspace).output().map_err(|error| self.not_started(&error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(Error::Other(format!("`{self}` failed ({}): {}", output.status, stderr.trim())))
    }

    fn not_started(&self, error: &std::io::Error) -> Error {
        Error::Other(format!("`{self}` could not be started: {error}"))
    }

    fn process(&self, workspace: &Workspace) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.args).current_dir(&workspace.root);
        for (name, _) in env::vars_os().filter(|(name, _)| describes_xtask(name)) {
            command.env_remove(name);
        }
        command
            .env("CARGO_TARGET_DIR", &workspace.target)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Whether `cargo run` sets this variable to describe xtask. Some build scripts (`ring`'s, for example) rerun when such a
/// variable changes, so a nested cargo that inherits it would rebuild what a plain `cargo build` has built.
fn describes_xtask(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

impl fmt::Display for Command {
    /// As a user would type it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}={} ", value.to_string_lossy())?;
        }
        let program = std::path::Path::new(&self.program);
        let name = program.file_stem().unwrap_or(&self.program).to_string_lossy();
        write!(formatter, "{name}")?;
        self.args.iter().try_for_each(|arg| write!(formatter, " {}", arg.to_string_lossy()))
    }
}

impl Error {
    /// Prints it and returns the code to exit with: the command's, if one failed.
    pub(crate) fn report(self) -> ExitCode {
        log(&format!("xtask: {self}"));
        match self {
            Error::Command(_, status) => ExitCode::from(exit_code(status.code())),
            Error::Other(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Command(command, status) => write!(formatter, "`{command}` failed ({status})"),
            Error::Other(message) => formatter.write_str(message),
        }
    }
}

/// A command that was killed by a signal has no code, and no failure may look like success.
fn exit_code(code: Option<i32>) -> u8 {
    code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1)
}

/// Runs commands until one fails.
pub(crate) fn run_all(workspace: &Workspace, commands: &[Command]) -> Result<(), Error> {
    commands.iter().try_for_each(|command| command.run(workspace))
}

/// Prints a line to stderr.
pub(crate) fn log(line: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a line of a task's result to stdout.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_user_would_type_it() {
        let command =
            Command::new("/toolchain/bin/cargo", &["doc", "--no-deps"]).variable("RUSTDOCFLAGS", "-Dwarnings");
        assert_eq!(command.args(["--locked"]).to_string(), "RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --locked");
    }

    #[test]
    fn exit_codes() {
        for (code, expected) in [(Some(101), 101), (Some(1), 1), (Some(256), 1), (Some(-1), 1), (Some(0), 1), (None, 1)]
        {
            assert_eq!(exit_code(code), expected, "{code:?}");
        }
    }

    #[test]
    fn variables_that_describe_xtask_are_removed() {
        for (name, is_removed) in [
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_INCREMENTAL", false),
            ("PATH", false),
        ] {
            assert_eq!(describes_xtask(OsStr::new(name)), is_removed, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_builds_in_the_target_folder_unless_it_sets_another() {
        let workspace = Workspace { root: env::temp_dir(), target: "/target".into() };
        let command = Command::new("sh", &["-c", "echo $CARGO_TARGET_DIR"]);
        assert_eq!(command.output(&workspace).expect("an echo"), "/target\n");
        let command = command.variable("CARGO_TARGET_DIR", "/target/profiled");
        assert_eq!(command.output(&workspace).expect("an echo"), "/target/profiled\n");
    }

    #[cfg(unix)]
    #[test]
    fn the_first_command_that_fails_stops_the_task() {
        let workspace = Workspace { root: env::temp_dir(), target: env::temp_dir() };
        let exit = |code: &str| Command::new("sh", &["-c", &format!("exit {code}")]);
        let error = run_all(&workspace, &[exit("0"), exit("7"), exit("8")]).expect_err("the second fails");
        assert!(matches!(&error, Error::Command(_, status) if status.code() == Some(7)), "{error:?}");
        let missing = Command::new("xtask-has-no-such-program", &[]);
        assert!(matches!(missing.run(&workspace), Err(Error::Other(_))));
        assert!(missing.output(&workspace).is_err());
    }
}

//! One step of a chore: a program, its arguments, and the line that announces it. All printing is here.

use crate::workspace::Workspace;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::process::{self, ExitCode, ExitStatus};

/// A program to run in the workspace's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    /// What the line before it says beside the command.
    note: &'static str,
}

/// Why a chore ended early.
#[derive(Debug)]
pub(crate) enum Failed {
    /// A step ended with this code, and has said why itself.
    Step(String, ExitStatus),
    /// Something else, in words.
    Other(String),
}

impl Step {
    /// Run a program.
    pub(crate) fn new(program: impl Into<OsString>, arguments: &[&str]) -> Step {
        let arguments = arguments.iter().map(Into::into).collect();
        Step { program: program.into(), arguments, variables: vec![], note: "" }
    }

    /// Run the cargo that runs us.
    pub(crate) fn cargo(arguments: &[&str]) -> Step {
        Step::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
    }

    /// With more arguments.
    pub(crate) fn arguments<A: Into<OsString>>(mut self, more: impl IntoIterator<Item = A>) -> Step {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// With a variable set.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Step {
        self.variables.push((name, value.into()));
        self
    }

    /// With a remark in the line before it.
    pub(crate) fn note(mut self, note: &'static str) -> Step {
        self.note = note;
        self
    }

    /// Announce it, run it, and fail as it fails.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<(), Failed> {
        say(&format!("xtask: {self}{}", self.note));
        match self.command(workspace).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failed::Step(self.to_string(), status)),
            Err(why) => Err(Failed::Other(format!("`{self}` could not be started: {why}"))),
        }
    }

    /// What it prints to stdout, without announcing it.
    pub(crate) fn output(&self, workspace: &Workspace) -> Result<String, Failed> {
        let output = self.command(workspace).output();
        let output = output.map_err(|why| Failed::Other(format!("`{self}` could not be started: {why}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failed::Other(format!("`{self}` failed ({}): {}", output.status, said.trim())))
    }

    fn command(&self, workspace: &Workspace) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments).current_dir(&workspace.root);
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_our_package(name)) {
            command.env_remove(name);
        }
        command
            .env("CARGO_TARGET_DIR", &workspace.target)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// What `cargo run` sets to describe xtask itself. Build scripts (that of `ring`, for one) ask to be run again when it
/// changes, so a cargo below us that saw it would build again what a plain `cargo build` has built.
fn is_of_our_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

impl fmt::Display for Step {
    /// As one would type it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}={} ", value.to_string_lossy())?;
        }
        let program = std::path::Path::new(&self.program);
        let name = program.file_stem().unwrap_or(&self.program).to_string_lossy();
        write!(formatter, "{name}")?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {}", argument.to_string_lossy()))
    }
}

impl Failed {
    /// Say it, and give the code to exit with: that of the step.
    pub(crate) fn report(self) -> ExitCode {
        say(&format!("xtask: {self}"));
        match self {
            Failed::Step(_, status) => ExitCode::from(exit_code(status.code())),
            Failed::Other(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Step(step, status) => write!(formatter, "`{step}` failed ({status})"),
            Failed::Other(why) => formatter.write_str(why),
        }
    }
}

/// One that was ended by a signal has no code, and no failure may look like success.
fn exit_code(code: Option<i32>) -> u8 {
    code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1)
}

/// Run steps until one fails.
pub(crate) fn run_all(workspace: &Workspace, steps: &[Step]) -> Result<(), Failed> {
    steps.iter().try_for_each(|step| step.run(workspace))
}

/// Tell the user something.
pub(crate) fn say(line: &str) {
    // Where nobody listens any more there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Print what the command is there to give.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_as_one_would_type_it() {
        let step = Step::new("/toolchain/bin/cargo", &["doc", "--no-deps"]).variable("RUSTDOCFLAGS", "-Dwarnings");
        assert_eq!(step.arguments(["--locked"]).to_string(), "RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --locked");
    }

    #[test]
    fn exit_codes() {
        for (code, given) in [(Some(101), 101), (Some(1), 1), (Some(256), 1), (Some(-1), 1), (Some(0), 1), (None, 1)] {
            assert_eq!(exit_code(code), given, "{code:?}");
        }
    }

    #[test]
    fn what_describes_xtask_is_kept_from_the_steps() {
        for (name, kept) in [
            ("CARGO_PKG_NAME", true),
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_HOME", false),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_INCREMENTAL", false),
            ("PATH", false),
        ] {
            assert_eq!(is_of_our_package(OsStr::new(name)), kept, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_step_builds_in_the_workspace_unless_it_says_where() {
        let workspace = Workspace { root: env::temp_dir(), target: "/target".into() };
        let step = Step::new("sh", &["-c", "echo $CARGO_TARGET_DIR"]);
        assert_eq!(step.output(&workspace).expect("an echo"), "/target\n");
        let step = step.variable("CARGO_TARGET_DIR", "/target/profiled");
        assert_eq!(step.output(&workspace).expect("an echo"), "/target/profiled\n");
    }

    #[cfg(unix)]
    #[test]
    fn the_first_step_that_fails_ends_it() {
        let workspace = Workspace { root: env::temp_dir(), target: env::temp_dir() };
        let exit = |code: &str| Step::new("sh", &["-c", &format!("exit {code}")]);
        let failed = run_all(&workspace, &[exit("0"), exit("7"), exit("8")]).expect_err("the second fails");
        assert!(matches!(&failed, Failed::Step(_, status) if status.code() == Some(7)), "{failed:?}");
        let missing = Step::new("xtask-has-no-such-program", &[]);
        assert!(matches!(missing.run(&workspace), Err(Failed::Other(_))));
        assert!(missing.output(&workspace).is_err());
    }
}

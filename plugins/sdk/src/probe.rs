//! Finding the agent's program, and asking it what it is.

use crate::host::error_text;
use crate::{Binary, Command, Environment, ErrorClass, Failure, Host, HostError, Output, Retry, Version};

/// The program that the user named, else the first of the candidates (names or absolute paths) that exists.
pub fn locate(
    host: &dyn Host,
    environment: &Environment,
    candidates: &[&str],
    install: &str,
) -> Result<String, Failure> {
    if let Some(named) = &environment.program {
        return host.find_program(named).map(|found| found.path).map_err(|error| {
            let message = format!("the configured program {named} cannot be used: {}", error_text(&error));
            Failure::new(ErrorClass::NotFound, message)
        });
    }
    let mut message = "the program was not found; tried".to_owned();
    for (number, candidate) in candidates.iter().enumerate() {
        match host.find_program(candidate) {
            Ok(found) => return Ok(found.path),
            Err(error) => {
                let comma = if number > 0 { ", " } else { " " };
                for part in [comma, candidate, " (", &error_text(&error), ")"] {
                    message.push_str(part);
                }
            }
        }
    }
    Err(Failure::new(ErrorClass::NotFound, message).retry(Retry::AfterUserAction(install.to_owned())))
}

/// Runs an agent's program for a short answer: its version, its help. Not for turns.
pub struct Probe<'a> {
    host: &'a dyn Host,
    program: String,
    /// The arguments before those of each run.
    args: Vec<String>,
    timeout_ms: u32,
}

impl<'a> Probe<'a> {
    /// Runs this program, with the leading arguments that turns have, for at most ten seconds.
    pub fn new(host: &'a dyn Host, binary: &Binary) -> Probe<'a> {
        let (program, args) = (binary.program.clone(), binary.leading_args.clone());
        Probe { host, program, args, timeout_ms: 10_000 }
    }

    /// Gives each run more or less time.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u32) -> Probe<'a> {
        self.timeout_ms = timeout_ms;
        self
    }

    /// Runs the program with these arguments. A run that takes too long is an error; one that fails is not.
    pub fn run(&self, args: &[&str]) -> Result<Output, HostError> {
        self.run_with(args, "")
    }

    /// The same, with this on stdin.
    pub fn run_with(&self, args: &[&str], stdin: &str) -> Result<Output, HostError> {
        let args = self.args.iter().cloned().chain(args.iter().map(|arg| (*arg).to_owned())).collect();
        let command = Command { program: self.program.clone(), args, stdin: stdin.into(), timeout_ms: self.timeout_ms };
        match self.host.run(&command)? {
            output if output.timed_out => Err(HostError::TimedOut),
            output => Ok(output),
        }
    }

    /// The stdout of a run, empty if it cannot be run.
    pub fn text(&self, args: &[&str]) -> String {
        self.run(args).map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    /// The version that `PROGRAM --version` prints, if it prints one.
    pub fn version(&self) -> Option<Version> {
        Version::find(&self.text(&["--version"]))
    }

    /// The help text.
    pub fn help(&self) -> String {
        self.text(&["--help"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    fn gh() -> Binary {
        Binary { leading_args: vec!["copilot".to_owned()], ..Binary::at("/bin/gh".to_owned()) }
    }

    #[test]
    fn a_probe_runs_the_program_as_a_turn_would() {
        let host = FakeHost::default().output("/bin/gh copilot --version", 0, "gh copilot 1.2.3\n").output(
            "/bin/gh copilot --help",
            1,
            "usage: …",
        );
        let probe = Probe::new(&host, &gh());
        assert_eq!(probe.version(), Some(Version(1, 2, 3)));
        assert_eq!(probe.help(), "usage: …");
        assert_eq!(probe.text(&["models"]), "");
    }

    #[test]
    fn a_probe_that_takes_too_long_says_nothing() {
        let mut host = FakeHost::default().output("/bin/gh copilot --version", 0, "1.2.3");
        host.outputs.values_mut().for_each(|output| output.timed_out = true);
        let probe = Probe::new(&host, &gh());
        assert_eq!(probe.run(&["--version"]), Err(HostError::TimedOut));
        assert_eq!(probe.version(), None);
    }
}

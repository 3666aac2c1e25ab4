//! What a preflight found out about an agent: whether a turn can work, and if not, why and what to do about it.

use super::agent::Binary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A program that was run to find out about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The path of the program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// How it ended.
    pub end: ProbeEnd,
}

/// How a probe ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeEnd {
    /// It exited by itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// The first line that it wrote: to stderr if it failed, else to stdout.
        said: Option<String>,
    },
    /// It was killed by a signal.
    Killed {
        /// The number of the signal.
        signal: i32,
    },
    /// It was stopped, because it took too long.
    TimedOut {
        /// How long it was waited for.
        limit: Duration,
    },
    /// The program cannot be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// It ran, and its output could not be read.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The system failed, which says nothing about the program.
    SystemFailed {
        /// What the system is out of.
        reason: String,
    },
}

impl fmt::Display for Probe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(formatter, " {arg}"))?;
        formatter.write_str("`")
    }
}

/// What is known about an agent before a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The agent, if it was found.
    pub binary: Option<Binary>,
    /// Why no turn can work; none if nothing speaks against it.
    pub problem: Option<Problem>,
}

impl Diagnosis {
    /// An agent against which nothing speaks.
    pub fn usable(binary: Binary) -> Diagnosis {
        Diagnosis { binary: Some(binary), problem: None }
    }

    /// An agent that cannot be used.
    pub fn unusable(binary: Option<Binary>, problem: Problem) -> Diagnosis {
        Diagnosis { binary, problem: Some(problem) }
    }
}

/// Why an agent cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable: programs may match on it.
    pub reason: Unusable,
    /// What was found, for people.
    pub message: String,
    /// What to do about it. Never empty.
    pub fix: String,
}

/// The kinds of reasons why an agent cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unusable {
    /// Its program was not found.
    NotFound,
    /// The user has not granted its program to the adapter.
    NotGranted,
    /// Its program does not exit.
    Hangs,
    /// Its program exists and cannot be started.
    CannotStart,
    /// Its program fails, or is killed by a signal.
    Crashes,
    /// Its program prints no version when it is asked for one: it is probably another program.
    NoVersion,
    /// This version is known not to work.
    UnsupportedVersion,
    /// There is no login that this version uses.
    NoLogin,
    /// The adapter could not be loaded, or failed.
    AdapterError,
    /// The system is out of processes, descriptors or memory.
    SystemError,
    /// The adapter gave another reason.
    Other,
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_value(self).unwrap_or_default();
        formatter.pad(name.as_str().unwrap_or_default())
    }
}

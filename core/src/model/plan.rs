//! How an agent is started: the command line that an adapter built.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is started, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// The absolute path of the program.
    pub program: String,
    /// The arguments, in order.
    pub args: Vec<Arg>,
    /// What the adapter sets in the agent's environment.
    pub variables: Vec<(String, Arg)>,
    /// The files that the agent gets: names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// How the agent's output is cut into frames.
    pub framing: Framing,
    /// How the process exits.
    pub exit_behavior: ExitBehavior,
    /// What is written to the agent's stdin at the start.
    pub stdin: Vec<u8>,
    /// Whether stdin stays open after that.
    pub stdin_open: bool,
    /// How the host talks to the agent.
    pub transport: String,
    /// The signal that stops the agent best.
    pub stop_signal: Option<StopSignal>,
    /// How long the agent needs to end after that signal, in milliseconds.
    pub stop_ms: Option<u32>,
    /// Settings that the agent cannot apply.
    pub unsupported: Vec<UnsupportedSetting>,
    /// The rules of the turn's policy that the agent enforces itself, by their position.
    pub enforced: Vec<usize>,
    /// Why the agent takes no messages during its turn, if so.
    pub no_messages: Option<String>,
    /// The files of the workspace that are instructions to this agent, whether they exist or not.
    pub instructions: Vec<InstructionFile>,
}

impl Plan {
    /// A plan that starts a program without arguments.
    pub fn new(program: impl Into<String>) -> Plan {
        Plan {
            program: program.into(),
            args: vec![],
            variables: vec![],
            files: vec![],
            framing: Framing::Lines,
            exit_behavior: ExitBehavior::ByItself,
            stdin: vec![],
            stdin_open: false,
            transport: String::new(),
            stop_signal: None,
            stop_ms: None,
            unsupported: vec![],
            enforced: vec![],
            no_messages: None,
            instructions: vec![],
        }
    }
}

/// A file or a folder of the workspace that is an instruction to the agent, such as AGENTS.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionFile {
    /// Relative to the workspace.
    pub path: String,
    /// Whether the agent reads it in this turn.
    pub read: bool,
}

/// An argument or a variable's value: a text, followed by the path of a launch file if one is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arg {
    /// The text before the path.
    pub text: String,
    /// The name of the launch file.
    pub file: Option<String>,
}

impl Arg {
    /// A text without a file.
    pub fn text(text: impl Into<String>) -> Arg {
        Arg { text: text.into(), file: None }
    }

    /// The argument itself, with the launch files in this folder.
    pub fn resolve(&self, folder: &Path) -> String {
        match &self.file {
            Some(file) => format!("{}{}", self.text, folder.join(file).display()),
            None => self.text.clone(),
        }
    }
}

/// How a stream is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Each frame is a line, ended by "\n"; the last one perhaps by the end of the stream.
    Lines,
    /// Each frame is a body after headers that announce its length, as in the Language Server Protocol.
    ContentLength,
    /// There are no frames.
    Raw,
}

/// How a process exits after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitBehavior {
    /// By itself.
    ByItself,
    /// When its stdin closes.
    WhenStdinCloses,
    /// Only when it is stopped.
    WhenStopped,
}

/// A signal that stops an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum StopSignal {
    Interrupt,
    Terminate,
}

/// A setting that the agent cannot apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnsupportedSetting {
    /// The setting, by its name in [`Turn`](super::Turn).
    pub name: String,
    /// Why it cannot be applied.
    pub reason: String,
}

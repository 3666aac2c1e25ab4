//! A command that has exited, and what it printed.

use serde_json::Value;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A command that has exited.
#[derive(Debug)]
pub struct Finished {
    /// The exit code; none if a signal killed it.
    pub code: Option<i32>,
    /// As text.
    pub stdout: String,
    /// As text.
    pub stderr: String,
    events: OnceLock<Vec<Value>>,
}

impl Finished {
    /// What is known of a command that was run in another way.
    pub fn new(code: Option<i32>, stdout: String, stderr: String) -> Finished {
        Finished { code, stdout, stderr, events: OnceLock::new() }
    }

    /// Runs a command until it exits.
    pub fn of(command: &mut Command) -> Finished {
        command.output().expect("the program starts").into()
    }

    /// Panics unless the exit code is 0.
    #[track_caller]
    #[must_use]
    pub fn success(self) -> Finished {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// Stdout as one event a line.
    #[track_caller]
    pub fn events(&self) -> &[Value] {
        self.events.get_or_init(|| {
            let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            self.stdout.lines().map(event).collect()
        })
    }

    /// The events of a type.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events().iter().filter(move |event| event["type"] == kind)
    }

    /// The last event, which must be the report.
    #[track_caller]
    pub fn report(&self) -> &Value {
        let report = self.events().last().unwrap_or_else(|| panic!("there are no events: {self:?}"));
        assert_eq!(report["type"], "report", "{report}; {}", self.stderr);
        report
    }

    /// The id of the run, which must have been recorded.
    #[track_caller]
    pub fn run_id(&self) -> &str {
        self.report()["run"].as_str().unwrap_or_else(|| panic!("it was not recorded: {}", self.report()))
    }

    /// The exit code and the outcome of the report are these.
    #[track_caller]
    pub fn expect(&self, code: i32, outcome: &str) {
        let found = (self.code, self.report()["outcome"].as_str());
        assert_eq!(found, (Some(code), Some(outcome)), "{}\n{}", self.report(), self.stderr);
    }
}

/// Lines of JSON as events without their times, which a replay does not reproduce.
#[track_caller]
pub fn without_times(lines: &str) -> Vec<Value> {
    let event = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        event.as_object_mut().expect("an event is an object").remove("at");
        event
    };
    lines.lines().map(event).collect()
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Finished::new(output.status.code(), text(output.stdout), text(output.stderr))
    }
}

//! The result of `wharf run --json`, and checks of it.

use crate::NotPassed;
use serde_json::Value;

/// A finished run.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) events: Vec<Value>,
    /// The last event; null if it is not a report.
    pub(crate) report: Value,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl RunResult {
    pub(crate) fn new(stdout: &str, stderr: String, code: Option<i32>) -> RunResult {
        let events: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let last = events.last().filter(|event| event["type"] == "report");
        RunResult { report: last.cloned().unwrap_or(Value::Null), events, stderr, code }
    }

    /// A short description of the run, for error messages.
    pub(crate) fn summary(&self) -> String {
        let report = &self.report;
        let stderr: String = self.stderr.trim().chars().take(300).collect();
        let error = &report["error"];
        format!(
            "outcome {}, exit {:?}, answer {}, error {error}, tools {}, stderr {stderr:?}",
            report["outcome"],
            self.code,
            short(&report["answer"]),
            report["tools"]
        )
    }

    /// An error with the summary of the run, unless the condition holds.
    pub(crate) fn check(&self, condition: bool, message: &str) -> Result<&RunResult, String> {
        if condition { Ok(self) } else { Err(format!("{message}; {}", self.summary())) }
    }

    /// Not offered if the report lists this setting as unsupported, for the reason that it gives.
    pub(crate) fn offers(&self, setting: &str) -> Result<&RunResult, NotPassed> {
        let mut all = self.report["unsupported"].as_array().into_iter().flatten();
        match all.find(|one| one["name"] == setting) {
            None => Ok(self),
            Some(one) => Err(NotPassed::NotOffered(format!("`{setting}` is unsupported: {}", text(&one["reason"])))),
        }
    }

    /// Whether the agent accepts no provider's key in this transport, and says so.
    pub(crate) fn needs_github_login(&self) -> bool {
        self.report["error"]["class"] == "auth" && text(&self.report["error"]["message"]).contains("GitHub login")
    }

    /// Checks the outcome and its exit code.
    pub(crate) fn expect_outcome(&self, outcome: &str, code: i32) -> Result<&RunResult, String> {
        self.check(self.report["outcome"] == outcome, &format!("the outcome is not {outcome}"))?;
        self.check(self.code == Some(code), &format!("the exit code is not {code}"))
    }

    pub(crate) fn expect_completed(&self) -> Result<&RunResult, String> {
        self.expect_outcome("completed", 0)
    }

    pub(crate) fn expect_answer(&self, answer: &str) -> Result<&RunResult, String> {
        self.expect_completed()?.check(self.report["answer"] == answer, &format!("the answer is not {answer:?}"))
    }

    /// Checks that it failed with this class of error.
    pub(crate) fn expect_failure(&self, class: &str) -> Result<&RunResult, String> {
        let error = &self.report["error"];
        self.expect_outcome("failed", 1)?.check(error["class"] == class, &format!("the class is not {class}"))
    }

    /// The tools in the report: name and status.
    pub(crate) fn tools(&self) -> Vec<(&str, &str)> {
        let tools = self.report["tools"].as_array().into_iter().flatten();
        tools.map(|tool| (text(&tool["name"]), text(&tool["status"]))).collect()
    }

    /// Checks the names and statuses of the tools.
    pub(crate) fn expect_tools(&self, tools: &[(&str, &str)]) -> Result<&RunResult, String> {
        self.check(self.tools() == tools, &format!("the tools are not {tools:?}"))
    }

    /// Checks the frame of the output: it starts with `run-started`, and every line has `seq`, which grows, and `at`.
    pub(crate) fn check_lines(&self) -> Result<&RunResult, String> {
        let first = self.events.first().map(|event| text(&event["type"]));
        self.check(first == Some("run-started"), "the first line is not run-started")?;
        let numbers: Option<Vec<u64>> = self.events.iter().map(|event| event["seq"].as_u64()).collect();
        let grows = numbers.is_some_and(|numbers| numbers.is_sorted_by(|one, next| one < next));
        self.check(grows, "the lines are not numbered by seq")?;
        self.check(self.events.iter().all(|event| !event["at"].is_null()), "a line has no time")
    }

    /// All events of a type.
    pub(crate) fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// The session id in the report.
    pub(crate) fn session_id(&self) -> Result<String, String> {
        let id = self.report["session"]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| format!("the report has no session id; {}", self.summary()))
    }
}

/// The value as text; empty if it is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let end = text.char_indices().nth(120).map_or(text.len(), |(at, _)| at);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: &str, code: i32) -> RunResult {
        let line = format!(
            r#"{{"type":"report","outcome":"{outcome}","answer":"yes","error":{{"class":"auth"}},"tools":[]}}"#
        );
        RunResult::new(&format!("{{\"type\":\"notice\"}}\n{line}\n"), String::new(), Some(code))
    }

    #[test]
    fn the_report_and_the_exit_code_must_agree() {
        assert!(result("completed", 0).expect_answer("yes").is_ok());
        assert!(result("completed", 0).expect_answer("no").is_err());
        assert!(result("completed", 1).expect_completed().is_err(), "the exit code counts too");
        assert!(result("failed", 1).expect_failure("auth").is_ok());
        assert!(result("failed", 1).expect_failure("network").is_err());
        let cut = RunResult::new("{\"type\":\"notice\"}\n", String::new(), Some(0));
        assert!(cut.expect_completed().is_err(), "there is no report");
    }

    #[test]
    fn every_line_has_a_number_and_a_time() {
        let lines = |lines: &str| RunResult::new(lines, String::new(), Some(0)).check_lines().is_ok();
        let first = r#"{"type":"run-started","seq":1,"at":0}"#;
        assert!(lines(&format!("{first}\n{}", r#"{"type":"report","seq":2,"at":5}"#)));
        for wrong in
            [r#"{"type":"report","seq":1,"at":5}"#, r#"{"type":"report","at":5}"#, r#"{"type":"report","seq":2}"#]
        {
            assert!(!lines(&format!("{first}\n{wrong}")), "{wrong}");
        }
        assert!(!lines(r#"{"type":"report","seq":1,"at":5}"#), "it does not start with run-started");
    }
}

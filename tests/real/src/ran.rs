//! What came out of a run of `wharf run --json`, and what is expected of it.

use serde_json::Value;

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) events: Vec<Value>,
    /// The last event; null where there was none.
    pub(crate) report: Value,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Ran {
    pub(crate) fn new(stdout: &str, stderr: String, code: Option<i32>) -> Ran {
        let events: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let last = events.last().filter(|event| event["type"] == "report");
        Ran { report: last.cloned().unwrap_or(Value::Null), events, stderr, code }
    }

    /// The run in a few words, for the message of whatever was not as expected.
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

    /// Fail, with the run in a few words, unless something holds.
    pub(crate) fn expect(&self, holds: bool, what: &str) -> Result<&Ran, String> {
        if holds { Ok(self) } else { Err(format!("{what}; {}", self.summary())) }
    }

    /// How it must end, and with which exit code that goes.
    pub(crate) fn ends(&self, outcome: &str, code: i32) -> Result<&Ran, String> {
        self.expect(self.report["outcome"] == outcome, &format!("the outcome is not {outcome}"))?;
        self.expect(self.code == Some(code), &format!("the exit code is not {code}"))
    }

    pub(crate) fn completes(&self) -> Result<&Ran, String> {
        self.ends("completed", 0)
    }

    pub(crate) fn answers(&self, answer: &str) -> Result<&Ran, String> {
        self.completes()?.expect(self.report["answer"] == answer, &format!("the answer is not {answer:?}"))
    }

    /// It must fail, of this class, and nothing else.
    pub(crate) fn fails(&self, class: &str) -> Result<&Ran, String> {
        let error = &self.report["error"];
        self.ends("failed", 1)?.expect(error["class"] == class, &format!("the class is not {class}"))
    }

    /// The tools of the report, by how they ended.
    pub(crate) fn tools(&self) -> Vec<(&str, &str)> {
        let tools = self.report["tools"].as_array().into_iter().flatten();
        tools.map(|tool| (text(&tool["name"]), text(&tool["status"]))).collect()
    }

    /// The tools, by name and end, must be these.
    pub(crate) fn used(&self, tools: &[(&str, &str)]) -> Result<&Ran, String> {
        self.expect(self.tools() == tools, &format!("the tools are not {tools:?}"))
    }

    /// All events of a type.
    pub(crate) fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// The session's id.
    pub(crate) fn session(&self) -> Result<String, String> {
        let id = self.report["session"]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| format!("no session is named; {}", self.summary()))
    }
}

/// A text, or nothing.
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

    fn ran(outcome: &str, code: i32) -> Ran {
        let line = format!(
            r#"{{"type":"report","outcome":"{outcome}","answer":"yes","error":{{"class":"auth"}},"tools":[]}}"#
        );
        Ran::new(&format!("{{\"type\":\"notice\"}}\n{line}\n"), String::new(), Some(code))
    }

    #[test]
    fn a_run_is_what_its_report_and_its_exit_code_say() {
        assert!(ran("completed", 0).answers("yes").is_ok());
        assert!(ran("completed", 0).answers("no").is_err());
        assert!(ran("completed", 1).completes().is_err(), "the exit code counts too");
        assert!(ran("failed", 1).fails("auth").is_ok());
        assert!(ran("failed", 1).fails("network").is_err());
        let torn = Ran::new("{\"type\":\"notice\"}\n", String::new(), Some(0));
        assert!(torn.completes().is_err(), "without a report nothing is known");
    }
}

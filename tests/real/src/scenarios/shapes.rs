//! The same prompt gives the same events with every agent, but for texts and figures: only the value of `--adapter`
//! differs. The expected shapes are written here once, so that agents that equal them equal each other.

use super::tools::shell_then;
use crate::ScenarioResult;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use serde_json::Value;
use wharf_mock_model::Step;

/// The turns that every agent can do: the steps of the model, and the shape of the run.
fn turns(testbed: &Testbed<'_>) -> Vec<(&'static str, Vec<Step>, &'static [&'static str])> {
    vec![
        ("an answer", vec![Step::text("Ahoy!")], &["message", "turn completed", "report completed with an answer"]),
        (
            "a tool",
            shell_then(testbed, "echo one > made.txt; cat made.txt"),
            &["tool begun", "tool succeeded", "message", "turn completed", "report completed with an answer"],
        ),
        (
            "two rounds of tools",
            [shell_then(testbed, "echo one").remove(0)].into_iter().chain(shell_then(testbed, "echo two")).collect(),
            &[
                "tool begun",
                "tool succeeded",
                "tool begun",
                "tool succeeded",
                "message",
                "turn completed",
                "report completed with an answer",
            ],
        ),
        ("a failure", vec![Step::status(401)], &["turn failed", "report failed: auth"]),
    ]
}

pub(super) fn same(testbed: &Testbed<'_>) -> ScenarioResult {
    for (name, steps, expected) in turns(testbed) {
        let model = testbed.model(steps)?;
        let retries = testbed.agent.retries(0);
        let retries: Vec<&str> = retries.iter().map(String::as_str).collect();
        let result = testbed.run(&model, &[testbed.agent.approve(), retries, vec!["The same prompt."]].concat())?;
        let shape = shape(&result);
        result.check(shape == expected, &format!("{name}: the shape is {shape:?}, but not {expected:?}"))?;
        // Wherever they come among the others.
        for event in ["session", "usage"] {
            let is_there = result.events(event).next().is_some();
            result.check(is_there || name == "a failure", &format!("{name}: there is no event `{event}`"))?;
        }
    }
    Ok(())
}

/// The order of what happened. Updates of the same tool are one, text that is being written counts when it is whole, and
/// what only some agents report (reasoning, notices, plans, limits) does not count.
fn shape(result: &RunResult) -> Vec<String> {
    let mut shape = vec![];
    let mut begun: Vec<&Value> = vec![];
    for event in &result.events {
        match text(&event["type"]) {
            "message" if event["parent"].is_null() && !text(&event["text"]).trim().is_empty() => {
                shape.push("message".to_owned());
            }
            "tool" => {
                if !begun.contains(&&event["id"]) {
                    begun.push(&event["id"]);
                    shape.push("tool begun".to_owned());
                }
                let status = text(&event["status"]);
                if !["pending", "running"].contains(&status) {
                    shape.push(format!("tool {status}"));
                }
            }
            "turn-ended" => shape.push(format!("turn {}", text(&event["outcome"]))),
            "report" => shape.push(ending(event)),
            _ => {}
        }
    }
    // An agent may report the end of a tool again, with more of its output, and an adapter the end of a turn, with what it
    // has looked up.
    let repeats = |text: &str| text.starts_with("turn ") || text.starts_with("tool ") && text != "tool begun";
    shape.dedup_by(|next, one| one == next && repeats(next));
    shape
}

fn ending(report: &Value) -> String {
    let outcome = text(&report["outcome"]);
    match (&report["error"]["class"], text(&report["answer"])) {
        (Value::String(class), _) => format!("report {outcome}: {class}"),
        (_, "") => format!("report {outcome}"),
        _ => format!("report {outcome} with an answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_repetitions_do_not_change_the_shape() {
        let lines = |lines: &[&str]| shape(&RunResult::new(&lines.join("\n"), String::new(), Some(0)));
        let one = lines(&[
            r#"{"type":"notice","text":"hm"}"#,
            r#"{"type":"tool","id":"a","status":"pending"}"#,
            r#"{"type":"tool","id":"a","status":"running"}"#,
            r#"{"type":"tool","id":"a","status":"succeeded"}"#,
            r#"{"type":"tool","id":"a","status":"succeeded","output":"x"}"#,
            r#"{"type":"text-delta","text":"Do"}"#,
            r#"{"type":"message","text":"Done."}"#,
            r#"{"type":"turn-ended","outcome":"completed"}"#,
            r#"{"type":"report","outcome":"completed","answer":"Done.","error":null}"#,
        ]);
        let other = lines(&[
            r#"{"type":"tool","id":"b","status":"running"}"#,
            r#"{"type":"tool","id":"b","status":"succeeded"}"#,
            r#"{"type":"message","text":"Finished."}"#,
            r#"{"type":"turn-ended","outcome":"completed"}"#,
            r#"{"type":"report","outcome":"completed","answer":"Finished.","error":null}"#,
        ]);
        assert_eq!(one, other);
        assert_eq!(
            one,
            ["tool begun", "tool succeeded", "message", "turn completed", "report completed with an answer"]
        );
        let failed = lines(&[r#"{"type":"report","outcome":"failed","error":{"class":"auth"}}"#]);
        assert_eq!(failed, ["report failed: auth"]);
    }
}

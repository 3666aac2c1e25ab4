//! Answers without tools.

use crate::ScenarioResult;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use wharf_mock_model::Step;

fn deltas(result: &RunResult, kind: &str) -> String {
    result.events(kind).map(|event| text(&event["text"])).collect()
}

pub(super) fn short(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step { usage: Some((321, 45)), ..Step::text("Ahoy!") }])?;
    let result = testbed.run(&model, &["Say ahoy."])?;
    result.expect_answer("Ahoy!")?;
    result.check(model.requests().len() == 1, "the model did not get exactly one request")?;
    result.check(model.received("Say ahoy."), "the prompt did not arrive")?;
    result.session_id()?;
    result.check(result.report["model"].is_string(), "the report has no model")?;
    let version = result.events("session").find_map(|event| event["agent_version"].as_str());
    result.check(version == Some(&testbed.agent.version), "agent_version differs from the installed version")?;
    let usage = &result.report["usage"];
    let is_right = usage["input"] == 321 && usage["output"] == 45;
    result.check(is_right, &format!("the usage is not 321 and 45 tokens but {usage}"))?;
    Ok(())
}

pub(super) fn long(testbed: &Testbed<'_>) -> ScenarioResult {
    // Characters outside the basic plane, right-to-left text, joiners, and line separators at which some readers split.
    let verse = "Häfen ⚓ 港 🚢 \u{2028}\u{5d0}\u{5d1} e\u{301} 👩‍🚀 \"q\" \\ \t|\n";
    // 2.0 exits without waiting for its reader: what does not fit into the pipe is lost, including the end of the turn.
    let verses = if !testbed.agent.is_copilot() && testbed.agent.is_old() { 150 } else { 1500 };
    let reply = verse.repeat(verses);
    let model = testbed.model(vec![Step { piece: 61, ..Step::text(reply.clone()) }])?;
    let result = testbed.run(&model, &["Sing."])?;
    result.expect_completed()?;
    let answer = text(&result.report["answer"]);
    // Agents may trim an answer, but not change it otherwise.
    result.check(answer.trim() == reply.trim(), "the answer differs from the model's")?;
    result.check(deltas(&result, "text-delta").trim() == reply.trim(), "the deltas do not add up to the answer")?;
    result.check(result.events("text-delta").count() > verses / 10, "there are too few deltas")?;
    Ok(())
}

pub(super) fn reasoning(testbed: &Testbed<'_>) -> ScenarioResult {
    let step = Step { thinking: Some("The tide is low, so wait.".to_owned()), ..Step::text("Wait.") };
    let model = testbed.model(vec![step])?;
    let result = testbed.run(&model, &["Sail now?"])?;
    result.expect_answer("Wait.")?;
    let thought = |event: &serde_json::Value| text(&event["text"]).contains("tide is low");
    let is_reported =
        result.events("thinking").any(thought) || deltas(&result, "thinking-delta").contains("tide is low");
    if testbed.agent.is_copilot() && !is_reported && !testbed.agent.is_newest() {
        return super::not_offered("it drops the reasoning of chat completions");
    }
    result.check(is_reported, "the events do not contain the reasoning")?;
    Ok(())
}

pub(super) fn unstreamed(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Ahoy, in one piece!")])?;
    let result = testbed.run(&model, &["--no-stream", "Say ahoy."])?;
    result.expect_answer("Ahoy, in one piece!")?;
    result.check(result.events("text-delta").next().is_none(), "there are deltas")?;
    Ok(())
}

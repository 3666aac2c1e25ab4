//! Answers without tools.

use crate::agent::Call;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult};
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
    result.check(version == Some(&testbed.subject.version), "agent_version differs from the installed version")?;
    let paths: Vec<String> = model.requests().into_iter().map(|request| request.path).collect();
    let is_right = paths.iter().all(|path| testbed.agent.api().has_path(path));
    result.check(is_right, &format!("it sent requests to {paths:?}"))?;
    match testbed.check_usage(&model, &result) {
        // That it has none is the result of another scenario.
        Err(NotPassed::NotOffered(_)) => Ok(()),
        other => other,
    }
}

pub(super) fn long(testbed: &Testbed<'_>) -> ScenarioResult {
    // Characters outside the basic plane, right-to-left text, joiners, and line separators at which some readers split.
    let verse = "Häfen ⚓ 港 🚢 \u{2028}\u{5d0}\u{5d1} e\u{301} 👩‍🚀 \"q\" \\ \t|\n";
    let verses = testbed.subject.quirks().verses;
    let reply = verse.repeat(verses);
    let model = testbed.model(vec![Step { piece: 61, ..Step::text(reply.clone()) }])?;
    let result = testbed.run(&model, &["Sing."])?;
    result.expect_completed()?;
    let answer = text(&result.report["answer"]);
    // Agents may trim an answer, but not change it otherwise.
    result.check(answer.trim() == reply.trim(), "the answer differs from the model's")?;
    if testbed.has("streaming") {
        result.check(deltas(&result, "text-delta").trim() == reply.trim(), "the deltas do not add up to the answer")?;
        result.check(result.events("text-delta").count() > verses / 10, "there are too few deltas")?;
    }
    Ok(())
}

/// The beginning of an answer is there while its end is not.
pub(super) fn streamed(testbed: &Testbed<'_>) -> ScenarioResult {
    let model =
        testbed.model(vec![Step { pause: 300, ..Step::text("First this, and then that, and at last the end.") }])?;
    let result = testbed.run(&model, &["Slowly."])?;
    result.expect_answer("First this, and then that, and at last the end.")?;
    let times: Vec<u64> = result.events("text-delta").filter_map(|event| event["at"].as_u64()).collect();
    let spread = times.last().unwrap_or(&0).saturating_sub(*times.first().unwrap_or(&0));
    result.check(spread >= 600, &format!("the deltas came within {spread} ms, although the model wrote longer"))?;
    Ok(())
}

/// The figures are those of the model's own count, which differs in each round.
pub(super) fn usage(testbed: &Testbed<'_>) -> ScenarioResult {
    let tool = |command: &str, usage| {
        let Call { name, input } = testbed.agent.shell(command);
        Step { usage: Some(usage), ..Step::tool(name, input) }
    };
    let steps = vec![
        tool("echo one", (1000, 30)),
        Step { cached: 600, ..tool("echo two", (1100, 40)) },
        Step { usage: Some((1234, 56)), ..Step::text("Counted.") },
    ];
    let model = testbed.model(steps)?;
    let result = testbed.run(&model, &[testbed.agent.approve(), vec!["Count."]].concat())?;
    result.expect_answer("Counted.")?;
    testbed.check_usage(&model, &result)
}

pub(super) fn reasoning(testbed: &Testbed<'_>) -> ScenarioResult {
    let step = Step { thinking: Some("The tide is low, so wait.".to_owned()), ..Step::text("Wait.") };
    let model = testbed.model(vec![step])?;
    let result = testbed.run(&model, &["Sail now?"])?;
    result.expect_answer("Wait.")?;
    let thought = |event: &serde_json::Value| text(&event["text"]).contains("tide is low");
    let is_reported =
        result.events("thinking").any(thought) || deltas(&result, "thinking-delta").contains("tide is low");
    if is_reported { Ok(()) } else { super::not_offered("it does not report the reasoning that the model sent") }
}

pub(super) fn unstreamed(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Ahoy, in one piece!")])?;
    let result = testbed.run(&model, &["--no-stream", "Say ahoy."])?;
    result.offers("stream-text")?.expect_answer("Ahoy, in one piece!")?;
    result.check(result.events("text-delta").next().is_none(), "there are deltas")?;
    Ok(())
}

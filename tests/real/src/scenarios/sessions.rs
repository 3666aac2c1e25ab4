//! Sessions: with a chosen id, resumed, unknown.

use crate::run_result::text;
use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult};
use wharf_mock_model::Step;

/// An unused session id, in the form that the agents require.
fn id(testbed: &Testbed<'_>) -> String {
    let digits = testbed.subject.version.bytes().fold(0_u64, |sum, byte| sum * 31 + u64::from(byte));
    format!("0badcafe-{:04x}-4abc-8def-{:012x}", std::process::id() & 0xffff, digits & 0xffff_ffff_ffff)
}

pub(super) fn chosen(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Named.")])?;
    let id = id(testbed);
    let result = testbed.run(&model, &["--session-id", &id, "Go."])?;
    result.expect_answer("Named.")?.offers("session")?;
    result.check(result.session_id()? == id, "the session has another id")?;
    Ok(())
}

pub(super) fn resumed(testbed: &Testbed<'_>) -> ScenarioResult {
    testbed.needs("session-resume")?;
    let model = testbed.model(vec![Step { usage: Some((100, 20)), ..Step::text("I will remember.") }])?;
    let first = testbed.run(&model, &["The word is barnacle-7391."])?;
    first.expect_answer("I will remember.")?;
    let id = first.session_id()?;
    let model = testbed.model(vec![Step { usage: Some((321, 45)), ..Step::text("Barnacle.") }])?;
    let second = testbed.run(&model, &["--resume", &id, "Which word was it?"])?;
    second.expect_answer("Barnacle.")?;
    second.check(second.session_id()? == id, "the session has another id")?;
    second.check(model.received("barnacle-7391"), "the model did not get the first prompt")?;
    second.check(model.received("I will remember."), "the model did not get its first answer")?;
    second.check(second.report["session"]["resumed"] != false, "the report says that it did not resume")?;
    // Some agents count the whole session, but the report must not.
    match testbed.check_usage(&model, &second) {
        // That it has none is the result of another scenario.
        Err(NotPassed::NotOffered(_)) => Ok(()),
        other => other,
    }
}

pub(super) fn unknown(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Hello, stranger.")])?;
    let id = id(testbed).replace("0badcafe", "0badf00d");
    testbed.needs("session-resume")?;
    let result = testbed.run(&model, &["--resume", &id, "Go on."])?;
    if result.report["outcome"] == "completed" {
        // It started a new session with that id. The report must not call that a resume, and there is a warning.
        result
            .check(result.report["session"]["resumed"] == false, "the report does not say that it is a new session")?;
        let warned = result.events("notice").any(|notice| text(&notice["text"]).contains("was not resumed"));
        result.check(warned, "there is no warning")?;
        return Ok(());
    }
    result.expect_failure("no-session")?;
    result.check(model.requests().is_empty(), "the model received a request anyway")?;
    Ok(())
}

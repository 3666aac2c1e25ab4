//! What goes wrong: it must be told apart, and say what retry makes sense.

use super::not_offered;
use crate::Verdict;
use crate::agent::Login;
use crate::ran::{Ran, text};
use crate::stage::Stage;
use serde_json::json;
use wharf_mock_model::{End, Step};

/// A turn with the agent's own retries capped, where they can be.
fn run(stage: &Stage<'_>, steps: Vec<Step>, retries: u32, more: &[&str]) -> Result<Ran, String> {
    let model = stage.model(steps)?;
    let retries = stage.agent.retries(retries);
    let mut words: Vec<&str> = retries.iter().map(String::as_str).collect();
    words.extend(more);
    words.push("Go.");
    stage.run(&model, &words)
}

fn with_header(step: Step, name: &str, value: &str) -> Step {
    Step { headers: [(name.to_owned(), value.to_owned())].into(), ..step }
}

pub(super) fn unauthorized(stage: &Stage<'_>) -> Verdict {
    let ran = run(stage, vec![Step::status(401)], 0, &[])?;
    ran.fails("auth")?;
    let retry = &ran.report["error"]["retry"]["kind"];
    ran.expect(
        retry == "after-user-action" || retry == "never",
        &format!("a retry would not help, but it says {retry}"),
    )?;
    Ok(())
}

pub(super) fn rate_limit_without_time(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("it retries for three minutes, and cannot be told not to");
    }
    run(stage, vec![Step::status(429)], 1, &[])?.fails("rate-limit")?;
    Ok(())
}

pub(super) fn rate_limit_with_time(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("it retries for three minutes, and cannot be told not to");
    }
    run(stage, vec![with_header(Step::status(429), "retry-after", "3600")], 0, &[])?.fails("rate-limit")?;
    Ok(())
}

pub(super) fn rate_limit_passes(stage: &Stage<'_>) -> Verdict {
    let steps = vec![with_header(Step::status(429), "retry-after", "1"), Step::text("Patience pays.")];
    let ran = run(stage, steps, 2, &[])?;
    ran.answers("Patience pays.")?;
    // The old ones retry in silence.
    if !stage.agent.is_old() {
        ran.expect(ran.events("retrying").next().is_some(), "the retry is not told")?;
    }
    Ok(())
}

pub(super) fn provider(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("it retries for three minutes, and cannot be told not to");
    }
    run(stage, vec![Step::status(500)], 1, &[])?.fails("provider")?;
    Ok(())
}

pub(super) fn unknown_model(stage: &Stage<'_>) -> Verdict {
    let mut step = Step::status(404);
    step.error.insert("message".to_owned(), json!("model: no-such-model"));
    step.error.insert("code".to_owned(), json!("model_not_found"));
    run(stage, vec![step], 0, &["--model", "no-such-model"])?.fails("unknown-model")?;
    Ok(())
}

pub(super) fn refused(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("it retries for three minutes, and cannot be told not to");
    }
    // A port that was free a moment ago. Nobody else takes ports where the suite runs but for the mock models, which
    // get others.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(|why| why.to_string())?;
    let url = listener.local_addr().map(|address| format!("http://{address}")).map_err(|why| why.to_string())?;
    drop(listener);
    let retries = stage.agent.retries(1);
    let mut words: Vec<&str> = retries.iter().map(String::as_str).collect();
    words.push("Go.");
    stage.run_at(&url, Login::Key, &words)?.fails("network")?;
    Ok(())
}

pub(super) fn no_login(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step::text("Who are you?")])?;
    let ran = stage.run_at(&model.url(), Login::None, &["Go."])?;
    // Whether the adapter knows before the start or the agent says so, the failure is the same.
    ran.expect(ran.report["error"]["class"] == "auth", "it is not the login that is missing")?;
    ran.expect(ran.code != Some(0) && model.asked().is_empty(), "the model was asked all the same")?;
    let retry = text(&ran.report["error"]["retry"]["kind"]);
    ran.expect(retry == "after-user-action", "nobody is told to log in")?;
    Ok(())
}

pub(super) fn dropped(stage: &Stage<'_>) -> Verdict {
    let torn = Step { end: End::Dropped, ..Step::text("This never comes to its e") };
    run(stage, vec![torn, Step::text("Once more, whole.")], 2, &[])?.answers("Once more, whole.")?;
    Ok(())
}

pub(super) fn stalled(stage: &Stage<'_>) -> Verdict {
    let stalled = Step { end: End::Stalled, ..Step::text("And then") };
    let ran = run(stage, vec![stalled], 0, &["--limit-idle", "6"])?;
    ran.ends("limit", 6)?;
    ran.expect(text(&ran.report["detail"]).contains("idle"), "it is not said which limit")?;
    Ok(())
}

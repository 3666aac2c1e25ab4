//! Failures: each has its own class, and advice on whether to retry.

use super::not_offered;
use crate::ScenarioResult;
use crate::agent::Login;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use serde_json::json;
use wharf_mock_model::{End, Step};

/// Runs a turn with the agent's own retries limited, if it has such a setting.
fn run(testbed: &Testbed<'_>, steps: Vec<Step>, retries: u32, more: &[&str]) -> Result<RunResult, String> {
    let model = testbed.model(steps)?;
    let retries = testbed.agent.retries(retries);
    let mut args: Vec<&str> = retries.iter().map(String::as_str).collect();
    args.extend(more);
    args.extend(PATIENCE);
    args.push("Go.");
    testbed.run(&model, &args)
}

/// How long an agent may retry by itself.
const PATIENCE: [&str; 2] = ["--total-timeout", "100"];

/// Checks the failure. An agent whose retries take longer than the time limit is not known to fail.
fn expect_failure(result: &RunResult, class: &str) -> ScenarioResult {
    let timed_out = result.report["outcome"] == "limit" && text(&result.report["detail"]).contains("total");
    if timed_out {
        return not_offered("it still retries after the time limit, which cannot be turned off");
    }
    result.expect_failure(class)?;
    Ok(())
}

fn with_header(step: Step, name: &str, value: &str) -> Step {
    Step { headers: [(name.to_owned(), value.to_owned())].into(), ..step }
}

pub(super) fn unauthorized(testbed: &Testbed<'_>) -> ScenarioResult {
    let result = run(testbed, vec![Step::status(401)], 0, &[])?;
    result.expect_failure("auth")?;
    let retry = &result.report["error"]["retry"]["kind"];
    result.check(
        retry == "after-user-action" || retry == "never",
        &format!("a retry would not help, but the advice is {retry}"),
    )?;
    Ok(())
}

pub(super) fn rate_limit_without_time(testbed: &Testbed<'_>) -> ScenarioResult {
    expect_failure(&run(testbed, vec![Step::status(429)], 1, &[])?, "rate-limit")
}

pub(super) fn rate_limit_with_time(testbed: &Testbed<'_>) -> ScenarioResult {
    let steps = vec![with_header(Step::status(429), "retry-after", "3600")];
    expect_failure(&run(testbed, steps, 0, &[])?, "rate-limit")
}

pub(super) fn rate_limit_passes(testbed: &Testbed<'_>) -> ScenarioResult {
    let steps = vec![with_header(Step::status(429), "retry-after", "1"), Step::text("Patience pays.")];
    let result = run(testbed, steps, 2, &[])?;
    result.expect_answer("Patience pays.")?;
    if result.events("retrying").next().is_none() {
        return not_offered("it retries, and does not report it");
    }
    Ok(())
}

pub(super) fn provider(testbed: &Testbed<'_>) -> ScenarioResult {
    expect_failure(&run(testbed, vec![Step::status(500)], 1, &[])?, "provider")
}

pub(super) fn unknown_model(testbed: &Testbed<'_>) -> ScenarioResult {
    let mut step = Step::status(404);
    step.error.insert("message".to_owned(), json!("model: no-such-model"));
    step.error.insert("code".to_owned(), json!("model_not_found"));
    run(testbed, vec![step], 0, &["--model", "no-such-model"])?.expect_failure("unknown-model")?;
    Ok(())
}

pub(super) fn refused(testbed: &Testbed<'_>) -> ScenarioResult {
    // A port that was just freed. In the suite's network only the mock models open ports, and they get different ones.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let url = listener.local_addr().map(|address| format!("http://{address}")).map_err(|error| error.to_string())?;
    drop(listener);
    let retries = testbed.agent.retries(1);
    let mut args: Vec<&str> = retries.iter().map(String::as_str).collect();
    args.extend(PATIENCE);
    args.push("Go.");
    expect_failure(&testbed.run_at(&url, Login::Key, &args)?, "network")
}

pub(super) fn no_login(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Who are you?")])?;
    let result = testbed.run_at(&model.url(), Login::None, &["Go."])?;
    // The failure is the same if the adapter detects it before the start or the agent reports it.
    result.check(result.report["error"]["class"] == "auth", "the class is not auth")?;
    result.check(result.code != Some(0) && model.requests().is_empty(), "the model received a request anyway")?;
    let retry = text(&result.report["error"]["retry"]["kind"]);
    result.check(retry == "after-user-action", "the advice is not to log in")?;
    Ok(())
}

pub(super) fn dropped(testbed: &Testbed<'_>) -> ScenarioResult {
    let cut = Step { end: End::Dropped, ..Step::text("This text is cut in the midd") };
    run(testbed, vec![cut, Step::text("Once more, whole.")], 2, &[])?.expect_answer("Once more, whole.")?;
    Ok(())
}

pub(super) fn stalled(testbed: &Testbed<'_>) -> ScenarioResult {
    let stalled = Step { end: End::Stalled, ..Step::text("And then") };
    let result = run(testbed, vec![stalled], 0, &["--idle-timeout", "6"])?;
    result.expect_outcome("limit", 6)?;
    result.check(text(&result.report["detail"]).contains("idle timeout"), "the detail does not name the timeout")?;
    Ok(())
}

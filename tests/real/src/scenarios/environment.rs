//! What surrounds a turn: the list of models, logins, `wharf explain` and `wharf doctor`.

use super::not_offered;
use crate::agent::Login;
use crate::process::{children, interrupt, wait_for};
use crate::run_result::text;
use crate::testbed::{Running, Testbed};
use crate::{NotPassed, ScenarioResult};
use serde_json::Value;
use std::time::Duration;
use wharf_mock_model::{End, Step};

/// Runs a command of `wharf` and parses its stdout as JSON.
fn json(testbed: &Testbed<'_>, url: &str, login: Login, args: &[&str]) -> Result<Value, String> {
    let output =
        testbed.wharf(url, login).args(args).output().map_err(|error| format!("cannot start wharf: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`wharf {args:?}` printed no JSON ({error}): {stderr}"))
}

pub(super) fn models(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![])?;
    let login = if testbed.agent.is_copilot() { Login::Token } else { Login::Key };
    let listed = json(testbed, &model.url(), login, &["models", "--json", &testbed.agent.adapter()])?;
    let ids: Vec<&str> = listed["detail"].as_array().into_iter().flatten().map(|model| text(&model["id"])).collect();
    let (expected, hidden): (&[&str], &[&str]) = if testbed.agent.is_copilot() {
        (&["gpt-mock", "claude-mock"], &["gpt-hidden", "embedding-mock"])
    } else {
        (&["mock-model", "mock-model-mini"], &[])
    };
    if expected.iter().all(|id| ids.contains(id)) && !hidden.iter().any(|id| ids.contains(id)) {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("the models are {listed}")))
}

fn by_token(testbed: &Testbed<'_>, name: &str, path: &str) -> ScenarioResult {
    if !testbed.agent.is_copilot() {
        return not_offered("only Copilot has it");
    }
    let model = testbed.model(vec![Step::text("By token.")])?;
    let result = testbed.run_at(&model.url(), Login::Token, &["--model", name, "Go."])?;
    result.expect_answer("By token.")?;
    let paths: Vec<String> = model.requests().iter().map(|request| request.path.clone()).collect();
    result.check(paths == [path], &format!("it sent requests to {paths:?}"))?;
    let token = model.requests()[0].headers.get("authorization").cloned().unwrap_or_default();
    result.check(token == "Bearer github_pat_fake_token_of_the_suite", "the token did not arrive")?;
    let recorded = result.events.iter().any(|event| event.to_string().contains("github_pat_fake"));
    result.check(!recorded, "the events contain the token")?;
    Ok(())
}

pub(super) fn token_responses(testbed: &Testbed<'_>) -> ScenarioResult {
    by_token(testbed, "gpt-mock", "/responses")
}

pub(super) fn token_messages(testbed: &Testbed<'_>) -> ScenarioResult {
    by_token(testbed, "claude-mock", if testbed.agent.is_old() { "/chat/completions" } else { "/v1/messages" })
}

/// Compares with the command line that the system reports for the process, not with what `wharf` reports.
pub(super) fn explained(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step { end: End::Stalled, ..Step::text("So it") }])?;
    let args = ["--session-id", "0badcafe-0000-4abc-8def-000000000001", "--system", "Be brief."];
    let args = [&args[..], &["--model", "mock-model", "Explain."]].concat();
    let adapter = testbed.agent.adapter();
    let explain = [&["explain", "--json", "--adapter", &adapter], &args[..]].concat();
    let explained = json(testbed, &model.url(), Login::Key, &explain)?;
    let running = testbed.start(&model.url(), Login::Key, &args)?;
    let real = observed(&running);
    // The run must not outlive its scenario, whatever was observed. A run that has exited cannot be interrupted.
    let _ = interrupt(running.child.id());
    let result = testbed.finish(running, &model.url())?;
    let real = real.map_err(|error| format!("{error}; {}", result.summary()))?;
    let expected = explained["args"].as_array().into_iter().flatten().map(text);
    let expected: Vec<&str> = std::iter::once(text(&explained["program"])).chain(expected).collect();
    let agrees = |(expected, real): (&&str, &String)| match expected.split_once("<file ") {
        Some((before, name)) => real.starts_with(before) && real.ends_with(name.trim_end_matches('>')),
        None => *expected == real,
    };
    // The interpreter of a script comes before it.
    let is_it = |real: &Vec<String>| {
        let skipped = real.len().checked_sub(expected.len());
        skipped.is_some_and(|skipped| expected.iter().zip(&real[skipped..]).all(agrees))
    };
    if real.iter().any(is_it) {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("explain prints {expected:?}, but these ran: {real:?}")))
}

/// The command lines of all processes that `wharf` starts before the agent's first output.
fn observed(running: &Running) -> Result<Vec<Vec<String>>, String> {
    // Poll from the start, because some agents overwrite their command line with a title.
    let mut seen = vec![];
    let look = || {
        seen.extend(children(running.child.id()));
        running.has_event("text-delta").then_some(())
    };
    wait_for("the agent's first text", Duration::from_mins(1), look)?;
    seen.sort();
    seen.dedup();
    Ok(seen)
}

pub(super) fn doctor(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![])?;
    let found = json(testbed, &model.url(), Login::Key, &["doctor", "--json", testbed.agent.id()])?;
    let entry = found.as_array().and_then(|all| all.first()).cloned().unwrap_or(found);
    let shown = entry.to_string();
    // The adapter's own list decides what it may claim.
    let is_listed =
        entry["tested_with"].as_array().is_some_and(|all| all.iter().any(|one| *one == testbed.agent.version));
    let is_tested = shown.contains("\"support\":\"tested\"");
    if shown.contains(&format!("\"{}\"", testbed.agent.version)) && is_tested == is_listed {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("doctor prints {shown}")))
}

/// Copilot starts the newest version in its cache unless it is told not to: probes and turns must agree on one.
pub(super) fn newer_in_cache(testbed: &Testbed<'_>) -> ScenarioResult {
    if !testbed.agent.is_copilot() {
        return not_offered("it has no cache of versions");
    }
    let Some(newer) = testbed.agent.newer_program() else {
        return not_offered("no newer version is installed beside it: run the suite with one first");
    };
    let model = testbed.model(vec![Step { usage: Some((321, 45)), ..Step::text("Still me.") }])?;
    let home = testbed.create("home")?;
    let mut warm_up = testbed.wharf(&model.url(), Login::Key);
    let path = warm_up.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).map(ToOwned::to_owned);
    let mut unpack = std::process::Command::new(newer);
    unpack.arg("--version").env_clear().env("HOME", &home).envs(path.map(|path| ("PATH", path)));
    unpack.output().map_err(|error| format!("cannot start the newer version: {error}"))?;
    let found = warm_up.env("HOME", &home).args(["doctor", "--json", testbed.agent.id()]).output();
    let found = found.map_err(|error| format!("cannot start doctor: {error}"))?;
    let shown = String::from_utf8_lossy(&found.stdout);
    if !shown.contains(&format!("\"{}\"", testbed.agent.version)) {
        return Err(NotPassed::Failed(format!("doctor found another version: {shown}")));
    }
    let result = testbed.at_home(&home).run(&model, &["Who are you?"])?;
    result.expect_answer("Still me.")?;
    Ok(())
}

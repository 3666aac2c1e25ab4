//! What surrounds a turn: the list of models, logins, `wharf explain` and `wharf doctor`.

use super::not_offered;
use crate::agent::{Login, Models, numbers};
use crate::process::{children, interrupt, wait_for};
use crate::run_result::text;
use crate::testbed::{Model, Running, Testbed};
use crate::{NotPassed, ScenarioResult};
use serde_json::Value;
use std::time::Duration;
use wharf_mock_model::{End, Step};

/// Runs a command of `wharf` and parses its stdout as JSON.
fn json(testbed: &Testbed<'_>, url: &str, login: Login, args: &[&str]) -> Result<Value, String> {
    let output =
        testbed.wharf(url, login)?.args(args).output().map_err(|error| format!("cannot start wharf: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`wharf {args:?}` printed no JSON ({error}): {stderr}"))
}

pub(super) fn models(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![])?;
    let Models { login, listed: expected, hidden } = testbed.agent.models();
    let listed = json(testbed, &model.url(), login, &["models", "--json", &testbed.subject.adapter()])?;
    let ids: Vec<&str> = listed["detail"].as_array().into_iter().flatten().map(|model| text(&model["id"])).collect();
    if expected.iter().all(|id| ids.contains(id)) && !hidden.iter().any(|id| ids.contains(id)) {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("the models are {listed}")))
}

/// The model is reached by one of these paths: which one differs between versions.
fn by_token(testbed: &Testbed<'_>, name: &str, expected: &[&str]) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("By token.")])?;
    let result = testbed.run_at(&model.url(), Login::Token, &["--model", name, "Go."])?;
    result.expect_answer("By token.")?;
    let paths: Vec<String> = model.requests().iter().map(|request| request.path.clone()).collect();
    let is_right = paths.len() == 1 && expected.contains(&paths[0].as_str());
    result.check(is_right, &format!("it sent requests to {paths:?}"))?;
    let token = model.requests()[0].headers.get("authorization").cloned().unwrap_or_default();
    result.check(token == "Bearer github_pat_fake_token_of_the_suite", "the token did not arrive")?;
    let recorded = result.events.iter().any(|event| event.to_string().contains("github_pat_fake"));
    result.check(!recorded, "the events contain the token")?;
    Ok(())
}

pub(super) fn token_responses(testbed: &Testbed<'_>) -> ScenarioResult {
    by_token(testbed, "gpt-mock", &["/responses", "/chat/completions"])
}

pub(super) fn token_messages(testbed: &Testbed<'_>) -> ScenarioResult {
    by_token(testbed, "claude-mock", &["/v1/messages", "/chat/completions"])
}

/// Compares with the command line that the system reports for the process, not with what `wharf` reports.
pub(super) fn explained(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step { end: End::Stalled, ..Step::text("So it") }])?;
    let args = ["--session-id", "0badcafe-0000-4abc-8def-000000000001", "--system", "Be brief."];
    let args = [&args[..], &["--model", testbed.agent.model(), "Explain."]].concat();
    let adapter = testbed.subject.adapter();
    let chosen = testbed.subject.transport_args();
    let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
    let explain = [&["explain", "--json", "--adapter", &adapter], chosen.as_slice(), &args[..]].concat();
    let running = testbed.start(&model.url(), Login::Key, &args)?;
    let real = observed(&running, &model);
    // The run must not outlive its scenario, whatever was observed. A run that has exited cannot be interrupted.
    let _ = interrupt(running.child.id());
    let result = testbed.finish(running, &model.url())?;
    let real = real.map_err(|error| format!("{error}; {}", result.summary()))?;
    // After the turn: explain starts nothing, so it knows the version only from a turn or from the doctor.
    let explained = json(testbed, &model.url(), Login::Key, &explain)?;
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

/// The command lines of all processes that `wharf` starts before the agent's first request.
fn observed(running: &Running, model: &Model) -> Result<Vec<Vec<String>>, String> {
    // Poll from the start, because some agents overwrite their command line with a title.
    let mut seen = vec![];
    let look = || {
        seen.extend(children(running.child.id()));
        (!model.requests().is_empty() || running.has_event("turn-ended")).then_some(())
    };
    wait_for("the agent's first request", Duration::from_mins(1), look)?;
    seen.sort();
    seen.dedup();
    Ok(seen)
}

/// What the doctor finds with these credentials.
fn examined(testbed: &Testbed<'_>, login: Login) -> Result<Value, String> {
    let model = testbed.model(vec![])?;
    let found = json(testbed, &model.url(), login, &["doctor", "--json", &testbed.subject.adapter()])?;
    Ok(found.as_array().and_then(|all| all.first()).cloned().unwrap_or(found))
}

/// The version is found and compared with the adapter's own list.
pub(super) fn doctor(testbed: &Testbed<'_>) -> ScenarioResult {
    let found = examined(testbed, Login::Key)?;
    let version = numbers(&testbed.subject.version);
    let listed: Vec<Vec<u32>> =
        found["tested_with"].as_array().into_iter().flatten().map(|one| numbers(text(one))).collect();
    let support = match (listed.first(), listed.last()) {
        _ if listed.contains(&version) => "tested",
        (Some(oldest), _) if version < *oldest => "older-untested",
        (_, Some(newest)) if version > *newest => "newer-untested",
        _ => "between-tested",
    };
    let agent = &found["agent"];
    if agent["version"] == testbed.subject.version.as_str() && agent["support"] == support && found["usable"] == true {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("with a key, doctor prints {found}")))
}

/// Without a login it is not usable.
pub(super) fn doctor_without_login(testbed: &Testbed<'_>) -> ScenarioResult {
    let found = examined(testbed, Login::None)?;
    if found["agent"]["login"]["state"] == "unknown" {
        return not_offered("doctor cannot tell whether there is a login");
    }
    if found["reason"] == "no-login" && found["usable"] == false {
        return Ok(());
    }
    Err(NotPassed::Failed(format!("without a login, doctor prints {found}")))
}

/// Copilot starts the newest version in its cache unless it is told not to: probes and turns must agree on one.
pub(super) fn newer_in_cache(testbed: &Testbed<'_>) -> ScenarioResult {
    let Some(newer) = testbed.subject.newer_program() else {
        return not_offered("no newer version is installed beside it: run the suite with one first");
    };
    let model = testbed.model(vec![Step { usage: Some((321, 45)), ..Step::text("Still me.") }])?;
    let testbed = testbed.at_home(&testbed.create("home")?);
    testbed.unpack(&newer)?;
    testbed.unpack(&testbed.subject.program())?;
    let found =
        testbed.wharf(&model.url(), Login::Key)?.args(["doctor", "--json", &testbed.subject.adapter()]).output();
    let found = found.map_err(|error| format!("cannot start doctor: {error}"))?;
    let shown = String::from_utf8_lossy(&found.stdout);
    if !shown.contains(&format!("\"{}\"", testbed.subject.version)) {
        return Err(NotPassed::Failed(format!("doctor found another version: {shown}")));
    }
    let result = testbed.run(&model, &["Who are you?"])?;
    result.expect_answer("Still me.")?;
    Ok(())
}

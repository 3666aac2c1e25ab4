//! What goes around turns: models, logins, what would be started.

use super::not_offered;
use crate::agent::Login;
use crate::process::{children, interrupt, wait_for};
use crate::ran::text;
use crate::stage::{Running, Stage};
use crate::{Shortfall, Verdict};
use serde_json::Value;
use std::time::Duration;
use wharf_mock_model::{End, Step};

/// What a command of `wharf` prints as JSON.
fn json(stage: &Stage<'_>, url: &str, login: Login, words: &[&str]) -> Result<Value, String> {
    let output =
        stage.wharf(url, login).args(words).output().map_err(|why| format!("wharf cannot be started: {why}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).map_err(|why| format!("`wharf {words:?}` printed no JSON ({why}): {said}"))
}

pub(super) fn models(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![])?;
    let login = if stage.agent.is_copilot() { Login::Token } else { Login::Key };
    let listed = json(stage, &model.url(), login, &["models", "--json", &stage.agent.adapter()])?;
    let ids: Vec<&str> = listed["detail"].as_array().into_iter().flatten().map(|model| text(&model["id"])).collect();
    let (there, missing): (&[&str], &[&str]) = if stage.agent.is_copilot() {
        (&["gpt-mock", "claude-mock"], &["gpt-hidden", "embedding-mock"])
    } else {
        (&["mock-model", "mock-model-mini"], &[])
    };
    if there.iter().all(|id| ids.contains(id)) && !missing.iter().any(|id| ids.contains(id)) {
        return Ok(());
    }
    Err(Shortfall::Failed(format!("the models are {listed}")))
}

fn by_token(stage: &Stage<'_>, name: &str, path: &str) -> Verdict {
    if !stage.agent.is_copilot() {
        return not_offered("it is Copilot's");
    }
    let model = stage.model(vec![Step::text("By token.")])?;
    let ran = stage.run_at(&model.url(), Login::Token, &["--model", name, "Go."])?;
    ran.answers("By token.")?;
    let paths: Vec<String> = model.asked().iter().map(|request| request.path.clone()).collect();
    ran.expect(paths == [path], &format!("it asked {paths:?}"))?;
    let token = model.asked()[0].headers.get("authorization").cloned().unwrap_or_default();
    ran.expect(token == "Bearer github_pat_fake_token_of_the_suite", "the token did not arrive")?;
    let recorded = ran.events.iter().any(|event| event.to_string().contains("github_pat_fake"));
    ran.expect(!recorded, "the token is among the events")?;
    Ok(())
}

pub(super) fn token_responses(stage: &Stage<'_>) -> Verdict {
    by_token(stage, "gpt-mock", "/responses")
}

pub(super) fn token_messages(stage: &Stage<'_>) -> Verdict {
    by_token(stage, "claude-mock", if stage.agent.is_old() { "/chat/completions" } else { "/v1/messages" })
}

/// The truth is what the system says of the process, not what `wharf` says of it.
pub(super) fn explained(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step { end: End::Stalled, ..Step::text("So it") }])?;
    let words = ["--session-id", "0badcafe-0000-4abc-8def-000000000001", "--system", "Be brief."];
    let words = [&words[..], &["--model", "mock-model", "Explain."]].concat();
    let adapter = stage.agent.adapter();
    let explain = [&["explain", "--json", "--adapter", &adapter], &words[..]].concat();
    let explained = json(stage, &model.url(), Login::Key, &explain)?;
    let running = stage.start(&model.url(), Login::Key, &words)?;
    let real = observed(&running);
    // Whatever was seen: the run must not outlive its scenario. One that is over already cannot be interrupted.
    let _ = interrupt(running.child.id());
    let ran = stage.end(running, &model.url())?;
    let real = real.map_err(|why| format!("{why}; {}", ran.summary()))?;
    let wanted = explained["args"].as_array().into_iter().flatten().map(text);
    let wanted: Vec<&str> = std::iter::once(text(&explained["program"])).chain(wanted).collect();
    let agrees = |(wanted, real): (&&str, &String)| match wanted.split_once("<file ") {
        Some((before, name)) => real.starts_with(before) && real.ends_with(name.trim_end_matches('>')),
        None => *wanted == real,
    };
    // A script is started by its interpreter, which stands before it.
    let is_it = |real: &Vec<String>| {
        let skipped = real.len().checked_sub(wanted.len());
        skipped.is_some_and(|skipped| wanted.iter().zip(&real[skipped..]).all(agrees))
    };
    if real.iter().any(is_it) {
        return Ok(());
    }
    Err(Shortfall::Failed(format!("explain says {wanted:?}, and what ran is {real:?}")))
}

/// The command lines of what `wharf` has started until the agent talks.
fn observed(running: &Running) -> Result<Vec<Vec<String>>, String> {
    // From the start on: some agents write a title over their command line.
    let mut seen = vec![];
    let talks = || {
        seen.extend(children(running.child.id()));
        running.has_said("text-delta").then_some(())
    };
    wait_for("the agent's first words", Duration::from_mins(1), talks)?;
    seen.sort();
    seen.dedup();
    Ok(seen)
}

pub(super) fn doctor(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![])?;
    let found = json(stage, &model.url(), Login::Key, &["doctor", "--json", stage.agent.id()])?;
    let entry = found.as_array().and_then(|all| all.first()).cloned().unwrap_or(found);
    let shown = entry.to_string();
    if shown.contains(&format!("\"{}\"", stage.agent.version))
        && shown.contains("tested")
        && !shown.contains("untested")
    {
        return Ok(());
    }
    Err(Shortfall::Failed(format!("doctor says {shown}")))
}

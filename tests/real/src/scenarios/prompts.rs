//! Prompts and messages reach the model unchanged.

use super::not_offered;
use super::tools::shell_then;
use crate::ScenarioResult;
use crate::agent::Login;
use crate::run_result::text;
use crate::testbed::{Running, Testbed};
use serde_json::Value;
use wharf_mock_model::Step;

pub(super) fn system(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Aye.")])?;
    let result = testbed.run(&model, &["--system", "You answer as the harbour master, code 5521.", "Go."])?;
    result.offers("system-prompt")?.expect_answer("Aye.")?;
    result.check(model.received("You answer as the harbour master, code 5521."), "the system prompt did not arrive")?;
    Ok(())
}

pub(super) fn long(testbed: &Testbed<'_>) -> ScenarioResult {
    let line = |number: usize| format!("{number}: \"Schiffe\" ⚓ \\ \t<b>&amp;</b> $HOME `pwd` 港 %s\n");
    // Copilot removes trailing white space, so there is none.
    let prompt: String = (0..4000).map(line).chain(["The end.".to_owned()]).collect();
    let file = testbed.write("prompt.md", &prompt)?;
    let model = testbed.model(vec![Step::text("Read.")])?;
    let result = testbed.run(&model, &["--file", &file])?;
    result.expect_answer("Read.")?;
    result.check(prompt.len() > 200_000, "the prompt is too short for this test")?;
    result.check(model.received(&prompt), "the prompt did not arrive unchanged")?;
    Ok(())
}

pub(super) fn slash(testbed: &Testbed<'_>) -> ScenarioResult {
    for prompt in ["/compact", "/usr/bin/env is a program"] {
        let model = testbed.model(vec![Step::text("Just words.")])?;
        let result = testbed.run(&model, &[prompt])?;
        result.expect_answer("Just words.")?;
        result.check(model.received(prompt), "the prompt did not arrive")?;
    }
    Ok(())
}

/// The message is sent while a tool runs, so that the agent has more work to do after it.
pub(super) fn mid_turn(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "until [ -e heard ]; do sleep 0.1; done; echo it was"))?;
    let args = [testbed.agent.approve(), vec!["--control", "Wait for it."]].concat();
    let running = testbed.start(&model.url(), Login::Key, &args)?;
    let mut running = testbed.wait_in(running, &model, "a tool", |run| run.has_event("tool"))?;
    running.send_message("Mind the gap.")?;
    let is_answered = |run: &Running| run.has_event("message-sent") || run.has_event("input-rejected");
    let running = testbed.wait_in(running, &model, "an answer to the message", is_answered)?;
    std::fs::write(testbed.workspace.join("heard"), "").map_err(|error| format!("cannot release the tool: {error}"))?;
    let result = testbed.finish(running, &model.url())?;
    result.expect_answer("Done.")?;
    let is_rejected = result.events("input-rejected").next().is_some();
    result.check(is_rejected != testbed.has("steering"), "the adapter does not say `steering` as it does")?;
    if is_rejected {
        return not_offered("it accepts no messages during a turn; the message is an `input-rejected` event");
    }
    result.check(model.received("Mind the gap."), "the message did not arrive")?;
    Ok(())
}

/// The instructions of the workspace reach the model unless an option excludes them, and its hooks never run by default.
pub(super) fn instructions(testbed: &Testbed<'_>) -> ScenarioResult {
    let failed = |error: std::io::Error| format!("cannot write the instructions: {error}");
    let folder = testbed.workspace.join(".claude");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(testbed.workspace.join(testbed.agent.instructions()), "Mind the buoy, code 4410.\n")
        .map_err(failed)?;
    let hook = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}"#;
    std::fs::write(folder.join("settings.json"), hook).map_err(failed)?;
    let model = testbed.model(vec![Step::text("Aye.")])?;
    let result = testbed.run(&model, &["Go."])?;
    result.expect_answer("Aye.")?;
    result.check(!testbed.workspace.join("hooked").exists(), "a hook of the workspace ran")?;
    let said_so = result.events("notice").any(|notice| text(&notice["text"]).contains("does not read"));
    if said_so {
        return not_offered("it reads them only together with the workspace's hooks; a notice says so");
    }
    result.check(model.received("Mind the buoy, code 4410."), "the instructions did not arrive")?;
    if let Some(excluded) = testbed.agent.without_instructions() {
        let result = testbed.run(&model, &[&excluded[..], &["Go."]].concat())?;
        result.offers(excluded[1].split('=').next().unwrap_or_default())?;
        result.check(!model.received("Mind the buoy, code 4410."), "they arrived although they were excluded")?;
    }
    Ok(())
}

/// The second turn has the first one in its context.
pub(super) fn second(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("One it is."), Step::text("Two it is.")])?;
    let args = [testbed.agent.approve(), vec!["--control", "--keep-alive", "Say one."]].concat();
    let running = testbed.start(&model.url(), Login::Key, &args)?;
    let mut running =
        testbed.wait_in(running, &model, "the end of the first turn", |run| run.has_event("turn-ended"))?;
    running.send_line(&serde_json::json!({ "type": "next-turn", "prompt": "Say two." }))?;
    drop(running.child.stdin.take());
    let result = testbed.finish(running, &model.url())?;
    if result.needs_github_login() {
        return not_offered("its protocol for several turns does not support API keys, and says so");
    }
    result.expect_answer("Two it is.")?;
    result.check(result.events("turn-started").count() == 1, "no second turn started")?;
    result.check(result.events("turn-ended").count() == 2, "not both turns ended")?;
    let has_both = ["Say one.", "One it is.", "Say two."].iter().all(|text| model.received(text));
    result.check(has_both, "the second turn does not include the first")?;
    Ok(())
}

/// The request for the highest effort differs from that for a low one, beside what differs in every request.
pub(super) fn effort(testbed: &Testbed<'_>) -> ScenarioResult {
    let mut requests = vec![];
    for effort in ["low", "low", "high"] {
        let model = testbed.model(vec![Step::text("Thought about it.")])?;
        let result = testbed.run(&model, &["--effort", effort, "Think."])?;
        if text(&result.report["error"]["message"]).contains("effort") {
            return not_offered("it refuses an effort for a model that it does not know, and says so");
        }
        result.offers("effort")?.expect_answer("Thought about it.")?;
        requests.push(model.requests().pop().map(|request| fields(&request.body)).unwrap_or_default());
    }
    let differ = |one: &[(String, Value)], other: &[(String, Value)]| -> Vec<String> {
        let changed =
            one.iter().filter(|field| !other.contains(field)).chain(other.iter().filter(|field| !one.contains(field)));
        changed.map(|(path, _)| path.clone()).collect()
    };
    let noise = differ(&requests[0], &requests[1]);
    let changed: Vec<String> =
        differ(&requests[1], &requests[2]).into_iter().filter(|path| !noise.contains(path)).collect();
    if changed.is_empty() {
        return Err("the request to the model is the same for a low and a high effort".to_owned().into());
    }
    Ok(())
}

/// The fields of a request without the conversation and the tools, by their paths.
fn fields(body: &Value) -> Vec<(String, Value)> {
    fn collect(path: &str, value: &Value, into: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| collect(&format!("{path}/{name}"), value, into));
            }
            other => into.push((path.to_owned(), other.clone())),
        }
    }
    let mut all = vec![];
    collect("", body, &mut all);
    let conversation = ["/messages", "/input", "/contents", "/tools", "/system"];
    all.retain(|(path, _)| !conversation.iter().any(|one| path.starts_with(one)));
    all
}

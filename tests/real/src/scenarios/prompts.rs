//! Prompts and messages reach the model unchanged.

use super::not_offered;
use crate::ScenarioResult;
use crate::agent::Login;
use crate::run_result::text;
use crate::testbed::Testbed;
use wharf_mock_model::Step;

pub(super) fn system(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("Aye.")])?;
    let result = testbed.run(&model, &["--system", "You answer as the harbour master, code 5521.", "Go."])?;
    result.expect_answer("Aye.")?;
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
    let (name, input) = testbed.agent.shell("until [ -e heard ]; do sleep 0.1; done; echo it was");
    let model = testbed.model(vec![Step::tool(name, input), Step::text("Done.")])?;
    let args = [testbed.agent.approve(), vec!["--control", "Wait for it."]].concat();
    let mut running = testbed.start(&model.url(), Login::Key, &args)?;
    running.wait_for_event("tool")?;
    running.send_message("Mind the gap.")?;
    let event = if testbed.agent.is_copilot() { "input-rejected" } else { "message-sent" };
    running.wait_for_event(event)?;
    std::fs::write(testbed.workspace.join("heard"), "").map_err(|error| format!("cannot release the tool: {error}"))?;
    let result = testbed.finish(running, &model.url())?;
    result.expect_answer("Done.")?;
    if testbed.agent.is_copilot() {
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
    std::fs::write(testbed.workspace.join("CLAUDE.md"), "Mind the buoy, code 4410.\n").map_err(failed)?;
    let hook = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}"#;
    std::fs::write(folder.join("settings.json"), hook).map_err(failed)?;
    let model = testbed.model(vec![Step::text("Aye.")])?;
    let result = testbed.run(&model, &["Go."])?;
    result.expect_answer("Aye.")?;
    result.check(!testbed.workspace.join("hooked").exists(), "a hook of the workspace ran")?;
    let said_so = result.events("notice").any(|notice| text(&notice["text"]).contains("does not read CLAUDE.md"));
    if said_so && !testbed.agent.is_newest() {
        return not_offered("it reads them only together with the workspace's hooks; a notice says so");
    }
    result.check(model.received("Mind the buoy, code 4410."), "CLAUDE.md did not arrive")?;
    let option = if testbed.agent.is_copilot() { "no-custom-instructions=true" } else { "project-instructions=false" };
    let result = testbed.run(&model, &["--option", option, "Go."])?;
    result.check(!model.received("Mind the buoy, code 4410."), "CLAUDE.md arrived although it was excluded")?;
    Ok(())
}

/// The second turn has the first one in its context.
pub(super) fn second(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("One it is."), Step::text("Two it is.")])?;
    let protocol = if testbed.agent.is_copilot() { vec!["--option", "transport=acp"] } else { vec![] };
    let args = [testbed.agent.approve(), protocol, vec!["--control", "--keep-alive", "Say one."]].concat();
    let mut running = testbed.start(&model.url(), Login::Key, &args)?;
    running.wait_for_event("turn-ended")?;
    running.send_line(&serde_json::json!({ "type": "next-turn", "prompt": "Say two." }))?;
    drop(running.child.stdin.take());
    let result = testbed.finish(running, &model.url())?;
    if result.needs_github_login() && !testbed.agent.is_newest() {
        return not_offered("its protocol for several turns does not support API keys, and says so");
    }
    result.expect_answer("Two it is.")?;
    result.check(result.events("turn-started").count() == 1, "no second turn started")?;
    result.check(result.events("turn-ended").count() == 2, "not both turns ended")?;
    let has_both = ["Say one.", "One it is.", "Say two."].iter().all(|text| model.received(text));
    result.check(has_both, "the second turn does not include the first")?;
    Ok(())
}

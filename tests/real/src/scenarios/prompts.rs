//! Prompts must reach the model as they were given.

use super::not_offered;
use crate::Verdict;
use crate::agent::Login;
use crate::stage::Stage;
use wharf_mock_model::Step;

pub(super) fn system(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step::text("Aye.")])?;
    let ran = stage.run(&model, &["--system", "You answer as the harbour master, code 5521.", "Go."])?;
    ran.answers("Aye.")?;
    ran.expect(model.was_told("You answer as the harbour master, code 5521."), "the system prompt did not arrive")?;
    Ok(())
}

pub(super) fn long(stage: &Stage<'_>) -> Verdict {
    let line = |number: usize| format!("{number}: \"Schiffe\" ⚓ \\ \t<b>&amp;</b> $HOME `pwd` 港 %s\n");
    // Copilot takes white space from the end of what it passes on, so there is none.
    let prompt: String = (0..4000).map(line).chain(["The end.".to_owned()]).collect();
    let file = stage.write("prompt.md", &prompt)?;
    let model = stage.model(vec![Step::text("Read.")])?;
    let ran = stage.run(&model, &["--file", &file])?;
    ran.answers("Read.")?;
    ran.expect(prompt.len() > 200_000, "the prompt is too short for this test")?;
    ran.expect(model.was_told(&prompt), "the prompt did not arrive as it was given")?;
    Ok(())
}

pub(super) fn slash(stage: &Stage<'_>) -> Verdict {
    for prompt in ["/compact", "/usr/bin/env is a program"] {
        let model = stage.model(vec![Step::text("Just words.")])?;
        let ran = stage.run(&model, &[prompt])?;
        ran.answers("Just words.")?;
        ran.expect(model.was_told(prompt), "the prompt did not arrive")?;
    }
    Ok(())
}

/// While a tool runs, so that the agent has something to go on with.
pub(super) fn in_mid_turn(stage: &Stage<'_>) -> Verdict {
    let (name, input) = stage.agent.shell("until [ -e heard ]; do sleep 0.1; done; echo it was");
    let model = stage.model(vec![Step::tool(name, input), Step::text("Done.")])?;
    let words = [stage.agent.approve(), vec!["--messages", "Wait for it."]].concat();
    let mut running = stage.start(&model.url(), Login::Key, &words)?;
    running.wait_for_event("tool")?;
    running.say("Mind the gap.")?;
    let told = if stage.agent.is_copilot() { "notice" } else { "message-sent" };
    running.wait_for_event(told)?;
    std::fs::write(stage.workspace.join("heard"), "").map_err(|why| format!("the tool cannot be released: {why}"))?;
    let ran = stage.end(running, &model.url())?;
    ran.answers("Done.")?;
    let ignored = ran.report["ignored"].as_array().into_iter().flatten().any(|wish| wish["name"] == "messages");
    ran.expect(ignored == stage.agent.is_copilot(), "whether it takes messages is told wrongly")?;
    if stage.agent.is_copilot() {
        return not_offered("it takes no messages while it works, and the report says so");
    }
    ran.expect(model.was_told("Mind the gap."), "the model was not told")?;
    Ok(())
}

/// What the first turn was about must still be known in the second.
pub(super) fn second(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("its protocol for several turns knows nothing of keys and their models");
    }
    let model = stage.model(vec![Step::text("One it is."), Step::text("Two it is.")])?;
    let protocol = if stage.agent.is_copilot() { vec!["--option", "transport=acp"] } else { vec![] };
    let words = [stage.agent.approve(), protocol, vec!["--messages", "--stay", "Say one."]].concat();
    let mut running = stage.start(&model.url(), Login::Key, &words)?;
    running.wait_for_event("turn-end")?;
    running.write(&serde_json::json!({ "type": "next-turn", "prompt": "Say two." }))?;
    drop(running.child.stdin.take());
    let ran = stage.end(running, &model.url())?;
    ran.answers("Two it is.")?;
    ran.expect(ran.events("turn-begun").count() == 1, "no second turn began")?;
    ran.expect(ran.events("turn-end").count() == 2, "not both turns ended")?;
    let told = ["Say one.", "One it is.", "Say two."].iter().all(|words| model.was_told(words));
    ran.expect(told, "the second turn does not know of the first")?;
    Ok(())
}

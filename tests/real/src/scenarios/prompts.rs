//! Prompts must reach the model as they were given.

use crate::Verdict;
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

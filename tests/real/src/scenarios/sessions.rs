//! Sessions: chosen, resumed, unknown.

use super::not_offered;
use crate::Verdict;
use crate::stage::Stage;
use wharf_mock_model::Step;

/// An id that no session has, of the form that the agents ask for.
fn id(stage: &Stage<'_>) -> String {
    let digits = stage.agent.version.bytes().fold(0_u64, |sum, byte| sum * 31 + u64::from(byte));
    format!("0badcafe-{:04x}-4abc-8def-{:012x}", std::process::id() & 0xffff, digits & 0xffff_ffff_ffff)
}

pub(super) fn chosen(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("it has no flag for it");
    }
    let model = stage.model(vec![Step::text("Named.")])?;
    let id = id(stage);
    let ran = stage.run(&model, &["--session-id", &id, "Go."])?;
    ran.answers("Named.")?;
    ran.expect(ran.session()? == id, "the session has another id")?;
    Ok(())
}

pub(super) fn resumed(stage: &Stage<'_>) -> Verdict {
    let second = Step { usage: Some((321, 45)), ..Step::text("Barnacle.") };
    let model = stage.model(vec![Step { usage: Some((100, 20)), ..Step::text("I will remember.") }, second])?;
    let first = stage.run(&model, &["The word is barnacle-7391."])?;
    first.answers("I will remember.")?;
    let id = first.session()?;
    let second = stage.run(&model, &["--resume", &id, "Which word was it?"])?;
    second.answers("Barnacle.")?;
    second.expect(second.session()? == id, "the session has another id")?;
    second.expect(model.was_told("barnacle-7391"), "the model was not told what was said before")?;
    second.expect(model.was_told("I will remember."), "the model was not told what it said before")?;
    second.expect(second.report["session"]["resumed"] != false, "it says that it did not resume")?;
    // Some agents count over all of a session. Claude Code 2.0 cannot be held to it: by its figures it asks the model a
    // few times more here, for itself.
    let usage = &second.report["usage"];
    let is_its_own = usage["input"] == 321 && usage["output"] == 45;
    let asks_once = stage.agent.is_copilot() || !stage.agent.is_old();
    second.expect(is_its_own || !asks_once, &format!("its tokens are not 321 and 45 but {usage}"))?;
    Ok(())
}

pub(super) fn unknown(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step::text("Hello, stranger.")])?;
    let id = id(stage).replace("0badcafe", "0badf00d");
    let ran = stage.run(&model, &["--resume", &id, "Go on."])?;
    if stage.agent.is_copilot() && stage.agent.is_old() {
        // It starts a new session under that id. That must be said, since nothing was resumed.
        ran.expect(ran.report["session"]["resumed"] != true, "it claims to have resumed what never was")?;
        return Ok(());
    }
    ran.fails("no-session")?;
    ran.expect(model.asked().is_empty(), "the model was asked all the same")?;
    Ok(())
}

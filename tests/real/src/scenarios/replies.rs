//! Answers without tools.

use crate::Verdict;
use crate::ran::{Ran, text};
use crate::stage::Stage;
use wharf_mock_model::Step;

fn deltas(ran: &Ran, kind: &str) -> String {
    ran.events(kind).map(|event| text(&event["text"])).collect()
}

pub(super) fn short(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step { usage: Some((321, 45)), ..Step::text("Ahoy!") }])?;
    let ran = stage.run(&model, &["Say ahoy."])?;
    ran.answers("Ahoy!")?;
    ran.expect(model.asked().len() == 1, "the model was not asked once")?;
    ran.expect(model.was_told("Say ahoy."), "the prompt did not arrive")?;
    ran.session()?;
    ran.expect(ran.report["model"].is_string(), "no model is named")?;
    let version = ran.events("session").find_map(|event| event["runtime_version"].as_str());
    ran.expect(version == Some(&stage.agent.version), "another version ran")?;
    let usage = &ran.report["usage"];
    ran.expect(usage["input"] == 321 && usage["output"] == 45, &format!("the tokens are not 321 and 45 but {usage}"))?;
    Ok(())
}

pub(super) fn long(stage: &Stage<'_>) -> Verdict {
    // Beyond the basic plane, right to left, joined, and with the line separators that some readers split at.
    let verse = "Häfen ⚓ 港 🚢 \u{2028}\u{5d0}\u{5d1} e\u{301} 👩‍🚀 \"q\" \\ \t|\n";
    // 2.0 exits without waiting for its reader: what does not fit into the pipe is lost, the end of the turn too.
    let verses = if !stage.agent.is_copilot() && stage.agent.is_old() { 150 } else { 1500 };
    let reply = verse.repeat(verses);
    let model = stage.model(vec![Step { piece: 61, ..Step::text(reply.clone()) }])?;
    let ran = stage.run(&model, &["Sing."])?;
    ran.completes()?;
    let answer = text(&ran.report["answer"]);
    // Agents may trim the ends of an answer, but nothing else.
    ran.expect(answer.trim() == reply.trim(), "the answer is not what was said")?;
    ran.expect(deltas(&ran, "text-delta").trim() == reply.trim(), "the pieces do not make up what was said")?;
    ran.expect(ran.events("text-delta").count() > verses / 10, "it did not come in pieces")?;
    Ok(())
}

pub(super) fn reasoning(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return super::not_offered("it drops the reasoning of chat completions");
    }
    let step = Step { thinking: Some("The tide is low, so wait.".to_owned()), ..Step::text("Wait.") };
    let model = stage.model(vec![step])?;
    let ran = stage.run(&model, &["Sail now?"])?;
    ran.answers("Wait.")?;
    let thought = |event: &serde_json::Value| text(&event["text"]).contains("tide is low");
    let whole = ran.events("thinking").any(thought) || deltas(&ran, "thinking-delta").contains("tide is low");
    ran.expect(whole, "the reasoning is not among the events")?;
    Ok(())
}

pub(super) fn unstreamed(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step::text("Ahoy, in one piece!")])?;
    let ran = stage.run(&model, &["--no-stream", "Say ahoy."])?;
    ran.answers("Ahoy, in one piece!")?;
    ran.expect(ran.events("text-delta").next().is_none(), "there are pieces")?;
    Ok(())
}

//! Turns that are stopped: by a person, or by a cap.

use super::not_offered;
use super::tools::shell_then;
use crate::Verdict;
use crate::agent::Login;
use crate::process::{interrupt, is_alive, wait_for};
use crate::ran::text;
use crate::stage::Stage;
use std::time::{Duration, Instant};
use wharf_mock_model::{End, Step};

/// From the signal to the end: the grace that agents get is 5 s, and the host says what it killed after it.
const QUICK: Duration = Duration::from_secs(12);

pub(super) fn mid_stream(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step { end: End::Stalled, ..Step::text("It was a dark and stormy night, and") }])?;
    let running = stage.start(&model.url(), Login::Key, &["Tell me a story."])?;
    running.wait_for_event("text-delta")?;
    let started = Instant::now();
    interrupt(running.child.id())?;
    let ran = stage.end(running, &model.url())?;
    ran.ends("cancelled", 130)?;
    ran.expect(started.elapsed() < QUICK, "it took too long to stop")?;
    Ok(())
}

/// Over the transport that can ask, the agent is interrupted by its own protocol and says so itself.
pub(super) fn by_protocol(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return not_offered("over ACP it says nothing before its message is whole");
    }
    let model = stage.model(vec![Step { end: End::Stalled, ..Step::text("It was a dark and stormy night, and") }])?;
    let running = stage.start(&model.url(), Login::Key, &["--ask", "Tell me a story."])?;
    running.wait_for_event("text-delta")?;
    interrupt(running.child.id())?;
    let ran = stage.end(running, &model.url())?;
    ran.ends("cancelled", 130)?;
    let said = ran.events.iter().any(|event| event["type"] == "turn-end" && event["outcome"] == "cancelled");
    ran.expect(said, "the agent did not say itself that it was interrupted")?;
    Ok(())
}

pub(super) fn mid_tool(stage: &Stage<'_>) -> Verdict {
    // One child in the tool's own session and one that runs away into another.
    let command = "setsid sh -c 'echo $$ > runaway.pid; exec sleep 3001' & echo $$ > tool.pid; exec sleep 3002";
    let model = stage.model(shell_then(stage, command))?;
    let words = [stage.agent.approve(), vec!["Sleep."]].concat();
    let running = stage.start(&model.url(), Login::Key, &words)?;
    let id =
        |name: &str| -> Option<u32> { std::fs::read_to_string(stage.workspace.join(name)).ok()?.trim().parse().ok() };
    let both = || Some([id("runaway.pid")?, id("tool.pid")?]);
    let children = wait_for("the tool's children", Duration::from_mins(1), both)?;
    if !children.iter().all(|child| is_alive(*child)) {
        return Err("the tool's children ended by themselves".to_owned().into());
    }
    let started = Instant::now();
    interrupt(running.child.id())?;
    let ran = stage.end(running, &model.url())?;
    ran.ends("cancelled", 130)?;
    ran.expect(started.elapsed() < QUICK, "it took too long to stop")?;
    let alive: Vec<&u32> = children.iter().filter(|child| is_alive(**child)).collect();
    ran.expect(alive.is_empty(), &format!("{alive:?} of the tool's children {children:?} live on"))?;
    Ok(())
}

pub(super) fn turns(stage: &Stage<'_>) -> Verdict {
    let (name, input) = stage.agent.shell("true");
    let model = stage.model(vec![Step { text: Some("Once more.".to_owned()), ..Step::tool(name, input) }])?;
    if !stage.agent.is_copilot() {
        let words = [stage.agent.approve(), vec!["--max-turns", "2", "Go round."]].concat();
        let ran = stage.run(&model, &words)?;
        ran.ends("limit", 6)?.expect(text(&ran.report["detail"]) == "max-turns", "it is not said which cap")?;
        return Ok(());
    }
    // Copilot caps how often its autopilot goes on: a model that never says that it is done makes it do so.
    let model = stage.model(vec![Step::text("Not yet done.")])?;
    let words = [stage.agent.approve(), vec!["--autopilot", "--max-turns", "2", "Go round."]].concat();
    let ran = stage.run(&model, &words)?;
    ran.ends("limit", 6)?;
    ran.expect(model.asked().len() == 3, &format!("the model was asked {} times", model.asked().len()))?;
    Ok(())
}

pub(super) fn cost(stage: &Stage<'_>) -> Verdict {
    let (name, input) = stage.agent.shell("true");
    let dear = Step { usage: Some((900_000, 90_000)), ..Step::tool(name, input) };
    let model = stage.model(vec![dear, Step::text("Cheap at the price.")])?;
    let words = [stage.agent.approve(), vec!["--max-cost", "0.01", "Spend."]].concat();
    let ran = stage.run(&model, &words)?;
    if stage.agent.is_copilot() {
        let ignored = ran.report["ignored"].as_array().into_iter().flatten();
        let is_said = ignored.map(|wish| text(&wish["name"])).any(|name| name == "max-cost");
        ran.expect(is_said, "it is not said that the cap is ignored")?;
        return not_offered("it has no prices in dollars; the report says so");
    }
    ran.ends("limit", 6)?.expect(text(&ran.report["detail"]) == "budget", "it is not said which cap")?;
    Ok(())
}

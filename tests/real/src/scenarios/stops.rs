//! Turns that are stopped, by a user or by a limit.

use super::not_offered;
use super::tools::shell_then;
use crate::ScenarioResult;
use crate::agent::{Call, Login};
use crate::process::{interrupt, is_alive, wait_for};
use crate::run_result::text;
use crate::testbed::{Running, Testbed};
use std::time::{Duration, Instant};
use wharf_mock_model::{End, Step};

/// The time from the signal to the exit: agents get a grace period of 5 s, and then the host kills them.
const QUICK: Duration = Duration::from_secs(12);

pub(super) fn mid_stream(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step { end: End::Stalled, ..Step::text("It was a dark and stormy night, and") }])?;
    let running = testbed.start(&model.url(), Login::Key, &["Tell me a story."])?;
    let streams = testbed.has("streaming");
    let began = |run: &Running| !model.requests().is_empty() && (!streams || run.has_event("text-delta"));
    let running = testbed.wait_in(running, &model, "the beginning of the answer", began)?;
    let started = Instant::now();
    interrupt(running.child.id())?;
    let result = testbed.finish(running, &model.url())?;
    result.expect_outcome("cancelled", 130)?;
    result.check(started.elapsed() < QUICK, "it took too long to stop")?;
    Ok(())
}

/// With the transport that can ask, the agent is interrupted through its own protocol and reports it.
pub(super) fn by_protocol(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step { end: End::Stalled, ..Step::text("It was a dark and stormy night, and") }])?;
    let running = testbed.start(&model.url(), Login::Key, &["--ask", "Tell me a story."])?;
    let began = || (running.has_event("text-delta") || running.has_event("turn-ended")).then_some(());
    let waited = wait_for("the agent's first text", Duration::from_mins(1), began);
    if running.has_event("turn-ended") {
        let result = testbed.finish(running, &model.url())?;
        result.check(result.needs_github_login(), "the turn ended before it was cancelled")?;
        return not_offered("its protocol does not support API keys, and says so");
    }
    waited?;
    interrupt(running.child.id())?;
    let result = testbed.finish(running, &model.url())?;
    result.expect_outcome("cancelled", 130)?;
    let is_reported =
        result.events.iter().any(|event| event["type"] == "turn-ended" && event["outcome"] == "cancelled");
    result.check(is_reported, "the agent did not report the interruption")?;
    Ok(())
}

pub(super) fn mid_tool(testbed: &Testbed<'_>) -> ScenarioResult {
    // One child in the tool's session and one in a new session.
    let command = "setsid sh -c 'echo $$ > runaway.pid; exec sleep 3001' & echo $$ > tool.pid; exec sleep 3002";
    let model = testbed.model(shell_then(testbed, command))?;
    let args = [testbed.agent.approve(), vec!["Sleep."]].concat();
    let running = testbed.start(&model.url(), Login::Key, &args)?;
    let id =
        |name: &str| -> Option<u32> { std::fs::read_to_string(testbed.workspace.join(name)).ok()?.trim().parse().ok() };
    let both = || Some([id("runaway.pid")?, id("tool.pid")?]);
    let running = testbed.wait_in(running, &model, "the tool's children", |_| both().is_some())?;
    let children = both().ok_or_else(|| "the tool's children are gone".to_owned())?;
    if !children.iter().all(|child| is_alive(*child)) {
        return Err("the tool's children exited too early".to_owned().into());
    }
    let started = Instant::now();
    interrupt(running.child.id())?;
    let result = testbed.finish(running, &model.url())?;
    result.expect_outcome("cancelled", 130)?;
    result.check(started.elapsed() < QUICK, "it took too long to stop")?;
    let alive: Vec<&u32> = children.iter().filter(|child| is_alive(**child)).collect();
    result.check(alive.is_empty(), &format!("{alive:?} of the tool's children {children:?} still run"))?;
    Ok(())
}

pub(super) fn turns(testbed: &Testbed<'_>) -> ScenarioResult {
    let Call { name, input } = testbed.agent.shell("true");
    // An agent without a cap must come to an end too.
    let mut steps = vec![Step { text: Some("Once more.".to_owned()), ..Step::tool(name, input) }; 5];
    steps.push(Step::text("Enough."));
    let model = testbed.model(steps)?;
    if !testbed.subject.quirks().cap_is_on_autopilot {
        let args = [testbed.agent.approve(), vec!["--max-turns", "2", "Go round."]].concat();
        let result = testbed.run(&model, &args)?;
        result
            .offers("max-turns")?
            .expect_outcome("limit", 6)?
            .check(text(&result.report["detail"]) == "max-turns", "the detail does not name the limit")?;
        return Ok(());
    }
    // An autopilot continues if the model never finishes.
    let model = testbed.model(vec![Step::text("Not yet done.")])?;
    let args = [testbed.agent.approve(), vec!["--autopilot", "--max-turns", "2", "Go round."]].concat();
    let result = testbed.run(&model, &args)?;
    result.offers("max-turns")?.expect_outcome("limit", 6)?;
    result.check(model.requests().len() == 3, &format!("the model got {} requests", model.requests().len()))?;
    Ok(())
}

pub(super) fn cost(testbed: &Testbed<'_>) -> ScenarioResult {
    let Call { name, input } = testbed.agent.shell("true");
    let expensive = Step { usage: Some((900_000, 90_000)), ..Step::tool(name, input) };
    let model = testbed.model(vec![expensive, Step::text("Cheap at the price.")])?;
    let args = [testbed.agent.approve(), vec!["--max-cost", "0.01", "Spend."]].concat();
    let result = testbed.run(&model, &args)?;
    result
        .offers("max-cost")?
        .expect_outcome("limit", 6)?
        .check(text(&result.report["detail"]) == "budget", "the detail does not name the limit")?;
    Ok(())
}

//! Tools of the agent, of a sub-agent and of an MCP server, and the rules for them.

use super::not_offered;
use crate::agent::Call;
use crate::mcp_server;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use crate::{NotPassed, ScenarioResult};
use serde_json::{Value, json};
use wharf_mock_model::Step;

/// The steps of a model that runs a command and then answers.
pub(super) fn shell_then(testbed: &Testbed<'_>, command: &str) -> Vec<Step> {
    let Call { name, input } = testbed.agent.shell(command);
    vec![Step::tool(name, input), Step::text("Done.")]
}

/// The output of tools, as a whole or in pieces.
fn output(result: &RunResult) -> String {
    let pieces = result.events("tool-output").map(|event| text(&event["text"]));
    result.events("tool").map(|event| text(&event["output"])).chain(pieces).collect()
}

pub(super) fn then_answer(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "printf 'anchor-%s' 42 > made.txt; cat made.txt"))?;
    let args = [testbed.agent.approve(), vec!["Make it."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "succeeded")])?;
    result.check(output(&result).contains("anchor-42"), "the events do not contain the tool's output")?;
    result.check(model.received("anchor-42"), "the model did not get the tool's output")?;
    let made = std::fs::read_to_string(testbed.workspace.join("made.txt")).unwrap_or_default();
    result.check(made.trim() == "anchor-42", "the tool did not run in the workspace")?;
    let has_input = result.events("tool").any(|event| event["input"].to_string().contains("made.txt"));
    result.check(has_input, "the events do not contain the tool's input")?;
    Ok(())
}

pub(super) fn failing(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "echo aground; exit 3"))?;
    let args = [testbed.agent.approve(), vec!["Try it."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Done.")?;
    result.check(output(&result).contains("aground"), "the events do not contain the tool's output")?;
    let tool = &result.report["tools"][0];
    if tool["exit_code"].is_null() && tool["status"] == "succeeded" {
        return not_offered("it reports a command that failed as one that succeeded, without an exit code");
    }
    let is_right = tool["exit_code"] == 3 || (tool["exit_code"].is_null() && tool["status"] == "failed");
    result.check(is_right, "the exit code is wrong")?;
    Ok(())
}

pub(super) fn parallel(testbed: &Testbed<'_>) -> ScenarioResult {
    let calls = ["sleep 0.4; echo port", "echo starboard"].map(|command| testbed.agent.shell(command));
    let calls = calls.into_iter().map(|call| (call.name, call.input)).collect();
    let model = testbed.model(vec![Step::tools(calls), Step::text("Both.")])?;
    let args = [testbed.agent.approve(), vec!["Look both ways."]].concat();
    let result = testbed.run(&model, &args)?;
    let name = testbed.agent.shell_tool();
    result.expect_answer("Both.")?.expect_tools(&[(name, "succeeded"), (name, "succeeded")])?;
    result.check(result.report["tools"][0]["id"] != result.report["tools"][1]["id"], "both calls have the same id")?;
    result.check(model.received("port") && model.received("starboard"), "the model did not get both outputs")?;
    Ok(())
}

pub(super) fn delegated(testbed: &Testbed<'_>) -> ScenarioResult {
    // The tool for it has another name in old versions: what the model is shown decides.
    let model = testbed.model(vec![Step::text("I see.")])?;
    testbed.run(&model, &["What can you do?"])?;
    let Some(Call { name, input }) = testbed.agent.delegate("DIVE-FOR-PEARLS and report", &shown_tools(&model)) else {
        return not_offered("it has no tool that starts a sub-agent");
    };
    let sub_agent = |step: Step| Step { when: Some("DIVE-FOR-PEARLS".to_owned()), ..step };
    let Call { name: shell, input: command } = testbed.agent.shell("echo pearl");
    let model = testbed.model(vec![
        Step::tool(name, input),
        sub_agent(Step::tool(shell, command)),
        sub_agent(Step::text("The diver found a pearl.")),
        Step::text("Somebody dived."),
    ])?;
    let args = [testbed.agent.approve(), vec!["Send a diver."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Somebody dived.")?;
    let tools = result.report["tools"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).cloned().unwrap_or(Value::Null);
    result.check(of(name)["status"] == "succeeded", "the sub-agent did not succeed")?;
    result.check(
        of(shell)["parent"] == of(name)["id"] && of(name)["id"].is_string(),
        "the tool's parent is not the sub-agent",
    )?;
    let own = result.events("message").filter(|event| event["parent"].is_null());
    let own: Vec<&str> = own.map(|event| text(&event["text"])).collect();
    result.check(!own.iter().any(|text| text.contains("pearl")), "the sub-agent's text has no parent")?;
    Ok(())
}

/// A rule for all calls of one program, in the agent's own notation.
fn rule(testbed: &Testbed<'_>, program: &str) -> Result<String, NotPassed> {
    testbed.needs("tool-rules")?;
    testbed.agent.command_rule(program).map_or_else(|| not_offered("its rules are not about commands"), Ok)
}

pub(super) fn denied_by_rule(testbed: &Testbed<'_>) -> ScenarioResult {
    let precious = testbed.workspace.join("precious.txt");
    std::fs::write(&precious, "pearls").map_err(|error| error.to_string())?;
    let model = testbed.model(shell_then(testbed, "rm precious.txt"))?;
    let rule = rule(testbed, "rm")?;
    let args = [testbed.agent.approve(), vec!["--deny-tool", &rule, "Clean up."]].concat();
    let result = testbed.run(&model, &args)?;
    result.offers("tools")?.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "denied")])?;
    result.check(precious.exists(), "a denied command ran")?;
    Ok(())
}

pub(super) fn allowed_by_rule(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "touch allowed.txt"))?;
    let rule = rule(testbed, "touch")?;
    let result = testbed.run(&model, &["--deny", "--allow-tool", &rule, "Touch it."])?;
    result.offers("tools")?.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "succeeded")])?;
    result.check(testbed.workspace.join("allowed.txt").exists(), "an allowed command did not run")?;
    Ok(())
}

pub(super) fn not_shown(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("I have no shell.")])?;
    let name = testbed.agent.shell_tool();
    let args = [testbed.agent.approve(), vec!["--without-tool", name, "What can you do?"]].concat();
    let result = testbed.run(&model, &args)?;
    result.offers("tools")?.expect_answer("I have no shell.")?;
    let shown = shown_tools(&model);
    result.check(
        !shown.is_empty() && !shown.iter().any(|tool| tool == name),
        &format!("the model was shown {shown:?}"),
    )?;
    Ok(())
}

/// The names of the tools in the last request to the model.
pub(super) fn shown_tools(model: &crate::testbed::Model) -> Vec<String> {
    model.requests().pop().map(|request| request.tools).unwrap_or_default()
}

pub(super) fn from_server(testbed: &Testbed<'_>) -> ScenarioResult {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let server = testbed.agent.mcp_server(json!({ "command": this, "args": [mcp_server::ARG] }));
    let file = testbed.write("servers.json", &json!({ "mcpServers": { "harbour": server } }).to_string())?;
    let name = testbed.agent.server_tool("harbour", "tide");
    let model = testbed.model(vec![Step::tool(&name, json!({})), Step::text("At noon.")])?;
    let args = [testbed.agent.approve(), vec!["--mcp", &file, "When?"]].concat();
    let result = testbed.run(&model, &args)?;
    result.offers("mcp-servers")?.expect_answer("At noon.")?;
    result.expect_tools(&[(&testbed.agent.server_tool_in_events("harbour", "tide"), "succeeded")])?;
    result.check(model.received(mcp_server::TOOL_RESULT), "the model did not get the server's result")?;
    Ok(())
}

//! Tools of the agent, of a sub-agent and of an MCP server, and the rules for them.

use crate::ScenarioResult;
use crate::mcp_server;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use serde_json::{Value, json};
use wharf_mock_model::Step;

/// The steps of a model that runs a command and then answers.
pub(super) fn shell_then(testbed: &Testbed<'_>, command: &str) -> Vec<Step> {
    let (name, input) = testbed.agent.shell(command);
    vec![Step::tool(name, input), Step::text("Done.")]
}

fn output(result: &RunResult) -> String {
    result.events("tool").map(|event| text(&event["output"])).collect()
}

pub(super) fn then_answer(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "echo anchor-$((6 * 7)) > made.txt; cat made.txt"))?;
    let args = [testbed.agent.approve(), vec!["Make it."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "succeeded")])?;
    result.check(output(&result).contains("anchor-42"), "the events do not contain the tool's output")?;
    result.check(model.received("anchor-42"), "the model did not get the tool's output")?;
    let made = std::fs::read_to_string(testbed.workspace.join("made.txt")).unwrap_or_default();
    result.check(made.trim() == "anchor-42", "the tool did not run in the workspace")?;
    let input = result.events("tool").find_map(|event| event["input"]["command"].as_str());
    result.check(
        input.is_some_and(|command| command.contains("made.txt")),
        "the events do not contain the tool's input",
    )?;
    Ok(())
}

pub(super) fn failing(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "echo aground; exit 3"))?;
    let args = [testbed.agent.approve(), vec!["Try it."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Done.")?;
    result.check(result.report["tools"][0]["exit_code"] == 3, "the exit code is wrong or missing")?;
    result.check(output(&result).contains("aground"), "the events do not contain the tool's output")?;
    Ok(())
}

pub(super) fn parallel(testbed: &Testbed<'_>) -> ScenarioResult {
    let calls = vec![testbed.agent.shell("sleep 0.4; echo port"), testbed.agent.shell("echo starboard")];
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
    let (name, input) = testbed.agent.delegate("DIVE-FOR-PEARLS and report", &shown_tools(&model));
    let sub_agent = |step: Step| Step { when: Some("DIVE-FOR-PEARLS".to_owned()), ..step };
    let (shell, command) = testbed.agent.shell("echo pearl");
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

pub(super) fn denied_by_rule(testbed: &Testbed<'_>) -> ScenarioResult {
    let precious = testbed.workspace.join("precious.txt");
    std::fs::write(&precious, "pearls").map_err(|error| error.to_string())?;
    let model = testbed.model(shell_then(testbed, "rm precious.txt"))?;
    let rule = testbed.agent.command_rule("rm");
    let args = [testbed.agent.approve(), vec!["--deny-tool", &rule, "Clean up."]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "denied")])?;
    result.check(precious.exists(), "a denied command ran")?;
    Ok(())
}

pub(super) fn allowed_by_rule(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, "touch allowed.txt"))?;
    let rule = testbed.agent.command_rule("touch");
    let result = testbed.run(&model, &["--deny", "--allow-tool", &rule, "Touch it."])?;
    result.expect_answer("Done.")?.expect_tools(&[(testbed.agent.shell_tool(), "succeeded")])?;
    result.check(testbed.workspace.join("allowed.txt").exists(), "an allowed command did not run")?;
    Ok(())
}

pub(super) fn not_shown(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(vec![Step::text("I have no shell.")])?;
    let name = testbed.agent.shell_tool();
    let args = [testbed.agent.approve(), vec!["--without-tool", name, "What can you do?"]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("I have no shell.")?;
    let shown = shown_tools(&model);
    result.check(
        !shown.is_empty() && !shown.iter().any(|tool| tool == name),
        &format!("the model was shown {shown:?}"),
    )?;
    Ok(())
}

/// The names of the tools in the last request to the model.
fn shown_tools(model: &crate::testbed::Model) -> Vec<String> {
    let requests = model.requests();
    let tools = requests.last().and_then(|request| request.body["tools"].as_array()).into_iter().flatten();
    let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned);
    tools.filter_map(name).collect()
}

pub(super) fn from_server(testbed: &Testbed<'_>) -> ScenarioResult {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let servers = json!({ "mcpServers": { "harbour": {
        "type": "local", "command": this, "args": [mcp_server::ARG], "tools": ["*"],
    } } });
    let servers = if testbed.agent.is_copilot() { servers } else { in_claudes_format(servers) };
    let file = testbed.write("servers.json", &servers.to_string())?;
    let name = testbed.agent.server_tool("harbour", "tide");
    let model = testbed.model(vec![Step::tool(&name, json!({})), Step::text("At noon.")])?;
    let args = [testbed.agent.approve(), vec!["--mcp", &file, "When?"]].concat();
    let result = testbed.run(&model, &args)?;
    result.expect_answer("At noon.")?.expect_tools(&[(&name, "succeeded")])?;
    result.check(model.received(mcp_server::TOOL_RESULT), "the model did not get the server's result")?;
    Ok(())
}

fn in_claudes_format(mut servers: Value) -> Value {
    if let Some(server) = servers["mcpServers"]["harbour"].as_object_mut() {
        server.remove("tools");
        server.insert("type".to_owned(), json!("stdio"));
    }
    servers
}

//! Tools: those of the agent, of a sub-agent, of an MCP server, and the rules about them.

use crate::Verdict;
use crate::ran::{Ran, text};
use crate::stage::Stage;
use crate::tide;
use serde_json::{Value, json};
use wharf_mock_model::Step;

/// A call of the shell, then an answer.
pub(super) fn shell_then(stage: &Stage<'_>, command: &str) -> Vec<Step> {
    let (name, input) = stage.agent.shell(command);
    vec![Step::tool(name, input), Step::text("Done.")]
}

fn output(ran: &Ran) -> String {
    ran.events("tool").map(|event| text(&event["output"])).collect()
}

pub(super) fn then_answer(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(shell_then(stage, "echo anchor-$((6 * 7)) > made.txt; cat made.txt"))?;
    let words = [stage.agent.approve(), vec!["Make it."]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("Done.")?.used(&[(stage.agent.shell_tool(), "succeeded")])?;
    ran.expect(output(&ran).contains("anchor-42"), "the tool's output is not among the events")?;
    ran.expect(model.was_told("anchor-42"), "the model did not get the tool's output")?;
    let made = std::fs::read_to_string(stage.workspace.join("made.txt")).unwrap_or_default();
    ran.expect(made.trim() == "anchor-42", "the tool did not run in the workspace")?;
    let input = ran.events("tool").find_map(|event| event["input"]["command"].as_str());
    ran.expect(input.is_some_and(|command| command.contains("made.txt")), "the tool's input is not told")?;
    Ok(())
}

pub(super) fn failing(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(shell_then(stage, "echo aground; exit 3"))?;
    let words = [stage.agent.approve(), vec!["Try it."]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("Done.")?;
    ran.expect(ran.report["tools"][0]["exit_code"] == 3, "the exit code is not told")?;
    ran.expect(output(&ran).contains("aground"), "the tool's output is not among the events")?;
    Ok(())
}

pub(super) fn parallel(stage: &Stage<'_>) -> Verdict {
    let calls = vec![stage.agent.shell("sleep 0.4; echo port"), stage.agent.shell("echo starboard")];
    let model = stage.model(vec![Step::tools(calls), Step::text("Both.")])?;
    let words = [stage.agent.approve(), vec!["Look both ways."]].concat();
    let ran = stage.run(&model, &words)?;
    let name = stage.agent.shell_tool();
    ran.answers("Both.")?.used(&[(name, "succeeded"), (name, "succeeded")])?;
    ran.expect(ran.report["tools"][0]["id"] != ran.report["tools"][1]["id"], "the two are one")?;
    ran.expect(model.was_told("port") && model.was_told("starboard"), "the model did not get both outputs")?;
    Ok(())
}

pub(super) fn delegated(stage: &Stage<'_>) -> Verdict {
    let (name, input) = stage.agent.delegate("DIVE-FOR-PEARLS and report");
    let of_diver = |step: Step| Step { when: Some("DIVE-FOR-PEARLS".to_owned()), ..step };
    let (shell, command) = stage.agent.shell("echo pearl");
    let model = stage.model(vec![
        Step::tool(name, input),
        of_diver(Step::tool(shell, command)),
        of_diver(Step::text("The diver found a pearl.")),
        Step::text("Somebody dived."),
    ])?;
    let words = [stage.agent.approve(), vec!["Send a diver."]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("Somebody dived.")?;
    let tools = ran.report["tools"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).cloned().unwrap_or(Value::Null);
    ran.expect(of(name)["status"] == "succeeded", "the sub-agent did not succeed")?;
    ran.expect(of(shell)["parent"] == of(name)["id"] && of(name)["id"].is_string(), "its tool is not the sub-agent's")?;
    let own = ran.events("message").filter(|event| event["parent"].is_null());
    let own: Vec<&str> = own.map(|event| text(&event["text"])).collect();
    ran.expect(!own.iter().any(|said| said.contains("pearl")), "the sub-agent's words are taken for the agent's")?;
    Ok(())
}

pub(super) fn denied_by_rule(stage: &Stage<'_>) -> Verdict {
    let precious = stage.workspace.join("precious.txt");
    std::fs::write(&precious, "pearls").map_err(|why| why.to_string())?;
    let model = stage.model(shell_then(stage, "rm precious.txt"))?;
    let rule = stage.agent.command_rule("rm");
    let words = [stage.agent.approve(), vec!["--deny-tool", &rule, "Clean up."]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("Done.")?.used(&[(stage.agent.shell_tool(), "denied")])?;
    ran.expect(precious.exists(), "what the rule forbids was done")?;
    Ok(())
}

pub(super) fn allowed_by_rule(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(shell_then(stage, "touch allowed.txt"))?;
    let rule = stage.agent.command_rule("touch");
    let ran = stage.run(&model, &["--deny", "--allow-tool", &rule, "Touch it."])?;
    ran.answers("Done.")?.used(&[(stage.agent.shell_tool(), "succeeded")])?;
    ran.expect(stage.workspace.join("allowed.txt").exists(), "what the rule allows was not done")?;
    Ok(())
}

pub(super) fn hidden(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(vec![Step::text("I have no shell.")])?;
    let name = stage.agent.shell_tool();
    let words = [stage.agent.approve(), vec!["--without-tool", name, "What can you do?"]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("I have no shell.")?;
    let shown = offered(&model);
    ran.expect(!shown.is_empty() && !shown.iter().any(|tool| tool == name), &format!("the model was shown {shown:?}"))?;
    Ok(())
}

/// The tools that the model was shown.
fn offered(model: &crate::stage::Model) -> Vec<String> {
    let requests = model.asked();
    let tools = requests.last().and_then(|request| request.body["tools"].as_array()).into_iter().flatten();
    let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned);
    tools.filter_map(name).collect()
}

pub(super) fn of_server(stage: &Stage<'_>) -> Verdict {
    let this = std::env::current_exe().map_err(|why| why.to_string())?;
    let servers = json!({ "mcpServers": { "harbour": {
        "type": "local", "command": this, "args": [tide::WORD], "tools": ["*"],
    } } });
    let servers = if stage.agent.is_copilot() { servers } else { without_copilots_words(servers) };
    let file = stage.write("servers.json", &servers.to_string())?;
    let name = stage.agent.server_tool("harbour", "tide");
    let model = stage.model(vec![Step::tool(&name, json!({})), Step::text("At noon.")])?;
    let words = [stage.agent.approve(), vec!["--mcp", &file, "When?"]].concat();
    let ran = stage.run(&model, &words)?;
    ran.answers("At noon.")?.used(&[(&name, "succeeded")])?;
    ran.expect(model.was_told(tide::SAYS), "the model did not get what the server said")?;
    Ok(())
}

fn without_copilots_words(mut servers: Value) -> Value {
    if let Some(server) = servers["mcpServers"]["harbour"].as_object_mut() {
        server.remove("tools");
        server.insert("type".to_owned(), json!("stdio"));
    }
    servers
}

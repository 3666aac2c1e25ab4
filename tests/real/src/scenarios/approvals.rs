//! Tool approvals: by rules, by a user, by nobody.

use super::not_offered;
use super::tools::{shell_then, shown_tools};
use crate::ScenarioResult;
use crate::agent::Login;
use crate::run_result::{RunResult, text};
use crate::testbed::Testbed;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use wharf_mock_model::Step;

/// A command that no agent considers harmless.
const COMMAND: &str = "touch approved.txt";

fn command_ran(testbed: &Testbed<'_>) -> bool {
    testbed.workspace.join("approved.txt").exists()
}

/// Who answered each ask, and whether the answer allowed it.
fn answered(result: &RunResult) -> Vec<(&str, bool)> {
    let allows = |ask: &serde_json::Value, choice: &str| {
        let choices = ask["choices"].as_array().into_iter().flatten();
        let kind = choices.filter(|one| one["id"] == choice).find_map(|one| one["kind"].as_str());
        kind.is_some_and(|kind| kind.starts_with("allow"))
    };
    let answers = result.events("ask-answered").map(|event| {
        let ask = result.events("ask").find(|ask| ask["id"] == event["id"]);
        let choice = event["choice"].as_str().unwrap_or_default();
        (event["by"].as_str().unwrap_or_default(), ask.is_some_and(|ask| allows(ask, choice)))
    });
    answers.collect()
}

pub(super) fn nobody(testbed: &Testbed<'_>) -> ScenarioResult {
    let model = testbed.model(shell_then(testbed, COMMAND))?;
    let result = testbed.run(&model, &["--deny", "Touch it."])?;
    result.check(!command_ran(testbed), "the command ran anyway")?;
    check_outcome_after_denial(&result)?;
    let is_shown = shown_tools(&model).iter().any(|name| name == testbed.agent.shell("").name);
    if is_shown && !testbed.subject.quirks().has_sandbox {
        result.expect_tools(&[(testbed.agent.shell_tool(), "denied")])?;
    } else {
        // A tool that the model is not shown cannot be denied: the agent does not know it.
        let ran = result.tools().iter().any(|(_, status)| *status == "succeeded");
        result.check(!ran, "a tool that nobody approves succeeded")?;
    }
    Ok(())
}

/// Most agents tell the model, which continues. Some end the turn immediately.
fn check_outcome_after_denial(result: &RunResult) -> Result<(), String> {
    if result.report["outcome"] == "cancelled" {
        result.expect_outcome("cancelled", 130)?.check(
            text(&result.report["detail"]).contains("a tool was denied"),
            "the detail does not say that a tool was denied",
        )?
    } else {
        result.expect_answer("Done.")?
    };
    Ok(())
}

/// Runs a turn that can ask. The protocol in which old versions of Copilot ask supports no API keys, which they say: then
/// the turn runs with a GitHub login.
fn run(testbed: &Testbed<'_>, args: &[&str], steps: Vec<Step>) -> Result<RunResult, String> {
    let model = testbed.model(steps)?;
    let result = testbed.run(&model, &[args, &["Touch it."]].concat())?;
    if result.needs_github_login() {
        return testbed.run_at(&model.url(), Login::Token, &[args, &["--model", "gpt-mock", "Touch it."]].concat());
    }
    Ok(result)
}

fn by_rules(testbed: &Testbed<'_>, rules: &str, steps: Vec<Step>) -> Result<RunResult, String> {
    let file = testbed.write("rules.toml", rules)?;
    run(testbed, &["--rules", &file], steps)
}

pub(super) fn allowed(testbed: &Testbed<'_>) -> ScenarioResult {
    let rules = "default = \"deny\"\n[[rule]]\ntool = \"*\"\ncontains = \"approved.txt\"\nanswer = \"allow\"\n";
    let result = by_rules(testbed, rules, shell_then(testbed, COMMAND))?;
    result.expect_answer("Done.")?;
    result.check(answered(&result) == [("rule", true)], "no rule allowed it")?;
    result.check(command_ran(testbed), "the command did not run")?;
    Ok(())
}

pub(super) fn denied(testbed: &Testbed<'_>) -> ScenarioResult {
    let result = by_rules(testbed, "default = \"deny\"\n", shell_then(testbed, COMMAND))?;
    check_outcome_after_denial(&result)?;
    result.check(answered(&result) == [("rule", false)], "no rule denied it")?;
    let statuses: Vec<&str> = result.tools().into_iter().map(|(_, status)| status).collect();
    result.check(statuses == ["denied"], "the tool's status is not denied")?;
    result.check(!command_ran(testbed), "the command ran anyway")?;
    Ok(())
}

pub(super) fn timed_out(testbed: &Testbed<'_>) -> ScenarioResult {
    let result = run(testbed, &["--ask", "--ask-timeout", "2"], shell_then(testbed, COMMAND))?;
    // However the agent handles the denial, the turn needed a user.
    result.expect_outcome("blocked", 5)?;
    result.check(answered(&result) == [("timeout", false)], "the ask did not time out")?;
    result.check(!command_ran(testbed), "the command ran anyway")?;
    Ok(())
}

/// Only a user can edit an input, and `wharf run` asks a user only at a terminal, which `script` provides.
pub(super) fn edited(testbed: &Testbed<'_>) -> ScenarioResult {
    let result = by_rules(testbed, "default = \"deny\"\n", shell_then(testbed, COMMAND))?;
    result.check(result.events("ask").next().is_some(), "there was no ask")?;
    if result.events("ask").all(|ask| ask["input_editable"] == false) {
        return not_offered("its asks say that the input cannot be edited");
    }
    if !std::path::Path::new("/usr/bin/script").exists() {
        return not_offered("`script`, which provides a terminal, is not installed");
    }
    let model = testbed.model(shell_then(testbed, "touch original.txt"))?;
    let wharf = testbed.wharf(&model.url(), Login::Key)?;
    let typed = format!("e {}\n", testbed.agent.shell("touch edited.txt").input);
    let line = format!(
        "{} run --ask --total-timeout 60 --adapter {} {} 'Touch it.'",
        testbed.subject.wharf.display(),
        testbed.subject.adapter(),
        testbed.subject.transport_args().join(" ")
    );
    let mut terminal = Command::new("/usr/bin/script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env_clear();
    terminal.envs(wharf.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.current_dir(&testbed.workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = terminal.spawn().map_err(|error| format!("cannot start `script`: {error}"))?;
    let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut screen = vec![];
    let mut buffer = [0; 4096];
    let mut is_answered = false;
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..count]);
        if !is_answered && String::from_utf8_lossy(&screen).contains("yes, with this input") {
            is_answered = true;
            stdin.write_all(typed.as_bytes()).map_err(|error| format!("cannot write the answer: {error}"))?;
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let shown = String::from_utf8_lossy(&screen);
    let shown = &shown[shown.len().saturating_sub(600)..];
    let check = |condition: bool, message: &str| {
        if condition { Ok(()) } else { Err(format!("{message}: {status}, {shown:?}")) }
    };
    check(is_answered, "there was no ask")?;
    check(status.success(), "the turn did not complete")?;
    check(testbed.workspace.join("edited.txt").exists(), "the edited command did not run")?;
    check(!testbed.workspace.join("original.txt").exists(), "the original command ran")?;
    Ok(())
}

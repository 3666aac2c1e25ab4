//! Who approves of tools, and what happens when nobody does.

use super::not_offered;
use super::tools::shell_then;
use crate::Verdict;
use crate::agent::Login;
use crate::ran::Ran;
use crate::stage::Stage;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use wharf_mock_model::Step;

/// A command that no agent takes for harmless, and what it leaves behind.
const MAKES: &str = "touch approved.txt";

fn was_done(stage: &Stage<'_>) -> bool {
    stage.workspace.join("approved.txt").exists()
}

/// Who answered the asks, and how.
fn answered(ran: &Ran) -> Vec<(&str, bool)> {
    let allows = |ask: &serde_json::Value, choice: &str| {
        let choices = ask["choices"].as_array().into_iter().flatten();
        let kind = choices.filter(|one| one["id"] == choice).find_map(|one| one["kind"].as_str());
        kind.is_some_and(|kind| kind.starts_with("allow"))
    };
    let answers = ran.events("ask-answered").map(|event| {
        let ask = ran.events("ask").find(|ask| ask["id"] == event["id"]);
        let choice = event["choice"].as_str().unwrap_or_default();
        (event["by"].as_str().unwrap_or_default(), ask.is_some_and(|ask| allows(ask, choice)))
    });
    answers.collect()
}

pub(super) fn nobody(stage: &Stage<'_>) -> Verdict {
    let model = stage.model(shell_then(stage, MAKES))?;
    let ran = stage.run(&model, &["--deny", "Touch it."])?;
    ran.answers("Done.")?.used(&[(stage.agent.shell_tool(), "denied")])?;
    ran.expect(!was_done(stage), "it was done all the same")?;
    Ok(())
}

/// Claude Code tells the model, which goes on. Copilot ends the turn there, without another word.
fn after_a_no(stage: &Stage<'_>, ran: &Ran) -> Result<(), String> {
    if stage.agent.is_copilot() {
        ran.ends("cancelled", 130)?
    } else {
        ran.answers("Done.")?
    };
    Ok(())
}

/// A turn that may ask. The protocol in which Copilot 1.0.35 asks knows nothing of keys and their models.
fn run(stage: &Stage<'_>, words: &[&str], steps: Vec<Step>) -> Result<Ran, String> {
    let model = stage.model(steps)?;
    if stage.agent.is_copilot() && stage.agent.is_old() {
        return stage.run_at(&model.url(), Login::Token, &[words, &["--model", "gpt-mock", "Touch it."]].concat());
    }
    stage.run(&model, &[words, &["Touch it."]].concat())
}

fn by_rules(stage: &Stage<'_>, rules: &str, steps: Vec<Step>) -> Result<Ran, String> {
    let file = stage.write("rules.toml", rules)?;
    run(stage, &["--rules", &file], steps)
}

pub(super) fn allowed(stage: &Stage<'_>) -> Verdict {
    let rules = "otherwise = \"deny\"\n[[rule]]\ntool = \"*\"\ncontains = \"approved.txt\"\nanswer = \"allow\"\n";
    let ran = by_rules(stage, rules, shell_then(stage, MAKES))?;
    ran.answers("Done.")?;
    ran.expect(answered(&ran) == [("rule", true)], "no rule allowed it")?;
    ran.expect(was_done(stage), "it was not done")?;
    Ok(())
}

pub(super) fn denied(stage: &Stage<'_>) -> Verdict {
    let ran = by_rules(stage, "otherwise = \"deny\"\n", shell_then(stage, MAKES))?;
    after_a_no(stage, &ran)?;
    ran.expect(answered(&ran) == [("rule", false)], "no rule denied it")?;
    let statuses: Vec<&str> = ran.tools().into_iter().map(|(_, status)| status).collect();
    ran.expect(statuses == ["denied"], "the tool is not told to be denied")?;
    ran.expect(!was_done(stage), "it was done all the same")?;
    Ok(())
}

pub(super) fn timed_out(stage: &Stage<'_>) -> Verdict {
    let ran = run(stage, &["--ask", "--limit-ask", "2"], shell_then(stage, MAKES))?;
    // Whatever the agent made of the no: what it needed was a person.
    ran.ends("blocked", 5)?;
    ran.expect(answered(&ran) == [("timeout", false)], "the time did not run out")?;
    ran.expect(!was_done(stage), "it was done all the same")?;
    Ok(())
}

/// Only a person can edit, and `wharf run` asks a person only at a terminal: `script` is one.
pub(super) fn edited(stage: &Stage<'_>) -> Verdict {
    if stage.agent.is_copilot() {
        return not_offered("it takes a yes or a no");
    }
    if !std::path::Path::new("/usr/bin/script").exists() {
        return not_offered("there is no `script` here, which makes a terminal");
    }
    let model = stage.model(shell_then(stage, "touch original.txt"))?;
    let wharf = stage.wharf(&model.url(), Login::Key);
    let typed = "e {\"command\":\"touch edited.txt\",\"description\":\"edited\"}\n";
    let line = format!(
        "{} run --ask --limit-total 60 --adapter {} 'Touch it.'",
        stage.agent.wharf.display(),
        stage.agent.adapter()
    );
    let mut terminal = Command::new("/usr/bin/script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env_clear();
    terminal.envs(wharf.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.current_dir(&stage.workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = terminal.spawn().map_err(|why| format!("`script` cannot be started: {why}"))?;
    let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut screen = vec![];
    let mut buffer = [0; 4096];
    let mut is_answered = false;
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..count]);
        if !is_answered && String::from_utf8_lossy(&screen).contains("yes, with this input") {
            is_answered = true;
            stdin.write_all(typed.as_bytes()).map_err(|why| format!("nobody reads the answer: {why}"))?;
        }
    }
    let status = child.wait().map_err(|why| why.to_string())?;
    let shown = String::from_utf8_lossy(&screen);
    let shown = &shown[shown.len().saturating_sub(600)..];
    let holds = |what: bool, why: &str| if what { Ok(()) } else { Err(format!("{why}: {status}, {shown:?}")) };
    holds(is_answered, "nobody was asked")?;
    holds(status.success(), "the turn did not complete")?;
    holds(stage.workspace.join("edited.txt").exists(), "what was made of it was not done")?;
    holds(!stage.workspace.join("original.txt").exists(), "the original was done")?;
    Ok(())
}

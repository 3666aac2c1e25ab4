//! The orchestrator of docs/orchestrating.md: as long as the document says, and executed.

use crate::{WHARF, sandbox};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use wharf_test_support::{Finished, Sandbox, repository, wait_until};

const ORCHESTRATOR: &str = "examples/orchestrator-python/orchestrator.py";

/// An agent as a shell script: what comes before the answer, and the answer.
const AGENT: &str = r#"#!/bin/sh
case "$*" in *--version*) echo 'echo-agent 1.0.0'; exit ;; esac
read -r prompt
echo '{"type":"hello","session":"NAME","model":"echo-1","version":"1.0.0"}'
BEFORE
echo '{"type":"say","id":"1","text":"NAME is done"}'
echo '{"type":"usage","input":10,"output":2}'
echo '{"type":"done"}'
cat > /dev/null
"#;

fn agent(sandbox: &Sandbox, name: &str, before: &str) -> Value {
    let path = sandbox.write(format!("{name}-agent"), AGENT.replace("NAME", name).replace("BEFORE", before));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    json!(["--adapter=echo", "--program", path])
}

/// The orchestrator, or none where there is no Python.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn orchestrator(sandbox: &Sandbox, job: &str, budget: &str) -> Option<Command> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no python3");
        return None;
    }
    let mut command = sandbox.command("python3");
    let wharf = Path::new(WHARF).parent().expect("a folder").display();
    command.env("PATH", format!("{wharf}:{}", std::env::var("PATH").expect("a PATH")));
    command.arg(repository().join(ORCHESTRATOR)).arg(job).arg(sandbox.path("tasks.json")).args(["4", budget]);
    Some(command)
}

fn runs_of(sandbox: &Sandbox, task: &str) -> Vec<Value> {
    let runs = sandbox.json(&["runs", "--json", "-n", "100", "--label", &format!("task={task}")]);
    runs.as_array().unwrap().clone()
}

#[test]
fn the_document_shows_the_orchestrator_as_it_is_in_sixty_lines() {
    let code = fs::read_to_string(repository().join(ORCHESTRATOR)).unwrap();
    let document = fs::read_to_string(repository().join("docs/orchestrating.md")).unwrap();
    let (_, shown) = document.split_once("```python\n").expect("a block of Python");
    let (shown, _) = shown.split_once("```").expect("its end");
    assert_eq!(shown, code);
    assert!(code.lines().count() <= 60, "{} lines", code.lines().count());
}

#[test]
fn the_orchestrator_continues_after_it_was_killed_with_everything_that_it_had_started() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "[prices.\"echo*\"]\ninput = 3\noutput = 15\n");
    let mut tasks: Vec<Value> = (1..=16)
        .map(|task| json!({"id": task.to_string(), "prompts": ["count", "and again"], "args": ["--adapter=echo"]}))
        .collect();
    let ask = r#"echo '{"type":"ask","id":"a","title":"?","tool":"cat","input":{"path":"secret"}}'; read -r answer"#;
    let fails =
        r#"[ -e failed ] || { : > failed; echo '{"type":"failed","class":"rate-limit"}'; cat > /dev/null; exit 1; }"#;
    let waits = "until [ -e go ]; do sleep 0.1; done";
    for (id, args) in [
        ("curious", agent(&sandbox, "curious", ask)),
        ("flaky", agent(&sandbox, "flaky", fails)),
        ("invalid", json!(["--adapter=echo", "--option=colour=red"])),
        ("slow", agent(&sandbox, "slow", waits)),
    ] {
        tasks.push(json!({"id": id, "prompts": ["go"], "args": args}));
    }
    sandbox.write("tasks.json", json!(tasks).to_string());

    let Some(mut first) = orchestrator(&sandbox, "night", "1") else { return };
    let mut first = first.process_group(0).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the slow task has its session", || {
        runs_of(&sandbox, "slow").first().is_some_and(|run| run["session"] == "slow")
    });
    kill_process_group(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
    wait_until("its wharf has ended too", || runs_of(&sandbox, "slow")[0]["state"] == "torn");
    sandbox.write("workspace/go", "");

    let second = Finished::of(&mut orchestrator(&sandbox, "night", "1").unwrap()).success();
    let rows: Vec<Vec<&str>> = second.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 20, "{second:?}");
    for row in &rows {
        let expected = match row[0] {
            "curious" => "cancelled",
            "invalid" => "failed",
            _ => "completed",
        };
        assert_eq!(row[1], expected, "{}", second.stdout);
    }
    assert!(second.stdout.contains("no option `colour`"), "{}", second.stdout);
    assert!(second.stdout.contains("slow is done"), "{}", second.stdout);
    let tasks_done_once = (1..=16).filter(|task| runs_of(&sandbox, &task.to_string()).len() == 2).count();
    assert!(tasks_done_once >= 12, "at most four were killed: {tasks_done_once}");
    let flaky = runs_of(&sandbox, "flaky");
    assert_eq!(flaky[0]["outcome"], "completed");
    assert!(flaky.iter().any(|run| run["outcome"] == "failed" || run["state"] == "torn"), "{flaky:?}");
    let slow = runs_of(&sandbox, "slow");
    assert_eq!((slow.len(), &slow[0]["session"], &slow[1]["state"]), (2, &json!("slow"), &json!("torn")));
    let costs = sandbox.json(&["usage", "--json", "--by", "label:job"]);
    assert_eq!(
        (&costs[0]["group"]["label:job"], &costs[0]["usage"]["cost_source"]),
        (&json!("night"), &json!("prices"))
    );

    // Everything is known: nothing runs again. And no job starts without a budget.
    let before = sandbox.json(&["usage", "--json", "--by", "adapter"])[0]["runs"].as_u64().unwrap();
    tasks.retain(|task| !["curious", "invalid"].contains(&task["id"].as_str().unwrap()));
    sandbox.write("tasks.json", json!(tasks).to_string());
    let third = Finished::of(&mut orchestrator(&sandbox, "night", "1").unwrap()).success();
    assert!(third.stdout.lines().all(|line| line.contains("(done before)")), "{}", third.stdout);
    assert_eq!(sandbox.json(&["usage", "--json", "--by", "adapter"])[0]["runs"], before);
    let poor = Finished::of(&mut orchestrator(&sandbox, "day", "0").unwrap()).success();
    assert!(poor.stdout.lines().all(|line| line.contains("no budget")), "{}", poor.stdout);
    sandbox.expect_nothing_left();
}

//! `wharf explain` shows what would really be started, and starts nothing.

use crate::{WHARF, sandbox};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use wharf_test_support::Finished;

/// An agent that writes its arguments, its environment, its stdin and its folder to files, and then says it is done.
const WITNESS: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then touch SEEN/probed; echo "witness 1.2.3"; exit; fi
for arg in "$@"; do printf '%s\n' "$arg"; done > SEEN/args
env > SEEN/env
cat > SEEN/stdin
pwd > SEEN/folder
echo '{"type":"hello","session":"s"}'
echo '{"type":"done"}'
"#;

#[test]
fn what_is_explained_is_what_is_run() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("seen")).expect("a folder");
    let seen = |name: &str| fs::read_to_string(sandbox.path("seen").join(name));
    let witness = WITNESS.replace("SEEN", sandbox.path("seen").to_str().expect("UTF-8"));
    let witness = sandbox.write("witness-agent", witness);
    fs::set_permissions(&witness, fs::Permissions::from_mode(0o755)).expect("a program");

    let command = |name: &'static str| {
        let mut wharf = sandbox.wharf([name, "--json", "-a", "echo", "--program"]);
        wharf.arg(&witness).args(["--session-id", "chosen", "--model", "echo-loud", "--effort", "low", "two words"]);
        wharf.env("UNRELATED_SECRET", "s3cret").env("LC_ALL", "C").env("PASSED_ON", "yes");
        wharf
    };
    sandbox.write("config.toml", "environment = [\"PASSED_ON\"]\n");
    let written = || ["data", "home", "workspace", "seen"].map(|folder| sandbox.files(folder));
    let before = written();
    let explained = Finished::of(&mut command("explain")).success().json();
    assert_eq!(written(), before, "explaining has started the agent or written a file");
    assert_eq!(explained["version"], Value::Null, "its version is not known without starting it");
    assert_eq!(explained["probes"], json!([format!("run: {} --version", witness.display())]));

    let run = Finished::of(&mut command("run")).success();
    let again = Finished::of(&mut command("explain")).success().json();
    assert_eq!((&again["version"], &again["probes"]), (&json!("1.2.3"), &json!([])), "the run has remembered it");
    let report = run.report();
    let args: Vec<Value> = seen("args").expect("arguments").lines().map(Value::from).collect();
    assert_eq!(explained["args"], Value::from(args.clone()));
    assert!(args.contains(&json!("chosen")) && args.contains(&json!("echo-loud")), "{args:?}");
    assert_eq!(explained["program"], json!(witness));
    assert_eq!(explained["stdin"], json!(seen("stdin").expect("stdin")));
    assert_eq!(explained["stdin"], "two words");
    assert_eq!(explained["workspace"], json!(seen("folder").expect("the folder").trim_end()));
    assert_eq!(explained["unsupported"], report["unsupported"]);
    assert_eq!(report["unsupported"][0]["name"], "effort");

    let environment = seen("env").expect("the environment");
    // The shell sets these by itself.
    let by_shell = |name: &&str| !["_", "PWD", "OLDPWD", "SHLVL"].contains(name);
    let names = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).filter(by_shell);
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(explained["environment"], json!(names));
    assert!(names.contains(&"PASSED_ON") && names.contains(&"LC_ALL"), "{names:?}");
    assert!(!environment.contains("UNRELATED_SECRET") && !environment.contains("s3cret"), "{environment}");
    assert!(!environment.contains("WHARF_CONFIG"), "{environment}");
}

#[test]
fn explaining_a_resume_writes_nothing() {
    let sandbox = sandbox();
    let explained = sandbox.call(["explain", "--json", "-a", "echo", "--resume", "unknown", "hello"]).success().json();
    assert_eq!(explained["args"], json!(["echo-agent", "--resume", "unknown"]));
    assert!(sandbox.files("data").is_empty(), "{:?}", sandbox.files("data").keys());
}

#[test]
fn the_text_for_people_shows_the_same() {
    let sandbox = sandbox();
    let text = sandbox.call(["explain", "-a", "echo", "-s", "be kind", "-e", "low", "hello"]).success().stdout;
    for part in [
        WHARF,
        "echo-agent",
        "transport    lines",
        "--system",
        "<file system.txt>",
        "system.txt, 7 bytes",
        "unsupported",
        "effort",
        "hello",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn the_instructions_of_the_workspace_that_count_are_named() {
    let sandbox = sandbox();
    let program = sandbox.write("claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let explain = |more: &[&str]| {
        let mut command = sandbox.wharf(["explain", "-a", "claude", "--program"]);
        command.arg(&program).args(more).arg("go");
        Finished::of(&mut command).success()
    };
    let none = explain(&[]).stdout;
    assert!(none.contains("none in the workspace; these would be read: CLAUDE.md, "), "{none}");

    sandbox.write("workspace/CLAUDE.md", "Be brief.");
    sandbox.write("workspace/AGENTS.md", "Be brief.");
    let text = explain(&[]).stdout;
    assert!(text.contains("instructions CLAUDE.md: read\ninstructions AGENTS.md: not read\n"), "{text}");
    let files = explain(&["--json"]).json()["instructions"].clone();
    let file = |path: &str, read, exists| json!({ "path": path, "read": read, "exists": exists });
    for expected in [file("CLAUDE.md", true, true), file("AGENTS.md", false, true), file(".claude/rules", true, false)]
    {
        assert!(files.as_array().expect("a list").contains(&expected), "{files}");
    }
    let excluded = explain(&["-o", "project-instructions=false"]).stdout;
    assert!(excluded.contains("instructions CLAUDE.md: not read\n"), "{excluded}");
    let copilot = sandbox.write("copilot", "#!/bin/sh\n");
    fs::set_permissions(&copilot, fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = sandbox.wharf(["explain", "-a", "copilot", "--program"]);
    let copilot = Finished::of(command.arg(&copilot).arg("go")).success().stdout;
    assert!(copilot.contains("instructions AGENTS.md: read\ninstructions CLAUDE.md: read\n"), "{copilot}");
}

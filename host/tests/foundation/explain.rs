//! `wharf explain` tells what is really run, and runs nothing.

use crate::common::{Machine, Ran, WHARF};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// An agent that writes down its arguments, its environment, its stdin and its folder, and then says it is done.
const WITNESS: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "witness 1.2.3"; exit; fi
for word in "$@"; do printf '%s\n' "$word"; done > SEEN/args
env > SEEN/env
cat > SEEN/stdin
pwd > SEEN/folder
echo '{"type":"hello","session":"s"}'
echo '{"type":"done"}'
"#;

#[test]
fn what_is_explained_is_what_is_run() {
    let machine = Machine::new();
    fs::create_dir(machine.path("seen")).expect("a folder");
    let seen = |name: &str| fs::read_to_string(machine.path("seen").join(name));
    let witness = WITNESS.replace("SEEN", machine.path("seen").to_str().expect("UTF-8"));
    let witness = machine.write("witness-agent", witness);
    fs::set_permissions(&witness, fs::Permissions::from_mode(0o755)).expect("a program");

    let words = |command: &'static str| {
        let mut wharf = machine.wharf([command, "--json", "-a", "echo", "--program"]);
        wharf.arg(&witness).args(["--session-id", "chosen", "--model", "echo-loud", "--effort", "low", "two words"]);
        wharf.env("UNRELATED_SECRET", "s3cret").env("LC_ALL", "C").env("PASSED_ON", "yes");
        wharf
    };
    machine.write("config.toml", "environment = [\"PASSED_ON\"]\n");
    let written = || ["data", "home", "workspace", "seen"].map(|folder| machine.files(folder));
    let before = written();
    let explained = Ran::of(&mut words("explain")).good().json();
    assert_eq!(written(), before, "explaining has started the agent or written a file");
    assert_eq!(explained["version"], "1.2.3");

    let report = Ran::of(&mut words("run")).good().report();
    let args: Vec<Value> = seen("args").expect("arguments").lines().map(Value::from).collect();
    assert_eq!(explained["args"], Value::from(args.clone()));
    assert!(args.contains(&json!("chosen")) && args.contains(&json!("echo-loud")), "{args:?}");
    assert_eq!(explained["program"], json!(witness));
    assert_eq!(explained["stdin"], json!(seen("stdin").expect("stdin")));
    assert_eq!(explained["stdin"], "two words");
    assert_eq!(explained["workspace"], json!(seen("folder").expect("the folder").trim_end()));
    assert_eq!(explained["ignored"], report["ignored"]);
    assert_eq!(report["ignored"][0]["name"], "effort");

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
    let machine = Machine::new();
    let explained = machine.run(["explain", "--json", "-a", "echo", "--resume", "unknown", "hello"]).good().json();
    assert_eq!(explained["args"], json!(["echo-agent", "--resume", "unknown"]));
    assert!(machine.files("data").is_empty(), "{:?}", machine.files("data").keys());
}

#[test]
fn the_text_for_people_names_the_same_things() {
    let machine = Machine::new();
    let text = machine.run(["explain", "-a", "echo", "-s", "be kind", "-e", "low", "hello"]).good().stdout;
    for part in
        [WHARF, "echo-agent", "--system", "<file system.txt>", "system.txt, 7 bytes", "ignored", "effort", "hello"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

//! `wharf doctor` as a preflight: red where no turn can work, with a reason, a fix and an exit code. The agents are
//! shell scripts that misbehave.

use crate::sandbox;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use wharf_test_support::{Finished, Sandbox};

/// A Claude Code of this version, with a login unless it says otherwise.
fn version(version: &str) -> String {
    agent(&format!("echo '{version} (Claude Code)'"), r#"echo '{"loggedIn": true}'"#)
}

/// What the help of a version names that has all flags.
const FLAGS: &str = "--print --setting-sources --include-partial-messages";

fn agent(version: &str, status: &str) -> String {
    format!("case \"$*\" in\n--version) {version} ;;\n'auth status') {status} ;;\n--help) echo '{FLAGS}' ;;\nesac\n")
}

/// Makes a script the program of the adapter for Claude Code; Copilot is nowhere.
fn install(sandbox: &Sandbox, script: &str) {
    let program = sandbox.write("claude", format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    sandbox
        .write("config.toml", format!("[programs]\nclaude = '{}'\ncopilot = '/nowhere/copilot'\n", program.display()));
}

/// What people see, without the path of the sandbox.
fn shown(sandbox: &Sandbox, text: &str) -> String {
    text.replace(sandbox.path("").to_str().expect("UTF-8"), "[sandbox]/")
}

/// Without the notes, which differ for root, and without the long list of capabilities.
fn json_of(sandbox: &Sandbox, found: &Finished) -> Value {
    let mut found: Value = serde_json::from_str(&shown(sandbox, &found.stdout)).expect("JSON");
    for entry in found.as_array_mut().expect("a list") {
        if let Some(agent) = entry["agent"].as_object_mut() {
            agent.remove("notes");
            agent.remove("transports");
        }
    }
    found
}

/// The script, the reason, and words of the error.
fn broken() -> Vec<(&'static str, String, &'static str, &'static str)> {
    let logged_out = agent("echo '2.1.325 (Claude Code)'", r#"echo '{"loggedIn": false}'; exit 1"#);
    vec![
        (
            "exits with 3",
            "echo 'no such library' >&2; exit 3\n".to_owned(),
            "crashes",
            "exited with code 3: no such library",
        ),
        ("SIGSEGV", "kill -SEGV $$\n".to_owned(), "crashes", "was killed by signal 11"),
        (
            "nonsense",
            "echo 'hello, sailor'\n".to_owned(),
            "no-version",
            "printed \"hello, sailor\" instead of a version",
        ),
        ("no output", "exit 0\n".to_owned(), "no-version", "printed nothing instead of a version"),
        ("no login", logged_out, "no-login", "has no login"),
        (
            "old without the flags",
            version("1.0.60").replace(FLAGS, "--print"),
            "unsupported-version",
            "1.0.60 is known not to work",
        ),
    ]
}

#[test]
fn an_agent_with_which_no_turn_can_work_is_not_usable() {
    for (name, script, reason, words) in broken() {
        let sandbox = sandbox();
        install(&sandbox, &script);
        let found = sandbox.call(["doctor", "claude", "--json"]);
        let entry = &found.json()[0];
        assert_eq!(
            (found.code, &entry["usable"], &entry["reason"]),
            (Some(3), &json!(false), &json!(reason)),
            "{name}: {found:?}"
        );
        assert!(entry["error"].as_str().is_some_and(|error| error.contains(words)), "{name}: {entry}");
        assert!(entry["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{name}: {entry}");
        let text = sandbox.call(["doctor", "claude"]);
        assert!(
            text.code == Some(3) && text.stdout.starts_with("✗ claude ") && text.stdout.contains("    fix: "),
            "{name}: {text:?}"
        );
        assert!(
            text.stdout.lines().all(|line| line.trim_end() == line),
            "{name}: a blank at the end of a line: {text:?}"
        );
    }
}

#[test]
fn a_turn_fails_early_with_the_words_of_the_doctor() {
    for (name, script, reason, words) in broken() {
        // Whether a login is found is not certain: the agent itself says what it needs.
        if reason == "no-login" {
            continue;
        }
        let sandbox = sandbox();
        install(&sandbox, &script);
        let run = sandbox.call(["run", "-a", "claude", "--json", "go"]);
        let error = &run.report()["error"];
        assert_eq!(run.code, Some(3), "{name}: {run:?}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{name}: {error}");
        let class = if reason == "unsupported-version" { "invalid-option" } else { "crash" };
        assert_eq!((&error["class"], &error["retry"]["kind"]), (&json!(class), &json!("after-user-action")), "{name}");
        assert!(sandbox.files("data/runs").is_empty(), "{name}: it has started a run");
    }
}

#[test]
fn an_agent_that_hangs_is_named_while_it_is_waited_for_and_is_not_usable() {
    let sandbox = sandbox();
    install(&sandbox, "exec sleep 600\n");
    let found = sandbox.call(["doctor", "claude", "--json"]);
    let entry = &found.json()[0];
    assert_eq!((found.code, &entry["reason"]), (Some(3), &json!("hangs")), "{found:?}");
    // One limit for all probes of an adapter, a tenth less than 5 s.
    let error = entry["error"].as_str().expect("an error");
    assert!(error.contains("claude --version` did not exit within 4.5 s"), "{error}");
    assert_eq!(found.stderr, "waiting for claude --version\n");
}

#[test]
fn versions_are_told_apart() {
    for (number, support, words) in [
        ("2.1.325", "tested", "✓ claude 2.1.325, tested\n"),
        ("2.1.100", "between-tested", "✓ claude 2.1.100, between tested versions (2.0.76, 2.1.197, 2.1.325)\n"),
        ("9.0.0", "newer-untested", "✓ claude 9.0.0, newer than tested (2.0.76, 2.1.197, 2.1.325)\n"),
        (
            "1.0.200",
            "older-untested",
            "✓ claude 1.0.200, older than tested (2.0.76, 2.1.197, 2.1.325)\n    fix: update it: npm install -g @anthropic-ai/claude-code\n",
        ),
    ] {
        let sandbox = sandbox();
        install(&sandbox, &version(number));
        let doctor = |args: &[&str]| {
            let mut command = sandbox.wharf(["doctor", "claude"]);
            Finished::of(command.args(args)).success()
        };
        let found = doctor(&["--json"]).json();
        assert_eq!((&found[0]["usable"], &found[0]["agent"]["support"]), (&json!(true), &json!(support)));
        let text = doctor(&[]).stdout;
        assert!(text.starts_with(words), "{text}");
    }
}

#[test]
fn a_login_that_cannot_be_determined_is_no_problem() {
    let sandbox = sandbox();
    install(&sandbox, &agent("echo '2.0.76 (Claude Code)'", "echo 'unknown command' >&2; exit 1"));
    let found = sandbox.json(&["doctor", "claude", "--json"]);
    assert_eq!((&found[0]["usable"], &found[0]["agent"]["login"]["state"]), (&json!(true), &json!("unknown")));
}

#[test]
fn a_variable_that_this_version_ignores_is_no_login() {
    let sandbox = sandbox();
    let version = "case \"$*\" in *--version) echo 'GitHub Copilot CLI 0.0.423.' ;; *) echo --output-format ;; esac";
    let program = sandbox.write("copilot", format!("#!/bin/sh\n{version}\n"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    sandbox.write("config.toml", format!("[programs]\ncopilot = '{}'\n", program.display()));
    let mut command = sandbox.wharf(["doctor", "copilot", "--json"]);
    command.env("PATH", "/nowhere").env("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:1/v1");
    let found = Finished::of(&mut command);
    let entry = &found.json()[0];
    assert_eq!((found.code, &entry["reason"]), (Some(3), &json!("no-login")), "{found:?}");
    assert!(
        entry["fix"].as_str().is_some_and(|fix| fix.contains("does not know COPILOT_PROVIDER_BASE_URL")),
        "{entry}"
    );
}

#[test]
fn a_check_of_all_succeeds_if_an_agent_beside_the_example_is_usable() {
    let sandbox = sandbox();
    sandbox.write("config.toml", "[programs]\nclaude = \"/nowhere/claude\"\ncopilot = \"/nowhere/copilot\"\n");
    let nothing = sandbox.call(["doctor", "--json"]);
    let reasons: Vec<Value> =
        nothing.json().as_array().expect("a list").iter().map(|entry| entry["reason"].clone()).collect();
    assert_eq!((nothing.code, reasons.iter().filter(|reason| reason.is_null()).count()), (Some(3), 1), "{nothing:?}");
    assert!(reasons.contains(&json!("not-found")), "{reasons:?}");
    assert_eq!(sandbox.call(["doctor", "echo"]).code, Some(0), "it was named");
    install(&sandbox, &version("2.1.325"));
    assert_eq!(sandbox.call(["doctor"]).code, Some(0));
    assert_eq!(sandbox.call(["doctor", "claude", "copilot"]).code, Some(3), "all that are named must be usable");
}

#[test]
fn root_is_known_by_the_user_id() {
    let sandbox = sandbox();
    install(&sandbox, &version("2.1.325"));
    let is_root = rustix::process::geteuid().is_root();
    for (user, home) in [("root", "/root"), ("mock", "home")] {
        let mut command = sandbox.wharf(["doctor", "claude", "--json"]);
        let found = Finished::of(command.env("USER", user).env("HOME", sandbox.path(home))).success().json();
        let warned = found[0]["agent"]["notes"].to_string().contains("for root");
        assert_eq!(warned, is_root, "{user}: {found}");
    }
}

#[test]
fn what_people_and_programs_see_is_as_it_was_reviewed() {
    let mut all = String::new();
    let working = ("works", version("2.1.325"), "", "");
    let between = ("between", version("2.1.100"), "", "");
    for (name, script, ..) in [working, between].into_iter().chain(broken()) {
        let sandbox = sandbox();
        install(&sandbox, &script);
        let command = |args: &[&str]| {
            let mut command = sandbox.wharf(["doctor", "claude"]);
            // Root gets a note that nobody else gets.
            Finished::of(command.args(args).env("IS_SANDBOX", "1"))
        };
        let text = shown(&sandbox, &command(&[]).stdout);
        let json = json_of(&sandbox, &command(&["--json"]));
        let json = serde_json::to_string_pretty(&json).expect("JSON");
        let _ = write!(all, "== {name}\n{text}{json}\n\n");
    }
    insta::assert_snapshot!(all);
}

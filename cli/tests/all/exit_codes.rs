//! The exit codes that `wharf --help` documents: each occurs, and no others.

use crate::{WHARF, sandbox};
use std::collections::BTreeSet;
use std::process::Command;
use wharf_test_support::{Finished, LiveRun, Sandbox, Signal, fake_agent};

/// A turn of the scripted agent.
fn scripted(sandbox: &Sandbox, script: &str) -> Command {
    let script = sandbox.write("script", script);
    let mut wharf = sandbox.wharf(["run", "-a", "echo", "--json", "--program"]);
    wharf.arg(fake_agent()).arg("-o").arg(format!("script={}", script.display())).arg("hello");
    wharf
}

#[test]
fn every_documented_exit_code_occurs() {
    let sandbox = sandbox();
    let turn = |more: &[&str]| sandbox.wharf(["run", "-a", "echo", "hello"].iter().chain(more));
    let mut unwritable = turn(&[]);
    unwritable.env("WHARF_DATA", WHARF);
    let mut limited = scripted(&sandbox, "silence\n");
    limited.args(["--total-timeout", "0.2"]);
    let mut seen = BTreeSet::new();
    for (code, mut command) in [
        (0, turn(&[])),
        (2, turn(&["--effort", "huge"])),
        (3, turn(&["--program", "/no/such/agent"])),
        (4, sandbox.wharf(["run", "-a", "/dev/null", "hello"])),
        (5, turn(&["--ask", "--ask-timeout", "0.1"])),
        (6, limited),
        (7, unwritable),
    ] {
        let run = Finished::of(&mut command);
        assert_eq!(run.code, Some(code), "{command:?}: {run:?}");
        seen.insert(code);
    }
    let failed = Finished::of(&mut scripted(&sandbox, "line {\"type\":\"failed\",\"text\":\"no\"}\n"));
    assert_eq!((failed.code, &failed.report()["outcome"]), (Some(1), &"failed".into()), "{failed:?}");
    assert_eq!(interrupted(&sandbox), Some(130));
    seen.extend([1, 130]);

    let help = sandbox.call(["--help"]).success().stdout;
    let listed = help.split_once("Exit codes:\n").expect("they are listed").1.lines();
    let documented: BTreeSet<i32> = listed.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    assert_eq!(seen, documented);
}

/// The exit code of a turn that is interrupted while it runs.
fn interrupted(sandbox: &Sandbox) -> Option<i32> {
    let mut command = scripted(sandbox, "line {\"type\":\"hello\",\"session\":\"s\"}\nsilence\n");
    let mut live = LiveRun::start(&mut command);
    live.read_until("session");
    live.signal(Signal::INT);
    let run = live.finish();
    assert_eq!(run.report()["outcome"], "cancelled");
    run.code
}

#[test]
fn failures_of_the_operating_system_exit_with_7() {
    let sandbox = sandbox();
    // A file where the data folder should be: root cannot write to it either.
    let file = sandbox.write("a-file", "");
    for args in [
        &["run", "-a", "echo", "hello"] as &[&str],
        &["run", "-a", "echo", "--json", "hello"],
        &["sessions"],
        &["runs"],
        &["show", "last"],
        &["runs", "--prune"],
    ] {
        let run = Finished::of(sandbox.wharf(args).env("WHARF_DATA", &file));
        assert_eq!(run.code, Some(7), "{args:?}: {run:?}");
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains("a-file"), "{args:?}: {run:?}");
    }
    // Nor is it a folder to write man pages to.
    let run = sandbox.call(["man", file.to_str().unwrap()]);
    assert_eq!(run.code, Some(7), "{run:?}");
}

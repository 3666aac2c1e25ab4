//! The commands of docs/writing-an-adapter.md, given as its reader would give them.

use crate::{WHARF, sandbox};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use wharf_test_support::{Finished, Sandbox, repository, target_folder};

/// The repository as the reader sees it, except for the folder that cargo builds in: that one is kept for the next test.
fn checkout(sandbox: &Sandbox) -> PathBuf {
    let (checkout, target) = (sandbox.path("checkout"), target_folder().join("tmp/tutorial"));
    fs::create_dir_all(&checkout).and_then(|()| fs::create_dir_all(&target)).expect("folders");
    for entry in fs::read_dir(repository()).expect("the repository").map(|entry| entry.expect("an entry")) {
        if entry.file_name() != "target" && entry.file_name() != ".git" {
            std::os::unix::fs::symlink(entry.path(), checkout.join(entry.file_name())).expect("a link");
        }
    }
    std::os::unix::fs::symlink(target, checkout.join("target")).expect("a link");
    checkout
}

#[test]
fn the_tutorials_commands_work() {
    let sandbox = sandbox();
    let mut script = sandbox.command("sh");
    script.current_dir(checkout(&sandbox)).arg("examples/adapter-tutorial/try.sh");
    let mut path = OsString::from(Path::new(WHARF).parent().expect("a folder"));
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a PATH"));
    script.env("PATH", path);
    // The toolchain is the user's own; the home is not.
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        script.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()));
    }
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        script.env("RUSTUP_TOOLCHAIN", toolchain);
    }

    let run = Finished::of(&mut script).success();
    // What is missing is printed as the tutorial's own configuration has it.
    let config =
        fs::read_to_string(repository().join("examples/adapter-tutorial/config.toml")).expect("the configuration");
    for line in config.lines() {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    assert!(run.stdout.contains("examples/adapter-tutorial/scribe (unknown version)"), "explained: {run:?}");
    assert!(run.stdout.contains("\nThe prompt has 3 words.\n"), "run: {run:?}");
    let report: Value = serde_json::from_str(run.stdout.lines().last().expect("a line")).expect("the report");
    assert_eq!(report["type"], "report");
    assert_eq!((&report["outcome"], &report["answer"]), (&json!("completed"), &json!("The prompt has 3 words.")));
    assert_eq!(report["tools"][0]["status"], "succeeded");
}

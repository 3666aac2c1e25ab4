//! The commands of docs/writing-an-adapter.md, given as its reader would give them.

use crate::common::{Machine, Ran, WHARF, root};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository as its reader sees it, but for the folder that cargo builds in: that one is ours, and kept.
fn checkout(machine: &Machine) -> PathBuf {
    let (checkout, target) = (machine.path("checkout"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial"));
    fs::create_dir_all(&checkout).and_then(|()| fs::create_dir_all(&target)).expect("folders");
    for entry in fs::read_dir(root()).expect("the repository").map(|entry| entry.expect("an entry")) {
        if entry.file_name() != "target" && entry.file_name() != ".git" {
            std::os::unix::fs::symlink(entry.path(), checkout.join(entry.file_name())).expect("a link");
        }
    }
    std::os::unix::fs::symlink(target, checkout.join("target")).expect("a link");
    checkout
}

#[test]
fn the_tutorials_commands_work() {
    let machine = Machine::new();
    let mut script = machine.command("sh");
    script.current_dir(checkout(&machine)).arg("examples/adapter-tutorial/try.sh");
    let mut path = OsString::from(Path::new(WHARF).parent().expect("a folder"));
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a PATH"));
    script.env("PATH", path);
    // The toolchain is the user's own, though the home is not.
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        script.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()));
    }
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        script.env("RUSTUP_TOOLCHAIN", toolchain);
    }

    let ran = Ran::of(&mut script).good();
    // What is missing is said in the words of the tutorial's own configuration.
    let config = fs::read_to_string(root().join("examples/adapter-tutorial/config.toml")).expect("the configuration");
    for line in config.lines() {
        assert!(ran.stderr.contains(line), "{line}: {ran:?}");
    }
    assert!(ran.stdout.contains("examples/adapter-tutorial/scribe (1.2.0)"), "explained: {ran:?}");
    assert!(ran.stdout.contains("\nThe prompt has 3 words.\n"), "run: {ran:?}");
    let report: Value = serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("the report");
    assert_eq!(report["type"], "report");
    assert_eq!((&report["outcome"], &report["answer"]), (&json!("completed"), &json!("The prompt has 3 words.")));
    assert_eq!(report["tools"][0]["status"], "succeeded");
}

//! The agent does what the files beside it say, and every loop that wharf is measured beside gives the same events.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BENCH: &str = env!("CARGO_BIN_EXE_wharf-bench");

/// What a command writes.
fn output(program: &Path, words: &[&str]) -> String {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A folder on the same disk as what was built.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// An agent in a folder of its own. Linked, not copied: what is still open for writing somewhere, if only in a child that
/// another test is just starting, cannot be run.
fn agent(folder: &Path) -> PathBuf {
    let program = folder.join("agent");
    fs::hard_link(env!("CARGO_BIN_EXE_wharf-bench-agent"), &program).expect("linked");
    program
}

fn there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn the_agent_does_what_the_files_beside_it_say() {
    let folder = folder();
    let program = agent(folder.path());
    assert_eq!(output(&program, &["-p", "anything"]), "");
    fs::write(folder.path().join("output"), "one\ntwo @now\n").expect("written");
    fs::write(folder.path().join("version"), "1.2.3\n").expect("written");
    assert_eq!(output(&program, &["-p", "anything"]), "one\ntwo @now\n");
    assert_eq!(output(&program, &["--version"]), "1.2.3\n");
    assert_eq!(output(Path::new(BENCH), &["copy", &program.to_string_lossy()]), "one\ntwo @now\n");
    fs::write(folder.path().join("pace"), "1\n").expect("written");
    let (first, second) = (output(&program, &[]), output(&program, &[]));
    let time = |text: &str| -> u64 {
        let stamp = text.strip_prefix("one\ntwo ").expect("both lines").trim_end();
        stamp.parse().expect("nanoseconds")
    };
    assert!(time(&first) < time(&second), "{first} {second}");
}

#[test]
fn every_loop_gives_the_same_events() {
    let folder = folder();
    let program = agent(folder.path());
    let agent = program.to_string_lossy();
    let file = |name: &str| format!("{}/loops/{name}", env!("CARGO_MANIFEST_DIR"));
    for runtime in ["copilot", "claude"] {
        let turn = output(Path::new(BENCH), &["corpus", runtime, "mixed", "300000"]);
        fs::write(folder.path().join("output"), turn).expect("written");
        let native = kinds(&output(Path::new(BENCH), &["native", runtime, &agent]));
        assert!(native["text-delta"] > 100 && native["tool"] > 2 && native["turn-end"] == 1, "{native:?}");
        if there("node") {
            assert_eq!(kinds(&output(Path::new("node"), &[&file("node.js"), runtime, &agent])), native, "Node");
            let relayed = output(Path::new(BENCH), &["relay", &agent, "node", &file("sidecar.js"), runtime]);
            assert_eq!(kinds(&relayed), native, "Node sidecar");
        }
        if there("python3") {
            assert_eq!(kinds(&output(Path::new("python3"), &[&file("python.py"), runtime, &agent])), native, "Python");
        }
    }
}

/// Events by kind.
fn kinds(lines: &str) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in lines.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect(line);
        *kinds.entry(event["type"].as_str().expect(line).to_owned()).or_default() += 1;
    }
    kinds
}

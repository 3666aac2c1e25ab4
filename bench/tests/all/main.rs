//! The agent and the loops that wharf is compared with, as one test program.

// The benchmark reads /proc.
#![cfg(target_os = "linux")]

mod agent;
mod loops;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BENCH: &str = env!("CARGO_BIN_EXE_wharf-bench");

/// The stdout of a command that succeeds.
fn output(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A folder on the same disk as the build.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// The agent's program in this folder. A link and not a copy: a file that is open for writing anywhere, even in a child
/// that another test is just starting, cannot be executed.
fn agent(folder: &Path) -> PathBuf {
    let program = folder.join("agent");
    fs::hard_link(env!("CARGO_BIN_EXE_wharf-bench-agent"), &program).expect("a link");
    program
}

//! Where, when and with what it was measured.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Everything as text, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor and how many of it.
    pub(crate) processor: String,
    /// The kernel.
    pub(crate) kernel: String,
    /// The day.
    pub(crate) date: String,
    /// Names and versions.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    /// This one, now. `root` is the repository, whose lock file tells wasmtime's version.
    pub(crate) fn here(wharf: &Path, root: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let known =
            |name: &str, version: Option<String>| (name.to_owned(), version.unwrap_or_else(|| "not there".to_owned()));
        Machine {
            processor: format!("{}, {cores} cores", processor(&read("/proc/cpuinfo"))),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            date: said(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default(),
            versions: vec![
                known("wharf", said(Command::new(wharf).arg("--version"))),
                known("commit", said(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root))),
                known("wasmtime", locked(&lock, "wasmtime")),
                known("rustc", said(Command::new("rustc").arg("--version"))),
                known("node", said(Command::new("node").arg("--version"))),
                known("python", said(Command::new("python3").arg("--version"))),
            ],
        }
    }
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The model's name; not every architecture tells one.
fn processor(cpuinfo: &str) -> &str {
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| Some(line.split_once(':')?.1.trim())).unwrap_or(std::env::consts::ARCH)
}

/// The version of a package in a lock file.
fn locked(lock: &str, package: &str) -> Option<String> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(after.split_once('"')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_models_are_found() {
        let lock = "[[package]]\nname = \"wasmtime-wasi\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"wasmtime\"\nversion = \"48.0.8\"\n";
        assert_eq!(locked(lock, "wasmtime").as_deref(), Some("48.0.8"));
        assert_eq!(locked(lock, "serde"), None);
        assert_eq!(processor("flags\t: x\nmodel name\t: Some CPU @ 2 GHz\n"), "Some CPU @ 2 GHz");
    }
}

//! The machine, the date and the versions of a measurement.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::Command;

/// All as text, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor and the number of cores.
    pub(crate) processor: String,
    pub(crate) kernel: String,
    /// In UTC.
    pub(crate) date: String,
    /// Names and versions of the programs involved.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    /// This machine, now. wasmtime's version is read from the lock file in `root`, the repository.
    pub(crate) fn current(wharf: &Path, root: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let entry =
            |name: &str, version: Option<String>| (name.to_owned(), version.unwrap_or_else(|| "not found".to_owned()));
        Machine {
            processor: format!("{}, {cores} cores", processor(&read("/proc/cpuinfo"))),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            date: stdout_of(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default(),
            versions: vec![
                entry("wharf", stdout_of(Command::new(wharf).arg("--version"))),
                entry(
                    "commit",
                    stdout_of(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root)),
                ),
                entry("wasmtime", locked(&lock, "wasmtime")),
                entry("rustc", stdout_of(Command::new("rustc").arg("--version"))),
                entry("node", stdout_of(Command::new("node").arg("--version"))),
                entry("python", stdout_of(Command::new("python3").arg("--version"))),
            ],
        }
    }
}

fn stdout_of(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The model's name. Not every architecture has one.
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

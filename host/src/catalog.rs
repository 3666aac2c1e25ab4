//! Which adapters there are: the bundled ones, those in the user's folder, and any file that is named.

use crate::adapter::{Adapter, Source};
use crate::config::Config;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::info::Needs;
use std::path::{Path, PathBuf};

/// Id, component, grants.
type Bundled = (&'static str, &'static [u8], &'static str);

const BUNDLED: &[Bundled] = &include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Where an adapter can be had from, before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id: that of a bundled one, or the file's name.
    pub id: String,
    /// Where it is.
    pub source: Source,
    /// It has the id of a bundled one and the user has not said that it may take its place.
    pub shadowed: bool,
}

/// All adapters that can be had by id.
pub(crate) fn entries(folder: &Path, config: &Config) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = BUNDLED
        .iter()
        .map(|(id, _, _)| Entry { id: (*id).to_owned(), source: Source::Bundled, shadowed: false })
        .collect();
    for path in components_in(folder)? {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let allowed = config.shadow.contains(&id);
        let bundled = entries.iter().position(|entry| entry.id == id && entry.source == Source::Bundled);
        if let (Some(at), true) = (bundled, allowed) {
            entries[at].shadowed = true;
        }
        entries.push(Entry { id, source: Source::File(path), shadowed: bundled.is_some() && !allowed });
    }
    Ok(entries)
}

fn components_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(why) => return Err(Error::system(format!("reading the adapters' folder {}", folder.display()), why)),
    };
    let mut paths: Vec<PathBuf> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
        .collect();
    paths.sort();
    Ok(paths)
}

/// Load an adapter by its id, or by the path of its file.
pub(crate) async fn load(engine: &Engine, folder: &Path, config: &Config, name: &str) -> Result<Adapter> {
    if name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|ending| ending == "wasm") {
        return load_file(engine, Path::new(name)).await;
    }
    let entries = entries(folder, config)?;
    match entries.iter().find(|entry| entry.id == name && !entry.shadowed) {
        Some(Entry { source: Source::File(path), .. }) => {
            let adapter = load_file(engine, path).await?;
            if adapter.info().id == name {
                return Ok(adapter);
            }
            let (id, shown) = (&adapter.info().id, path.display());
            Err(Error::adapter(format!(
                "the adapter in {shown} calls itself `{id}`, and its file is named for `{name}`"
            ))
            .hint(format!("rename the file to {id}.wasm, or name it by its path")))
        }
        Some(Entry { source: Source::Bundled, .. }) => {
            let (_, bytes, _) = bundled(name).expect("the entries were made from the bundled ones");
            Adapter::load(engine, bytes, Source::Bundled).await
        }
        None => {
            let known: Vec<&str> =
                entries.iter().filter(|entry| !entry.shadowed).map(|entry| entry.id.as_str()).collect();
            Err(Error::invalid(format!("there is no adapter `{name}`"))
                .hint(format!("there are {}; a file is named by its path: ./{name}.wasm", known.join(", "))))
        }
    }
}

async fn load_file(engine: &Engine, path: &Path) -> Result<Adapter> {
    let bytes = read_component(path, engine.limits.component)
        .map_err(|why| Error::invalid(format!("the adapter {} cannot be read: {why}", path.display())))?;
    Adapter::load(engine, &bytes, Source::File(path.to_owned())).await
}

/// The file's content, or one byte more than is loaded of one that is too large: it may have no end.
fn read_component(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bundled(id: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|(bundled, _, _)| *bundled == id)
}

/// What an adapter is granted: what the user's file says, and for a bundled one what comes with it.
pub(crate) fn grants(adapter: &Adapter, config: &Config) -> Result<Needs> {
    let id = adapter.info().id.as_str();
    let mut grants = config.grants.get(id).cloned().unwrap_or_default();
    if *adapter.source() == Source::Bundled
        && let Some((_, _, text)) = bundled(id)
    {
        let ours: Needs =
            toml::from_str(text).map_err(|why| Error::adapter(format!("the bundled grants of {id}: {why}")))?;
        grants.programs.extend(ours.programs);
        grants.origins.extend(ours.origins);
        grants.variables.extend(ours.variables);
        grants.files.extend(ours.files);
    }
    Ok(grants)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are part of the program, and are compiled when they are first used.
    #[test]
    fn bundled_components_stay_small() {
        for (id, component, _) in BUNDLED {
            assert!(component.len() < 400_000, "{id} has {} bytes", component.len());
        }
    }

    #[test]
    fn a_file_takes_a_bundled_ones_place_only_when_the_user_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["echo.wasm", "own.wasm", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let found = |config: &Config| -> Vec<(String, bool, bool)> {
            let entries = entries(folder.path(), config).expect("a listing");
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
